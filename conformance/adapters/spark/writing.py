"""What Spark with Delta writes, for its adapter: SQL where Delta has a statement for it.

Spark has no statement for log compaction or for domain metadata of one's own; the adapter does
not claim them. Its cleanup of the log has no statement either, and is called in the JVM.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from conformance.adapter import Write
from conformance.adapters.refusals import NotOfferedError
from conformance.adapters.spark.reading import SparkReader
from conformance.adapters.sql.text import SIDES, SPARK, render
from generators.oracle.filters import in_partition

_VIEW: Final = "delta_tck_rows"
_Arguments = Mapping[str, Any]

# What ALTER TABLE says for each operation that it has one clause for.
_ALTERATIONS: Final[Mapping[str, Callable[[_Arguments], str]]] = {
    "set_properties": lambda given: f"SET TBLPROPERTIES ({_properties(given['properties'])})",
    "unset_properties": lambda given: (
        f"UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(SPARK.string, given['names']))})"
    ),
    "rename_column": lambda given: (
        f"RENAME COLUMN {SPARK.identifier(given['column'])} TO {SPARK.identifier(given['name'])}"
    ),
    "drop_column": lambda given: f"DROP COLUMN {SPARK.identifier(given['column'])}",
    "change_type": lambda given: (
        f"ALTER COLUMN {SPARK.identifier(given['column'])} TYPE {SPARK.type_name(given['type'])}"
    ),
    "set_nullable": lambda given: _nullable(given["column"], nullable=given["nullable"]),
    "set_comment": lambda given: (
        f"ALTER COLUMN {SPARK.identifier(given['column'])} COMMENT {SPARK.string(given['comment'])}"
    ),
    "set_default": lambda given: _default(given["column"], given["expression"]),
    "add_constraint": lambda given: (
        f"ADD CONSTRAINT {SPARK.identifier(given['name'])} CHECK ({given['expression']})"
    ),
    "drop_constraint": lambda given: f"DROP CONSTRAINT {SPARK.identifier(given['name'])}",
    "enable_feature": lambda given: (
        f"SET TBLPROPERTIES ({_properties({_feature(given['feature']): 'supported'})})"
    ),
    "drop_feature": lambda given: f"DROP FEATURE {SPARK.identifier(given['feature'])}",
    "cluster_by": lambda given: (
        f"CLUSTER BY ({', '.join(map(SPARK.identifier, given['columns']))})"
        if given["columns"]
        else "CLUSTER BY NONE"
    ),
}


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(
        f"{SPARK.string(key)} = {SPARK.string(value)}" for key, value in properties.items()
    )


def _feature(name: str) -> str:
    """Return the property that makes Spark support a table feature."""
    return f"delta.feature.{name}"


def _default(column: str, expression: str | None) -> str:
    change = "DROP DEFAULT" if expression is None else f"SET DEFAULT {expression}"
    return f"ALTER COLUMN {SPARK.identifier(column)} {change}"


def _nullable(column: str, *, nullable: bool) -> str:
    if not nullable:
        raise NotOfferedError("Spark makes no column not null that was not")
    return f"ALTER COLUMN {SPARK.identifier(column)} DROP NOT NULL"


class SparkWriter:
    """What Spark writes."""

    def __init__(self, reader: SparkReader) -> None:
        self.reader = reader

    @property
    def spark(self) -> SparkSession:
        """The session, which the reader may have restarted."""
        return self.reader.spark

    def operations(self) -> dict[str, Callable[[Write], Any]]:
        """Return the writing operations by name."""
        calls: dict[str, Callable[[Write], Any]] = {
            "create": self._create,
            "convert": self._convert,
            "append": lambda request: self._save(request, "append"),
            "overwrite": lambda request: self._save(request, "overwrite"),
            "replace": self._replace,
            "delete": lambda request: self._table(request).delete(self._predicate(request)),
            "update": self._update,
            "merge": self._merge,
            "optimize": self._optimize,
            "restore": lambda request: self._table(request).restoreToVersion(
                request.arguments["version"]
            ),
            "vacuum": lambda request: self._table(request).vacuum(),
            "checkpoint": lambda request: self.reader.log(request.table).checkpoint(),
            "cleanup": self._cleanup,
            "generate_manifest": lambda request: self._table(request).generate(
                "symlink_format_manifest"
            ),
            "add_columns": self._add_columns,
            "reorder_columns": self._reorder_columns,
            "set_txn": self._set_txn,
            **{name: self._altering(clause) for name, clause in _ALTERATIONS.items()},
        }
        return {
            name: self.reader.releasing_others(self._committing(call))
            for name, call in calls.items()
        }

    def _altering(self, clause: Callable[[_Arguments], str]) -> Callable[[Write], None]:
        return lambda request: self._alter(request, clause(request.arguments))

    def _committing(self, call: Callable[[Write], Any]) -> Callable[[Write], Any]:
        def write(request: Write) -> dict[str, Any]:
            call(request)
            return {"version": self.reader.latest(request.table).version()}

        return write

    def _table(self, request: Write) -> DeltaTable:
        return DeltaTable.forPath(self.spark, request.table)

    def _alter(self, request: Write, clause: str) -> None:
        self.spark.sql(f"ALTER TABLE {_name(request)} {clause}")

    def _schema(self, request: Write) -> StructType:
        """Return the table's schema from Delta's log, which costs no plan."""
        return StructType.fromJson(json.loads(self.reader.latest(request.table).schema().json()))

    def _rows(self, request: Write, table: StructType) -> DataFrame:
        assert request.rows is not None
        if _has_variant(table):
            raise NotOfferedError("rows travel with variants as structs, which Spark keeps apart")
        # Left to itself, Spark takes a time without a zone for one in the session's.
        # PySpark itself refuses nulls in types that have none inside: Delta is to be asked.
        asked = pa.schema([(each.name, _with_nulls(each.type)) for each in request.rows.schema])
        schema = from_arrow_schema(asked, prefer_timestamp_ntz=True)
        # PySpark cannot convert columns of no chunks.
        given: Any = request.rows if request.rows.num_rows else []
        return self.spark.createDataFrame(given, schema)

    def _predicate(self, request: Write) -> str | None:
        partition = request.arguments.get("partition")
        if partition:
            fields = self._schema(request).fields
            types = {field.name: field.dataType.jsonValue() for field in fields}
            return render(in_partition(partition, types), SPARK)
        tree = request.arguments.get("filter")
        return None if tree is None else render(tree, SPARK)

    def _create(self, request: Write) -> None:
        arguments = request.arguments
        builder = (
            DeltaTable.create(self.spark)
            .location(request.table)
            .addColumns(StructType.fromJson(dict(arguments["schema"])))
        )
        for arrange, columns in (
            (builder.partitionedBy, arguments.get("partition_columns")),
            (builder.clusterBy, arguments.get("clustering_columns")),
        ):
            if columns:
                builder = arrange(*columns)
        properties = dict(arguments.get("properties") or {})
        asked = set(arguments.get("features") or ())
        if arguments.get("clustering_columns"):
            # CLUSTER BY brings it, and Spark takes it from nothing else.
            asked.discard("clustering")
        properties |= dict.fromkeys(map(_feature, sorted(asked)), "supported")
        for key, value in properties.items():
            builder = builder.property(key, value)
        builder.execute()
        # The builder leaves the metadata of columns out; defaults are set beside it.
        for field in arguments["schema"]["fields"]:
            default = field["metadata"].get("CURRENT_DEFAULT")
            if default is not None:
                self._alter(request, _default(field["name"], default))
        if request.rows is not None:
            self._save(request, "append")

    def _convert(self, request: Write) -> None:
        arguments = request.arguments
        names = arguments.get("partition_columns") or ()
        by_name = {field["name"]: field for field in arguments["schema"]["fields"]}
        fields = [by_name[name] for name in names]
        partitioned = StructType.fromJson({"type": "struct", "fields": fields}) if names else None
        identifier = f"parquet.{SPARK.identifier(request.table)}"
        DeltaTable.convertToDelta(self.spark, identifier, partitioned)
        properties = arguments.get("properties")
        if properties:
            self._alter(request, _ALTERATIONS["set_properties"](arguments))

    def _save(self, request: Write, mode: str) -> None:
        table = self._schema(request)
        rows, predicate = self._rows(request, table), self._predicate(request)
        if mode == "append" and set(rows.columns) != set(table.names):
            self._insert(request, rows)
            return
        writer = rows.write.format("delta").mode(mode)
        if predicate is not None:
            writer = writer.option("replaceWhere", predicate)
        writer.save(request.table)

    def _replace(self, request: Write) -> None:
        rows = self._rows(request, self._schema(request))
        # Metadata of the columns of a DataFrame becomes that of the table's.
        for field in request.arguments["schema"]["fields"]:
            if field["metadata"]:
                rows = rows.withMetadata(field["name"], dict(field["metadata"]))
        (
            rows.write.format("delta")
            .mode("overwrite")
            .option("overwriteSchema", value=True)
            .partitionBy(*request.arguments.get("partition_columns") or ())
            .save(request.table)
        )

    def _insert(self, request: Write, rows: DataFrame) -> None:
        """Append rows that lack columns: of Spark's ways to write, INSERT gives them defaults."""
        rows.createOrReplaceTempView(_VIEW)
        names = ", ".join(SPARK.identifier(name) for name in rows.columns)
        statement = f"INSERT INTO {_name(request)} ({names}) SELECT {names} FROM {_VIEW}"  # noqa: S608  quoted
        self.spark.sql(statement)

    def _update(self, request: Write) -> None:
        changes = {
            SPARK.identifier(name): expr(render(node, SPARK))
            for name, node in request.arguments["set"].items()
        }
        predicate = self._predicate(request)
        self._table(request).update(None if predicate is None else expr(predicate), changes)

    def _merge(self, request: Write) -> None:
        arguments, table = request.arguments, self._schema(request)
        source = self._rows(request, table)
        merger: Any = (
            self._table(request)
            .alias("target")
            .merge(source.alias("source"), render(arguments["on"], SPARK, SIDES))
        )
        # "All" wants every column of the table; a source may lack those that the table fills.
        lacking = len(source.columns) < len(table.fields)
        own = {name: {"column": ["source", name]} for name in source.columns if lacking}
        for clause in arguments["when"]:
            match = "".join(word.capitalize() for word in clause["match"].split("_"))
            method = f"when{match}{clause['action'].capitalize()}"
            condition = clause.get("condition")
            given: dict[str, Any] = {
                "condition": None if condition is None else render(condition, SPARK, SIDES)
            }
            if clause["action"] != "delete" and (values := clause.get("set", own)):
                changes = {
                    SPARK.identifier(name): render(node, SPARK, SIDES)
                    for name, node in values.items()
                }
                given["values" if clause["action"] == "insert" else "set"] = changes
            elif clause["action"] != "delete":
                method += "All"
            merger = getattr(merger, method)(**given)
        merger.execute()

    def _optimize(self, request: Write) -> None:
        if request.arguments.get("purge"):
            self.spark.sql(f"REORG TABLE {_name(request)} APPLY (PURGE)")
        else:
            self._table(request).optimize().executeCompaction()

    def _cleanup(self, request: Write) -> None:
        log = self.reader.log(request.table)
        no_catalog = self.spark._jvm.scala.Option.empty()  # noqa: SLF001  the only way in
        log.doLogCleanup(log.unsafeVolatileSnapshot(), no_catalog)

    def _add_columns(self, request: Write) -> None:
        document = json.dumps(request.arguments["schema"])
        types = self.spark._jvm.org.apache.spark.sql.types  # noqa: SLF001  PySpark's DDL has no defaults
        self._alter(request, f"ADD COLUMNS ({types.StructType.fromJson(document).toDDL()})")

    def _reorder_columns(self, request: Write) -> None:
        """Move every column behind the one before it; Spark makes a version of each move."""
        place = "FIRST"
        for name in map(SPARK.identifier, request.arguments["columns"]):
            self._alter(request, f"ALTER COLUMN {name} {place}")
            place = f"AFTER {name}"

    def _set_txn(self, request: Write) -> None:
        (
            self.reader.frame(request.table)
            .limit(0)
            .write.format("delta")
            .mode("append")
            .option("txnAppId", request.arguments["app_id"])
            .option("txnVersion", request.arguments["txn_version"])
            .save(request.table)
        )


def _has_variant(of: DataType) -> bool:
    match of:
        case StructType():
            return any(_has_variant(field.dataType) for field in of.fields)
        case ArrayType():
            return _has_variant(of.elementType)
        case MapType():
            return _has_variant(of.keyType) or _has_variant(of.valueType)
        case _:
            return isinstance(of, VariantType)


def _with_nulls(of: pa.DataType) -> pa.DataType:
    """Return a type with nulls allowed in every part of it, but for the keys of maps."""
    if pa.types.is_struct(of):
        return pa.struct([(each.name, _with_nulls(each.type)) for each in of])
    if pa.types.is_list(of):
        return pa.list_(_with_nulls(of.value_type))
    if pa.types.is_map(of):
        return pa.map_(_with_nulls(of.key_type), _with_nulls(of.item_type))
    return of


def _name(request: Write) -> str:
    return f"delta.{SPARK.identifier(request.table)}"
