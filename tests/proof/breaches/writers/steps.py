"""Wrong writers in some steps alone, which leave behind what they do not speak of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    COMMIT,
    each,
    fields,
    lines,
    matching,
    parquet,
    properties,
    schema,
    setting,
    struct_fields,
    without,
)
from breaches.model import Ask, How, writer
from breaches.seams import (
    Edit,
    afterwards,
    by_request,
    carrying_out,
    during,
    leaving,
    where_asked,
    writing,
)
from breaches.views import bodies, commits_of, log_of
from conformance.adapter import Answer, Request, Write

_RULE = "delta.constraints."


def _outer_metadata(tree: Any) -> None:
    """Leave out the metadata of columns within others, as comments."""
    for column in tree["fields"]:
        for inner in struct_fields(column["type"]):
            metadata = inner["metadata"]
            inner["metadata"] = {k: v for k, v in metadata.items() if k.startswith("delta.")}


def _losing(key: str) -> Callable[[Any], object]:
    return lambda column: column["metadata"].pop(key, None)


def _last_unmapped(tree: Any) -> None:
    tree["fields"][-1]["metadata"] = {}


def _gone_with(operation: str) -> How:
    """Remove a domain of others in what an operation commits."""
    gone = {"domainMetadata": {"domain": "theirs", "configuration": "{}", "removed": True}}
    return during(operation, lines(lambda found: [*found, gone], COMMIT))


def _rules_of(root: Path) -> dict[str, str]:
    held: dict[str, str] = {}
    for body in bodies(root, "metaData"):
        held = {k: v for k, v in body["configuration"].items() if k.startswith(_RULE)}
    return held


def _set_rules(root: Path, name: str, change: Callable[[dict[str, str]], Any]) -> None:
    properties(change, rf"_delta_log/{name}\.json")(root, frozenset({f"_delta_log/{name}.json"}))
    (log_of(root) / f"{name}.crc").unlink(missing_ok=True)


def _blind_to_rules(operation: str) -> How:
    """Carry an operation out on a table without constraints, and have them again."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        if not isinstance(request, Write) or request.operation != operation:
            return ask(request)
        root = Path(request.table)
        held, names = _rules_of(root), {p.stem for p in log_of(root).glob("0*.json")}
        for name in names:
            _set_rules(root, name, lambda p: [p.pop(rule, None) for rule in held])
        try:
            return ask(request)
        finally:
            for path in log_of(root).glob("0*.json"):
                _set_rules(root, path.stem, lambda p: p.update(held))

    return run


@by_request
def _unlooked(ask: Ask, request: Request) -> Answer:
    """Add constraints without a look at what they name."""
    if not isinstance(request, Write) or request.operation != "add_constraint":
        return ask(request)
    root, added = Path(request.table), dict(request.arguments)
    answer = ask(replace(request, arguments={**added, "expression": "true"}))
    rule = {f"{_RULE}{added['name']}": added["expression"]}
    _set_rules(root, f"{max(commits_of(root)):020}", lambda p: p.update(rule))
    return answer


def _sums(root: Path) -> list[Path]:
    return sorted(log_of(root).glob("*.crc"))


def _again(_root: Path, sums: list[Path]) -> None:
    """Write the checksums again that were there before."""
    for path in sums:
        path.write_bytes(path.read_bytes() + b" ")


def _tombstones(root: Path) -> set[str]:
    """Return the paths of tombstones in the checkpoints of a table."""
    held = [pq.read_table(path)["remove"].to_pylist() for path in log_of(root).glob("*.parquet")]
    return {row["path"] for rows in held for row in rows if row is not None}


def _escaped(root: Path) -> set[str]:
    """Return the paths of tombstones that are escaped."""
    return {body["path"] for body in bodies(root, "remove") if "%" in body["path"]}


def _vacuumed(paths: Callable[[Path], set[str]]) -> How:
    """Delete what tombstones name in a vacuum, live or not."""

    def gone(root: Path) -> None:
        for path in paths(root):
            (root / unquote(path)).unlink(missing_ok=True)

    return where_asked(writing("vacuum"), afterwards(gone))


