"""Edits of a table on disk: of actions wherever the log keeps them, and of files as such."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.seams import Edit

Action: TypeAlias = dict[str, Any]
Lines: TypeAlias = list[Action]

COMMIT = r"_delta_log/\d{20}\.json"
COMPACTION = r"_delta_log/\d{20}\.\d{20}\.compacted\.json"
CHECKPOINT = r"_delta_log/\d{20}\.checkpoint.*\.parquet"
JSON_CHECKPOINT = r"_delta_log/\d{20}\.checkpoint\..*\.json"
SIDECAR = r"_delta_log/_sidecars/.*\.parquet"
HINT = r"_delta_log/_last_checkpoint"
CHECKSUM = r"_delta_log/\d{20}\.crc"
DATA = r"(?!_delta_log/|_change_data/).*\.parquet"
CHANGES = r"_change_data/.*\.parquet"
VECTOR = r"(?!_delta_log/).*\.bin"
COMMITS = f"{COMMIT}"
LOGS = f"{COMMIT}|{COMPACTION}|{JSON_CHECKPOINT}"
CHECKPOINTS = f"{CHECKPOINT}|{SIDECAR}|{JSON_CHECKPOINT}"
EVERYWHERE = f"{LOGS}|{CHECKPOINT}|{SIDECAR}"
LATER_PARTS = r"_delta_log/\d{20}\.checkpoint\.(?!0000000001)\d{10}\.\d{10}\.parquet"

MAPPING_MODE = "delta.columnMapping.mode"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
FIELD_ID = "delta.columnMapping.id"

REMOVED_DOMAIN: Action = {
    "domainMetadata": {"domain": "gone", "configuration": "", "removed": True}
}


def matching(pattern: str, fresh: Iterable[str]) -> list[str]:
    return sorted(name for name in fresh if re.fullmatch(pattern, name))


def rewrite(path: Path, data: bytes) -> None:
    """Rewrite a file in place, and keep its times: they are part of a log."""
    facts = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def read_lines(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def write_lines(path: Path, actions: Lines) -> None:
    rewrite(path, "".join(json.dumps(each) + "\n" for each in actions).encode())


def each_file(pattern: str, change: Callable[[Path], object]) -> Edit:
    """Change files, each for itself."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        for name in matching(pattern, fresh):
            change(root / name)

    return edit


def lines(change: Callable[[Lines], Lines | None], where: str = EVERYWHERE) -> Edit:
    """Change the actions of a log file; ``None`` leaves the file as it is."""

    def changed(path: Path) -> None:
        if path.suffix != ".json":
            _parquet_lines(path, change)
            return
        try:
            actions = read_lines(path)
        except ValueError:
            return
        after = change(actions)
        if after is not None and after != read_lines(path):
            write_lines(path, after)

    return each_file(where, changed)


def _parquet_lines(path: Path, change: Callable[[Lines], Lines | None]) -> None:
    try:
        table = pq.read_table(path, partitioning=None)
    except (pa.ArrowInvalid, OSError):
        return
    held = [
        {key: value for key, value in row.items() if value is not None}
        for row in table.to_pylist(maps_as_pydicts="strict")
    ]
    before = json.dumps(held, default=str)
    after = change(held)
    if after is None or json.dumps(after, default=str) == before:
        return
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(after, schema=table.schema), sink)
    rewrite(path, sink.getvalue().to_pybytes())


def each(kind: str, change: Callable[[Action], Action | None], where: str = EVERYWHERE) -> Edit:
    """Change each action of a kind; ``None`` takes it out."""

    def changed(actions: Lines) -> Lines:
        found = []
        for action in actions:
            if kind not in action or action[kind] is None:
                found.append(action)
                continue
            body = change(action[kind])
            if body is not None:
                found.append({**action, kind: body})
        return found

    return lines(changed, where)


def without(*kinds: str, where: str = EVERYWHERE) -> Edit:
    """Take all actions of some kinds out."""
    return lines(lambda found: [a for a in found if not {*kinds} & a.keys()], where)


def setting(kind: str, field: str, value: Any, where: str = EVERYWHERE) -> Edit:
    """Set a field, dotted for nested ones, of each action of a kind that has its parent."""
    *parents, last = field.split(".")

    def change(body: Action) -> Action:
        body = json.loads(json.dumps(body, default=str))
        place: Any = body
        for name in parents:
            place = place.get(name)
            if place is None:
                return body
        found = value(place.get(last)) if callable(value) else value
        place[last] = found
        return body

    return each(kind, change, where)


def dropping(kind: str, *fields: str, where: str = EVERYWHERE) -> Edit:
    """Drop fields of each action of a kind."""

    def change(body: Action) -> Action:
        body = json.loads(json.dumps(body, default=str))
        for field in fields:
            *parents, last = field.split(".")
            place: Any = body
            for name in parents:
                place = (place or {}).get(name)
            if place:
                place.pop(last, None)
        return body

    return each(kind, change, where)


