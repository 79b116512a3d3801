"""File actions that lie about their files, and files that are not what the log says.

Serves "Add File and Remove File", "Partition Value Serialization" and "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.builder import TableBuilder
from generators.mutations.bases import CHANGE_FEED, PARTITIONED
from generators.mutations.edits import (
    add_line,
    data_file,
    edit_action,
    set_fields,
    without,
    write_file,
)
from generators.mutations.mutation import Change, Chapter

_FILES: Final = Chapter("add-file-and-remove-file")
_PARTITIONS: Final = Chapter("partition-value-serialization", PARTITIONED)
_STATISTICS: Final = Chapter("per-file-statistics")
_DATA: Final = Chapter("data-files")

_NOT_NEEDED: Final = "the part is required of writers; the rows can be read without it"
_A_HINT: Final = "statistics serve to skip files; a reader may ignore what it cannot parse"


def _data(edit: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of a live data file."""

    def change(root: Path, builder: TableBuilder) -> None:
        path = data_file(root, builder)
        path.write_bytes(edit(path.read_bytes()))

    return change


def _delete_data(root: Path, builder: TableBuilder) -> None:
    data_file(root, builder).unlink()


def _table(edit: Callable[[pa.Table], pa.Table]) -> Change:
    """Rewrite a live data file, added by version 3, with the size in the log kept right."""

    def change(root: Path, builder: TableBuilder) -> None:
        path = data_file(root, builder)
        pq.write_table(edit(pq.read_table(path)), path)
        set_fields(3, "add", size=path.stat().st_size)(root, builder)

    return change


def _words_for_numbers(table: pa.Table) -> pa.Table:
    return table.set_column(0, "id", pa.array(["word"] * table.num_rows))


def _one_more_column(table: pa.Table) -> pa.Table:
    return table.append_column("not_in_schema", pa.array([1] * table.num_rows))


def _orphan(root: Path, builder: TableBuilder) -> None:
    data = data_file(root, builder).read_bytes()
    (root / "part-99999-never-committed.parquet").write_bytes(data)


def _misleading_directory(root: Path, builder: TableBuilder) -> None:
    """Move a file into a directory that names another partition value, log included."""
    file = next(each for each in builder.files.values() if each.add["partitionValues"]["n"] == "7")
    source = root / file.path
    target = "n=999/moved.parquet"
    (root / target).parent.mkdir()
    source.rename(root / target)
    edit_action(
        2,
        "add",
        lambda body: body.update(path=target) if body["path"] == file.path else None,
        every=True,
    )(root, builder)


def _add_empty(root: Path, builder: TableBuilder) -> None:
    fields: list[pa.Field[Any]] = [pa.field("id", pa.int64()), pa.field("name", pa.string())]
    schema = pa.schema(fields)
    path = root / "part-empty.parquet"
    pq.write_table(schema.empty_table(), path)
    body = {
        "path": path.name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
    }
    add_line(builder.version, {"add": body})(root, builder)


def _partition_value(value: str | None) -> Change:
    return edit_action(1, "add", lambda body: body["partitionValues"].update(n=value))


