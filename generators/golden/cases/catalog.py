"""The list of golden cases: each a description and the function that builds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from generators.golden.cases.case import REVISIONS, CaseError, CaseInfo, CaseWriter

Builder: TypeAlias = Callable[[CaseWriter], None]


@dataclass(frozen=True, slots=True)
class Definition:
    """A case that can be built.

    Attributes:
        info: what the case is about.
        build: writes the table and the specs.
    """

    info: CaseInfo
    build: Builder


def title_of(case_id: str, build: Callable[..., None]) -> str:
    """Return the title of a case: the docstring of its builder, which says what holds.

    Raises:
        CaseError: the builder has no docstring, or one of several lines.
    """
    title = (build.__doc__ or "").removesuffix(".")
    if not title or "\n" in title:
        raise CaseError(f"{case_id}: its builder says in one line what holds")
    return title


class Chapter:
    """The cases of one chapter, in the order in which they were defined.

    ``slug`` is the chapter's folder, named after the protocol's section.
    """

    def __init__(self, slug: str, *, since: str = REVISIONS[0], **defaults: Any) -> None:
        """Start a chapter; ``defaults`` are fields of every :class:`CaseInfo` in it."""
        self.slug = slug
        self._since = since
        self._defaults: Mapping[str, Any] = defaults
        self._definitions: dict[str, Definition] = {}

    def case(
        self, name: str, requirements: str, *, since: str | None = None, **info: Any
    ) -> Callable[[Builder], Builder]:
        """Define the case that the decorated function builds, and whose title is its docstring.

        Args:
            name: second half of the case id.
            requirements: ids of the registry, separated by spaces.
            since: oldest protocol revision under which the case applies; the chapter's own
                when ``None``.
            info: further fields of :class:`CaseInfo`.

        Raises:
            CaseError: the function has no docstring, or one of several lines.
        """

        def decorate(build: Builder) -> Builder:
            title = title_of(f"{self.slug}/{name}", build)
            self.define(name, title, requirements, build, since=since, **info)
            return build

        return decorate

    def define(
        self,
        name: str,
        title: str,
        requirements: str | Sequence[str],
        build: Builder,
        *,
        since: str | None = None,
        **info: Any,
    ) -> None:
        """Define a case; for families whose members come out of a table of values.

        Raises:
            CaseError: the name is taken.
        """
        if name in self._definitions:
            raise CaseError(f"{self.slug}/{name} is defined twice")
        revisions = REVISIONS[REVISIONS.index(since or self._since) :]
        cited = requirements.split() if isinstance(requirements, str) else requirements
        self._definitions[name] = Definition(
            CaseInfo(
                f"{self.slug}/{name}",
                title,
                tuple(cited),
                **{"revisions": revisions, **self._defaults, **info},
            ),
            build,
        )

    def __iter__(self) -> Iterator[Definition]:
        """Return the definitions in order."""
        return iter(self._definitions.values())
