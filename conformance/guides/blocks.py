"""What each generated part holds, and the guides that have one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import conformance.adapter
import reference_impl
from conformance.base.home import PROJECT
from conformance.base.options import OPTIONS
from conformance.base.outcomes import HAZARDS, MEANINGS
from conformance.base.status import Status
from conformance.base.terminal import say
from conformance.golden.corpus import default_corpus_path
from conformance.guides.api import reference_of
from conformance.guides.contract import SCHEMAS, with_parts
from conformance.judging.claims import CAPABILITIES
from conformance.pipeline.track.store import TABLES
from conformance.questions import QUESTIONS
from conformance.requirements.citations import cited_in_project
from conformance.requirements.coverage import measure
from conformance.requirements.proofs import load_proofs
from conformance.requirements.registry import SELECTIONS, load_registry
from generators.oracle.operations import OPERATIONS
from generators.spec_files import spec_files
from reference_impl.limits import describe

GUIDES: Final = (
    "README.md",
    "docs/adapters.md",
    "docs/api.md",
    "docs/formats.md",
    "docs/limits.md",
    "docs/options.md",
    "docs/pipeline.md",
    "docs/results.md",
)
"""Guides that hold generated parts, below the project's folder."""

_STATUSES: Final[Mapping[Status, str]] = {
    Status.OK: "every selected case ended as the protocol or the baseline says",
    Status.NONCONFORMANT: "a case failed that no baseline knows",
    Status.INTERRUPTED: "the run was interrupted, or a part of it is missing",
    Status.INTERNAL: "pytest or the kit broke",
    Status.USAGE: "an option or the baseline file is malformed, a file cannot be written, or "
    "another package stands in place of one of the kit's",
    Status.EMPTY_SELECTION: "the selection is empty: nothing ran",
    Status.UNKNOWN_ID: "the selection names a case, requirement, chapter or feature that does "
    "not exist",
    Status.CORPUS: "the golden tables are missing or malformed, or written to during the run",
    Status.ADAPTER: "the adapter does not exist, does not start, or claims a word that "
    "the contract does not know",
    Status.STALE_BASELINE: "a baseline entry passes, fails in another way or names nothing",
    Status.ERRORS: "a crash, a time limit or a fault of the kit left a case without a verdict",
    Status.NOTHING_JUDGED: "no case was judged: nothing that was selected is claimed",
    Status.TOO_FEW_JUDGED: "fewer claims or a smaller judged share than the baseline or "
    "`--tck-min-judged` asks for",
    Status.GAVE_UP: "ten cases in a row ended in one kind of fault of the adapter: the run was "
    "ended, and its results are partial",
    Status.HUNG: "an adapter in the kit's own process did not heed its time limit: the run was "
    "ended at the case that is named",
}


def _store() -> str:
    lines = ["| Table | Columns |", "|--|--|"]
    for name, schema in TABLES.items():
        columns = ", ".join(f"`{field.name}` {field.type}" for field in schema)
        lines.append(f"| `{name}` | {columns.replace('list<item: string>', 'array of string')} |")
    return "\n".join(lines)


