"""Wrong readers of one question: of extremes by what the log says, and of each alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from breaches.edits import (
    COMMIT,
    EVERYWHERE,
    Lines,
    columns,
    each,
    lines,
    matching,
    nulls,
    of_type,
    only_when,
    parquet,
    rewrite,
    without,
)
from breaches.model import Ask, Breach, How, reader
from breaches.readers.crossed.layouts import SUMMARY, Body, no_columns, vectors_lost, with_column
from breaches.seams import (
    Edit,
    asking,
    by_request,
    documents,
    refusing,
    viewing,
    where_asked,
)
from breaches.views import bodies, directory_values, partition_values
from conformance.adapter import Aggregate, Answer, Changes, Files, Ok, Request, Scan, Txn

Stats: TypeAlias = Sequence[Mapping[str, Any]]
"""The statistics of all live files."""


def by_files(change: Callable[[dict[str, Any], Sequence[Mapping[str, Any]]], None]) -> How:
    """Change a right answer, its one row as a dict, by the live files."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        answer = ask(request)
        if not isinstance(request, Aggregate) or not isinstance(answer, Ok):
            return answer
        files = ask(Files(request.table, request.version))
        if not isinstance(files, Ok):
            return answer
        right: pa.Table = answer.payload
        row = right.to_pylist()[0]
        change(row, files.payload)
        columns = {
            field.name: pa.array([row[field.name]]).cast(field.type) for field in right.schema
        }
        return Ok(pa.table(columns))

    return run


def _believing(change: Callable[[dict[str, Any], Stats], None]) -> How:
    """Change a right answer by the statistics of the live files."""
    return by_files(lambda row, files: change(row, [each.get("stats") or {} for each in files]))


def _counted(row: dict[str, Any], files: Stats) -> None:
    """Count the records of the files, where each says how many it has."""
    if files and all("numRecords" in stats for stats in files):
        row["count"] = sum(stats["numRecords"] for stats in files)


def _known(row: dict[str, Any], files: Stats) -> None:
    """Count the records that are said to be there."""
    row["count"] = sum(stats.get("numRecords", 0) for stats in files)


def _bounded(row: dict[str, Any], files: Stats) -> None:
    """Take bounds for extremes, where each file has them."""
    for kind, function, of in (("minValues", "min", min), ("maxValues", "max", max)):
        for name, right in row.items():
            column = name.removeprefix(f"{function}(").removesuffix(")")
            bounds = [stats.get(kind, {}).get(column) for stats in files]
            same = all(isinstance(bound, type(right)) for bound in bounds)
            if name.startswith(function) and bounds and same and right is not None:
                row[name] = of(bounds)


