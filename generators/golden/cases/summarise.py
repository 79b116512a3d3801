"""Summaries of a golden table's log, in every form that a reader may start from or read instead.

Serves "Checkpoints" and "Log Compaction Files".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from generators.golden.cases.table import GoldenTable
from generators.materialise.log.checkpoints import (
    Written,
    write_classic,
    write_multi_part,
    write_v2,
)
from generators.materialise.log.hints import write_compaction, write_last_checkpoint

Summarise: TypeAlias = Callable[[GoldenTable, int], None]
"""Writes a summary of a table at a version."""


def classic(table: GoldenTable, version: int) -> None:
    """Write a classic checkpoint of a version, and the hint to it."""
    write_last_checkpoint(table.root, write_classic(table.root, version, table.states[version]))


def multi_part(table: GoldenTable, version: int) -> None:
    """Write a checkpoint of three parts."""
    write_multi_part(table.root, version, table.states[version], 3)


def v2(table: GoldenTable, version: int, extension: str, sidecars: int) -> None:
    """Write a V2 checkpoint with so many sidecars, and the hint to it."""
    write_last_checkpoint(table.root, v2_alone(table, version, extension, sidecars))


def v2_alone(
    table: GoldenTable, version: int, extension: str, sidecars: int, **options: Any
) -> Written:
    """Write a V2 checkpoint with so many sidecars, and no hint."""
    return write_v2(
        table.root,
        version,
        table.states[version],
        identity=table.unique_name("checkpoint"),
        extension=extension,
        sidecars=sidecars,
        sidecar_names=[f"{table.unique_name('sidecar')}.parquet" for _ in range(sidecars)],
        **options,
    )


def compaction(table: GoldenTable, version: int, start: int | None = None) -> None:
    """Write a log compaction of two versions or more that ends with a version."""
    start = min(1, version - 1) if start is None else start
    commits = [
        [each for each in table.actions[number] if not isinstance(each, str)]
        for number in range(start, version + 1)
    ]
    write_compaction(
        table.root,
        start,
        version,
        [[each for each in actions if "commitInfo" not in each] for actions in commits],
    )


SUMMARIES: Final[Mapping[str, Summarise]] = {
    "classic": classic,
    "multi-part": multi_part,
    "v2-parquet": partial(v2, extension="parquet", sidecars=0),
    "v2-json-sidecars": partial(v2, extension="json", sidecars=2),
    "compaction": compaction,
}
"""Summaries by the names of their forms."""
