"""Changes of data files and change data files, by the id of their mutation.

Covers "Data Files", "Change Data Files" and "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.builder import TableBuilder
from generators.mutations.edits import data_file, edit_action, edit_bytes, edit_of, paths_at
from generators.mutations.mutation import Change


def _rewrite(
    version: int, kind: str, place: Mapping[str, Any], edit: Callable[[pa.Table], pa.Table]
) -> Change:
    """Rewrite a file that a version added, with the size in the log kept right."""

    def change(root: Path, builder: TableBuilder) -> None:
        (path,) = paths_at(place, root, builder)
        pq.write_table(edit(pq.read_table(path)), path)
        size = {"size": path.stat().st_size}
        edit_of({"commit": version, "action": kind, "set": size})(root, builder)

    return change


def _of_data(edit: Callable[[pa.Table], pa.Table]) -> Change:
    return _rewrite(3, "add", {"data_file": -1}, edit)


def _of_changes(edit: Callable[[pa.Table], pa.Table]) -> Change:
    return _rewrite(2, "cdc", {"file": "_change_data/*"}, edit)


def _words_for_numbers(table: pa.Table) -> pa.Table:
    return table.set_column(0, "id", pa.array(["word"] * table.num_rows))


def _one_more_column(table: pa.Table) -> pa.Table:
    return table.append_column("not_in_schema", pa.array([1] * table.num_rows))


def _without_change_type(table: pa.Table) -> pa.Table:
    return table.drop_columns(["_change_type"])


def _unknown_change_type(table: pa.Table) -> pa.Table:
    kinds = pa.array(["upsert"] * table.num_rows)
    return _without_change_type(table).append_column("_change_type", kinds)


def _never_committed(root: Path, builder: TableBuilder) -> None:
    data = data_file(root, builder).read_bytes()
    (root / "part-99999-never-committed.parquet").write_bytes(data)


def _misleading_directory(root: Path, builder: TableBuilder) -> None:
    """Move a file into a directory that names another partition value, log included."""
    file = next(each for each in builder.files.values() if each.add["partitionValues"]["n"] == "7")
    source = root / file.path
    target = "n=999/moved.parquet"
    (root / target).parent.mkdir()
    source.rename(root / target)

    def moved(body: dict[str, Any]) -> None:
        if body["path"] == file.path:
            body["path"] = target

    edit_action(2, "add", moved, every=True)(root, builder)


def _add_empty(root: Path, builder: TableBuilder) -> None:
    fields: list[pa.Field[Any]] = [pa.field("id", pa.int64()), pa.field("name", pa.string())]
    path = root / "part-empty.parquet"
    pq.write_table(pa.schema(fields).empty_table(), path)
    body = {
        "path": path.name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
    }
    edit_of({"commit": builder.version, "lines": [{"add": body}]})(root, builder)


def _without_field_ids(root: Path, builder: TableBuilder) -> None:
    """Rewrite a data file so that its columns carry no field ids."""
    path = data_file(root, builder, 0)
    table = pq.read_table(path)
    bare = pa.schema([pa.field(each.name, _bare(each.type)) for each in table.schema])
    pq.write_table(pa.Table.from_arrays(table.columns, schema=bare), path, store_schema=False)

    def resized(body: dict[str, Any]) -> None:
        if root / body["path"] == path:
            body["size"] = path.stat().st_size

    edit_action(1, "add", resized, every=True)(root, builder)


def _bare(data_type: pa.DataType) -> pa.DataType:
    if not pa.types.is_struct(data_type):
        return data_type
    shape: Any = data_type
    return pa.struct([pa.field(each.name, _bare(each.type)) for each in shape])


CHANGES: Final[Mapping[str, Change]] = {
    "data-file-garbage": edit_bytes({"data_file": -1}, lambda data: b"\x00" * len(data)),
    "data-file-other-type": _of_data(_words_for_numbers),
    "data-file-extra-column": _of_data(_one_more_column),
    "data-file-never-committed": _never_committed,
    "data-file-misleading-directory": _misleading_directory,
    "add-file-of-no-rows": _add_empty,
    "change-type-missing": _of_changes(_without_change_type),
    "change-type-unknown": _of_changes(_unknown_change_type),
    "mapping-by-id-without-ids": _without_field_ids,
}
