"""Cases of features that bind writers: a reader reads such tables like any other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import filtered, publish
from generators.golden.cases.summarise import SUMMARIES
from generators.golden.cases.table import (
    GoldenTable,
    add,
    domain,
    feature_protocol,
    legacy_protocol,
    writer_protocol,
)
from generators.golden.chapters.log.reconciliation import system_domain_spec
from generators.materialise.log.files import drop_commits
from generators.oracle.delta_schema import Struct, field, map_of, mapped_by, struct

APPEND_ONLY = Chapter("append-only-tables")
INVARIANTS = Chapter("column-invariants")
CHECKS = Chapter("check-constraints")
GENERATED = Chapter("generated-columns")
IDENTITY = Chapter("identity-columns")
DEFAULTS = Chapter("default-columns", since="2025")
CLUSTERED = Chapter("clustered-table", since="2025")
ICEBERG_V1 = Chapter("iceberg-compatibility-v1", since="2025")
ICEBERG_V2 = Chapter("iceberg-compatibility-v2", since="2025")
VACUUM = Chapter("vacuum-protocol-check", since="2025")

_PLAIN = struct(c="long", name="string")
_ROWS: list[dict[str, Any]] = [{"c": 4, "name": "a"}, {"c": 5, "name": None}]
_INVARIANT = json.dumps({"expression": {"expression": "c > 3"}})
_IDENTITY = {
    "delta.identity.start": 1,
    "delta.identity.step": 1,
    "delta.identity.highWaterMark": 5,
    "delta.identity.allowExplicitInsert": False,
}


def _with_metadata(**metadata: Any) -> Struct:
    keys = {key.replace("__", "."): value for key, value in metadata.items()}
    return struct(field("c", "long", metadata=keys), field("name", "string"))


@dataclass(frozen=True, slots=True)
class _Feature:
    """A writer feature: its legacy version, its name, the metadata that makes it active, rows."""

    chapter: Chapter
    name: str
    writer: int
    requirements: str
    schema: Struct = _PLAIN
    properties: Mapping[str, str] | None = None
    rows: tuple[list[dict[str, Any]], list[dict[str, Any]]] = (_ROWS, [{"c": 6, "name": "x"}])


_FEATURES = (
    _Feature(APPEND_ONLY, "appendOnly", 2, "APP-001", properties={"delta.appendOnly": "true"}),
    _Feature(
        INVARIANTS,
        "invariants",
        2,
        "INV-001 INV-002 INV-003",
        schema=_with_metadata(delta__invariants=_INVARIANT),
    ),
    _Feature(
        CHECKS,
        "checkConstraints",
        3,
        "CHK-001 CHK-002 CHK-003 CHK-004 CHK-005",
        properties={"delta.constraints.positive": "c > 0", "delta.constraints.odd name": "c < 9"},
    ),
    _Feature(
        GENERATED,
        "generatedColumns",
        4,
        "GEN-001 GEN-002",
        schema=struct(
            field("c", "long"),
            field("name", "string", metadata={"delta.generationExpression": "cast(c as string)"}),
        ),
        rows=([{"c": 4, "name": "4"}, {"c": 5, "name": "5"}], [{"c": 6, "name": "6"}]),
    ),
    _Feature(
        IDENTITY,
        "identityColumns",
        6,
        "IDN-001 IDN-002 IDN-004 IDN-005",
        schema=struct(field("c", "long", metadata=_IDENTITY), field("name", "string")),
    ),
)


def _active(case: CaseWriter, feature: _Feature, protocol: Mapping[str, Any]) -> None:
    table = GoldenTable.of(case, feature.schema, protocol=protocol, properties=feature.properties)
    first, second = feature.rows
    table.create(add(table.file(first)))
    table.append(second)
    publish(case, table)


for _feature in _FEATURES:
    _legacy = legacy_protocol(1, _feature.writer)
    _listed = writer_protocol([_feature.name])
    for _suffix, _protocol, _since, _read_by in (
        ("legacy", _legacy, "2021", ""),
        ("feature", _listed, "2025", " TF-002"),
    ):
        _feature.chapter.define(
            f"active-{_suffix}",
            f"A table with active {_feature.name} reads normally ({_suffix})",
            _feature.requirements + _read_by,
            partial(_active, feature=_feature, protocol=_protocol),
            since=_since,
        )


@DEFAULTS.case("defaults-do-not-affect-reads", "DFT-001 DFT-002 DFT-004")
def _defaults(case: CaseWriter) -> None:
    """A column default never shows in a read."""
    table = GoldenTable.created(
        case, _PLAIN, [{"c": 1, "name": None}], protocol=writer_protocol(["allowColumnDefaults"])
    )
    default = {"CURRENT_DEFAULT": "'preset'"}
    table.schema = struct(field("c", "long"), field("name", "string", metadata=default))
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.schema = table.schema.with_fields(
        field("later", "integer", metadata={"CURRENT_DEFAULT": "42"})
    )
    table.commit(table.metadata(), add(table.file([{"c": 2, "name": "x", "later": 1}])))
    publish(case, table)
    case.judged = dict.fromkeys(("filter-default", "filter-null", "filter-named"), "DFT-004")
    filters = {
        "default": compare("later", "=", 42, "integer"),
        "null": is_null("later"),
        "named": compare("name", "=", "preset", "string"),
    }
    for slug, kept in filters.items():
        filtered(case, table, f"filter-{slug}", kept, "A filter sees no default in old rows")


@DEFAULTS.case("defaults-of-old-rows", "DFT-004 DFT-001")
def _defaults_of_old_rows(case: CaseWriter) -> None:
    """What a column says of rows before it never shows in a read."""
    table = GoldenTable.created(
        case, _PLAIN, [{"c": 1, "name": "a"}], protocol=writer_protocol(["allowColumnDefaults"])
    )
    plain = table.schema
    table.schema = plain.with_fields(field("later", "string"), field("number", "integer"))
    table.commit(table.metadata(), operation="ADD COLUMNS")
    # Spark keeps the default that a column had first under a name of its own.
    texts = {"CURRENT_DEFAULT": "'now'", "EXISTS_DEFAULT": "'then'"}
    numbers = {"CURRENT_DEFAULT": "42", "EXISTS_DEFAULT": "41"}
    table.schema = plain.with_fields(
        field("later", "string", metadata=texts), field("number", "integer", metadata=numbers)
    )
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.append([{"c": 2, "name": "b", "later": "x", "number": 1}])
    publish(case, table)


@CLUSTERED.case("by-name-parts", "CLUS-001 CLUS-006 CLUS-007 CLUS-011")
def _clustered(case: CaseWriter) -> None:
    """A clustered table reads like any other."""
    _clustering(case, '{"clusteringColumns":[["c"],["name"]]}')


@CLUSTERED.case("flat-columns", "CLUS-007 CLUS-006")
def _clustered_flat(case: CaseWriter) -> None:
    """The flat spelling of clustering columns reads as well."""
    _clustering(case, '{"clusteringColumns":["c"]}')


def _clustering(case: CaseWriter, configuration: str) -> None:
    table = GoldenTable.of(case, _PLAIN, protocol=writer_protocol(["clustering", "domainMetadata"]))
    table.create(domain("delta.clustering", configuration), add(table.file(_ROWS)))
    table.commit(add(table.file([{"c": 7, "name": "z"}], clusteringProvider="liquid")))
    publish(case, table)
    system_domain_spec(
        case,
        "delta.clustering",
        configuration,
        "domain-clustering",
        "The clustering domain is given as it stands, or kept from users",
    )


def _iceberg(case: CaseWriter, name: str) -> None:
    plain = struct(c="long", m=map_of("string", "integer"))
    if name == "icebergCompatV1":
        plain = plain.without("m")
    schema, mapping = mapped_by("name", plain, case.info.id)
    version = name[-2:]
    table = GoldenTable.created(
        case,
        schema,
        [{"c": 1, "m": {"k": 1}}],
        protocol=writer_protocol(["columnMapping", name], 2),
        properties={**mapping, f"delta.enableIcebergCompat{version}": "true"},
    )
    table.append([{"c": 2}])
    # A refusal of the table breaks TF-002; other rows are another breach.
    case.judged.update(dict.fromkeys(("read-latest", "read-v0", "read-v1"), "SNAP-007"))
    publish(case, table)


@ICEBERG_V1.case("active", "ICE1-001 ICE1-003 ICE1-004 TF-002")
def _iceberg_v1(case: CaseWriter) -> None:
    """A table with Iceberg compatibility V1 reads normally."""
    _iceberg(case, "icebergCompatV1")


@ICEBERG_V2.case("active", "ICE2-001 ICE2-003 ICE2-004 TF-002")
def _iceberg_v2(case: CaseWriter) -> None:
    """A table with Iceberg compatibility V2 reads normally."""
    _iceberg(case, "icebergCompatV2")


@VACUUM.case("several-versions", "VPC-001 VPC-003")
def _vacuum(case: CaseWriter) -> None:
    """Every version of a table with the check reads."""
    table = GoldenTable.created(case, _PLAIN, _ROWS)
    table.protocol = feature_protocol(["vacuumProtocolCheck"])
    table.commit(table.protocol_action(), add(table.file([{"c": 9, "name": "z"}])))
    publish(case, table)


def _checked_in(case: CaseWriter, form: str) -> None:
    readers = ["vacuumProtocolCheck", "deletionVectors"]
    readers += ["v2Checkpoint"] if form.startswith("v2-") else ["columnMapping"]
    table = GoldenTable.created(case, _PLAIN, _ROWS)
    table.protocol = feature_protocol(readers)
    table.commit(table.protocol_action(), add(table.file([{"c": 9, "name": "z"}])))
    table.append([{"c": 10, "name": "y"}])
    SUMMARIES[form](table, 2)
    if form != "compaction":
        drop_commits(table.root, 2)
    table.append([{"c": 11, "name": "x"}])
    asked = ("read", "snapshot", "files")
    case.judged = {f"{each}-latest": "VPC-003" for each in asked}
    publish(case, table, versions=[2, 3])


for _form in SUMMARIES:
    VACUUM.define(
        f"beside-others-in-{_form}",
        "The check asks nothing of readers, beside other features too",
        "VPC-003",
        partial(_checked_in, form=_form),
    )