def doubling(kind: str, change: Callable[[Action], Action] = dict, where: str = COMMITS) -> Edit:
    """Write each action of a kind twice, the second time changed."""

    def changed(found: Lines) -> Lines:
        return [a for b in found for a in ([b, {kind: change(b[kind])}] if kind in b else [b])]

    return lines(changed, where)


def schema(change: Callable[[Any], Any], where: str = EVERYWHERE) -> Edit:
    """Change the schema of each metaData."""

    def changed(body: Action) -> Action:
        tree = json.loads(body["schemaString"])
        found = change(tree)
        return {**body, "schemaString": json.dumps(tree if found is None else found)}

    return each("metaData", changed, where)


def struct_fields(tree: Any) -> Iterable[Any]:
    """Yield each field of the structs in a type, at any depth."""
    if isinstance(tree, dict):
        if tree.get("type") == "struct":
            for field in tree["fields"]:
                yield field
                yield from struct_fields(field["type"])
        for name in ("elementType", "keyType", "valueType"):
            yield from struct_fields(tree.get(name))


def fields(change: Callable[[Any], Any], where: str = EVERYWHERE) -> Edit:
    """Change each struct field of the schema, at any depth, in place."""

    def changed(tree: Any) -> None:
        for field in [*struct_fields(tree)]:
            change(field)

    return schema(changed, where)


def types(kind: str, change: Callable[[Any], Any]) -> Edit:
    """Change each nested type of a kind (``array``, ``map``, ``struct``) in place."""

    def walk(tree: Any) -> None:
        if isinstance(tree, dict):
            for value in [*tree.values()]:
                walk(value)
            if tree.get("type") == kind:
                change(tree)
        elif isinstance(tree, list):
            for value in tree:
                walk(value)

    return schema(walk)


def properties(change: Callable[[dict[str, str]], Any], where: str = EVERYWHERE) -> Edit:
    """Change the configuration of each metaData."""

    def changed(body: Action) -> Action:
        found = dict(body.get("configuration") or {})
        change(found)
        return {**body, "configuration": found}

    return each("metaData", changed, where)


def statistics(change: Callable[[Any], Any], where: str = EVERYWHERE) -> Edit:
    """Change the statistics of each add that has them; ``None`` as result takes them away."""

    def changed(body: Action) -> Action:
        if not body.get("stats"):
            return body
        found = json.loads(body["stats"])
        after = change(found)
        return {**body, "stats": json.dumps(found if after is None else after)}

    return each("add", changed, where)


def listed(change: Callable[[list[str]], list[str]], *names: str, where: str = EVERYWHERE) -> Edit:
    """Change the feature lists of each protocol that has them."""
    wanted = names or ("readerFeatures", "writerFeatures")

    def changed(body: Action) -> Action:
        lists = {name: change([*body[name]]) for name in wanted if body.get(name) is not None}
        return {**body, **lists}

    return each("protocol", changed, where)


def unlisted(feature: str, *names: str, where: str = EVERYWHERE) -> Edit:
    """Take a feature out of each protocol."""
    return listed(lambda found: [f for f in found if f != feature], *names, where=where)


def document(pattern: str, change: Callable[[Any], Any]) -> Edit:
    """Change a file that is one JSON document."""

    def changed(path: Path) -> None:
        try:
            found = json.loads(path.read_text())
        except ValueError:
            return
        after = change(found)
        rewrite(path, json.dumps(found if after is None else after).encode())

    return each_file(pattern, changed)


def content(pattern: str, change: Callable[[bytes], bytes]) -> Edit:
    """Change the bytes of files."""
    return each_file(pattern, lambda path: rewrite(path, change(path.read_bytes())))


def deleting(pattern: str) -> Edit:
    """Delete files."""
    return each_file(pattern, lambda path: path.unlink(missing_ok=True))


def renaming(pattern: str, change: Callable[[str], str]) -> Edit:
    """Rename files, by their names below the root."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        for name in matching(pattern, fresh):
            target = root / change(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            (root / name).replace(target)

    return edit


def parquet(change: Callable[[pa.Table], pa.Table], pattern: str = DATA, **options: Any) -> Edit:
    """Rewrite Parquet files, and the sizes that the log gives them."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        sizes: dict[str, int] = {}
        for name in matching(pattern, fresh):
            try:
                table = pq.ParquetFile(root / name).read()
            except (pa.ArrowInvalid, OSError):
                continue
            sink = pa.BufferOutputStream()
            pq.write_table(change(table), sink, **options)
            rewrite(root / name, sink.getvalue().to_pybytes())
            sizes[name] = (root / name).stat().st_size
        sized(sizes)(root, fresh)

    return edit


def columns(
    wanted: Callable[[pa.Field[Any]], object],
    change: Callable[[pa.ChunkedArray[Any]], Any],
) -> Callable[[pa.Table], pa.Table]:
    """Change the columns of a file that are wanted."""

    def changed(table: pa.Table) -> pa.Table:
        for at, of in enumerate(table.schema):
            if wanted(of):
                held = change(table.column(at))
                table = table.set_column(
                    at, of.with_type(held.type).with_nullable(nullable=True), held
                )
        return table

    return changed


