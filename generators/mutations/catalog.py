"""The mutations, read from ``chapters/``: a file for each chapter of the registry.

``README.md`` says how an entry is written. What an edit of files cannot say is a function in
``CHANGES`` of the module for its kind of file, under the id of the mutation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from generators.mutations import checkpoints, commits, data_files, vectors
from generators.mutations.bases import BY_NAME
from generators.mutations.edits import edit_of
from generators.mutations.mutation import Change, Expectation, Mutation, NoticedBy

CHAPTERS: Final = Path(__file__).with_name("chapters")
"""Where the entries are."""

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_IN_CODE: Final[Mapping[str, Change]] = {
    **commits.CHANGES,
    **checkpoints.CHANGES,
    **data_files.CHANGES,
    **vectors.CHANGES,
}


def read_mutations(folder: Path = CHAPTERS) -> tuple[Mutation, ...]:
    """Read the mutations of every chapter of a folder.

    Raises:
        ValueError: an entry contradicts itself, two have one id, or one has no change.
    """
    found: dict[str, Mutation] = {}
    for path in sorted(folder.glob("*.yaml")):
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506  a safe one
        for each in _of_chapter(path.stem, document):
            if each.id in found:
                raise ValueError(f"two mutations are called {each.id!r}")
            found[each.id] = each
    return tuple(found.values())


def _of_chapter(chapter: str, document: Mapping[str, Any]) -> Iterator[Mutation]:
    expectations: Iterable[Expectation] = ("refused", "same_rows", "contested")
    for expect in expectations:
        for entry in document.get(expect, ()):
            yield mutation_of(chapter, expect, **{"table": document["table"], **entry})


def mutation_of(  # noqa: PLR0913  the fields of an entry
    chapter: str,
    expect: Expectation,
    *,
    id: str,  # noqa: A002  the words of the entries
    title: str,
    requirements: str,
    table: str,
    change: Mapping[str, Any] | None = None,
    kind: Any = "invalid_table",
    noticed_by: NoticedBy | None = None,
    reason: str = "",
    open: bool = False,  # noqa: A002
) -> Mutation:
    """Return the mutation of an entry.

    A refusal is noticed by a reader and the audit, what is contested by the audit; the same rows
    may be refused for a ``reason``, and then the audit notices, else ``nobody``. An entry says
    where it is otherwise.

    Raises:
        ValueError: the entry contradicts itself, or its change is neither written nor in code.
    """
    if (change is None) is not (id in _IN_CODE):
        raise ValueError(f"{id}: a change is spelled in the entry, or made by a function")
    noticed: Mapping[Expectation, NoticedBy] = {
        "refused": "both",
        "same_rows": "audit" if reason else "nobody",
        "contested": "audit",
    }
    return Mutation(
        id,
        title,
        chapter,
        tuple(requirements.split()),
        noticed_by or noticed[expect],
        expect,
        BY_NAME[table],
        _IN_CODE[id] if change is None else edit_of(change),
        kind=None if expect == "same_rows" else kind,
        tolerated=("refused",) if expect == "same_rows" and reason else (),
        reason=reason,
        open=open,
    )
