"""The command ``delta-tck explain``: look up a requirement, a table feature or a case.

The text of the protocol is not shipped: a file of it is quoted where one is given, and the section
is linked where none is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import schemas.features
from conformance.base.commands import NOT_ALONE
from conformance.base.home import PROJECT
from conformance.base.status import Status
from conformance.base.terminal import meant, say, warn
from conformance.base.untrusted import DocumentError
from conformance.explain.features import FeatureExplained, explain_feature
from conformance.explain.items import ItemExplained, explain_item
from conformance.explain.requirements import (
    RequirementExplained,
    corpus_naming,
    explain_requirement,
)
from conformance.golden.cases import Spec
from conformance.items.generated import Plan, generated_items
from conformance.items.items import Item, golden_items
from conformance.items.mutated import mutated_items
from conformance.items.recipes import generated_recipes
from conformance.requirements.clauses import read_protocol
from conformance.requirements.registry import Registry, load_registry

_Explained: TypeAlias = RequirementExplained | FeatureExplained | ItemExplained

_MAX_SHOWN = 12
"""Cases of a kind that the text names; the JSON has them all."""


def run_explain_cli(argv: Sequence[str]) -> int:
    """Run ``delta-tck explain ID``.

    Returns:
        0; 4 where a text cannot be read; 11 where nothing has the id.

    Raises:
        conformance.base.faults.CorpusError: the golden tables cannot be read.
    """
    arguments = _parser().parse_args(argv)
    registry = load_registry()
    try:
        texts = {each.name: read_protocol(each) for each in arguments.text}
    except DocumentError as error:
        warn(f"delta-tck explain: {error}")
        return Status.USAGE
    items, specs, unread = _known(names := frozenset(arguments.ids))
    found: list[_Explained] = []
    for name in arguments.ids:
        if name in registry:
            found.append(explain_requirement(registry[name], registry, names, texts))
            continue
        if (feature := schemas.features.find(name)) is not None:
            found.append(explain_feature(feature, registry, items.values()))
            continue
        of_case = [item for item in items.values() if item.id.startswith(f"{name}/")]
        chosen = [items[name]] if name in items else of_case
        if not chosen:
            warn(f"delta-tck explain: {_unknown(name, registry, (*items, *unread))}")
            return Status.UNKNOWN_ID
        found += [explain_item(item, registry, specs.get(item.id)) for item in chosen]
    if arguments.json:
        documents: list[dict[str, Any]] = [each.as_document() for each in found]
        say(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
    else:
        say("\n\n".join("\n".join(_lines(each)) for each in found))
    return Status.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck explain",
        description="Look up a requirement, a table feature, a case or a question of it.",
    )
    parser.add_argument(
        "ids", nargs="+", metavar="ID", help="as CKPT-004, deletionVectors, or a case"
    )
    parser.add_argument("--json", action="store_true", help="all of it, as JSON")
    parser.add_argument(
        "--text",
        type=Path,
        action="append",
        default=[],
        metavar="PROTOCOL.md",
        help="a text of the protocol to quote the clause from; may be repeated",
    )
    return parser


@cache
def _known(names: frozenset[str]) -> tuple[dict[str, Item], dict[str, Spec], tuple[str, ...]]:
    """Return what can be judged, what golden cases ask, and the ids of those that are not read."""
    corpus = corpus_naming(names)
    items = (
        *golden_items(corpus),
        *mutated_items(load_registry(), audited=True),
        *generated_items(Plan()),
        *generated_recipes(Plan()),
    )
    specs = {spec.id: spec for case in corpus.cases for spec in case.specs}
    return {item.id: item for item in items}, specs, corpus.unread


def _unknown(name: str, registry: Registry, items: Sequence[str]) -> str:
    ids = [
        *(row.id for row in registry),
        *schemas.features.FEATURES,
        *items,
        *{each.rpartition("/")[0] for each in items},
    ]
    return f"no requirement, feature or case has the id {name!r}{meant(name, ids)}"


def _lines(explained: _Explained) -> Iterator[str]:
    if isinstance(explained, FeatureExplained):
        return _of_feature(explained)
    return (
        _of_requirement(explained)
        if isinstance(explained, RequirementExplained)
        else _of_item(explained)
    )


def _of_feature(explained: FeatureExplained) -> Iterator[str]:
    feature = explained.feature
    yield f"{feature.name}  table feature, {feature.kind}, since revision {feature.since}"
    yield from _listed("Requires", feature.requires)
    yield f"Requirements ({len(explained.rows)}), each with more by its id:"
    yield from (f"  - {name} {words}" for name, words in explained.statements.items())
    yield from _listed("Code that obeys them", [*map(str, explained.code)], "no line names one")
    yield from _listed("Audit checks", [*map(str, explained.checks)], "no check names one")
    yield from _listed("Cases whose tables have it", explained.cases, "none")


def _of_requirement(explained: RequirementExplained) -> Iterator[str]:
    row = explained.row
    document = explained.as_document()
    yield f"{row.id}  {row.level} of {row.role}, feature {row.feature}"
    yield f"  {document['statement']}"
    yield f"Section: {row.section}" + (f"  {explained.link}" if explained.link else "")
    binding = (
        f"under --tck-revision {', '.join(explained.binds_in)}"
        if explained.binds_in
        else "under none"
    )
    yield f"Entry: {row.place.removeprefix(f'{PROJECT}/')}"
    yield f"Texts: {', '.join(row.revisions)}; binds {binding}"
    for name, quote in explained.quotes.items():
        yield f"Quote ({name}): {quote}"
    if not explained.quotes and row.clause_digest:
        yield "Quote: --text=PROTOCOL.md quotes the sentence, which is kept by its digest"
    for title, value in (
        ("Ruling", row.ruling),
        ("Retired", row.retired),
        ("Superseded by", row.superseded_by),
    ):
        if value:
            yield f"{title}: {' '.join(value.split())}"
    yield from _listed("Accepted", [f"{each.name}: {each.source}" for each in row.contested])
    yield from _listed("Code that obeys it", [*map(str, explained.code)], "no line names it")
    for kind, title in (
        ("golden", "Questions that judge it"),
        ("recipe", "Recipes that judge it"),
        ("mutation", "Mutations that break it"),
        ("audit", "Audit checks"),
    ):
        yield from _listed(title, explained.cases.get(kind, ()))
    yield from _listed("Builders of those tables", [*map(str, explained.builders)])
    yield from _listed("Steps of recipes that judge it", explained.steps)
    if explained.unjudged:
        yield f"Nothing judges it: {explained.unjudged}"
    elif row.level == "SHOULD" and not row.retired and not _is_judged(explained):
        yield "Nothing judges it: every MUST has a case or a reason, a SHOULD may be without"
    if explained.named:
        cases = "case names" if explained.named == 1 else "cases name"
        yield f"{explained.named} more {cases} it and judge another requirement"
    proofs = [f"{each.kind} {each.id}: {each.case}" for each in explained.proofs]
    yield from _listed("Proofs", proofs, _without_proof(explained))
    yield from _listed("Tests", [*map(str, explained.tests)])
    yield from _listed("Defects", [f"{each.name}: {each.statement}" for each in explained.defects])


def _is_judged(explained: RequirementExplained) -> bool:
    return bool(explained.steps) or any(explained.cases.values())


def _without_proof(explained: RequirementExplained) -> str:
    """Return why a requirement has no proof."""
    row = explained.row
    if row.retired:
        return "none, for a retired requirement judges nothing"
    if row.level in ("MAY", "DEF"):
        return f"none, for a {row.level} cannot be broken"
    if row.level == "SHOULD" and not _is_judged(explained):
        return "none, for nothing judges it"
    none = "no wrong implementation has shown it yet"
    return f"{none}. {explained.unproved}" if explained.unproved else none


def _of_item(explained: ItemExplained) -> Iterator[str]:
    item = explained.item
    yield f"{item.id}  ({item.judged.question}, asked of the {item.judged.asked})"
    yield f"  {item.title}"
    if explained.builder:
        yield f"Built by: {explained.builder}"
    if explained.expects:
        yield f"Expects: {explained.expects}"
    for revision, name in explained.judges.items():
        level, role = explained.levels[name]
        yield f"Judges under {revision}: {name} ({level} of {role}) {explained.statements[name]}"
    steps = [
        f"step {number}: {name} {explained.statements[name]}"
        for number, name in enumerate(explained.steps)
    ]
    yield from _listed("Steps", steps)
    others = [name for name in item.requirements if name in explained.statements]
    yield from _listed("Touches", [f"{name} {explained.statements[name]}" for name in others])
    for each in explained.defects:
        rulings = [("reader", each.reader), ("writer", each.writer)]
        said = ", ".join(f"{role}: {ruling}" for role, ruling in rulings if ruling)
        yield f"Defect {each.name}: {each.statement} ({said})"


def _listed(title: str, entries: Sequence[str], nothing: str = "") -> Iterator[str]:
    if not entries:
        if nothing:
            yield f"{title}: {nothing}"
        return
    yield f"{title} ({len(entries)}):"
    yield from (f"  - {each}" for each in entries[:_MAX_SHOWN])
    if len(entries) > _MAX_SHOWN:
        yield f"  - and {len(entries) - _MAX_SHOWN} more: --json has them all"


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
