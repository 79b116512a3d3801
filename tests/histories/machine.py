"""A writer under random operations, checked against the oracle and the audit as it goes.

The table has few columns and small values, so that operations meet: the same rows are updated,
merged, deleted, restored. What is drawn is which features the table has, which come later or go
again, and what is done in which order. What is in the way of an operation is known ahead, too:
the writer has to refuse it then, and may not otherwise.
"""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

import pyarrow.parquet as pq
from draws import CREATED_WITH, EXTRAS, IDENTITIES, ROWS, DrawnRow
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from objections import CONSTRAINT, GENERATED, is_on
from rules.operation import draw_operation, operation
from rules.table import TableRules

from conformance.adapters.sql.text import SPARK, render
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import Field, Struct, field, struct
from generators.oracle.filters import column, columns_of, node
from generators.oracle.literals import literal
from generators.oracle.model import Oracle, Row
from generators.oracle.operations import Create

COLUMNS = struct(field("id", "long"), field("part", "string"), field("n", "integer"))
_NEXT = node("+", column("id"), literal("long", 1))
_SMALL = node("or", node("is_null", column("n")), node("<", column("n"), literal("integer", 3)))
_SPECIAL = ("generated", "default", "identity", "invariant", "not null")
_LISTED = ("checkConstraints", "vacuumProtocolCheck", "allowColumnDefaults", "v2Checkpoint")
_SIMPLE = ("id", "part", "n", "x", "day")


_COMPATIBLE: Final = {
    "iceberg 1": frozenset(EXTRAS) - {"v", "nothing", "tags", "bag", "list"},
    "iceberg 2": frozenset(EXTRAS) - {"v", "nothing"},
}
"""Columns of types that each version of Iceberg compatibility allows."""


def _replaced(
    oracle: Oracle, schema: Struct, partitions: tuple[str, ...], rows: tuple[Row, ...]
) -> None:
    oracle.delete([row.identity for row in oracle.pending])
    oracle.schema, oracle.partition_columns = schema, partitions
    oracle.insert(rows)


