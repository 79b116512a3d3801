"""The reference implementation with one fault put in, for the features that a tiny reader lacks.

A fault replaces one function of :mod:`reference_impl` while a request is answered. The adapter
claims what it always claims: a mutant does not know that it is wrong.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conformance.adapter import Answer, Description, Request
from conformance.adapters import ours
from reference_impl.deletion_vectors.bitmap import Bitmap
from reference_impl.errors import MalformedCommit
from reference_impl.filters.evaluate import compare
from reference_impl.log.checkpoints.reader import CheckpointReader
from reference_impl.log.commits import parse_commit
from reference_impl.log.lines import Lines
from reference_impl.log.names import LOG_DIR, checksum_name
from reference_impl.model import partition_values
from reference_impl.model.actions import DomainMetadata, Metadata, Sidecar
from reference_impl.model.wire import LogPlace
from reference_impl.scan import cdf, conform, data_file, reader, scan, skipping
from reference_impl.scan.row_tracking import (
    COMMIT_VERSION_PROPERTY,
    ROW_ID_PROPERTY,
    RowTracking,
)
from reference_impl.snapshot import paths, segment, snapshot, table_schema
from reference_impl.snapshot.history import History
from reference_impl.snapshot.segment import Listing
from reference_impl.types.model import STRING

Patch = Callable[[ExitStack], None]
FAULTS: dict[str, Patch] = {}
"""Each fault by its name: enters the patches that make it."""


class FaultyOurs:
    """The adapter of the reference implementation, with at most one fault."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.adapter = ours.create()

    def describe(self) -> Description:
        return self.adapter.describe()

    def run(self, request: Request) -> Answer:
        with ExitStack() as stack:
            if self.fault:
                FAULTS[self.fault](stack)
            return self.adapter.run(request)

    def close(self) -> None:
        self.adapter.close()


def _replace(name: str, place: Any, function: str, wrong: Callable[..., Any]) -> None:
    """Name a fault that is one function gone wrong; it gets the right one first."""

    def put_in(stack: ExitStack) -> None:
        right = getattr(place, function)
        stack.enter_context(
            patch.object(place, function, lambda *args, **kwargs: wrong(right, *args, **kwargs))
        )

    FAULTS[name] = put_in


# Checkpoints, compactions, checksums.


def _without_sidecars(right: Any, reader: Any) -> Any:
    return tuple(action for action in right(reader) if not isinstance(action, Sidecar))


def _first_sidecar(right: Any, reader: Any) -> Any:
    found = right(reader)
    sidecars = [action for action in found if isinstance(action, Sidecar)]
    return tuple(action for action in found if action not in sidecars[1:])


def _adds_alone(right: Any, storage: Any, file: Any, **options: Any) -> Any:
    commit = right(storage, file, **options)
    if file.kind == "compaction":
        commit.lines["remove"] = Lines.of(())
    return commit


def _reaching_beyond(right: Any, listing: Listing, first: int, target: int) -> Any:
    reaching = [file for files in listing.compactions.values() for file in files]
    beyond = [file for file in reaching if file.version <= target < file.end]
    return (
        (*right(listing, first, target)[:-1], beyond[0])
        if beyond
        else right(listing, first, target)
    )


_replace("leaves-out-sidecars", CheckpointReader, "actions", _without_sidecars)
_replace("reads-one-sidecar", CheckpointReader, "actions", _first_sidecar)
_replace("forgets-removes-of-compactions", snapshot, "read_commit", _adds_alone)
_replace("takes-compactions-that-reach-beyond", segment, "_with_compactions", _reaching_beyond)


def _has_checksum(storage: Any, version: int) -> bool:
    try:
        storage.head(f"{LOG_DIR}/{checksum_name(version)}")
    except FileNotFoundError:
        return False
    return True


def _passed_over(right: Any, storage: Any, file: Any, **options: Any) -> Any:
    try:
        return right(storage, file, **options)
    except MalformedCommit:
        if not _has_checksum(storage, file.version):
            raise
        return parse_commit(b"", LogPlace(file.name, file.version), files=True)


_replace("hides-a-broken-commit-behind-its-checksum", snapshot, "read_commit", _passed_over)


# Deletion vectors.