def _to_milliseconds(row: dict[str, Any], _: Stats) -> None:
    for name, value in row.items():
        if hasattr(value, "microsecond"):
            row[name] = value.replace(microsecond=value.microsecond // 1000 * 1000)


def _as_texts(row: dict[str, Any], _: Stats) -> None:
    """Order numbers as texts, so that 9 is above 10."""
    low, high = row.get("min(p)"), row.get("max(p)")
    if isinstance(low, int) and isinstance(high, int):
        row["min(p)"], row["max(p)"] = sorted((low, high), key=str)


def _nulls_left_out(row: dict[str, Any], files: Stats) -> None:
    """Count what is not null."""
    for stats in files:
        row["count"] -= max(stats.get("nullCount", {}).values(), default=0)


def _from_zero(row: dict[str, Any], _: Stats) -> None:
    """Look for the greatest number from zero on."""
    for name, value in row.items():
        if name.startswith("max(") and isinstance(value, (int, float)):
            row[name] = max(value, 0)


def _none_counted(row: dict[str, Any], files: Stats) -> None:
    """Count nothing at all where no file is live."""
    if not files:
        row["count"] = None


def _bounds(slug: str, breaks: str, case: str) -> Any:
    return reader(slug, breaks, _believing(_bounded), case)


_WAYS: Final[Mapping[str, Callable[[Any], object]]] = {
    "extremes": lambda asked: isinstance(asked, Aggregate),
    "row-ids": lambda asked: isinstance(asked, Scan) and asked.row_ids,
    "columns": lambda asked: isinstance(asked, Scan) and asked.columns is not None,
    "filters": lambda asked: isinstance(asked, Scan) and asked.filter,
    "changes": lambda asked: isinstance(asked, Changes),
    "files": lambda asked: isinstance(asked, Files),
}
"""Ways of asking, each of which may have code of its own."""


def _kept_in(kind: str) -> Callable[[Body], object]:
    return lambda body: (body.get("deletionVector") or {}).get("storageType") == kind


def _unnamed(table: pa.Table) -> pa.Table:
    """Read no column but those that row tracking names, as if none were found."""
    return table.rename_columns(
        [name if name.startswith("_") else f"no-{name}" for name in table.column_names]
    )


def _unnumbered(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def _no_values(values: Mapping[str, Any], _path: str) -> dict[str, Any]:
    return dict.fromkeys(values)


def _empty_texts(values: Mapping[str, Any], _path: str) -> dict[str, Any]:
    return {name: "-99" if value == "" else value for name, value in values.items()}


def _last_lost(found: Lines) -> Lines:
    """Lose the last file that is added."""
    last = max((n for n, action in enumerate(found) if action.get("add")), default=None)
    return [action for n, action in enumerate(found) if n != last]


def _plain(_: Body) -> Body:
    """Take a table for one that any reader reads."""
    writers = ["changeDataFeed", "domainMetadata", "rowTracking"]
    return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writers}


def _whole_lines(root: Path, fresh: frozenset[str]) -> None:
    for name in matching(COMMIT, fresh):
        kept = [line for line in (root / name).read_text().splitlines() if line.endswith("}")]
        rewrite(root / name, "".join(f"{line}\n" for line in kept).encode())


def _without_gaps(root: Path, fresh: frozenset[str]) -> None:
    """Take a commit that is missing for one of nothing."""
    there = matching(COMMIT, fresh)
    for version in range(len(there)):
        path = root / f"_delta_log/{version:020}.json"
        if not path.exists():
            path.write_text('{"commitInfo":{}}\n')


_ANSWERED: Final[tuple[tuple[str, str, Edit, str, tuple[str, ...]], ...]] = (
    ("unknown-features", "TF-001", each("protocol", _plain),
     "table-features/every-question-of-unknown-feature", ()),
    ("unknown-versions", "PROTO-005", each("protocol", _plain),
     "protocol-evolution/every-question-of-unknown-version", ()),
    ("broken-lines", "LOG-006", _whole_lines, "delta-log-entries/every-question-of-broken-line",
     ()),
    ("gaps", "SNAP-001", _without_gaps, "table-specification/every-question-of-gap",
     ("changes",)),
    ("missing-vectors", "DVDESC-020", vectors_lost(EVERYWHERE),
     "deletion-vectors/every-question-of-missing-vector", ("changes", "extremes", "files")),
)  # fmt: skip
"""What is answered that has to be refused, as the losses; with ways that are not asked for."""

_NARROW_LOST: Final = parquet(columns(of_type(pa.int32(), pa.date32()), nulls))
_SCANS: Final = ("row-ids", "columns", "filters")
_ROWS: Final = (*_SCANS, "extremes", "changes")

_LOSSES: Final[tuple[tuple[str, str, Edit, str, tuple[str, ...]], ...]] = (
    *(
        (f"{kind}-vectors{of}", "DVDESC-020", vectors_lost(EVERYWHERE, _kept_in(kind)),
         f"deletion-vectors/every-question{of}", _ROWS)
        for kind in "ui" for of in ("", "-mapped")
    ),
    *(
        (f"{mode}-{slug}", row, edit, f"column-mapping/every-question-{mode}", ways)
        for mode, named, valued, change in (
            ("name", "CM-029", "CM-030", _unnamed), ("id", "CM-025", "CM-026", _unnumbered)
        )
        for slug, row, edit, ways in (
            ("columns", named, parquet(change), (*_SCANS, "changes")),
            ("values", valued, partition_values(_no_values), ("extremes",)),
        )
    ),
    ("empty-values", "PART-002", partition_values(_empty_texts),
     "partition-value-serialization/every-question", (*_SCANS, "extremes")),
    ("values-of-folders", "DATA-003", partition_values(directory_values),
     "data-files/every-question", (*_SCANS, "extremes")),
    ("escapes", "ADD-003", each("add", lambda body: None if "%" in body["path"] else body),
     "add-file-and-remove-file/every-question", _ROWS),
    ("narrow-values", "TW-012", _NARROW_LOST, "type-widening/every-question", _ROWS),
    ("defaults", "DFT-004", parquet(with_column("v", 5)), "default-columns/every-question",
     _ROWS),
    ("variants", "VAR-005", parquet(no_columns("v")), "variant-type/every-question",
     (*_SCANS, "changes")),
    *(
        (f"files-of-{layout}", "REC-018", lines(_last_lost, where),
         f"action-reconciliation/every-question-{layout}", ("extremes", *_SCANS))
        for layout, where in SUMMARY.items() if layout not in ("commits", "all")
    ),
)  # fmt: skip
"""What is lost: its name, the row, how, the case that shows it, and the ways that it matters in."""


def _checks_vacuum(root: Path) -> bool:
    *_, newest = bodies(root, "protocol")
    return "vacuumProtocolCheck" in (newest.get("readerFeatures") or ())


def _has_no_checksum(root: Path) -> bool:
    return not any((root / "_delta_log").glob("*.crc"))


def _has_no_hint(root: Path) -> bool:
    return not (root / "_delta_log/_last_checkpoint").exists()


_REFUSED: Final = (
    ("checks-of-vacuum", "VPC-003", _checks_vacuum, "vacuum-protocol-check"),
    ("missing-checksums", "CRC-042", _has_no_checksum, "version-checksum-file"),
    ("missing-hints", "LAST-004", _has_no_hint, "last-checkpoint-file"),
)
"""What is refused that has to be answered: its name, the row, where it is, and the chapter."""


def _lost_in_one_way() -> Iterator[Breach]:
    for slug, row, edit, case, ways in _LOSSES:
        for way in ways:
            how = where_asked(_WAYS[way], viewing(edit))
            yield reader(f"loses-{slug}-in-{way}", row, how, f"{case}/*")
    for slug, row, edit, case, unasked in _ANSWERED:
        for way in (name for name in _WAYS if name not in unasked):
            how = where_asked(_WAYS[way], viewing(edit))
            yield reader(f"answers-{slug}-in-{way}", row, how, f"{case}/*")
    for slug, row, found, chapter in _REFUSED:
        for way, wanted in _WAYS.items():
            how = where_asked(wanted, refusing(found))
            yield reader(f"refuses-{slug}-in-{way}", row, how, f"{chapter}/every-question/*")


def _latest(of: type, wanted: Callable[[Any], object], request: Any) -> Any:
    """Ask a question about the latest version, whatever the one that is asked for."""
    asked = isinstance(request, of) and wanted(request)
    return replace(request, version=None) if asked else request


def _known_alone(tree: Any) -> Any:
    """Take what is unequal to null for what is not null."""
    if isinstance(tree, list):
        return [_known_alone(part) for part in tree]
    if not isinstance(tree, Mapping) or "op" not in tree:
        return tree
    first, *others = tree["args"]
    if tree["op"] == "<>" and any("literal" in o and o["literal"] is None for o in others):
        return {"op": "is_not_null", "args": [first]}
    return {**tree, "args": _known_alone(tree["args"])}


def _filtering_known(request: Any) -> Any:
    filtered = getattr(request, "filter", None)
    return replace(request, filter=_known_alone(filtered)) if filtered else request


def _vectors_are_off(root: Path) -> bool:
    *_, last = bodies(root, "metaData")
    return bool(last["configuration"].get("delta.enableDeletionVectors") != "true")


ROWS = (
    *_lost_in_one_way(),
    reader(
        "counts-deleted-rows-where-no-column-of-files-is-read",
        "DVDESC-020",
        where_asked(
            lambda asked: (
                isinstance(asked, Scan) and asked.columns is not None and [*asked.columns] == ["p"]
            ),
            viewing(vectors_lost(EVERYWHERE)),
        ),
        "deletion-vectors/several-in-one-file/*",
    ),
    reader(
        "gives-ids-of-deleted-rows-where-vectors-are-off",
        "DV-004",
        where_asked(
            _WAYS["row-ids"], viewing(only_when(_vectors_are_off, vectors_lost(EVERYWHERE)))
        ),
        "row-tracking/ids-under-vectors/*",
    ),
    *(
        reader(
            f"gives-{called}-of-the-latest-version",
            "SNAP-002",
            asking(partial(_latest, of, wanted)),
            "table-specification/schema-of-its-version/*",
        )
        for called, of, wanted in (
            ("counts", Aggregate, lambda _: True),
            ("progress", Txn, lambda _: True),
            ("filtered-rows", Scan, lambda asked: asked.filter is not None),
        )
    ),
    reader(
        "counts-no-rearranged-files",
        "CKC-027",
        where_asked(
            lambda asked: isinstance(asked, Aggregate),
            viewing(each("add", lambda body: body if body["dataChange"] else None)),
        ),
        "checkpoints/rearranged-files-in-*",
    ),
    reader(
        "finds-deleted-rows-where-vectors-are-off",
        "DV-004",
        where_asked(
            _WAYS["filters"], viewing(only_when(_vectors_are_off, vectors_lost(EVERYWHERE)))
        ),
        "deletion-vectors/property-off/*",
    ),
    reader(
        "counts-the-records-of-files-with-vectors",
        "DVDESC-020",
        _believing(_counted),
        "deletion-vectors/aggregates*",
    ),
    reader("counts-what-is-said-to-be-there", "SNAP-007", _believing(_known), "*/aggregate*"),
    reader("counts-no-nulls", "SNAP-007", _believing(_nulls_left_out), "*/aggregate*"),
    reader("orders-numbers-as-texts", "SNAP-007", _believing(_as_texts), "*/aggregate*"),
    reader(
        "cuts-extremes-to-milliseconds",
        "SNAP-007",
        _believing(_to_milliseconds),
        "*/aggregates-of-cut-times/*",
    ),
    reader(
        "begins-extremes-at-zero",
        "SNAP-007",
        _believing(_from_zero),
        "table-specification/aggregates-of-removed-partitions/*",
    ),
    reader(
        "gives-no-count-of-no-files",
        "SNAP-007",
        _believing(_none_counted),
        "table-specification/aggregates-of-nothing/*",
    ),
    reader(
        "finds-extremes-in-partitions-of-removed-files",
        "REC-011",
        where_asked(
            lambda asked: isinstance(asked, Aggregate) and [*asked.columns] == ["p"],
            viewing(without("remove")),
        ),
        "table-specification/aggregates-of-removed-partitions/*",
    ),
    reader(
        "knows-no-progress-below-zero",
        "TXN-005",
        documents(lambda asked, at: at if not isinstance(asked, Txn) or (at or 0) >= 0 else None),
        "transaction-identifiers/newest-entry-wins/*",
    ),
    reader(
        "finds-values-unlike-null",
        "SNAP-007",
        asking(_filtering_known),
        "per-file-statistics/literals-of-other-types/*",
    ),
    _bounds("takes-wide-bounds-for-extremes", "DVD-021", "*/aggregates-of-wide-bounds/*"),
    _bounds("takes-bounds-of-deleted-rows-for-extremes", "DVD-021", "deletion-vectors/aggregates*"),
    _bounds("takes-cut-bounds-for-extremes", "SNAP-007", "*/aggregates-of-cut-texts/*"),
)
