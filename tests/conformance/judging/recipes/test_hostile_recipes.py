"""Recipes of an untrusted corpus, whose values fit no type: an error of the corpus, in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recipe_runs import APPEND, CLAIMS, CREATE, judged, recipe
from tiny import READ, write_case

from conformance.adapters import ours
from conformance.base.faults import CorpusError
from conformance.base.outcomes import Outcome, Verdict
from conformance.golden.cases import Spec
from conformance.golden.corpus import load_corpus
from conformance.items.items import golden_items
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.requirements.registry import load_registry
from conformance.run.run import verdict_at_level

VALUES: dict[str, Any] = {
    "a path": "/etc/passwd",
    "5,000 digits": "9" * 5000,
    "an exponent": "1e999999",
    "beyond long": "9223372036854775808",
    "a number": 2**64,
    "a double": 1e308,
    "a list": [],
    "an object": {"a": 1},
    "calls": "DATE(" * 40,
}
MAP = {"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": True}
TYPES = ("long", "byte", "double", "decimal(3,1)", "timestamp", "binary", "variant", MAP)


@pytest.mark.parametrize("of", TYPES, ids=str)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_that_fits_no_type_is_an_error_of_the_corpus(
    tmp_path: Path, value: Any, of: Any
) -> None:
    fields = [{"name": "id", "type": of, "nullable": True, "metadata": {}}]
    create = {"operation": "create", "schema": {"type": "struct", "fields": fields}}
    append = {"operation": "append", "rows": [{"id": value}]}
    said = _reported(tmp_path, recipe(create, append))
    assert said is None or "cannot be taken" in said  # some fit after all
    assert len(said or "") < 500
    assert "\n" not in (said or "")


def _reported(folder: Path, spec: Spec) -> str | None:
    """Return the error of the corpus."""
    try:
        judged(folder, spec)
    except CorpusError as error:
        return str(error)
    return None


def test_a_step_that_is_not_there_is_an_error_of_the_corpus(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="'restore' cannot be taken"):
        judged(tmp_path, recipe(CREATE, APPEND, {"operation": "restore", "to_step": 99}))


def test_what_is_given_to_convert_need_not_be_there(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="to convert cannot be taken: FileNotFoundError"):
        judged(tmp_path, recipe({"operation": "convert"}))


@pytest.mark.parametrize("schema", [None, "[" * 20_000, '{"type":"nothing"}', "7", "\0"])
def test_a_given_table_need_not_have_a_schema(tmp_path: Path, schema: str | None) -> None:
    log = tmp_path / "table" / "_delta_log"
    log.mkdir(parents=True)
    body = {} if schema is None else {"schemaString": schema}
    (log / f"{0:020}.json").write_text(json.dumps({"metaData": body}))
    spec = recipe(APPEND)
    spec = replace(spec, parameters={**spec.parameters, "given": True})
    with pytest.raises(CorpusError, match="that is given cannot be taken"):
        judged(tmp_path, spec)


def test_a_fault_of_the_corpus_is_no_fault_of_the_kit(tmp_path: Path) -> None:
    def fail(_: Judge) -> Verdict:
        raise CorpusError(Path("operations"), "a step cannot be taken")

    write_case(tmp_path, "table-features/one", {"read": READ})
    (item,) = golden_items(load_corpus(tmp_path))
    judge = Judge(ours.create(), CLAIMS, TableStore())
    verdict = verdict_at_level(replace(item, judge=fail), judge, load_registry())
    assert verdict.outcome is Outcome.ERROR
    assert verdict.message == "corpus: operations: a step cannot be taken"
    assert verdict.details == ()