def _restarted(right: Any, storage: Any, path: str, *args: Any, **options: Any) -> Iterator[Any]:
    """Count rows from zero in every row group."""
    with storage.open_input(path) as source:
        footer = pq.read_metadata(source)
    sizes = [footer.row_group(n).num_rows for n in range(footer.num_row_groups)]
    starts = list(accumulate(sizes, initial=0))
    for start, length, arrays in right(storage, path, *args, **options):
        cuts = [start, *(s for s in starts if start < s < start + length), start + length]
        for low, high in pairwise(cuts):
            group = max(s for s in starts if s <= low)
            cut = [array.slice(low - start, high - low) for array in arrays]
            yield low - group, high - low, cut


def _up_to_the_last(right: Any, bitmap: Bitmap, start: int, length: int) -> Any:
    kept, deleted = right(bitmap, start, length), bitmap.rows().tolist()
    within = pa.array([not deleted or start + n <= deleted[-1] for n in range(length)], pa.bool_())
    return within if kept is None else pc.and_(kept, within)


_replace("counts-rows-by-row-group", reader, "read_batches", _restarted)
_replace("keeps-no-row-after-the-vector", Bitmap, "kept", _up_to_the_last)


# Column mapping and type widening.

_BY_NAME = {"name": "none", "id": "name"}
"""A mode taken for another."""


def _taken_for(mode: str) -> Callable[..., Any]:
    def find(right: Any, candidates: Any, wanted: Any) -> Any:
        return right(candidates, [(c, _BY_NAME[mode] if m == mode else m) for c, m in wanted])

    return find


_replace("finds-columns-by-display-name", data_file, "find_columns", _taken_for("name"))
_replace("finds-columns-by-name-in-mode-id", data_file, "find_columns", _taken_for("id"))
_replace(
    "finds-partition-values-by-display-name",
    table_schema,
    "physical_name",
    lambda _right, column, _mode: column.name,
)
_replace("refuses-files-of-a-narrower-type", conform, "is_widening", lambda *_: False)


# Row tracking.


def _fresh(right: Any, _tracking: RowTracking, _stored: Any, *args: Any) -> Any:
    return right(RowTracking(None, None), [], *args)


def _without_base(right: Any, *args: Any) -> Any:
    *before, base, version = args
    return right(*before, None if base is None else 0, version)


_replace("forgets-materialised-ids", RowTracking, "columns", _fresh)
_replace("counts-ids-from-zero", RowTracking, "columns", _without_base)


# Change data feed.


def _without(name: str) -> Callable[..., Any]:
    def changes(right: Any, storage: Any, listing: Any, one: Any, table: Any) -> Any:
        lines = {**one.commit.lines, name: Lines.of(())}
        return right(storage, listing, replace(one, commit=replace(one.commit, lines=lines)), table)

    return changes


def _both(right: Any, storage: Any, listing: Any, one: Any, table: Any) -> Iterator[Any]:
    yield from right(storage, listing, one, table)
    if one.commit.lines["cdc"]:
        yield from _without("cdc")(right, storage, listing, one, table)


def _unpaired(right: Any, *args: Any) -> Iterator[Any]:
    for change in right(*args):
        yield replace(change, task=replace(change.task, only=None))


_replace("passes-over-change-files", cdf, "_changes", _without("cdc"))
_replace("reads-change-files-and-data-files", cdf, "_changes", _both)
_replace("gives-whole-files-of-a-vector-pair", cdf, "_changes", _unpaired)


# Time travel and domains.


def _file_times(right: Any, one: History, *args: Any) -> None:
    right(one, *args)
    one._enabled_at = None


_replace("travels-by-file-times", History, "__init__", _file_times)
_replace(
    "travels-to-the-version-after",
    History,
    "version_at",
    lambda right, one, moment: min(right(one, moment) + 1, max(one._listing.commits)),
)


def _revived(right: Any, state: Any, actions: Any) -> None:
    right(
        state,
        [replace(a, removed=False) if isinstance(a, DomainMetadata) else a for a in actions],
    )


_replace("gives-removed-domains", snapshot.State, "apply", _revived)


# What a table is said to be.


def _kept_from_the_first(change: Callable[[Any, Any], Any]) -> Callable[..., None]:
    """Keep a part of the metadata that was in force before."""

    def apply(right: Any, state: Any, actions: Any) -> None:
        for action in actions:
            former = state.single.get("metaData")
            is_newer = isinstance(action, Metadata) and former is not None
            right(state, [change(former, action) if is_newer else action])

    return apply


