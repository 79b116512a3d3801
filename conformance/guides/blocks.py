"""What each generated part holds, and the guides that have one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

import conformance.adapter
import reference_impl
from conformance.base.home import PROJECT
from conformance.base.options import OPTIONS
from conformance.base.outcomes import HAZARDS, MEANINGS
from conformance.base.status import Status
from conformance.base.terminal import say
from conformance.golden.corpus import default_corpus_path, load_corpus
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
    "README.md", "docs/adapters.md", "docs/api.md", "docs/formats.md", "docs/limits.md",
    "docs/options.md", "docs/pipeline.md", "docs/results.md",
)  # fmt: skip
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
    Status.TOO_FEW_JUDGED: "fewer claims or cases judged than the baseline asks for, or a "
    "smaller share than `--tck-min-judged`",
    Status.GAVE_UP: "ten cases in a row ended in one kind of fault of the adapter: the run was "
    "ended, and its results are partial",
    Status.HUNG: "an adapter in the kit's own process did not heed its time limit: the run was "
    "ended at the case that is named",
}


def _table(headings: str, rows: Iterable[Sequence[object]], numbers: int = 0) -> str:
    """Return a table in Markdown.

    Args:
        headings: of its columns, separated by bars.
        rows: their cells.
        numbers: how many columns, the last ones, are aligned to the right.
    """
    count = headings.count("|") + 1
    rule = "--|" * (count - numbers) + "--:|" * numbers
    lines = [f"| {headings} |", f"|{rule}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _store() -> str:
    def column(field: pa.Field) -> str:
        return f"`{field.name}` {field.type}".replace("list<item: string>", "array of string")

    rows = ((f"`{name}`", ", ".join(map(column, schema))) for name, schema in TABLES.items())
    return _table("Table | Columns", rows)


def _options() -> str:
    rows = []
    for name, details in OPTIONS.items():
        value = details.get("metavar") or "|".join(details.get("choices", ()))
        shown = f"{name}={value}" if value else name
        rows.append((f"`{_cell(shown)}`", _cell(details["help"])))
    return _table("Option | Meaning", rows)


def _exit_statuses() -> str:
    return _table("Status | Meaning", ((each.value, _STATUSES[each]) for each in Status))


def _outcomes() -> str:
    rows = (
        (f"`{outcome}`", _cell(meaning.words), "yes" if meaning.judged else "no")
        for outcome, meaning in MEANINGS.items()
    )
    return _table("Outcome | Meaning | Judged", rows)


def _operations() -> str:
    rows = []
    for entry in OPERATIONS.values():
        cells = [
            f"`{name}`{'' if each.required or name in entry.either else '?'}"
            + (f" ({each.note})" if each.note else "")
            for name, each in entry.arguments.items()
            if each.seen != "history"
        ]
        says = f": {entry.says}" if entry.says else ""
        rows.append((f"`{entry.name}`", f"{', '.join(cells) or 'none'}{says}"))
    return _table("Operation | Arguments", rows)


def _questions() -> str:
    rows = []
    for name, question in QUESTIONS.items():
        cells = ", ".join(f"`{parameter}`" for parameter in question.parameters)
        rows.append((f"`{name}`", cells or question.documented, question.expects))
    return _table("`type` | Parameters | `expected`", rows)


def _coverage() -> str:
    registry = load_registry()
    cases = load_corpus(validate=False).cases
    citations = list(cited_in_project(PROJECT, cases))
    proofs = load_proofs()
    rows = []
    for revision in SELECTIONS:
        coverage = measure(registry, citations, revision, proofs.all)
        tally = coverage.tally("MUST")
        cited = f"{tally.covered} of {tally.total}"
        missing = tally.total - tally.covered
        proved = len(coverage.proved_rows(None))
        rows.append((revision, cited, tally.audit_only, missing, proved))
    headings = "Revision | MUST cited by a case | by the audit alone | MUST without | MUST proved"
    return _table(headings, rows, 4)


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
    rows = ((f"`{name}`", *facts) for name, *facts in describe())
    return _table("Limit | Default | Unit | Of what", rows)


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "api-adapter": partial(reference_of, conformance.adapter),
    "api-tables": partial(reference_of, reference_impl),
    "store": _store,
    "capabilities": lambda: ", ".join(f"`{word}`" for word in sorted(CAPABILITIES)),
    "corpus": _corpus,
    "coverage": _coverage,
    "exit-statuses": _exit_statuses,
    "hazards": lambda: "\n".join(f"{at}. {each.value}" for at, each in enumerate(HAZARDS, 1)),
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

    def written(match: re.Match[str]) -> str:
        name = match["name"]
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
