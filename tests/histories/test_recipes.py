"""Other engines read what the reference implementation leaves of every write recipe."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest
from engines import ENGINES
from shipped import shipped

from conformance.adapters import ours
from conformance.items.generated import Plan
from conformance.items.items import golden_items
from conformance.items.recipes import generated_recipes
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.judging.witness import Witness

_MAPPED = "expected 'b', got null"
KNOWN: dict[str, dict[str, str]] = {
    # Partition columns of mapped tables read as null: duckdb-delta, issue 343.
    "duckdb": {
        "column-mapping/write-changes-by-id/write": "column 'part' expected 'a', got null",
        "column-mapping/write-changes-by-name/write": "column 'part' expected 'a', got null",
        "column-mapping/write-rename-partition/write": f"column 'p' {_MAPPED}",
        "iceberg-compatibility-v1/write-replace-partitions/write": f"column 'part' {_MAPPED}",
        "iceberg-compatibility-v2/write-replace-partitions/write": f"column 'part' {_MAPPED}",
    },
    # Partition columns of odd names are looked for in the path; binary ones are not parsed.
    "polars": {
        "add-file-and-remove-file/write-odd-columns/write": "SchemaFieldNotFoundError",
        "partition-value-serialization/write-binary/write": "binary when reading CSV",
    },
}
"""What engines are known to read wrong: each is a failure of a baseline, too."""

MANY = 150


@pytest.mark.witnesses
@pytest.mark.parametrize(
    "engine", [name for name, module in ENGINES.items() if find_spec(module) is not None]
)
def test_an_engine_reads_what_recipes_leave(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    writer, store = ours.create(), TableStore()
    adapter = import_module(f"conformance.adapters.{engine}").create()
    witness = Witness(adapter, adapter.describe())
    judge = Judge(writer, writer.describe().claims, store, witness=witness)
    golden = golden_items(shipped())
    recipes = [item for item in golden if item.id.endswith("/write")]
    try:
        verdicts = {item.id: item.judge(judge) for item in (*recipes, *generated_recipes(Plan()))}
    finally:
        store.close()
        witness.close()
    same = sum(verdict.message == f"{engine} reads the same" for verdict in verdicts.values())
    other = {
        each: verdict.message for each, verdict in verdicts.items() if verdict.seen == "witness"
    }
    known = KNOWN.get(engine, {})
    assert {each: known.get(each, "news") in message for each, message in other.items()} == (
        dict.fromkeys(known, True)
    ), other
    assert same >= MANY
    with capsys.disabled():
        print(f"\n{engine} reads {same} tables the same, {len(other)} otherwise")  # noqa: T201  for those who explore