def _options() -> str:
    lines = ["| Option | Meaning |", "|--|--|"]
    for name, details in OPTIONS.items():
        value = details.get("metavar") or "|".join(details.get("choices", ()))
        spelled = f"{name}={value}" if value else name
        lines.append(f"| `{_cell(spelled)}` | {_cell(details['help'])} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _exit_statuses() -> str:
    lines = ["| Status | Meaning |", "|--|--|"]
    lines += [f"| {status.value} | {_STATUSES[status]} |" for status in Status]
    return "\n".join(lines)


def _outcomes() -> str:
    lines = ["| Outcome | Meaning | Judged |", "|--|--|--|"]
    lines += [
        f"| `{outcome}` | {_cell(meaning.words)} | {'yes' if meaning.judged else 'no'} |"
        for outcome, meaning in MEANINGS.items()
    ]
    return "\n".join(lines)


def _capabilities() -> str:
    return ", ".join(f"`{word}`" for word in sorted(CAPABILITIES))


def _operations() -> str:
    lines = ["| Operation | Arguments |", "|--|--|"]
    for entry in OPERATIONS.values():
        cells = [
            f"`{name}`{'' if each.required or name in entry.either else '?'}"
            + (f" ({each.note})" if each.note else "")
            for name, each in entry.arguments.items()
            if each.seen != "history"
        ]
        says = f": {entry.says}" if entry.says else ""
        lines.append(f"| `{entry.name}` | {', '.join(cells) or 'none'}{says} |")
    return "\n".join(lines)


def _questions() -> str:
    lines = ["| `type` | Parameters | `expected` |", "|--|--|--|"]
    for name, question in QUESTIONS.items():
        cells = ", ".join(f"`{parameter}`" for parameter in question.parameters)
        lines.append(f"| `{name}` | {cells or question.brings} | {question.expects} |")
    return "\n".join(lines)


def _hazards() -> str:
    return "\n".join(f"{number}. {hazard.value}" for number, hazard in enumerate(HAZARDS, 1))


def _coverage() -> str:
    registry = load_registry()
    citations = list(cited_in_project(PROJECT, default_corpus_path()))
    proofs = load_proofs()
    lines = [
        "| Revision | MUST cited by a case | by the audit alone | MUST without | MUST proved |",
        "|--|--:|--:|--:|--:|",
    ]
    for revision in SELECTIONS:
        coverage = measure(registry, citations, revision, proofs.all)
        tally = coverage.tally("MUST")
        missing = tally.total - tally.covered
        proved = len(coverage.proved_rows(None))
        lines.append(
            f"| {revision} | {tally.covered} of {tally.total} | {tally.audit_only} | {missing} "
            f"| {proved} |"
        )
    return "\n".join(lines)


def _corpus() -> str:
    builders: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for path in sorted(default_corpus_path().glob("*/*/case.json")):
        builders[json.loads(path.read_text(encoding="utf-8"))["provenance"]["builder"]] += 1
        for spec in spec_files(path.parent):
            types[json.loads(spec.read_text(encoding="utf-8"))["type"]] += 1
    tables = ", ".join(f"{count} by {name}" for name, count in builders.most_common())
    specs = ", ".join(f"{count} {name}" for name, count in types.most_common())
    return f"{builders.total()} golden tables ({tables}) ask {types.total()} questions ({specs})."


def _limits() -> str:
    lines = ["| Limit | Default | Unit | Of what |", "|--|--|--|--|"]
    lines += [f"| `{name}` | {default} | {unit} | {of} |" for name, default, unit, of in describe()]
    return "\n".join(lines)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "api-adapter": partial(reference_of, conformance.adapter),
    "api-tables": partial(reference_of, reference_impl),
    "store": _store,
    "capabilities": _capabilities,
    "corpus": _corpus,
    "coverage": _coverage,
    "exit-statuses": _exit_statuses,
    "hazards": _hazards,
    "limits": _limits,
    "operations": _operations,
    "options": _options,
    "questions": _questions,
    "outcomes": _outcomes,
}
"""Name of each generated part, and what writes it."""


def with_blocks(text: str) -> str:
    """Return a guide with every generated part as the code gives it.

    Raises:
        LookupError: a marker names no part.

    """

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in BLOCKS:
            raise LookupError(f"no generated part is named {name!r}")
        return f"<!-- {name} -->\n{BLOCKS[name]()}\n<!-- /{name} -->"

    return re.sub(
        r"<!-- (?P<name>[a-z-]+) -->\n.*?<!-- /(?P=name) -->", written, text, flags=re.DOTALL
    )


def stale(root: Path = PROJECT) -> list[str]:
    """Name the guides and schemas whose generated parts are not what the code gives."""
    found = []
    for name in (*GUIDES, *SCHEMAS):
        text = (root / name).read_text(encoding="utf-8")
        if _fresh(name, text) != text:
            found.append(name)
    return found


def _fresh(name: str, text: str) -> str:
    return with_parts(name, text) if name in SCHEMAS else with_blocks(text)


def main() -> int:
    """Write the generated parts of every guide and schema."""
    for name in stale():
        path = PROJECT / name
        path.write_text(_fresh(name, path.read_text(encoding="utf-8")), encoding="utf-8")
        say(f"wrote {name}")
    return 0