class WriterMachine(TableRules):
    """The writer and the oracle, from the creation of the table on."""

    @initialize(
        features=st.sets(
            st.sampled_from((*sorted(set(CREATED_WITH) - {*_COMPATIBLE}), "times")),
            min_size=3,
            max_size=7,
        ),
        compatible=st.sampled_from((None, None, *_COMPATIBLE)),
        listed=st.sets(st.sampled_from(_LISTED), max_size=2),
        special=st.sets(st.sampled_from(_SPECIAL), min_size=1, max_size=3),
        extras=st.sets(st.sampled_from((*sorted(EXTRAS), "s", "s", "s")), min_size=1, max_size=4),
        partitions=st.sampled_from(((), (), ("part",), ("n",), ("part", "n"), ("g",))),
        identity=st.sampled_from(IDENTITIES),
        rows=st.one_of(st.just([]), ROWS),
        way=st.sampled_from(("create", "create", "create", "cluster", "convert")),
    )
    def begin(  # noqa: PLR0913, PLR0917  a table has this many independent sides
        self,
        features: set[str],
        compatible: str | None,
        listed: set[str],
        special: set[str],
        extras: set[str],
        partitions: tuple[str, ...],
        identity: tuple[int, int, bool],
        rows: list[DrawnRow],
        way: str,
    ) -> None:
        properties: dict[str, str] = {}
        if compatible is not None:
            features = features - {"vectors", "shredding"} | {compatible}
            extras &= _COMPATIBLE[compatible]
        for name in sorted(features):
            properties |= CREATED_WITH[name]
        for text in map(self._ruled, (_NEXT, _SMALL)):
            assert text
        if "shredding" in features:
            extras |= {"v"}
        if way == "convert":
            special -= {"generated", "identity", "invariant"}
            properties = {
                key: value
                for key, value in properties.items()
                if key != "delta.columnMapping.mode" and "Iceberg" not in key
            }
            extras &= set(_SIMPLE)
        if "x" in extras:
            extras -= {"X"}
        schema = self._schema(special, extras, identity)
        columns = tuple(name for name in partitions if name in schema.names and way != "cluster")
        if way == "convert":
            self._convert(schema, columns, properties, rows)
        else:
            paths = (("id",), ("part",)) if way == "cluster" else ()
            self._create(schema, columns, properties, rows, listed, paths)

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """Do one operation."""
        draw_operation(self, data)

    @operation(
        special=st.sets(st.sampled_from(_SPECIAL), max_size=1),
        extras=st.sets(st.sampled_from(sorted(EXTRAS)), max_size=2),
        partitions=st.sampled_from(((), ("part",), ("n",))),
        identity=st.sampled_from(IDENTITIES),
        rows=st.one_of(st.just([]), ROWS),
    )
    def replace(
        self,
        special: set[str],
        extras: set[str],
        partitions: tuple[str, ...],
        identity: tuple[int, int, bool],
        rows: list[DrawnRow],
    ) -> None:
        """Replace columns, partitions and rows of the table."""
        if "x" in extras:
            extras -= {"X"}
        schema = self._schema(special, extras, identity)
        before = self.oracle.fork()
        now, marks = self.oracle, self.marks
        self.oracle, self.marks = Oracle(schema, partitions), {}
        given, table = self.bring(rows)
        landed = self.landed(given)
        self.oracle = now
        done = self.attempt(
            lambda: self.table.replace(
                schema.to_json(), partition_columns=partitions, rows=table if rows else None
            ),
            lambda oracle: _replaced(oracle, schema, partitions, landed),
            objection=self._blocked(partitions) or self._unruled(schema),
            free=before.properties.get("delta.appendOnly") == "true",
            clustered=(),
            feed=False,
        )
        if not done:
            self.marks = marks

    def _blocked(self, partitions: tuple[str, ...]) -> str | None:
        held, properties = self.oracle.partition_columns, self.oracle.properties
        if partitions and "clustering" in self.supported():
            return "the table may be clustered"
        compatible = any(is_on(properties, f"icebergCompatV{n}") for n in (1, 2))
        return "other partition columns" if compatible and held not in ((), partitions) else None

    def _unruled(self, schema: Struct) -> str | None:
        """Object to columns that a constraint of the table misses."""
        texts = [text for key, text in self.oracle.properties.items() if key.startswith(CONSTRAINT)]
        missing = [t for t in texts if not columns_of(self.rules[t]) <= set(schema.names)]
        return f"{missing} name other columns" if missing else None

    def _ruled(self, tree: Any) -> str:
        text = render(tree, SPARK)
        self.rules[text] = tree
        return text

    def _schema(
        self, special: set[str], extras: set[str], identity: tuple[int, int, bool]
    ) -> Struct:
        fields = {each.name: each for each in COLUMNS}
        if "invariant" in special:
            invariant = {"expression": {"expression": self._ruled(_SMALL)}}
            metadata: dict[str, Any] = {"delta.invariants": json.dumps(invariant)}
            fields["n"] = Field("n", fields["n"].type, metadata=metadata)
        if "not null" in special:
            fields["id"] = Field("id", fields["id"].type, nullable=False)
        if "default" in special:
            metadata = {"CURRENT_DEFAULT": "'x'", "comment": "by default x"}
            fields["part"] = Field("part", fields["part"].type, metadata=metadata)
        if "generated" in special:
            metadata = {GENERATED: self._ruled(_NEXT)}
            fields["g"] = Field("g", fields["id"].type, metadata=metadata)
        if "identity" in special:
            start, step, explicit = identity
            keys = {"start": start, "step": step, "allowExplicitInsert": explicit}
            metadata = {f"delta.identity.{key}": value for key, value in keys.items()}
            fields["i"] = Field("i", fields["id"].type, metadata=metadata)
        return Struct((*fields.values(), *(Field(name, EXTRAS[name]) for name in sorted(extras))))

    def _create(  # noqa: PLR0913, PLR0917  as above
        self,
        schema: Struct,
        columns: tuple[str, ...],
        properties: dict[str, str],
        drawn: list[DrawnRow],
        listed: set[str],
        paths: tuple[tuple[str, ...], ...],
    ) -> None:
        """Create the table: as drawn, or with less of it where that has to be refused."""
        plain = {key: value for key, value in properties.items() if "Iceberg" not in key}
        for held, rows in ((properties, drawn), (plain, drawn), (plain, [])):
            self.oracle = Oracle(schema, columns)
            given, table = self.bring(rows)
            done = self.attempt(
                lambda: self.table.create(
                    schema.to_json(),
                    partition_columns=columns,
                    properties=held,  # noqa: B023  called at once
                    features=("domainMetadata", *sorted(listed)),
                    clustering_columns=paths,
                    rows=table if rows else None,  # noqa: B023  as above
                ),
                Create(schema, columns, held, (), self.landed(given)),
                clustered=paths,
            )
            if done:
                return
        raise AssertionError("no table")

    def _convert(
        self,
        schema: Struct,
        columns: tuple[str, ...],
        properties: dict[str, str],
        drawn: list[DrawnRow],
    ) -> None:
        """Convert files that are there, one per row, in folders that name partitions."""
        self.oracle = Oracle(schema, columns)
        rows, _ = self.bring(drawn)
        rows = [{**row, **{n: row[n] or None for n in columns if row[n] == ""}} for row in rows]
        inside = Struct(tuple(each for each in schema if each.name not in columns))
        for number, row in enumerate(rows):
            folder = self.folder / "table"
            for name in columns:
                value = row[name]
                text = "__HIVE_DEFAULT_PARTITION__" if value is None else quote(str(value), safe="")
                folder /= f"{name}={text}"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(
                arrow_table(inside, [{n: row[n] for n in inside.names}]),
                folder / f"{number}.parquet",
            )
        (self.folder / "table").mkdir(exist_ok=True)
        done = self.attempt(
            lambda: self.table.convert(
                schema.to_json(),
                partition_columns=columns,
                properties=properties,
                features=("domainMetadata",),
            ),
            Create(schema, columns, properties, (), tuple(rows)),
        )
        assert done
