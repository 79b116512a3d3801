"""Golden tables that delta-rs writes through its own writers.

The engine is another hand, never the judge: every expected row is one that this module put in,
changed or took out itself, and the table is not read back. The bytes differ from build to build
(random names, the clock), so the cases are built on request only and checked against the manifest.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from generators.golden.cases.case import REVISIONS, CaseInfo, CaseWriter
from generators.golden.cases.catalog import Builder, Definition, title_of
from generators.golden.cases.filters import Filter, compare, is_null
from generators.golden.cases.publish import publish_written
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import pairs
from generators.golden.chapters.files.types import local, utc
from generators.golden.chapters.log.reconciliation import txn_spec
from generators.materialise.data.arrow_rows import Row, arrow_table
from generators.oracle.delta_schema import Struct, array, field, map_of, struct


class RustTable:
    """A table that delta-rs writes, and the rows that each version must give.

    Attributes:
        case: the case that the table belongs to.
        schema: the table schema in force.
        rows: the rows in force.
        versions: schema and rows of every version so far.
    """

    def __init__(
        self,
        case: CaseWriter,
        schema: Struct = PAIR,
        *,
        partition_columns: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Create an empty table as version 0."""
        # Here and not above, because only this builder needs its engine to be installed.
        import deltalake  # noqa: PLC0415

        self._engine = deltalake
        self.case = case
        self.schema = schema
        self.partition_columns = tuple(partition_columns)
        self.rows: list[Row] = []
        self.versions: dict[int, tuple[Struct, list[Row]]] = {}
        # The writer records its own version of the schema, which knows no timestamp units.
        deltalake.DeltaTable.create(
            str(case.delta),
            arrow_table(schema, []).schema,
            partition_by=list(partition_columns) or None,
            configuration=dict(properties or {}),
        )
        self._note()

    @property
    def handle(self) -> Any:
        """The engine's own view of the table, at its newest version."""
        return self._engine.DeltaTable(str(self.case.delta))

    @property
    def version(self) -> int:
        """The newest version."""
        return max(self.versions)

    def _note(self) -> None:
        self.versions[self.handle.version()] = (self.schema, list(self.rows))

    def append(self, rows: Sequence[Row], *, app: tuple[str, int] | None = None) -> None:
        """Append rows, as a transaction of an application where one is named."""
        options: dict[str, Any] = {}
        if app is not None:
            transaction = self._engine.Transaction(app_id=app[0], version=app[1])
            options["commit_properties"] = self._engine.CommitProperties(
                app_transactions=[transaction]
            )
        self._write(rows, mode="append", **options)
        self.rows = [*self.rows, *rows]
        self._note()

    def append_wider(self, schema: Struct, rows: Sequence[Row]) -> None:
        """Append rows of a schema with more columns; the table takes them up."""
        self.schema = schema
        self._write(rows, mode="append", schema_mode="merge")
        self.rows = [*self.rows, *rows]
        self._note()

    def overwrite(self, rows: Sequence[Row], *, schema: Struct | None = None) -> None:
        """Replace all rows, and the schema where one is given."""
        options = {} if schema is None else {"schema_mode": "overwrite"}
        self.schema = schema or self.schema
        self._write(rows, mode="overwrite", **options)
        self.rows = list(rows)
        self._note()

    def _write(self, rows: Sequence[Row], **options: Any) -> None:
        data = arrow_table(self.schema, rows)
        partitions = list(self.partition_columns) or None
        self._engine.write_deltalake(str(self.case.delta), data, partition_by=partitions, **options)

    def delete(self, condition: Filter) -> list[Row]:
        """Delete the rows that a filter keeps; returns them."""
        self.handle.delete(condition.sql)
        gone = [row for row in self.rows if condition.keeps(row)]
        self.rows = [row for row in self.rows if not condition.keeps(row)]
        self._note()
        return gone

    def update(self, condition: Filter, column: str, value: str) -> list[tuple[Row, Row]]:
        """Set a string column where a filter holds; returns the pairs of old and new rows."""
        self.handle.update(new_values={column: value}, predicate=condition.sql)
        pairs: list[tuple[Row, Row]] = [
            (row, {**row, column: value}) for row in self.rows if condition.keeps(row)
        ]
        self.rows = [{**row, column: value} if condition.keeps(row) else row for row in self.rows]
        self._note()
        return pairs

    def merge(self, rows: Sequence[Row], key: str) -> None:
        """Update the rows that match on a key, insert the others."""
        merger = self.handle.merge(
            arrow_table(self.schema, rows), f"t.{key} = s.{key}", source_alias="s", target_alias="t"
        )
        merger.when_matched_update_all().when_not_matched_insert_all().execute()
        known = {row[key] for row in rows}
        self.rows = [*(row for row in self.rows if row[key] not in known), *rows]
        self._note()

    def maintain(self, operation: Callable[[Any], Any]) -> None:
        """Run an operation of the engine that changes no row."""
        operation(self.handle)
        self._note()

    def restore(self, version: int) -> None:
        """Go back to an earlier version's rows."""
        self.handle.restore(version)
        self.schema, self.rows = self.versions[version]
        self._note()

    def publish(self) -> None:
        """Describe the table and ask for the rows of every version."""
        publish_written(self.case, self.versions)


