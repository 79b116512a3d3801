"""Clauses of a merge, and what they make of each pair of rows.

See ``docs/formats.md``, "Write recipes".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from generators.oracle.filters import evaluate
from generators.oracle.model import Oracle, Row
from generators.oracle.operations.arguments import NODE, Argument, Context, Tree


@dataclass(frozen=True, slots=True)
class MergeClause:
    """What a merge does to rows of one kind.

    Attributes:
        match: which rows: of both sides, of the source alone, of the table alone.
        action: what is done to them.
        condition: over columns that begin with ``target`` and ``source``; always by default.
        values: column to a node of a tree; ``None`` for the source row as it is.
    """

    match: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    condition: Tree | None = None
    values: Mapping[str, Tree] | None = None


def _when(clauses: Sequence[MergeClause], _: Context) -> list[dict[str, Any]]:
    when = []
    for each in clauses:
        given = {"condition": each.condition, "set": each.values}
        kept = {name: value for name, value in given.items() if value is not None}
        when.append({"match": each.match, "action": each.action, **kept})
    return when


def _clauses(when: Sequence[Mapping[str, Any]], _: Context) -> tuple[MergeClause, ...]:
    return tuple(
        MergeClause(each["match"], each["action"], each.get("condition"), each.get("set"))
        for each in when
    )


CLAUSES: Final = Argument(
    {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["match", "action"],
            "additionalProperties": False,
            "properties": {
                "match": {"enum": ["matched", "not_matched", "not_matched_by_source"]},
                "action": {"enum": ["update", "delete", "insert"]},
                "condition": NODE,
                "set": {"type": "object", "minProperties": 1, "additionalProperties": NODE},
            },
        },
    },
    _when,
    _clauses,
    "clauses",
    note="array of clauses",
)


def merge_plan(
    oracle: Oracle, source_rows: Sequence[Row], on: Tree, clauses: Sequence[MergeClause]
) -> tuple[dict[int, Row | None], list[Row]]:
    """Decide what a merge does, by looking at every pair.

    Args:
        oracle: the table.
        source_rows: source rows.
        on: true of a pair that matches.
        clauses: the first that holds decides.

    Returns:
        What is set of each row that changes, ``None`` for a row that goes; and the rows to insert.

    Raises:
        ValueError: several source rows change one row of the table.
    """
    edits: dict[int, Row | None] = {}
    inserts: list[Row] = []
    pairs: dict[int, list[Row]] = {each.identity: [] for each in oracle.pending}
    unmatched_source = list(source_rows)
    for identity, partners in pairs.items():
        target = oracle.row(identity)
        for source in source_rows:
            if evaluate(on, {"target": target, "source": source}) is True:
                partners.append(source)
                unmatched_source = [each for each in unmatched_source if each is not source]
    for identity, partners in pairs.items():
        target = oracle.row(identity)
        sides = [{"target": target, "source": source} for source in partners]
        kind = "matched" if partners else "not_matched_by_source"
        found = [_decided(clauses, kind, side) for side in sides or [{"target": target}]]
        acts = [each for each in found if each is not None]
        if len(acts) > 1 and any(clause.action != "delete" for clause, _ in acts):
            raise ValueError("several source rows change one row")
        if acts:
            clause, values = acts[0]
            edits[identity] = None if clause.action == "delete" else values
    for source in unmatched_source:
        insert = _decided(clauses, "not_matched", {"source": source})
        if insert is not None:
            inserts.append(insert[1])
    return edits, inserts


def _decided(
    clauses: Sequence[MergeClause], match: str, sides: Mapping[str, Row]
) -> tuple[MergeClause, Row] | None:
    """Return the first clause that holds for a pair, and the values that it sets."""
    for clause in clauses:
        if clause.match != match:
            continue
        if clause.condition is None or evaluate(clause.condition, sides) is True:
            if clause.values is None:
                return clause, dict(sides.get("source", {}))
            return clause, {name: evaluate(tree, sides) for name, tree in clause.values.items()}
    return None
