"""Other engines read what the reference implementation leaves of every write recipe.

What one reads otherwise is a failure of its baseline, too. It is known where the kit lays out the
table of the recipe itself, which the engine reads wrong then, or where it is listed here.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

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
from conformance.report.baseline import load_baseline

BASELINES = Path(__file__).parents[2] / "conformance" / "baselines"
MANY = 150

KNOWN = {
    # Partition values from directories; absolute paths and escapes, with vectors and without.
    "polars": {
        "add-file-and-remove-file/write-odd-columns/write": "SchemaFieldNotFoundError",
        "add-file-and-remove-file/write-vacuum-absolute/write": "No such file or directory",
        "data-files/write-underscored-partition/write": "column '_part' expected '_a', got null",
        "deletion-vectors-design/write-vacuum-partitioned-vectors/write": "rows: 1 extra of 6",
        "partition-value-serialization/write-binary/write": "binary when reading CSV",
    },
}
"""What engines read otherwise of tables that only a recipe makes: causes that baselines have."""


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
    baseline = load_baseline(BASELINES / f"{engine}.yaml")
    listed = {item.id.rpartition("/")[0] for item in golden if baseline.about(item.id)}
    known = KNOWN.get(engine, {})
    assert known.keys() <= other.keys(), "an engine reads what it did not"
    news = {
        each: why
        for each, why in other.items()
        if each.rpartition("/")[0] not in listed and known.get(each, "news") not in why
    }
    assert news == {}
    assert same >= MANY
    with capsys.disabled():
        print(f"\n{engine} reads {same} tables the same, {len(other)} otherwise")  # noqa: T201  for those who explore