def _case(
    case_id: str, requirements: str, *, features: tuple[str, ...] = ()
) -> Callable[[Builder], Definition]:
    """Define the case that the decorated function builds, and whose title is its docstring."""

    def decorate(build: Builder) -> Definition:
        info = CaseInfo(
            case_id,
            title_of(case_id, build),
            tuple(requirements.split()),
            features=features,
            revisions=REVISIONS[1:] if features else REVISIONS,
            builder="deltalake",
            tool_versions={"deltalake": importlib.metadata.version("deltalake")},
        )
        return Definition(info, build)

    return decorate


@_case("parquet-type-mappings/delta-rs-primitives", "PQ-001 SCH-001")
def _primitives(case: CaseWriter) -> None:
    """Primitives that delta-rs wrote read back as put in."""
    kinds: dict[str, tuple[str, list[Any]]] = {
        "s": ("string", ["", "\u00e9", None]),
        "l": ("long", [-(2**63), 2**63 - 1, None]),
        "i": ("integer", [-(2**31), 2**31 - 1, None]),
        "h": ("short", [-(2**15), 2**15 - 1, None]),
        "b": ("byte", [-128, 127, None]),
        "f": ("float", [-0.5, 3.4028234663852886e38, None]),
        "d": ("double", [5e-324, 1.7976931348623157e308, None]),
        "m": ("decimal(38,10)", [Decimal("-0.0000000001"), Decimal("1.5000000000"), None]),
        "o": ("boolean", [True, False, None]),
        "x": ("binary", [b"", b"\x00\xff", None]),
        "y": ("date", [date(1, 1, 1), date(9999, 12, 31), None]),
        "t": ("timestamp", [utc(1969, 12, 31, 23, 59, 59, 999999), utc(2262, 1, 1), None]),
    }
    table = RustTable(case, struct(*(field(name, kind) for name, (kind, _) in kinds.items())))
    for number in range(3):
        table.append([{name: values[number] for name, (_, values) in kinds.items()}])
    table.publish()


@_case("parquet-type-mappings/delta-rs-nested", "PQ-015 PQ-016 PQ-017")
def _nested(case: CaseWriter) -> None:
    """Nested values that delta-rs wrote read back as put in."""
    schema = struct(
        id="long",
        l=array("integer"),
        m=map_of("string", "long"),
        s=struct(a="string", b=array("double")),
    )
    full = {"id": 1, "l": [1, None], "m": {"k": 1, "n": None}, "s": {"a": "x", "b": [0.5]}}
    table = RustTable(case, schema)
    table.append([full, {"id": 2, "l": [], "m": {}, "s": {"a": None, "b": []}}])
    table.append([{"id": 3, "l": None, "m": None, "s": None}])
    table.publish()


@_case("timestamp-ntz/delta-rs-column", "NTZ-001 PQ-009", features=("timestampNtz",))
def _zoneless(case: CaseWriter) -> None:
    """Timestamps without zone that delta-rs wrote read back."""
    table = RustTable(case, struct(id="long", n="timestamp_ntz"))
    table.append([{"id": 1, "n": local(1969, 12, 31, 23, 20, 57, 657658)}, {"id": 2, "n": None}])
    table.append([{"id": 3, "n": local(2024, 3, 10, 2, 30)}])
    table.publish()


@_case("partition-value-serialization/delta-rs-odd-texts", "PART-003 PART-005 ADD-003 REM-002")
def _partitioned(case: CaseWriter) -> None:
    """Partitions of odd texts that delta-rs wrote read back."""
    table = RustTable(case, struct(id="long", p="string", d="date"), partition_columns=["p", "d"])
    texts = ["a b", "a:b", "a/b", "a%b", "\u00e9", "a=b", None]
    table.append([{"id": n, "p": p, "d": date(2024, 1, 1)} for n, p in enumerate(texts)])
    table.append([{"id": 50, "p": "a b", "d": None}])
    table.delete(compare("p", "=", "a b", "string"))
    table.publish()


