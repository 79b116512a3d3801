"""Wrong writers of constraints and invariants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from breaches.edits import COMMIT, properties
from breaches.model import Ask, How, writer
from breaches.seams import by_request, carrying_out, during, leaving
from breaches.views import bodies, commits_of, log_of
from conformance.adapter import Answer, Refused, Request, Write


def _without_constraints(found: dict[str, str]) -> None:
    for name in [*found]:
        if name.startswith("delta.constraints."):
            del found[name]


def _elsewhere(found: dict[str, str]) -> None:
    for name in [n for n in found if n.startswith("delta.constraints.")]:
        found[name.replace("constraints", "check")] = found.pop(name)


@by_request
def _dead_rows_checked(ask: Ask, request: Request) -> Answer:
    """Refuse a constraint for rows that a vector deleted."""
    adding = isinstance(request, Write) and request.operation == "add_constraint"
    if adding and any(b.get("deletionVector") for b in bodies(Path(request.table), "add")):
        return Refused("constraint", "commit", "a row breaks the constraint")
    return ask(request)


def _without_vectors(found: dict[str, str]) -> None:
    found.pop("delta.enableDeletionVectors", None)


_RULE = "delta.constraints."


def _rules_of(root: Path) -> dict[str, str]:
    held: dict[str, str] = {}
    for body in bodies(root, "metaData"):
        held = {k: v for k, v in body["configuration"].items() if k.startswith(_RULE)}
    return held


def _set_rules(root: Path, name: str, change: Callable[[dict[str, str]], Any]) -> None:
    properties(change, rf"_delta_log/{name}\.json")(root, frozenset({f"_delta_log/{name}.json"}))
    (log_of(root) / f"{name}.crc").unlink(missing_ok=True)


def _blind_to_rules(operation: str) -> How:
    """Carry an operation out on a table without constraints, and have them again."""

    @by_request
    def run(ask: Ask, request: Request) -> Answer:
        if not isinstance(request, Write) or request.operation != operation:
            return ask(request)
        root = Path(request.table)
        held, names = _rules_of(root), {p.stem for p in log_of(root).glob("0*.json")}
        for name in names:
            _set_rules(root, name, lambda p: [p.pop(rule, None) for rule in held])
        try:
            return ask(request)
        finally:
            for path in log_of(root).glob("0*.json"):
                _set_rules(root, path.stem, lambda p: p.update(held))

    return run


@by_request
def _unlooked(ask: Ask, request: Request) -> Answer:
    """Add constraints without a look at what they name."""
    if not isinstance(request, Write) or request.operation != "add_constraint":
        return ask(request)
    root, added = Path(request.table), dict(request.arguments)
    answer = ask(replace(request, arguments={**added, "expression": "true"}))
    rule = {f"{_RULE}{added['name']}": added["expression"]}
    _set_rules(root, f"{max(commits_of(root)):020}", lambda p: p.update(rule))
    return answer


@by_request
def _losing_a_file(ask: Ask, request: Request) -> Answer:
    """Refuse, and delete a file that the table has."""
    answer = ask(request)
    if isinstance(answer, Refused) and isinstance(request, Write):
        root = Path(request.table)
        (root / next(bodies(root, "add"))["path"]).unlink()
    return answer


ROWS = (
    *(
        writer(f"deletes-files-as-it-refuses-{name}", broken, _losing_a_file, case)
        for name, broken, case in (
            ("a-constraint", "CHK-010", "check-constraints/write-add-broken-group/*"),
            ("a-row", "CHK-006", "check-constraints/write-refused-after-checkpoint/*"),
            ("an-invariant", "SNAP-008", "column-invariants/write-false/*"),
        )
    ),
    writer("carries-out-chk-006", "CHK-006", carrying_out(), "check-constraints/write-false*"),
    writer("carries-out-chk-009", "CHK-009", carrying_out(), "check-constraints/write-add-false*"),
    writer("carries-out-chk-010", "CHK-010", carrying_out(), "check-constraints/write-add-null*"),
    writer("carries-out-inv-005", "INV-005", carrying_out(), "column-invariants/write-false*"),
    writer("carries-out-inv-006", "INV-006", carrying_out(), "column-invariants/write-null*"),
    *(
        writer(
            f"takes-constraints-of-rows-{name}",
            "CHK-009",
            carrying_out(),
            f"check-constraints/write-add-broken-{name}/*",
        )
        for name in (
            *("beside", "checkpointed", "null", "null-partition", "partition", "renamed"),
            "vectors",
        )
    ),
    *(
        writer(
            f"lets-nulls-pass-an-invariant-by-{operation}",
            "INV-006",
            carrying_out(),
            f"column-invariants/write-null-{operation}/*",
        )
        for operation in ("merge", "overwrite", "update")
    ),
    writer(
        "keeps-constraints-elsewhere",
        "CHK-002",
        leaving(properties(_elsewhere)),
        "check-constraints/write-*",
    ),
    writer(
        "drops-every-constraint",
        "CHK-002",
        during("drop_constraint", properties(_without_constraints)),
        "check-constraints/write-drop-one*",
    ),
    writer(
        "checks-rows-before-they-get-defaults",
        "CHK-006",
        carrying_out(),
        "*/write-broken-default/*",
    ),
    writer(
        "checks-rows-before-they-are-generated",
        "CHK-006",
        carrying_out(),
        "*/write-broken-generated/*",
    ),
    writer(
        "merges-rows-that-break",
        "CHK-006",
        carrying_out(),
        "*/write-broken-merge-match*",
    ),
    writer(
        "checks-one-file-for-a-constraint",
        "CHK-010",
        carrying_out(),
        "*/write-add-broken-between/*",
    ),
    writer(
        "checks-deleted-rows-for-a-constraint",
        "CHK-009",
        _dead_rows_checked,
        "*/write-add-after-vectors/*",
    ),
    writer(
        "resets-the-table-with-a-constraint",
        "CHK-002",
        during("add_constraint", properties(_without_vectors, COMMIT)),
        "table-features/write-settings-course/*",
    ),
    writer(
        "checks-the-first-group-of-a-file",
        "CHK-009",
        carrying_out(),
        "check-constraints/write-add-broken-group/*",
    ),
    *(
        writer(
            f"leaves-rules-at-a-{verb}",
            "CHK-004",
            _blind_to_rules(f"{verb}_column"),
            f"check-constraints/write-{verb}-ruled/*",
        )
        for verb in ("rename", "drop")
    ),
    writer(
        "adds-rules-of-no-column",
        "CHK-004",
        _unlooked,
        "check-constraints/write-add-of-no-column/*",
    ),
    *(
        writer(
            f"lets-{operation}-break-a-rule-at-{version}",
            "WVER-002" if version == 3 else "WVER-007",
            _blind_to_rules(operation),
            f"version-requirements/write-constraint-{version}-{operation}/*",
        )
        for version, operation in (
            *((3, "overwrite"), (3, "merge"), (4, "overwrite"), (5, "update"), (6, "merge")),
        )
    ),
    *(
        writer(
            f"lets-{operation}-change-append-only-tables-at-{version}",
            "WVER-007",
            carrying_out(),
            f"version-requirements/write-append-only-{version}-{operation}/*",
        )
        for version, operation in ((3, "merge"), (4, "overwrite"), (5, "update"))
    ),
    writer(
        "lets-updates-break-rules-at-3",
        "WVER-002",
        _blind_to_rules("update"),
        "version-requirements/write-null-constraint-3/*",
    ),
    writer(
        "holds-to-invariants-of-new-readers-alone",
        "INV-005",
        carrying_out(),
        "version-requirements/write-invariant-7/*",
    ),
    writer(
        "adds-constraints-as-properties",
        "CHK-009",
        carrying_out(),
        "check-constraints/write-set-broken/*",
    ),
)
