"""Wrong writers of change data files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHANGES,
    COMMIT,
    columns,
    dropping,
    each,
    matching,
    nulls,
    parquet,
    read_lines,
    renaming,
    setting,
    without,
    write_lines,
)
from breaches.model import Breach, writer
from breaches.seams import Edit, after_step, during, leaving


def _first_of_each_kind(rows: pa.Table) -> pa.Table:
    kinds = rows["_change_type"].to_pylist()
    return rows.take([kinds.index(kind) for kind in sorted(set(kinds))])


def _kinds(names: Mapping[str, str]) -> Edit:
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index("_change_type")
        kinds = [names.get(kind, kind) for kind in table.column(at).to_pylist()]
        return table.set_column(at, table.field(at), pa.array(kinds))

    return parquet(change, CHANGES)


def _copying(table: pa.Table) -> pa.Table:
    """Report a row that stayed as it was, as inserted."""
    at = table.column_names.index("_change_type")
    copy = table.slice(0, 1).set_column(at, table.field(at), pa.array(["insert"]))
    return pa.concat_tables([table, copy])


def _feeds_anyway(root: Path, fresh: frozenset[str]) -> None:
    """Write what a commit adds as changes, too."""
    for name in matching(COMMIT, fresh):
        actions = read_lines(root / name)
        if not any("remove" in action for action in actions):
            continue
        for body in [action["add"] for action in actions if "add" in action]:
            rows = pq.ParquetFile(root / unquote(body["path"])).read()
            kinds = pa.array(["insert"] * rows.num_rows)
            place = root / "_change_data" / Path(body["path"]).name
            place.parent.mkdir(exist_ok=True)
            pq.write_table(rows.append_column("_change_type", kinds), place)
            path = place.relative_to(root).as_posix()
            change = {"path": path, "partitionValues": {}, "size": place.stat().st_size}
            actions.append({"cdc": {**change, "dataChange": False}})
        write_lines(root / name, actions)


def _without_whole_files(rows: pa.Table) -> pa.Table:
    """Leave out the rows of the file that goes whole."""
    return rows.filter(pc.greater(rows["id"], 2))


FEED = "change-data-files/write-changes/*"


_LOSSES: Final[tuple[tuple[str, Callable[[Any], object], Callable[[Any], Any]], ...]] = (
    ("nan", pa.types.is_floating, lambda value: None if value != value else value),  # noqa: PLR0124
    ("fractions", pa.types.is_timestamp, lambda value: value.replace(microsecond=0)),
    ("signs", pa.types.is_int64, lambda value: max(value, -value - 1)),
    ("spaces", pa.types.is_string, str.strip),
    ("false", pa.types.is_boolean, lambda _: True),
    ("days", pa.types.is_date, lambda value: value.replace(day=1)),
)
"""What change files lose of the values of a type."""


def _unsigned(body: dict[str, Any]) -> dict[str, Any]:
    """Lose the signs of partition values."""
    values = body["partitionValues"].items()
    return {**body, "partitionValues": {name: text and text.lstrip("-") for name, text in values}}


def _each_value(
    wanted: Callable[[Any], object], change: Callable[[Any], Any]
) -> Callable[[pa.Table], pa.Table]:
    """Change each value of the columns of a type."""

    def changed(held: pa.ChunkedArray[Any]) -> pa.Array[Any]:
        return pa.array([v if v is None else change(v) for v in held.to_pylist()], held.type)

    return columns(lambda of: wanted(of.type), changed)


def _lost_in_changes() -> Iterator[Breach]:
    for slug, wanted, change in _LOSSES:
        yield writer(
            f"loses-{slug}-in-change-files",
            "CDC-012",
            leaving(parquet(_each_value(wanted, change), CHANGES)),
            "timestamp-ntz/write-changes-course-of-every-type/*",
        )
    yield writer(
        "loses-signs-of-partitions-of-change-files",
        "CDC-012",
        leaving(each("cdc", _unsigned, COMMIT)),
        "timestamp-ntz/write-changes-course-parted-by-every-type/*",
    )


ROWS = (
    writer("leaves-change-files-out", "CDC-012", leaving(without("cdc", where=COMMIT)), FEED),
    writer(
        "feeds-on-old-versions-nothing",
        "CDC-011",
        after_step(1, leaving(without("cdc", where=COMMIT))),
        "version-requirements/write-feed-4*",
    ),
    *(
        writer(
            f"feeds-no-{name}-on-old-versions",
            "CDC-011",
            during(name, without("cdc", where=COMMIT)),
            "version-requirements/write-feed-[56]*",
        )
        for name in ("delete", "update", "merge")
    ),
    writer(
        "keeps-change-files-elsewhere",
        "CDFF-001",
        leaving(
            renaming(CHANGES, lambda n: n.replace("_change_data", "changes")),
            each("cdc", lambda b: {**b, "path": b["path"].replace("_change_data", "changes")}),
        ),
        FEED,
    ),
    writer(
        "tells-no-kind-of-change",
        "CDFF-007",
        leaving(parquet(lambda t: t.drop_columns(["_change_type"]), CHANGES)),
        FEED,
    ),
    writer(
        "tells-other-kinds-of-changes",
        "CDFF-008",
        leaving(
            parquet(
                lambda t: t.set_column(
                    t.column_names.index("_change_type"),
                    "_change_type",
                    pa.array(["update"] * len(t)),
                ),
                CHANGES,
            )
        ),
        FEED,
    ),
    writer(
        "tells-wrong-sizes-of-changes",
        "CDC-008",
        leaving(setting("cdc", "size", 3, COMMIT)),
        FEED,
    ),
    writer(
        "leaves-values-of-changes-out",
        "CDC-007",
        leaving(dropping("cdc", "partitionValues", where=COMMIT)),
        FEED,
    ),
    *_lost_in_changes(),
    writer(
        "records-the-first-row-of-each-change",
        "CDC-012",
        leaving(parquet(_first_of_each_kind, CHANGES)),
        "change-data-files/write-partitions/*",
    ),
    writer(
        "records-no-default-of-what-a-merge-inserts",
        "CDC-001",
        during("merge", parquet(columns(lambda of: of.name == "name", nulls), CHANGES)),
        "default-columns/write-merge-with-default/*",
    ),
    writer(
        "reports-inserts-as-updates",
        "CDC-012",
        leaving(_kinds({"insert": "update_postimage"})),
        "change-data-files/write-merge*",
    ),
    writer(
        "reports-deletes-as-updates",
        "CDC-012",
        leaving(_kinds({"delete": "update_preimage"})),
        "change-data-files/write-*",
    ),
    writer(
        "copies-rows-into-change-files",
        "CDC-001",
        leaving(parquet(_copying, CHANGES)),
        "change-data-files/write-*",
    ),
    writer(
        "feeds-copied-rows-at-4",
        "WVER-003",
        leaving(parquet(_copying, CHANGES)),
        "version-requirements/write-feed-4*",
    ),
    writer(
        "feeds-by-the-property-alone",
        "CDC-013",
        leaving(_feeds_anyway),
        "change-data-files/write-feed-unlisted*",
    ),
    writer(
        "feeds-no-changes-of-overwrites",
        "CDC-012",
        during("overwrite", without("cdc", where=COMMIT)),
        "*/write-overwrite-where/*",
    ),
    writer(
        "feeds-no-files-that-go-whole",
        "CDC-012",
        leaving(parquet(_without_whole_files, CHANGES)),
        "change-data-files/write-whole-files/*",
    ),
    writer(
        "feeds-nothing-of-a-table-that-is-emptied",
        "CDC-012",
        during("delete", parquet(lambda rows: rows.slice(1), CHANGES)),
        "change-data-files/write-emptied-course/*",
    ),
    *(
        writer(
            f"tells-nothing-of-{operation}s-by-vectors",
            "CDC-012",
            during(operation, without("cdc", where=COMMIT)),
            f"change-data-files/write-{case}-with-vectors/*",
        )
        for operation, case in (("update", "changes"), ("merge", "merge"))
    ),
)
