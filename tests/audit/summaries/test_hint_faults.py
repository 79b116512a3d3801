"""Faults of the canonical form that the checksum of the last-checkpoint file is of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.audit.findings import Finding
from conformance.audit.summaries.canonical_json import canonical_form, digest

Plant = Callable[[Any], Any]


def _classic(lake: Any, *more: dict[str, Any]) -> None:
    lake.basic().checkpoint([*lake.rows(), *more])


HINT: dict[str, Any] = {
    "version": 2,
    "size": 5,
    "tags": {"checksum": "a/b~c.d", "Grün": "ä é", "a": None},
    "list": ["x", 7],
}


ORDER = ('"version"', '"size"', "checksum", "Gr", '+"a"', '"list"+0', '"list"+1')
"""How the members of the hint stand in it."""


def _hint(form: Callable[[str], str]) -> Plant:
    """Return a hint whose checksum is that of another form."""

    def plant(lake: Any) -> None:
        _classic(lake)
        text = form(canonical_form(HINT))
        assert text != canonical_form(HINT)
        lake.write("_last_checkpoint", json.dumps({**HINT, "checksum": digest(text)}))

    return plant


def _pairs(change: Callable[[list[str]], Any]) -> Plant:
    return _hint(lambda text: ",".join(change(text.split(","))))


def _upper(text: str) -> str:
    """Return the escapes of a canonical form in small letters."""
    head, *rest = text.split("%")
    return "".join([head, *(f"%{each[:2].lower()}{each[2:]}" for each in rest)])


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "hint of quoted literals": (
        {"SUM-001", "SUM-002"},
        _hint(lambda text: text.replace("null", '"null"')),
    ),
    "hint of numbers as fractions": (
        {"SUM-001", "SUM-003"},
        _hint(lambda text: text.replace("=7", "=7.0").replace("=5", "=5.0").replace("=2", "=2.0")),
    ),
    "hint of strings without quotes": (
        {"SUM-001", "SUM-004"},
        _pairs(
            lambda pairs: [
                path + "=" + value.strip('"') for path, value in (p.split("=") for p in pairs)
            ]
        ),
    ),
    "hint of keys without quotes": (
        {"SUM-001", "SUM-005"},
        _pairs(
            lambda pairs: [
                path.replace('"', "") + "=" + value for path, value in (p.split("=") for p in pairs)
            ]
        ),
    ),
    "hint of paths with dots": ({"SUM-001", "SUM-006"}, _hint(lambda t: t.replace("+", "."))),
    "hint of colons": ({"SUM-001", "SUM-007"}, _hint(lambda text: text.replace("=", ":"))),
    "hint of no order": (
        {"SUM-001", "SUM-008"},
        _pairs(lambda pairs: sorted(pairs, key=lambda p: [n in p for n in ORDER].index(True))),
    ),
    "hint of semicolons": ({"SUM-001", "SUM-009"}, _hint(lambda text: text.replace(",", ";"))),
    "hint of positions from one": (
        {"SUM-001", "SUM-010"},
        _hint(lambda text: text.replace("+1=", "+2=").replace("+0=", "+1=")),
    ),
    "hint that counts its checksum": (
        {"SUM-001", "SUM-011"},
        _hint(lambda text: '"checksum"="",' + text),
    ),
    "hint without a checksum below": (
        {"SUM-001", "SUM-012"},
        _pairs(lambda pairs: [each for each in pairs if "checksum" not in each]),
    ),
    "hint in latin letters": (
        {"SUM-001", "SUM-015"},
        _hint(lambda text: text.replace("%C3%A4%20%C3%A9", "%E4%20%E9").replace("%C3%BC", "%FC")),
    ),
    "hint of bare slashes": ({"SUM-001", "SUM-016"}, _hint(lambda text: text.replace("%2F", "/"))),
    "hint of escaped tildes": (
        {"SUM-001", "SUM-017"},
        _hint(lambda text: text.replace("~", "%7E")),
    ),
    "hint of small escapes": ({"SUM-001", "SUM-018"}, _hint(_upper)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings(
    name: str, fires: Callable[[Plant, set[str]], list[Finding]]
) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


@pytest.mark.parametrize("number", ["1e999999999", "-1e-999999999", "0e999999999", "1e" + "9" * 40])
def test_a_number_of_more_digits_than_there_is_memory_is_judged(
    number: str, fires: Callable[[Plant, set[str]], list[Finding]]
) -> None:
    def plant(lake: Any) -> None:
        _classic(lake)
        text = json.dumps({**HINT, "checksum": "0" * 32})
        lake.write("_last_checkpoint", text.replace("7]", f"{number}]"))

    fires(plant, {"SUM-001"})