def nulls(held: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """Return nulls in place of values."""
    of = held.type
    if pa.types.is_struct(of):
        of = pa.struct([inner.with_nullable(nullable=True) for inner in of])
    return pa.nulls(len(held), of)


def of_type(*held: pa.DataType) -> Callable[[pa.Field[Any]], bool]:
    """Want the columns of some types."""
    return lambda of: of.type in held


def sized(sizes: dict[str, int]) -> Edit:
    """Correct the sizes that the log has for files."""

    def change(field: str) -> Callable[[Action], Action]:
        return lambda body: (
            {**body, field: sizes[unquote(body["path"])]}
            if unquote(body["path"]) in sizes
            else body
        )

    def edit(root: Path, fresh: frozenset[str]) -> None:
        each("add", change("size"))(root, fresh)
        each("cdc", change("size"))(root, fresh)

    return edit


def only_when(found: Callable[[Path], object], edit: Edit) -> Edit:
    """Edit a table of which something is true, and no other."""

    def edit_then(root: Path, fresh: frozenset[str]) -> None:
        if found(root):
            edit(root, fresh)

    return edit_then


def removed_paths(
    change: Callable[[str], str],
    where: str = EVERYWHERE,
    wanted: Callable[[Any], object] = lambda _: True,
) -> Edit:
    """Change the paths of removes that are wanted."""
    return each(
        "remove", lambda b: {**b, "path": change(b["path"])} if wanted(b) else b, where=where
    )


def zeros_for_nulls(table: pa.Table) -> pa.Table:
    """Give zero for each null."""
    for at, column in enumerate(table.columns):
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            table = table.set_column(at, table.column_names[at], pc.fill_null(column, 0))
        elif pa.types.is_string(kind):
            table = table.set_column(at, table.column_names[at], pc.fill_null(column, "0"))
    return table


def without_statistic(name: str, where: str = COMMIT) -> Edit:
    """Leave one field out of the statistics of adds."""
    return statistics(lambda found: {key: found[key] for key in found if key != name}, where)


def uncounted() -> Edit:
    """Leave the number of records out of the statistics of adds."""
    return without_statistic("numRecords", EVERYWHERE)


def setting_property(name: str, value: str) -> Edit:
    """Set a property in the configuration of each metaData."""
    return properties(lambda p: p.update({name: value}))


def in_seconds(stamp: Any) -> Any:
    """Give seconds for milliseconds."""
    return stamp and stamp // 1000


def without_last(kind: str, where: str = COMMIT) -> Edit:
    """Lose the last action of a kind in each file."""

    def change(actions: Lines) -> Lines:
        at = [n for n, action in enumerate(actions) if kind in action]
        return [a for n, a in enumerate(actions) if not at or n != at[-1]]

    return lines(change, where)


def rewriting_earlier(pattern: str, change: Any) -> Edit:
    """Write a file again that an earlier step wrote."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        old = sorted(
            name
            for path in root.rglob("*")
            if path.is_file() and (name := str(path.relative_to(root))) not in fresh
        )
        found = matching(pattern, old)
        if found and any(re.fullmatch(COMMIT, name) for name in fresh):
            rewrite(root / found[0], change((root / found[0]).read_bytes()))

    return edit


def checkpoint_column(name: str, rows: Any) -> Edit:
    """Add a column to checkpoints in Parquet, with one row of its own."""

    def change(table: pa.Table) -> pa.Table:
        kind = pa.array([rows]).type
        table = table.append_column(name, pa.nulls(len(table), kind))
        return pa.Table.from_pylist(
            [*table.to_pylist(maps_as_pydicts=None), {name: rows}], table.schema
        )

    return parquet(change, CHECKPOINT)


def respelling(old: str, new: str) -> Edit:
    """Rename files by a pattern of their names below the root, and what takes its place."""
    return renaming(old, lambda name: re.sub(old, new, name))


def merged_actions(actions: Lines) -> Lines:
    """Put two actions into one row or line."""
    if len(actions) < 2:
        return actions
    one, other, *rest = sorted(actions, key=lambda a: next(iter(a)))
    at = next((n for n, a in enumerate(rest) if not a.keys() & one.keys()), None)
    if not one.keys() & other.keys():
        return [{**one, **other}, *rest]
    return actions if at is None else [{**one, **rest[at]}, other, *rest[:at], *rest[at + 1 :]]


def _inside(field: pa.Field[Any], change: Callable[[pa.Field[Any]], pa.Field[Any]]) -> Any:
    """Change the fields within a column, at any depth."""
    of = field.type
    if pa.types.is_struct(of):
        of = pa.struct([_inside(change(each), change) for each in of])
    elif pa.types.is_list(of):
        of = pa.list_(_inside(change(of.value_field), change))
    elif pa.types.is_map(of):
        of = pa.map_(*(_inside(change(f), change) for f in (of.key_field, of.item_field)))
    return field.with_type(of)


def within_columns(change: Callable[[pa.Field[Any]], pa.Field[Any]]) -> Edit:
    """Write the fields within columns otherwise."""
    return parquet(lambda rows: rows.cast(pa.schema([_inside(f, change) for f in rows.schema])))
