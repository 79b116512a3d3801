"""Cases of table metadata: what breaks it, what may be absent, what a new one replaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import describe, earlier_spec, filtered, publish, refuse_load
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.summarise import SUMMARIES
from generators.golden.cases.table import GoldenTable, add, remove
from generators.materialise.log.files import json_text
from generators.oracle.delta_schema import array, field, map_of, struct

METADATA = Chapter("change-metadata")

_ROWS: list[dict[str, Any]] = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


@dataclass(frozen=True, slots=True)
class _BadMetadata:
    title: str
    requirement: str
    changes: Mapping[str, Any]
    lenient: str = ""
    """Why a reader may read the table all the same; empty when it may not."""


_NO_FIELD = '{"type":"struct","fields":[{"name":"id"'

_BAD_METADATA = {
    "schema-missing": _BadMetadata(
        "metaData without schemaString is refused", "META-008", {"schemaString": ...}
    ),
    "schema-not-json": _BadMetadata(
        "A schemaString that is no JSON is refused", "SCH-001", {"schemaString": _NO_FIELD}
    ),
    "schema-not-struct": _BadMetadata(
        "A schemaString that is no struct is refused", "SCH-021", {"schemaString": '"long"'}
    ),
    "schema-unknown-type": _BadMetadata(
        "A column of an unknown type is refused",
        "SCH-024",
        {"schemaString": struct(id="long").schema_string().replace("long", "quantum")},
    ),
    "schema-duplicate-names": _BadMetadata(
        "Columns that differ by letter case only are refused",
        "SCH-028",
        {"schemaString": struct(a="long", b="long").schema_string().replace('"b"', '"A"')},
        "the rule against names that differ by case is younger than such tables",
    ),
    "decimal-too-wide": _BadMetadata(
        "A decimal of more than 38 digits is refused",
        "SCH-010",
        {"schemaString": struct(a="decimal(38,0)").schema_string().replace("38,0", "39,0")},
        "a reader of wider decimals finds no such column in the files, and gives null",
    ),
    "partition-column-unknown": _BadMetadata(
        "A partition column outside the schema is refused",
        "META-009",
        {"partitionColumns": ["missing"]},
        "no column of the schema is a partition column, so that none needs a value",
    ),
    "partition-columns-missing": _BadMetadata(
        "metaData without partitionColumns is refused",
        "META-009",
        {"partitionColumns": ...},
        "absent partition columns are taken as none",
    ),
    "format-missing": _BadMetadata(
        "metaData without format is refused",
        "META-007",
        {"format": ...},
        "an absent format is taken as Parquet",
    ),
    "format-options-missing": _BadMetadata(
        "A format without options is refused",
        "META-013",
        {"format": {"provider": "parquet"}},
        "absent options are taken as none",
    ),
    "configuration-missing": _BadMetadata(
        "metaData without configuration is refused",
        "META-011",
        {"configuration": ...},
        "an absent configuration is taken as empty",
    ),
    "id-missing": _BadMetadata(
        "metaData without id is refused", "META-004", {"id": ...}, "the id changes no row"
    ),
}


def _bad_metadata(case: CaseWriter, wrong: _BadMetadata) -> None:
    table = GoldenTable.created(case, PAIR, _ROWS)
    describe(case, table)
    refusal = Refusal("invalid_table", "load", wrong.requirement, code="DELTA_INVALID_METADATA")
    table.commit(json_text(table.metadata(**wrong.changes)))
    if wrong.lenient:
        answers = [Accepted("refused", "the action breaks its clause", refusal=refusal)]
        if "schemaString" not in wrong.changes:
            # A reader of two names that differ by case has columns that this corpus cannot
            # write down; what it gives is recorded all the same.
            answers.append(Accepted("read", wrong.lenient, rows=_ROWS))
        underivable = "schemaString" in wrong.changes
        case.contest_read(f"{wrong.title} or read", PAIR, *answers, open=underivable)
    else:
        refuse_load(case, refusal, wrong.title)
    earlier_spec(case, table, 0)


for _name, _wrong in _BAD_METADATA.items():
    METADATA.define(
        _name,
        f"{_wrong.title} or read" if _wrong.lenient else _wrong.title,
        [_wrong.requirement],
        partial(_bad_metadata, wrong=_wrong),
        since="2025" if _wrong.requirement == "SCH-028" else "2021",
    )


@METADATA.case("missing-in-version-0", "META-001 REC-003")
def _no_metadata(case: CaseWriter) -> None:
    """A table without metaData is invalid."""
    table = GoldenTable.of(case, PAIR)
    file = table.create_with(_ROWS)
    describe(case, table)
    table.commit(table.protocol_action(), add(file), version=0)
    refusal = Refusal("invalid_table", "load", "REC-003", code="DELTA_STATE_RECOVER_ERROR")
    refuse_load(case, refusal, "There is no schema")


@METADATA.case("protocol-missing", "REC-002 SNAP-004")
def _no_protocol(case: CaseWriter) -> None:
    """A table without protocol is invalid."""
    table = GoldenTable.of(case, PAIR)
    file = table.create_with(_ROWS)
    describe(case, table)
    table.commit(table.metadata(), add(file), version=0)
    refusal = Refusal("invalid_table", "load", "REC-002", code="DELTA_STATE_RECOVER_ERROR")
    refuse_load(case, refusal, "There is no protocol")


@METADATA.case("other-provider", "META-015 META-012")
def _provider(case: CaseWriter) -> None:
    """Data files of an unknown format are refused or read."""
    table = GoldenTable.created(case, PAIR, _ROWS)
    describe(case, table)
    table.commit(table.metadata(format={"provider": "stone-tablets", "options": {}}))
    refusal = Refusal("unsupported", "read", "META-015", code="DELTA_UNSUPPORTED_FORMAT")
    case.contest_read(
        "The provider is refused, or the files are read as what they are",
        PAIR,
        Accepted("refused", "readers need not support other providers", refusal=refusal),
        Accepted("read", "the files are Parquet, whatever the log calls them", rows=table.rows()),
    )
    earlier_spec(case, table, 0)


@METADATA.case("optional-fields-absent", "META-005 META-006 META-010")
def _optional(case: CaseWriter) -> None:
    """Name, description and created time may be absent."""
    table = GoldenTable.of(case, PAIR)
    table.commit(
        table.protocol_action(),
        table.metadata(name=None, description=None, createdTime=...),
        add(table.file(_ROWS)),
    )
    table.commit(table.metadata(name="named", description="described"))
    publish(case, table)


@METADATA.case("unknown-properties", "META-011")
def _properties(case: CaseWriter) -> None:
    """Unknown table properties do not disturb a reader."""
    properties = {
        "delta.futureProperty": "on",
        "appendOnly": "true",
        "delta.logRetentionDuration": "interval 30 days",
        "user.key": "",
        "\u00fcnicode": "\u2713",
    }
    publish(case, GoldenTable.created(case, PAIR, _ROWS, properties=properties))


@METADATA.case("missing-field-in-new-schema", "META-002 WCON-005")
def _replace_schema(case: CaseWriter) -> None:
    """A dropped column without mapping leaves the rest."""
    table = GoldenTable.of(case, PAIR, partition_columns=["name"])
    file = table.create_with([{"id": 1}, {"id": 2}], partition={"name": "a"})
    table.schema, table.partition_columns = struct(key="integer", when="date"), ()
    new = table.file([{"key": 1, "when": None}])
    table.commit(table.metadata(), remove(file), add(new), operation="REPLACE TABLE")
    case.judged["snapshot-latest"] = "META-002"
    publish(case, table)


@METADATA.case("partitioning-replaced", "META-002 REC-013")
def _replace_partitioning(case: CaseWriter) -> None:
    """A replaced table has its new partitioning."""
    table = GoldenTable.of(case, struct(id="long", p="string"), partition_columns=["p"])
    old = table.create_with([{"id": 1}], partition={"p": "abc"})
    table.schema = struct(id="long", p="integer")
    new = table.file([{"id": 2}], partition={"p": 7})
    table.commit(table.metadata(), remove(old), add(new), operation="REPLACE TABLE")
    publish(case, table)
    above = compare("p", ">", 1, "integer")
    filtered(case, table, "filter-new-type", above, "A filter meets values of the new type only")


def _replace_by_data(case: CaseWriter, form: str | None) -> None:
    table = GoldenTable.of(case, struct(id="long", p="string", q="string"), partition_columns=["p"])
    old = table.create_with([{"id": 1, "q": "x"}], partition={"p": "abc"})
    if form == "classic":
        SUMMARIES[form](table, 0)
    table.partition_columns = ()
    second = table.file([{"id": 2, "p": "inside", "q": "y"}])
    table.commit(table.metadata(), remove(old), add(second), operation="REPLACE TABLE")
    appended = table.append([{"id": 3, "p": None, "q": "z"}])
    table.partition_columns = ("q",)
    third = table.file([{"id": 4, "p": "again"}], partition={"q": "logged"})
    gone = (remove(second), remove(appended))
    table.commit(table.metadata(), add(third), *gone, operation="REPLACE TABLE")
    if form == "compaction":
        SUMMARIES[form](table, 3)
    publish(case, table)


for _form, _words in {
    None: "",
    "classic": " after a checkpoint",
    "compaction": " in a compaction",
}.items():
    METADATA.define(
        f"partitioning-moved-{_form}" if _form else "partitioning-moved",
        f"Columns of the former partitioning are in files{_words}",
        "META-002 REC-013",
        partial(_replace_by_data, form=_form),
    )


@METADATA.case("empty-and-nested", "REC-003 SCH-026")
def _empty_and_nested(case: CaseWriter) -> None:
    """Empty texts, a time of 0 and what is said of nested fields are kept."""
    whole = array("integer", contains_null=False)
    inner = struct(
        field("n", "integer", metadata={"comment": "within", "custom": {"k": [1]}}),
        field("l", array(whole, contains_null=True)),
    )
    schema = struct(
        field("id", "long", metadata={"comment": ""}),
        field("s", inner),
        field("m", map_of("string", whole, value_contains_null=False)),
    )
    table = GoldenTable.of(case, schema)
    metadata = table.metadata(name="", description="", createdTime=0)
    rows = [{"id": 1, "s": {"n": 1, "l": [[1], None]}, "m": {"k": [2]}}]
    table.commit(table.protocol_action(), metadata, add(table.file(rows)))
    publish(case, table)