def _zeros(rows: pa.Table) -> pa.Table:
    """Write zero where the generated column is null."""
    at = rows.schema.get_field_index("y")
    return rows.set_column(at, "y", pc.fill_null(rows["y"], 0))


def _wrapped(held: Any) -> Any:
    """Write typed bounds of integers as if they had two bytes."""
    if isinstance(held, dict):
        return {k: v if k == "nullCount" else _wrapped(v) for k, v in held.items()}
    return (held + 2**15) % 2**16 - 2**15 if isinstance(held, int) else held


def _narrow_bounds(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "stats_parsed": _wrapped(body.get("stats_parsed"))}


def _by_logical_name(root: Path, fresh: frozenset[str]) -> None:
    """Write variants by the name that the schema has for them."""
    known = {
        field["metadata"]["delta.columnMapping.physicalName"]: field["name"]
        for body in bodies(root, "metaData")
        for field in json.loads(body["schemaString"])["fields"]
        if field["type"] == "variant"
    }
    parquet(lambda rows: rows.rename_columns([known.get(n, n) for n in rows.column_names]))(
        root, fresh
    )


def _at_the_wall(root: Path, fresh: frozenset[str]) -> None:
    """Take the time of the file for the time of the commit, whatever the commit before says."""
    for name in matching(COMMIT, fresh):
        now = (root / name).stat().st_mtime_ns // 1_000_000
        setting("commitInfo", "inCommitTimestamp", now, name.replace(".", r"\."))(root, fresh)


def _unmapped_numbers(field: dict[str, Any]) -> None:
    """Forget the physical name of an identity column as its mark is written."""
    if "delta.identity.step" in field["metadata"]:
        field["metadata"].pop("delta.columnMapping.physicalName", None)


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


def _within(change: Callable[[pa.Field[Any]], pa.Field[Any]]) -> Edit:
    """Write the fields within columns otherwise."""
    return parquet(lambda rows: rows.cast(pa.schema([_inside(f, change) for f in rows.schema])))


def _instant(field: pa.Field[Any]) -> pa.Field[Any]:
    local = pa.types.is_timestamp(field.type)
    return field.with_type(pa.timestamp("us", "UTC")) if local else field


