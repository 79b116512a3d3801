"""The golden cases, one module per part of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from generators.golden.cases.catalog import Chapter, Definition
from generators.golden.chapters import reading
from generators.golden.chapters.files import (
    changed_schemas,
    changes,
    data_files,
    deletion_vectors,
    located,
    partition_values,
    physical,
    statistics,
    types,
    vector_format,
)
from generators.golden.chapters.log import (
    catalog_managed,
    checkpoints,
    last_checkpoint,
    long_logs,
    reconciliation,
    time_travel,
    v2_checkpoints,
    version_checksum,
)
from generators.golden.chapters.log import compaction as log_compaction
from generators.golden.chapters.log import entries as log_entries
from generators.golden.chapters.tables import (
    column_mapping,
    evolution,
    metadata,
    protocol,
    row_tracking,
    variants,
)
from generators.golden.chapters.writing import columns as writing_columns
from generators.golden.chapters.writing import dropped_features, lasting
from generators.golden.chapters.writing import expressions as writing_expressions
from generators.golden.chapters.writing import features as writing_features
from generators.golden.chapters.writing import layouts as writing_layouts
from generators.golden.chapters.writing import operations as writing_operations
from generators.golden.chapters.writing import rows as writing
from generators.golden.chapters.writing import rules as writing_rules
from generators.golden.chapters.writing import state as writing_state
from generators.golden.chapters.writing import support as writer_features

__all__ = ["all_chapters", "all_definitions"]

_MODULES = (
    types,
    physical,
    partition_values,
    data_files,
    log_entries,
    long_logs,
    reconciliation,
    protocol,
    metadata,
    checkpoints,
    last_checkpoint,
    version_checksum,
    log_compaction,
    deletion_vectors,
    vector_format,
    column_mapping,
    v2_checkpoints,
    statistics,
    row_tracking,
    changes,
    changed_schemas,
    evolution,
    variants,
    time_travel,
    writer_features,
    catalog_managed,
    located,
    *reading.MODULES,
    writing,
    writing_columns,
    dropped_features,
    writing_expressions,
    writing_features,
    writing_layouts,
    writing_operations,
    writing_rules,
    writing_state,
    lasting,
)


def all_chapters() -> Iterator[Chapter]:
    """Return the chapters that the kit's own materialiser writes."""
    for module in _MODULES:
        yield from module.CHAPTERS


def all_definitions(builder: Literal["kit", "deltalake"] = "kit") -> list[Definition]:
    """Return the cases of a builder; raises :class:`ValueError` when an id is taken twice."""
    if builder == "deltalake":
        # Only here, because this hand needs its engine to be installed.
        from generators.golden.chapters.delta_rs import DEFINITIONS  # noqa: PLC0415

        return list(DEFINITIONS)
    definitions = [each for chapter in all_chapters() for each in chapter]
    ids = [each.info.id for each in definitions]
    if len(set(ids)) != len(ids):
        raise ValueError(f"case ids are taken twice: {sorted(i for i in ids if ids.count(i) > 1)}")
    return definitions
