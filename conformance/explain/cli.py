"""The command ``delta-tck explain``: look up a requirement or a case.

The text of the protocol is not shipped: a file of it is quoted where one is given, and the section
is linked where none is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from conformance.base.home import PROJECT
from conformance.base.status import Status
from conformance.base.terminal import meant, say, warn
from conformance.base.untrusted import DocumentError
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
    found: list[RequirementExplained | ItemExplained] = []
    for name in arguments.ids:
        if name in registry:
            found.append(explain_requirement(registry[name], registry, names, texts))
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
        prog="delta-tck explain", description="Look up a requirement, a case or a question of it."
    )
    parser.add_argument("ids", nargs="+", metavar="ID", help="as CKPT-004, or the id of a case")
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
    ids = [*(row.id for row in registry), *items, *{each.rpartition("/")[0] for each in items}]
    return f"no requirement and no case has the id {name!r}{meant(name, ids)}"


def _lines(found: RequirementExplained | ItemExplained) -> Iterator[str]:
    return _of_requirement(found) if isinstance(found, RequirementExplained) else _of_item(found)


def _of_requirement(found: RequirementExplained) -> Iterator[str]:
    row = found.row
    document = found.as_document()
    yield f"{row.id}  {row.level} of {row.role}, feature {row.feature}"
    yield f"  {document['statement']}"
    yield f"Section: {row.section}" + (f"  {found.link}" if found.link else "")
    binding = (
        f"under --tck-revision {', '.join(found.binds_in)}" if found.binds_in else "under none"
    )
    yield f"Entry: {row.place.removeprefix(f'{PROJECT}/')}"
    yield f"Texts: {', '.join(row.revisions)}; binds {binding}"
    for name, quote in found.quotes.items():
        yield f"Quote ({name}): {quote}"
    if not found.quotes and row.clause_digest:
        yield "Quote: --text=PROTOCOL.md quotes the sentence, which is kept by its digest"
    for title, value in (
        ("Ruling", row.ruling),
        ("Retired", row.retired),
        ("Superseded by", row.superseded_by),
    ):
        if value:
            yield f"{title}: {' '.join(value.split())}"
    yield from _listed("Accepted", [f"{each.name}: {each.source}" for each in row.contested])
    yield from _listed("Code that obeys it", [*map(str, found.code)], "no line names it")
    for kind, title in (
        ("golden", "Questions that judge it"),
        ("recipe", "Recipes that judge it"),
        ("mutation", "Mutations that break it"),
        ("audit", "Audit checks"),
    ):
        yield from _listed(title, found.cases.get(kind, ()))
    yield from _listed("Builders of those tables", [*map(str, found.builders)])
    yield from _listed("Steps of recipes that judge it", found.steps)
    if found.unjudged:
        yield f"Nothing judges it: {found.unjudged}"
    if found.named:
        yield f"{found.named} more cases name it and judge another requirement"
    proofs = [f"{each.kind} {each.id}: {each.case}" for each in found.proofs]
    yield from _listed("Proofs", proofs, _without_proof(found))
    yield from _listed("Tests", [*map(str, found.tests)])
    yield from _listed("Defects", [f"{each.name}: {each.statement}" for each in found.defects])


def _without_proof(found: RequirementExplained) -> str:
    """Return why a requirement has no proof."""
    row = found.row
    if row.retired:
        return "none, for a retired requirement judges nothing"
    if row.level in ("MAY", "DEF"):
        return f"none, for a {row.level} cannot be broken"
    none = "no wrong implementation has shown it yet"
    return f"{none}. {found.unproved}" if found.unproved else none


def _of_item(found: ItemExplained) -> Iterator[str]:
    item = found.item
    yield f"{item.id}  ({item.judged.question}, asked of the {item.judged.asked})"
    yield f"  {item.title}"
    if found.builder:
        yield f"Built by: {found.builder}"
    if found.expects:
        yield f"Expects: {found.expects}"
    for revision, name in found.judges.items():
        level, role = found.levels[name]
        yield f"Judges under {revision}: {name} ({level} of {role}) {found.statements[name]}"
    steps = [
        f"step {number}: {name} {found.statements[name]}" for number, name in enumerate(found.steps)
    ]
    yield from _listed("Steps", steps)
    others = [name for name in item.requirements if name in found.statements]
    yield from _listed("Touches", [f"{name} {found.statements[name]}" for name in others])
    for each in found.defects:
        rulings = [("reader", each.reader), ("writer", each.writer)]
        said = ", ".join(f"{role}: {ruling}" for role, ruling in rulings if ruling)
        yield f"Defect {each.name}: {each.statement} ({said})"


def _listed(title: str, found: Sequence[str], nothing: str = "") -> Iterator[str]:
    if not found:
        if nothing:
            yield f"{title}: {nothing}"
        return
    yield f"{title} ({len(found)}):"
    yield from (f"  - {each}" for each in found[:_MAX_SHOWN])
    if len(found) > _MAX_SHOWN:
        yield f"  - and {len(found) - _MAX_SHOWN} more: --json has them all"