ROWS = (
    *(
        writer(
            f"tells-nothing-of-{operation}s-by-vectors",
            "CDC-012",
            during(operation, without("cdc", where=COMMIT)),
            f"change-data-files/write-{case}-with-vectors/*",
        )
        for operation, case in (("update", "changes"), ("merge", "merge"))
    ),
    writer(
        "unmaps-identity-columns",
        "CM-001",
        during("merge", fields(_unmapped_numbers, COMMIT)),
        "identity-columns/write-whole-course-with-features/*",
    ),
    writer(
        "keeps-progress-in-32-bits",
        "TXN-004",
        leaving(setting("txn", "version", lambda n: n % 2**31, COMMIT)),
        "transaction-identifiers/write-with-rows/*",
    ),
    writer(
        "takes-local-times-within-columns-for-instants",
        "SCH-019",
        leaving(_within(_instant)),
        "timestamp-ntz/write-data/*",
    ),
    *(
        writer(
            f"numbers-no-elements-in-{operation}s",
            "ICE2-012",
            during(operation, _within(lambda field: field.remove_metadata())),
            "iceberg-compatibility-v2/write-nested-ids/*",
        )
        for operation in ("update", "merge")
    ),
    writer(
        "keeps-typed-bounds-narrow",
        "CKPT-005",
        during("checkpoint", each("add", _narrow_bounds, CHECKPOINT)),
        "type-widening/write-widen-checkpointed/*",
    ),
    writer(
        "gives-generated-partitions-other-values",
        "GEN-004",
        carrying_out(),
        "generated-columns/write-other-value-partition/*",
    ),
    writer(
        "optimizes-by-the-wall-clock",
        "ICT-008",
        during("optimize", _at_the_wall),
        "in-commit-timestamps/write-behind-alter/*",
    ),
    writer(
        "stores-variants-by-logical-names",
        "CM-013",
        leaving(_by_logical_name),
        "variant-type/write-variants-mapped/*",
    ),
    writer(
        "clusters-empty-tables-without-a-domain",
        "CLUS-006",
        during("cluster_by", without("domainMetadata", where=COMMIT)),
        "clustered-table/write-cluster-empty/*",
    ),
    *(
        writer(
            f"generates-zeros-in-{operation}s",
            "GEN-005",
            during(operation, parquet(_zeros)),
            "generated-columns/write-null-results-of-changes/*",
        )
        for operation in ("update", "merge")
    ),
    *(
        writer(
            f"vacuums-{slug}-behind-vectors",
            "DVD-004",
            _vacuumed(paths),
            "deletion-vectors-design/write-vacuum-partitioned-vectors/*",
        )
        for slug, paths in (("checkpointed-files", _tombstones), ("escaped-files", _escaped))
    ),
    *(
        writer(
            f"drops-domains-with-{operation.replace('_', '-')}",
            "DOM-014",
            _gone_with(operation),
            f"domain-metadata/write-kept-when-{case}/*",
        )
        for operation, case in (
            ("rename_column", "columns-change"),
            ("drop_column", "columns-change"),
            ("set_comment", "columns-change"),
            ("set_nullable", "columns-change"),
            ("reorder_columns", "columns-change"),
            ("add_constraint", "restored"),
            ("drop_constraint", "restored"),
            ("restore", "restored"),
            ("replace", "overwritten"),
        )
    ),
    *(
        writer(
            f"leaves-rules-at-a-{verb}",
            "CHK-004",
            _blind_to_rules(f"{verb}_column"),
            f"check-constraints/write-{verb}-ruled/*",
        )
        for verb in ("rename", "drop")
    ),
    writer(
        "adds-rules-of-no-column",
        "CHK-004",
        _unlooked,
        "check-constraints/write-add-of-no-column/*",
    ),
    writer(
        "lets-updates-break-rules-at-3",
        "WVER-002",
        _blind_to_rules("update"),
        "version-requirements/write-null-constraint-3/*",
    ),
    writer(
        "alters-checksums-at-checkpoints",
        "CRC-039",
        where_asked(writing("checkpoint"), afterwards(_again, _sums)),
        "version-checksum-file/write-others-kept/*",
    ),
    *(
        writer(
            f"forgets-inner-columns-by-{operation.replace('_', '-')}",
            "SCH-037",
            during(operation, schema(_outer_metadata)),
            f"{case}/*",
        )
        for operation, case in (
            ("rename_column", "column-mapping/write-kept-within-by-rename"),
            ("drop_column", "column-mapping/write-kept-within-by-rename"),
            ("reorder_columns", "schema-serialization-format/write-kept-within-by-settings"),
            ("set_nullable", "schema-serialization-format/write-kept-within-by-settings"),
            ("set_comment", "schema-serialization-format/write-kept-within-by-settings"),
            ("set_properties", "schema-serialization-format/write-kept-within-by-settings"),
            ("change_type", "type-widening/write-kept-within-by-widen"),
        )
    ),
    writer(
        "adds-unmapped-columns-at-5",
        "WVER-004",
        during("add_columns", schema(_last_unmapped)),
        "version-requirements/write-mapped-5/*",
    ),
    *(
        writer(
            f"forgets-{slug}-at-{version}",
            breaks,
            during("add_columns", fields(_losing(key))),
            f"version-requirements/write-kept-{version}/*",
        )
        for slug, version, breaks, key in (
            ("invariants", 2, "WVER-001", "delta.invariants"),
            ("expressions", 4, "WVER-003", "delta.generationExpression"),
        )
    ),
    writer(
        "forgets-constraints-at-3",
        "WVER-002",
        during("set_properties", properties(lambda found: found.pop("delta.constraints.c", None))),
        "version-requirements/write-kept-3/*",
    ),
    writer(
        "forgets-marks-at-6",
        "WVER-005",
        leaving(fields(_losing("delta.identity.highWaterMark"))),
        "version-requirements/write-identity-6/*",
    ),
)