MUTATIONS: Final = (
    _FILES.refused(
        "add-no-path",
        "an add action has no path",
        "LOG-006 ADD-001",
        without(1, "add", "path"),
    ),
    _FILES.refused(
        "add-null-path",
        "the path of an add action is null",
        "LOG-006 ADD-001",
        set_fields(1, "add", path=None),
    ),
    _FILES.refused(
        "add-number-path",
        "the path of an add action is a number",
        "LOG-006 ADD-001",
        set_fields(2, "add", path=42),
    ),
    _FILES.refused(
        "remove-no-path",
        "a remove action has no path",
        "LOG-006 REM-001",
        without(4, "remove", "path"),
    ),
    _FILES.refused(
        "add-file-missing",
        "a live data file is gone",
        "SNAP-007 SNAP-004 ADD-001",
        _delete_data,
        kind="not_found",
    ),
    _FILES.refused(
        "add-path-encoded-once-more",
        "the path of an add action is percent-encoded twice",
        "ADD-003 SNAP-004",
        edit_action(2, "add", lambda body: body.update(path=body["path"].replace("-", "%252D"))),
        kind="not_found",
    ),
    _FILES.contested(
        "add-no-size",
        "an add action has no size",
        "ADD-006",
        without(2, "add", "size"),
        reason=_NOT_NEEDED,
    ),
    _FILES.contested(
        "add-wrong-size",
        "the size of an add action is not the size of the file",
        "ADD-006",
        set_fields(2, "add", size=1),
        reason="a reader that looks for the footer by size cannot find it",
    ),
    _FILES.contested(
        "add-size-is-text",
        "the size of an add action is a string",
        "ADD-006",
        set_fields(2, "add", size="many"),
        reason=_NOT_NEEDED,
    ),
    _FILES.contested(
        "add-no-modification-time",
        "an add action has no modificationTime",
        "ADD-007",
        without(2, "add", "modificationTime"),
        reason=_NOT_NEEDED,
    ),
    _FILES.contested(
        "add-no-data-change",
        "an add action has no dataChange",
        "ADD-008",
        without(2, "add", "dataChange"),
        reason=_NOT_NEEDED,
    ),
    _FILES.contested(
        "remove-no-data-change",
        "a remove action has no dataChange",
        "REM-004",
        without(4, "remove", "dataChange"),
        reason=_NOT_NEEDED,
    ),
    _FILES.survived(
        "add-path-encoded-needlessly",
        "the path of an add action encodes letters that need it not",
        "ADD-003",
        edit_action(2, "add", lambda body: body.update(path=body["path"].replace("-", "%2D"))),
    ),
    _FILES.contested(
        "remove-path-encoded-otherwise",
        "a remove action encodes its path otherwise than the add",
        "REM-002",
        edit_action(4, "remove", lambda body: body.update(path=body["path"].replace("-", "%2D"))),
        reason="whether paths are the same after decoding or as spelled is read both ways",
        open=True,
    ),
    _FILES.survived(
        "remove-bare",
        "a remove action has only what it must have",
        "REM-003 REM-006 REM-009 REM-010",
        without(
            4, "remove", "deletionTimestamp", "extendedFileMetadata", "partitionValues", "size"
        ),
    ),
    _FILES.survived(
        "add-null-options",
        "an add action spells its absent fields as null",
        "ADD-010",
        set_fields(2, "add", tags=None, deletionVector=None, baseRowId=None),
    ),
    _DATA.refused(
        "data-file-cut",
        "a live data file is cut in half",
        "SNAP-007 PQ-001 META-012",
        _data(lambda data: data[: len(data) // 2]),
    ),
    _DATA.refused(
        "data-file-garbage",
        "a live data file is not Parquet",
        "SNAP-007 PQ-001 META-012",
        _data(lambda data: b"\x00" * len(data)),
    ),
    _DATA.refused(
        "data-file-empty",
        "a live data file has zero bytes",
        "SNAP-007 PQ-001 META-012",
        _data(lambda _data: b""),
    ),
    _DATA.contested(
        "data-file-other-type",
        "a data file stores words where the schema has numbers",
        "WCON-005",
        _table(_words_for_numbers),
        reason="no clause says what becomes of values of another type",
        open=True,
    ),
    _DATA.survived(
        "data-file-extra-column",
        "a data file has a column that the schema lacks",
        "WCON-001 WCON-005",
        _table(_one_more_column),
        noticed_by="audit",
    ),
    _DATA.survived(
        "data-file-never-committed",
        "the table root has a data file that no commit names",
        "SNAP-003",
        _orphan,
    ),
    _DATA.survived(
        "data-file-misleading-directory",
        "a data file lies in a directory of another partition value",
        "DATA-003",
        _misleading_directory,
        base=PARTITIONED,
    ),
    _DATA.survived(
        "data-file-stray-change-data",
        "a change data file stands in its directory and in no commit",
        "CDFF-001",
        write_file("_change_data/cdc-stray.parquet", b"PAR1garbagePAR1"),
        base=CHANGE_FEED,
    ),
    _PARTITIONS.contested(
        "partition-not-a-number",
        "the partition value of an integer column is a word",
        "PART-004",
        _partition_value("abc"),
        reason="no clause says what becomes of a text that is no number; some read it as null",
        open=True,
    ),
    _PARTITIONS.contested(
        "partition-out-of-range",
        "the partition value of an integer column does not fit 32 bits",
        "PART-004 SCH-004",
        _partition_value("4294967296"),
        reason="no clause says what becomes of a number out of range; some read it as null",
        open=True,
    ),
    _PARTITIONS.contested(
        "partition-values-missing",
        "an add action of a partitioned table has no partitionValues",
        "ADD-005 WCON-002",
        without(1, "add", "partitionValues"),
        reason="an absent value might be taken for null",
        open=True,
    ),
    _PARTITIONS.contested(
        "partition-value-of-no-column",
        "partitionValues lacks the partition column",
        "WCON-002",
        edit_action(1, "add", lambda body: body.update(partitionValues={})),
        reason="an absent value might be taken for null",
        open=True,
    ),
    _PARTITIONS.survived(
        "partition-empty-text",
        "a null partition value is spelled as an empty string",
        "PART-002",
        edit_action(
            2,
            "add",
            lambda body: (
                body["partitionValues"].update(n="")
                if body["partitionValues"]["n"] is None
                else None
            ),
            every=True,
        ),
    ),
    _STATISTICS.survived(
        "statistics-not-json",
        "the statistics of an add action are not JSON",
        "ADD-010",
        set_fields(2, "add", stats="{numRecords:"),
        noticed_by="audit",
        tolerated=("refused",),
        reason=_A_HINT,
    ),
    _STATISTICS.survived(
        "statistics-absent",
        "an add action has no statistics",
        "ADD-010",
        without(2, "add", "stats"),
    ),
    _STATISTICS.survived(
        "statistics-empty-object",
        "the statistics of an add action are an empty object",
        "ADD-010",
        set_fields(2, "add", stats="{}"),
    ),
    _STATISTICS.survived(
        "statistics-unknown-column",
        "statistics speak of a column that the schema lacks",
        "STAT-007",
        set_fields(2, "add", stats='{"numRecords":3,"minValues":{"gone":1},"nullCount":{}}'),
        noticed_by="audit",
    ),
    _STATISTICS.contested(
        "statistics-wrong-count",
        "numRecords is not the number of rows in the file",
        "STAT-001",
        set_fields(2, "add", stats='{"numRecords":1}'),
        reason="a reader may count rows by statistics alone",
    ),
    _FILES.survived(
        "add-file-of-no-rows",
        "a commit adds a data file without rows",
        "ADD-001",
        _add_empty,
    ),
)
