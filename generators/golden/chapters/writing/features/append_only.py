"""Cases of writing: append-only tables lose no row."""

from __future__ import annotations

from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.oracle.delta_schema import struct
from generators.oracle.operations import MergeClause

APPEND_ONLY: Final = Chapter("append-only-tables")

_REFUSED: Final = Refusal("constraint", "commit", "APP-002")


def _locked() -> Recipe:
    """Begin with an append-only table, which needs the feature beside the property."""
    return Recipe.active(PAIR, "appendOnly")


@APPEND_ONLY.case("write-append", "APP-002 WVER-001")
def _append_only(case: CaseWriter) -> None:
    """An append-only table takes appends."""
    recipe = _locked()
    recipe.append(pairs(1)).append(pairs(2)).publish(case)


@APPEND_ONLY.case("write-delete", "APP-002 WVER-001")
def _append_only_delete(case: CaseWriter) -> None:
    """An append-only table refuses deletes."""
    recipe = _locked().append(pairs(1, 2))
    recipe.delete(compare("id", "=", 1, "long")).publish(case, refusal=_REFUSED)


@APPEND_ONLY.case("write-overwrite", "APP-002 WVER-001")
def _append_only_overwrite(case: CaseWriter) -> None:
    """An append-only table refuses overwrites."""
    recipe = _locked().append(pairs(1))
    recipe.overwrite(pairs(2)).publish(case, refusal=_REFUSED)


@APPEND_ONLY.case("write-update", "APP-002 WVER-001")
def _append_only_update(case: CaseWriter) -> None:
    """An append-only table refuses updates."""
    recipe = _locked().append(pairs(1))
    recipe.update({"name": "x"}).publish(case, refusal=_REFUSED)


@APPEND_ONLY.case("write-after-unlocking", "APP-004 APP-002")
def _append_only_unlocked(case: CaseWriter) -> None:
    """Deletes, updates and overwrites go on once appendOnly is false."""
    recipe = _locked().append(pairs(1, 2))
    recipe.set_properties({"delta.appendOnly": "false"})
    recipe.delete(compare("id", "=", 1, "long"))
    recipe.update({"name": "x"}, compare("id", "=", 2, "long")).overwrite(pairs(3)).publish(case)


@APPEND_ONLY.case("write-after-unsetting", "APP-004 APP-002")
def _append_only_unset(case: CaseWriter) -> None:
    """Deletes, merges and overwrites go on once appendOnly is unset."""
    recipe = _locked().append(pairs(1, 2))
    recipe.unset_properties("delta.appendOnly").delete(compare("id", "=", 1, "long"))
    recipe.merge([{"id": 2, "name": "x"}, *pairs(3)], SAME_ID, *UPSERT)
    recipe.overwrite(pairs(4)).publish(case)


@APPEND_ONLY.case("write-unlocked-replaced", "APP-004")
def _unlocked_replaced(case: CaseWriter) -> None:
    """A table is restored, rearranged and replaced once appendOnly is false."""
    recipe = _locked().append(pairs(1, 2))
    recipe.append(pairs(3)).set_properties({"delta.appendOnly": "false"}).append(pairs(4))
    recipe.delete(compare("id", "=", 1, "long")).run("optimize").restore(4)
    recipe.replace(struct(n="long"), (), [{"n": 7}]).publish(case)


@APPEND_ONLY.case("write-restore", "APP-002")
def _restored(case: CaseWriter) -> None:
    """An append-only table refuses a restore to fewer rows."""
    recipe = _locked().append(pairs(1)).append(pairs(2))
    recipe.restore(1).publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


@APPEND_ONLY.case("write-replace", "APP-002")
def _replaced(case: CaseWriter) -> None:
    """An append-only table with rows is not replaced."""
    recipe = _locked().append(pairs(1, 2))
    recipe.replace(struct(n="long"), (), [{"n": 7}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


@APPEND_ONLY.case("write-merge-insert", "APP-002")
def _merge_insert(case: CaseWriter) -> None:
    """A merge that only inserts goes into an append-only table."""
    recipe = _locked().append(pairs(1, 2))
    recipe.merge(pairs(2, 3), SAME_ID, MergeClause("not_matched", "insert")).publish(case)


@APPEND_ONLY.case("write-merge", "APP-002 WVER-001")
def _merge_append_only(case: CaseWriter) -> None:
    """An append-only table refuses a merge that changes rows."""
    recipe = _locked().append(pairs(1, 2))
    recipe.merge(pairs(2, 3), SAME_ID, *UPSERT)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


@APPEND_ONLY.case("write-optimize", "APP-002 APP-003 FA-017")
def _rearranged(case: CaseWriter) -> None:
    """An append-only table may be rearranged."""
    recipe = _locked()
    recipe.append(pairs(1, 2)).append(pairs(3)).append(pairs(4))
    recipe.run("optimize").append(pairs(5)).publish(case)
