"""Generated histories: the writer, and the oracle that shares no code with it, agree throughout."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.audit import audit
from conformance.judging.compare import compare_rows
from generators.histories.drawing import draw_histories
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import Struct
from generators.oracle.operations import (
    AddColumn,
    Append,
    Checkpoint,
    Compact,
    Create,
    Delete,
    DropColumn,
    Operation,
    Overwrite,
    RenameColumn,
    SetDomain,
    SetProperties,
    SetTransaction,
    Update,
    WidenColumn,
    replay,
)
from reference_impl import Table, read_table
from reference_impl.write.checkpoints.write import Style


def apply(table: Table, operation: Operation, schema: Struct) -> int:  # noqa: C901, PLR0911, PLR0912  one branch per operation
    match operation:
        case Create():
            return table.create(
                operation.schema.to_json(),
                partition_columns=operation.partition_columns,
                properties=operation.properties,
                features=operation.features,
                rows=arrow_table(schema, operation.rows) if operation.rows else None,
            )
        case Append(rows):
            return table.append(arrow_table(schema, rows))
        case Overwrite(rows, where):
            # The oracle replaces by filter whatever comes in; a writer holds rows to the filter.
            if where is not None:
                table.delete(where)
                return table.append(arrow_table(schema, rows))
            return table.overwrite(arrow_table(schema, rows))
        case Delete(where):
            return table.delete(where)
        case Update(values, where):
            return table.update(values, where)
        case SetProperties(properties):
            return table.set_properties(properties)
        case SetTransaction(application, version):
            return table.set_transaction(application, version)
        case SetDomain(domain, configuration):
            return table.set_domain(domain, configuration)
        case AddColumn(column):
            return table.add_columns(Struct((column,)).to_json())
        case RenameColumn(old, new):
            return table.rename_column(old, new)
        case DropColumn(name):
            return table.drop_column(name)
        case WidenColumn(name):
            field = operation_field(operation, schema)
            return table.change_type(name, field)
        case Compact():
            return table.optimize()
        case Checkpoint(kind):
            v2 = kind.startswith("v2")
            return table.checkpoint(Style("v2" if v2 else "v1", parts=2 * (kind == "multi-part")))


def operation_field(operation: WidenColumn, schema: Struct) -> str:
    spelled = Struct((type(schema.fields[0])(operation.name, operation.type),)).to_json()
    return str(spelled["fields"][0]["type"])


@pytest.mark.parametrize("features", [(), ("deletionVectors",), ("columnMapping",)])
def test_every_version_of_a_history_has_the_rows_of_the_oracle(
    tmp_path: Path, features: tuple[str, ...]
) -> None:
    for number, history in enumerate(draw_histories(4, 7, features)):
        table = Table(tmp_path / str(number))
        versions: dict[int, int] = {}
        for done, operation in enumerate(history):
            before = (
                operation.schema if isinstance(operation, Create) else replay(history[:done]).schema
            )
            version = apply(table, operation, before)
            if operation.commits:
                versions[version] = len(replay(history[: done + 1]).versions) - 1
        oracle = replay(history)
        for version, place in versions.items():
            expected = oracle.versions[place]
            wanted = arrow_table(expected.schema, [row.values for row in expected.rows])
            found = read_table(table.storage.location, version=version)
            assert compare_rows(wanted, found) is None
        faults = [f for f in audit(table.storage.location) if f.severity == "error"]
        assert faults == []
