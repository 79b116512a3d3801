"""The figures and the names that are kept are of what there is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from generic.left_out import LEFT_OUT, SPOKEN
from generic.mutant import PACKAGE
from generic.results import (
    KINDS,
    LOOKED_INTO,
    RESULT,
    Reason,
    Result,
    drop_reasons,
    figures,
    read_reasons,
    tally,
)

KEPT = yaml.safe_load(RESULT.read_text())


def _result(name: str, killed: str | None) -> Result:
    return Result(name, "read.py", "read_table", "swap_op", "a", "b", killed, executed=True)


def test_every_reason_is_of_a_survivor() -> None:
    assert read_reasons(LOOKED_INTO).keys() <= set(KEPT["alive"])


def test_the_kept_figures_count_the_survivors() -> None:
    assert KEPT["mutants"] - KEPT["killed"] == len(KEPT["alive"])
    reasons = read_reasons(LOOKED_INTO)
    for kind in KINDS:
        named = [each for each in KEPT["alive"] if each in reasons and reasons[each].kind == kind]
        assert KEPT["survivors"].get(kind, 0) == len(named), kind


def test_the_figure_is_given_in_three_ways() -> None:
    killed = ("a/b/c", None, None, "x", None, None, None)
    results = [_result(str(number), by) for number, by in enumerate(killed, 1)]
    kinds = {"2": "message", "3": "gap", "5": "optional", "6": "unreached"}
    reasons = {number: Reason(kind, "it is so") for number, kind in kinds.items()}
    found = tally(results, reasons)
    assert found["percent"] == round(100 * 2 / 7, 1)
    assert found["percent_of_others"] == round(100 * 2 / 6, 1)
    assert found["percent_of_due"] == round(100 * 2 / 4, 1)  # a gap, and one not looked into
    assert "2 of 7" in figures(results, reasons)
    assert tally(results, {})["survivors"] == {"not looked into": 5}


@pytest.mark.parametrize("change", [{"kind": "luck"}, {"reason": None, "extra": 1}])
def test_a_list_of_reasons_is_read_strictly(change: dict[str, object], tmp_path: Path) -> None:
    entry = {"id": "1", "module": "m", "was": "a", "becomes": "b", "kind": "gap", "reason": "r"}
    path = tmp_path / "survivors.yaml"
    path.write_text(yaml.safe_dump([{**entry, **change}]))
    with pytest.raises(ValueError, match=r"survivors\.yaml: 1"):
        read_reasons(path)


def test_reasons_of_a_former_draw_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "survivors.yaml"
    entries = yaml.safe_load(LOOKED_INTO.read_text())
    path.write_text("# Why.\n" + yaml.safe_dump(entries))
    drop_reasons(path, {entries[0]["id"], "other"})
    assert path.read_text().startswith("# Why.\n")
    assert list(read_reasons(path)) == [entries[0]["id"]]


def test_every_name_that_is_left_out_is_defined() -> None:
    for name in LEFT_OUT:
        module, _, within = name.partition(":")
        assert (PACKAGE / module).exists(), name
        *classes, last = within.split(".")
        text = (PACKAGE / module).read_text() if within else ""
        for each in classes:
            assert f"class {each}" in text, name
        defined = (f"def {last}(", f"class {last}", f"\n{last}: Final", f"\n{last} = ")
        assert not within or any(each in text for each in defined), name
    assert all((PACKAGE / module).exists() for module in SPOKEN)
