"""Wrong readers of values where features and layouts of the log meet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
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
    each,
    nulls,
    of_type,
    only_when,
    parquet,
    without,
)
from breaches.model import Breach, reader
from breaches.readers.crossed.layouts import (
    SUMMARY,
    SUMMED,
    Body,
    in_files,
    no_columns,
    vector_of,
    vectors_lost,
    with_column,
)
from breaches.seams import Edit, for_changes, viewing, where_asked
from breaches.views import bodies
from generators.oracle.delta_schema import ID_KEY, PHYSICAL_NAME_KEY

_STAGED: Final = r"_delta_log/_staged_commits/.*\.json"


_VALUED: Final = tuple(name for name in SUMMED if name != "all")


_LISTS: Final = (pa.ListType, pa.MapType)


def _turned(held: pa.ChunkedArray[Any]) -> Any:
    """Give each row the value of the next one."""
    return held.take(pa.array([*range(1, len(held)), 0]))


def _an_hour_on(held: pa.ChunkedArray[Any]) -> Any:
    return pc.add(held, pa.scalar(timedelta(hours=1)))


def _cut_to_millis(held: pa.ChunkedArray[Any]) -> Any:
    return held.cast(pa.timestamp("ms", held.type.tz), safe=False).cast(held.type)


def _whole_alone(held: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """Overlook what variants inside of structs were shredded to."""

    def plain(part: Any) -> Any:
        fields = [of for of in part.type if of.name != "typed_value"]
        parts = [part.field(of.name) for of in fields]
        if fields == [*part.type]:
            parts = [plain(each) for each in parts]
            fields = [f.with_type(x.type) for f, x in zip(fields, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields)

    return plain(held.combine_chunks())


def _is_variant(of: pa.Field[Any]) -> bool:
    return pa.types.is_struct(of.type) and of.type.get_field_index("metadata") >= 0


def _exchanged(table: pa.Table) -> pa.Table:
    """Take the name and id of a variant for those of the other."""
    one, other = (of for of in table.schema if _is_variant(of))
    of = {one.name: other, other.name: one}
    fields = [of[f.name].with_type(f.type) if f.name in of else f for f in table.schema]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def _valued(change: Callable[[str, Any], Any]) -> Callable[[Body], Body]:
    """Change partition values, by their names."""

    def changed(body: Body) -> Body:
        values = dict(body["partitionValues"])
        return {**body, "partitionValues": {name: change(name, values[name]) for name in values}}

    return changed


def _later_hour(_name: str, value: Any) -> Any:
    """Take a time without zone for one of another zone."""
    if not re.fullmatch(r"[-0-9]+ [0-9:.]+", value or ""):
        return value
    moment = datetime.fromisoformat(value) + timedelta(hours=1)
    return moment.isoformat(" ", "microseconds")


def _inline(body: Body) -> bool:
    return (body.get("deletionVector") or {}).get("storageType") == "i"


def _unmoved(body: Body) -> Body | None:
    return None if vector_of(body) and not body["dataChange"] else body


def _held_by_id(root: Path, fresh: frozenset[str]) -> None:
    """Read a partition value from the file, where that has the id of the column."""
    schema = json.loads(next(bodies(root, "metaData"))["schemaString"])
    ids = {
        f["metadata"][PHYSICAL_NAME_KEY]: str(f["metadata"][ID_KEY]).encode()
        for f in schema["fields"]
    }

    def change(body: Body) -> Body:
        file = pq.read_table(root / unquote(body["path"]), partitioning=None)
        held = {(of.metadata or {}).get(b"PARQUET:field_id"): of.name for of in file.schema}
        own = {n: file[held[ids[n]]][0].as_py() for n in body["partitionValues"] if ids[n] in held}
        return {**body, "partitionValues": {**body["partitionValues"], **own}}

    each("add", change)(root, fresh)


def _files_lack_all(request: Any) -> bool:
    """Return whether the files have no column that is read."""
    asked = {*(getattr(request, "columns", None) or ())}
    held = {
        name
        for path in Path(request.table).glob("*/*.parquet")
        if path.parent.name != "_delta_log"
        for name in pq.read_schema(path).names
    }
    return bool(asked) and not asked & held


def _when_partitioned(change: Callable[[pa.Table], pa.Table]) -> Edit:
    def partitioned(root: Path) -> bool:
        return any(body["partitionColumns"] for body in bodies(root, "metaData"))

    return only_when(partitioned, parquet(change))


def _values() -> Iterator[Breach]:
    """Return classes of values: those of a layout, and those of one table."""
    for layout in _VALUED:
        where = SUMMARY[layout]
        if layout != "v2-parquet":
            how, case = (
                viewing(vectors_lost(where, _inline)),
                f"deletion-vectors/crossed-{layout}/*",
            )
            yield reader(f"loses-inline-vectors-in-{layout}", "DVDESC-020", how, case)
        for slug, change in (
            ("reads-nan-as-null", lambda _, held: None if held in ("NaN", "-Infinity") else held),
            ("moves-local-times", _later_hour),
            ("reads-null-as-zero", lambda name, held: held or ("0" if name == "f" else None)),
        ):
            how = viewing(each("add", _valued(change), where))
            case = f"partition-value-serialization/crossed-{layout}/*"
            yield reader(f"{slug}-in-{layout}", "SNAP-007", how, case)
    no_vectors = vectors_lost(COMMIT)
    variants = columns(_is_variant, nulls)
    shredded = "variant-shredding/crossed"
    for slug, row, how, case in (
        ("drops-what-moves-with-a-vector", "CKC-027",
         viewing(each("add", _unmoved, COMMIT)),
         "deletion-vectors/crossed-commits"),
        ("turns-lists-under-vectors", "SNAP-007",
         viewing(in_files(columns(lambda of: isinstance(of.type, _LISTS), _turned), vector_of)),
         "deletion-vectors/crossed-commits"),
        ("overlooks-vectors-of-files-without-the-columns", "DVDESC-020",
         where_asked(_files_lack_all, viewing(no_vectors)), "deletion-vectors/crossed-commits"),
        ("moves-local-times-of-mapped-partitions", "CM-030",
         viewing(each("add", _valued(_later_hour))),
         "partition-value-serialization/crossed-name-commits"),
        ("reads-partition-values-from-files-by-id", "DATA-003", viewing(_held_by_id),
         "column-mapping/partition-column-in-file-id"),
        ("reads-changes-of-old-types-as-null", "TW-012",
         for_changes(viewing(parquet(columns(of_type(pa.int32()), nulls)))),
         "type-widening/crossed-changes"),
        ("reads-narrow-change-files-as-null", "TW-012",
         for_changes(viewing(parquet(columns(of_type(pa.int32()), nulls), CHANGES))),
         "add-cdc-file/change-files-of-a-narrower-type"),
        ("fills-defaults-in-changes", "DFT-004",
         for_changes(viewing(parquet(with_column("d", "preset")))),
         "default-columns/crossed-changes"),
        ("moves-local-times-of-changes", "CDC-003",
         for_changes(viewing(parquet(columns(of_type(pa.timestamp("us")), _an_hour_on), CHANGES))),
         "add-cdc-file/local-times"),
        ("drops-signs-of-removed-rows", "CDC-004",
         for_changes(viewing(parquet(columns(of_type(pa.int8()), pc.abs)))),
         "change-data-files/files-of-every-type"),
        ("reads-partitions-of-changes-as-false", "CDC-004",
         for_changes(viewing(each("remove", lambda b: {**b, "partitionValues": {
             **(b.get("partitionValues") or {}), "boolean": "false"}}, COMMIT))),
         "change-data-files/partitions-of-every-type"),
        ("cuts-fractions-of-changes", "CDC-003",
         for_changes(viewing(parquet(columns(
             lambda of: pa.types.is_timestamp(of.type), _cut_to_millis), CHANGES))),
         "change-data-files/files-of-every-type"),
        ("overlooks-what-nested-variants-are-shredded-to", "SHRED-006",
         viewing(parquet(columns(
             lambda of: pa.types.is_struct(of.type) and not _is_variant(of), _whole_alone))),
         f"{shredded}-plain"),
        ("loses-variants-of-partitions", "SHRED-006", viewing(_when_partitioned(variants)),
         f"{shredded}-plain"),
        ("loses-variants-of-changes", "SHRED-006", for_changes(viewing(parquet(variants))),
         f"{shredded}-plain"),
        ("loses-variants-of-change-files", "SHRED-006",
         for_changes(viewing(parquet(variants, CHANGES))), f"{shredded}-plain"),
        ("overlooks-vectors-of-variants", "DVDESC-020", viewing(no_vectors), f"{shredded}-name"),
        ("finds-variants-by-display-name", "CM-029", viewing(parquet(_exchanged)),
         f"{shredded}-name"),
        ("finds-variants-by-another-id", "CM-025", viewing(parquet(_exchanged)), f"{shredded}-id"),
        ("loses-ids-of-partitions", "RT-023",
         viewing(_when_partitioned(no_columns("_row-id-col"))), "row-tracking/crossed-partitions"),
        ("loses-versions-of-partitions", "RT-025",
         viewing(_when_partitioned(no_columns("_row-commit-version-col"))),
         "row-tracking/crossed-partitions"),
        ("overlooks-vectors-of-staged-commits", "DVDESC-020",
         viewing(vectors_lost(_STAGED)),
         "catalog-managed-tables/crossed-staged"),
        ("overlooks-txns-of-staged-commits", "CAT-007",
         viewing(without("txn", where=_STAGED)), "catalog-managed-tables/crossed-staged"),
        ("overlooks-domains-of-staged-commits", "CAT-007",
         viewing(without("domainMetadata", where=_STAGED)),
         "catalog-managed-tables/crossed-staged"),
    ):  # fmt: skip
        yield reader(slug, row, how, f"{case}/*")


ROWS = (*_values(),)