def _hidden_names(former: Metadata, newer: Metadata) -> Metadata:
    names = (ROW_ID_PROPERTY, COMMIT_VERSION_PROPERTY)
    kept = {k: v for k, v in former.configuration.items() if k in names}
    return replace(newer, configuration={**newer.configuration, **kept})


def _partition_columns(former: Metadata, newer: Metadata) -> Metadata:
    names = {each["name"] for each in json.loads(newer.schema_string)["fields"]}
    if names.issuperset(former.partition_columns):
        return replace(newer, partition_columns=former.partition_columns)
    return newer


def _appends(right: Any, storage: Any, file: Any, **options: Any) -> Any:
    commit = right(storage, file, **options)
    if commit.info is not None and commit.info.raw.get("isBlindAppend") is True and commit.lines:
        commit.lines["remove"] = Lines.of(())
    return commit


def _seen(right: Any, *args: Any) -> Iterator[Any]:
    for task in right(*args):
        if not task.path.rpartition("/")[2].startswith(("_", ".")):
            yield task


_replace(
    "keeps-names-of-hidden-columns", snapshot.State, "apply", _kept_from_the_first(_hidden_names)
)
_replace(
    "keeps-partition-columns", snapshot.State, "apply", _kept_from_the_first(_partition_columns)
)
_replace("removes-nothing-where-one-appends", snapshot, "read_commit", _appends)
_replace("hides-files-by-their-names", scan, "file_tasks", _seen)


# Skipping.

_replace("trusts-cut-timestamps", skipping, "_shifted", lambda _right, _shift, bounds: bounds)
_replace(
    "takes-an-absent-null-count-for-zero",
    skipping,
    "_of_statistics",
    lambda right, low, high, nulls, records, of: right(
        low, high, pc.fill_null(nulls, 0), records, of
    ),
)


def _by_either_bound(right: Any, operator: str, bounds: Any, value: Any) -> Any:
    if operator != "<>":
        return right(operator, bounds, value)
    ends = [compare("=", end, value) for end in (bounds.lower, bounds.upper)]
    return pc.invert(pc.fill_null(pc.or_(*ends), fill_value=False))


def _as_doubles(right: Any, operator: str, left: Any, bound: Any) -> Any:
    """Read the bounds of floats as the doubles that their digits spell."""
    if pa.types.is_float32(left.type) and isinstance(left, pa.Array):
        left, bound = left.cast(pa.string()).cast(pa.float64()), bound.cast(pa.float64())
    return right(operator, left, bound)


def _texts(change: Callable[[Any], Any]) -> Callable[..., Any]:
    def wrong(right: Any, operator: str, left: Any, bound: Any) -> Any:
        if pa.types.is_string(left.type) and pa.types.is_string(bound.type):
            left, bound = change(left), change(bound)
        return right(operator, left, bound)

    return wrong


_replace("skips-by-either-bound", skipping, "_within", _by_either_bound)
_replace("takes-bounds-of-floats-for-doubles", skipping, "compare", _as_doubles)
_replace("trims-bounds", skipping, "compare", _texts(lambda t: pc.utf8_rtrim(t, " ")))
_replace("folds-the-case-of-bounds", skipping, "compare", _texts(pc.utf8_lower))


# Texts that look alike.


def _composed(right: Any, chunk: pa.Array) -> pa.Array:
    return pc.utf8_normalize(right(chunk), "NFC")


def _without_query(right: Any, chunk: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(right(chunk), "[?#;].*", "")


def _composed_values(right: Any, of: Any) -> Any:
    parse = right(of)
    return (lambda text: unicodedata.normalize("NFC", text)) if of == STRING else parse


_replace("composes-paths", paths, "decode_paths", _composed)
_replace("cuts-paths-at-a-query", paths, "decode_paths", _without_query)
_replace("composes-partition-values", partition_values, "_parser", _composed_values)


# Catalogs.


def _published_first(right: Any, storage: Any, listing: Any, ratified: Any) -> Any:
    found = right(storage, listing, ratified)
    return replace(found, commits={**found.commits, **listing.commits})


def _latest_published(right: Any, storage: Any, listing: Any, ratified: Any) -> Any:
    if ratified is None:
        return listing
    return right(storage, listing, replace(ratified, latest=max(ratified.latest, listing.latest)))


_replace("prefers-published-commits", segment, "_with_ratified", _published_first)
_replace("reads-beyond-the-latest-ratified", segment, "_with_ratified", _latest_published)
