"""What came of each mutant, and why survivors survive."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.golden.corpus import load_corpus
from generic.mutant import PACKAGE, Mutant

_HOME = Path(__file__).parent.parent
LOOKED_INTO = _HOME / "survivors.yaml"
RESULT = _HOME / "result.yaml"

EQUIVALENT = ("equivalent", "message", "speed")
KINDS = (*EQUIVALENT, "optional", "unreached", "gap")
"""Why a mutant survives.

Nothing observable changes; only what people read does; only time or memory does;
what is left out or done is free; the gate cannot bring it about; or a case is missing.
"""
RIGHT = (*EQUIVALENT, "optional")
"""Kinds of mutants that obey the text as the original does: to kill one were a wrong verdict."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a mutant survives.

    Attributes:
        kind: out of :data:`KINDS`.
        text: in a sentence.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """A mutant, and what noticed it.

    Attributes:
        id: of the mutant.
        module: that is changed.
        within: the function or class.
        operator: of the change.
        was: the lines.
        becomes: what they are changed to.
        killed: the item that failed first, or what else ended the run; ``None`` for a survivor.
        executed: an item executes the line, or it is executed when the module is imported.
    """

    id: str
    module: str
    within: str
    operator: str
    was: str
    becomes: str
    killed: str | None
    executed: bool

    @classmethod
    def of(cls, mutant: Mutant, killed: str | None, *, executed: bool) -> Result:
        """Give the result of a mutant."""
        said = ("id", "module", "within", "operator", "was", "becomes")
        return cls(
            **{name: getattr(mutant, name) for name in said}, killed=killed, executed=executed
        )

    @property
    def outcome(self) -> str:
        """Say what came of it in a few words."""
        if self.killed is not None:
            return f"killed by {self.killed}"
        return "survives" if self.executed else "survives: no case executes it"

    def as_document(self) -> dict[str, Any]:
        """Give the result as plain JSON."""
        return asdict(self)


def read_reasons(path: Path) -> dict[str, Reason]:
    """Read why survivors survive, by the id of the mutant.

    Raises:
        ValueError: an entry is not as it has to be.
    """
    found: dict[str, Reason] = {}
    for entry in yaml.safe_load(path.read_text()) or ():
        missing = {"id", "module", "was", "becomes", "kind", "reason"} ^ entry.keys()
        if missing or entry["kind"] not in KINDS or entry["id"] in found:
            raise ValueError(f"{path.name}: {entry.get('id')}: {sorted(missing) or 'kind or id'}")
        found[entry["id"]] = Reason(entry["kind"], entry["reason"])
    return found


def drop_reasons(path: Path, alive: Collection[str]) -> None:
    """Keep the reasons of those that survived, and no others."""
    head = path.read_text().partition("\n")[0]
    left = [entry for entry in yaml.safe_load(path.read_text()) or () if entry["id"] in alive]
    path.write_text(f"{head}\n{yaml.safe_dump(left, sort_keys=False, width=1000)}")


def figures(results: Sequence[Result], reasons: Mapping[str, Reason]) -> str:
    """Say the figure in each way, and why survivors survive."""
    figures = tally(results, reasons)
    why = ", ".join(f"{count} {kind}" for kind, count in figures["survivors"].items())
    return (
        f"{figures['killed']} of {figures['mutants']} generic mutants killed "
        f"({figures['percent']} %); without the equivalent ones {figures['percent_of_others']} %; "
        f"of those that a case has to notice {figures['percent_of_due']} %"
        f"{'; survivors: ' + why if why else ''}"
    )


def tally(results: Sequence[Result], reasons: Mapping[str, Reason]) -> dict[str, Any]:
    """Count what came of mutants.

    An equivalent one changes nothing that the protocol speaks of: nothing at all, messages, or
    time and memory. A case has to notice all but those, those that the text allows, and those
    that the gate cannot reach; a survivor that no person has looked into is one that it has to.
    """
    survivors = [each for each in results if each.killed is None]
    kinds = Counter(
        reasons[each.id].kind if each.id in reasons else "not looked into" for each in survivors
    )
    killed = len(results) - len(survivors)
    others = len(results) - sum(kinds[kind] for kind in EQUIVALENT)
    due = len(results) - sum(kinds[kind] for kind in (*RIGHT, "unreached"))
    return {
        "mutants": len(results),
        "killed": killed,
        "percent": round(100 * killed / max(1, len(results)), 1),
        "percent_of_others": round(100 * killed / max(1, others), 1),
        "percent_of_due": round(100 * killed / max(1, due), 1),
        "survivors": dict(sorted(kinds.items())),
    }


def digest_of(paths: Sequence[Path]) -> str:
    """Give the digest of files, by their names and what is in them."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def render(seed: int, results: Sequence[Result], reasons: Mapping[str, Reason]) -> str:
    """Write the figures, and what they depend on, as YAML."""
    by_operator = Counter(each.operator for each in results)
    alive = Counter(each.operator for each in results if each.killed is None)
    document = {
        "seed": seed,
        "mutation": digest_of([*Path(__file__).parent.glob("*.py")]),
        "reference_impl": digest_of([*PACKAGE.rglob("*.py")]),
        "corpus": load_corpus(validate=False).digest,
        **tally(results, reasons),
        "operators": {
            name: f"{count - alive[name]} of {count}" for name, count in sorted(by_operator.items())
        },
        "alive": sorted(each.id for each in results if each.killed is None),
    }
    head = "# What came of the generic mutants; tox run -e mutation -- --write writes this file.\n"
    return head + yaml.safe_dump(document, sort_keys=False, width=100)