@_case("action-reconciliation/delta-rs-delete-update-merge", "REC-008 REC-018")
def _changed(case: CaseWriter) -> None:
    """Rows that delta-rs deleted, updated and merged are so read."""
    table = RustTable(case)
    table.append(pairs(0, 6))
    table.delete(compare("id", "<", 2, "long"))
    table.update(compare("id", "=", 3, "long"), "name", "updated")
    table.merge([{"id": 4, "name": "merged"}, {"id": 90, "name": "inserted"}], "id")
    table.append([{"id": None, "name": None}])
    table.delete(is_null("id"))
    table.publish()


@_case("add-file-and-remove-file/delta-rs-optimize", "FA-017 REC-018")
def _optimized(case: CaseWriter) -> None:
    """A table that delta-rs compacted has the same rows."""
    table = RustTable(case)
    for number in range(4):
        table.append(pairs(10 * number, 2))
    table.maintain(lambda handle: handle.optimize.compact())
    table.append(pairs(90, 1))
    table.publish()


@_case("checkpoints/delta-rs-checkpoint", "CKPT-003 CKPT-005 CKC-001")
def _checkpointed(case: CaseWriter) -> None:
    """A checkpoint that delta-rs wrote serves the later versions."""
    table = RustTable(case)
    for number in range(3):
        table.append(pairs(10 * number, 2))
    table.delete(compare("id", "=", 0, "long"))
    table.maintain(lambda handle: handle.create_checkpoint())
    table.append(pairs(90, 1))
    table.publish()


@_case("change-metadata/delta-rs-schema-changes", "META-002 WCON-003 WCON-004")
def _rescoped(case: CaseWriter) -> None:
    """Schemas that delta-rs merged and replaced read per version."""
    table = RustTable(case)
    table.append(pairs(0, 2))
    wider = PAIR.with_fields(field("extra", "double"))
    table.append_wider(wider, [{"id": 5, "name": "x", "extra": 0.5}])
    table.overwrite([{"key": 1, "flag": True}], schema=struct(key="integer", flag="boolean"))
    table.overwrite([{"key": 2, "flag": None}])
    table.publish()


@_case("action-reconciliation/delta-rs-restore", "REC-008 REC-018")
def _restored(case: CaseWriter) -> None:
    """A table that delta-rs restored has its old rows again."""
    table = RustTable(case)
    table.append(pairs(0, 3))
    table.delete(compare("id", ">", 0, "long"))
    table.restore(1)
    table.append(pairs(50, 1))
    table.publish()


@_case("check-constraints/delta-rs-constraint", "CHK-001 CHK-002")
def _constrained(case: CaseWriter) -> None:
    """A table that delta-rs constrained reads normally."""
    table = RustTable(case)
    table.append(pairs(1, 2))
    table.maintain(lambda handle: handle.alter.add_constraint({"positive": "id > 0"}))
    table.append(pairs(10, 2))
    table.publish()


@_case("transaction-identifiers/delta-rs-transactions", "TXN-001 TXN-002 REC-004")
def _transactions(case: CaseWriter) -> None:
    """Transactions that delta-rs recorded are found."""
    table = RustTable(case)
    table.append(pairs(0, 1), app=("stream", 1))
    table.append(pairs(10, 1), app=("stream", 7))
    table.append(pairs(20, 1), app=("other", 3))
    table.publish()
    for app, expected in (("stream", 7), ("other", 3), ("unknown", None)):
        txn_spec(case, app, expected, title="Each application is at its latest version")


@_case("add-cdc-file/delta-rs-change-feed", "CDC-003 CDFF-007 CDFF-009")
def _change_feed(case: CaseWriter) -> None:
    """Change files that delta-rs wrote tell its changes."""
    table = RustTable(case, properties={"delta.enableChangeDataFeed": "true"})
    changes: list[tuple[str, int, Row]] = []
    table.append(pairs(0, 4))
    changes += [("insert", table.version, row) for row in table.rows]
    for old, new in table.update(compare("id", "=", 2, "long"), "name", "updated"):
        changes += [
            ("update_preimage", table.version, old),
            ("update_postimage", table.version, new),
        ]
    gone = table.delete(compare("id", "<", 2, "long"))
    changes += [("delete", table.version, row) for row in gone]
    table.publish()
    rows = [{**row, "_change_type": kind, "_commit_version": v} for kind, v, row in changes]
    schema = PAIR.with_fields(field("_change_type", "string"), field("_commit_version", "long"))
    title = "The change files tell every change"
    case.row_spec("changes", "changes-all", schema, rows, title=title, parameters={"start": 0})


DEFINITIONS: tuple[Definition, ...] = (
    _primitives,
    _nested,
    _zoneless,
    _partitioned,
    _changed,
    _optimized,
    _checkpointed,
    _rescoped,
    _restored,
    _constrained,
    _transactions,
    _change_feed,
)
