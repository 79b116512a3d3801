"""The list of requirements that no case covers yet, which may only become shorter.

``conformance/requirements/exceptions.yaml`` holds, under a reason, the ids of MUST requirements
without a case, and the number of them. A gap that is not listed, an entry that has a case by now
and a number that is not the length of the list are all faults, so that the list cannot rot and
cannot grow unseen.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.requirements.documents import read_yaml
from conformance.requirements.registry import DEFAULT_FOLDER, ID, Registry

EXCEPTIONS: Final = DEFAULT_FOLDER / "exceptions.yaml"
_WIDTH: Final = 96


@dataclass(frozen=True, slots=True)
class Gap:
    """Requirements that are without a case for one reason.

    Attributes:
        reason: why there is no case, and what has to come first.
        requirements: ids, in the order of the file.
    """

    reason: str
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GapList:
    """The whole list.

    Attributes:
        count: how many requirements are listed, as the file says.
        gaps: the groups.
    """

    count: int
    gaps: tuple[Gap, ...]

    @property
    def requirements(self) -> tuple[str, ...]:
        """All ids, in the order of the file."""
        return tuple(name for gap in self.gaps for name in gap.requirements)

    @property
    def reasons(self) -> dict[str, str]:
        """Each id with the reason of its group."""
        return {name: gap.reason for gap in self.gaps for name in gap.requirements}

    def without(self, ids: Collection[str]) -> GapList:
        """Leave some ids out, and groups that become empty, and count again."""
        left = tuple(
            Gap(gap.reason, kept)
            for gap in self.gaps
            if (kept := tuple(name for name in gap.requirements if name not in ids))
        )
        return GapList(sum(len(gap.requirements) for gap in left), left)


def read_gaps(path: Path) -> GapList:
    """Read the list.

    Raises:
        conformance.requirements.registry.RegistryError: the file is not as it has to be.
    """
    head = read_yaml(path, "the list of exceptions").fields(("count", "exceptions"))
    gaps = []
    for item in head["exceptions"].items(may_be_empty=True):
        parts = item.fields(("reason", "requirements"))
        ids = tuple(name.text(ID) for name in parts["requirements"].items())
        gaps.append(Gap(parts["reason"].text().strip(), ids))
    return GapList(head["count"].integer(), tuple(gaps))


def render_gaps(gaps: GapList) -> str:
    """Write the list as the YAML that :func:`read_gaps` reads."""
    lines = [
        "# MUST requirements that no case covers yet. The list only shrinks: take an id out when",
        "# it has a case, and lower the count; delta-tck coverage --prune does both.",
        f"count: {gaps.count}",
        "exceptions:" if gaps.gaps else "exceptions: []",
    ]
    for gap in gaps.gaps:
        lines.append("  - reason: >-")
        lines += textwrap.wrap(
            gap.reason, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6
        )
        lines.append("    requirements:")
        lines += [f"      - {name}" for name in gap.requirements]
    return "\n".join(lines) + "\n"


def faults_of(gaps: GapList, registry: Registry, uncovered: Iterable[str]) -> list[str]:
    """Compare the list with what is uncovered; one sentence for each fault, none when it holds.

    Args:
        gaps: the list.
        registry: the requirements.
        uncovered: ids of the MUST requirements that no case names.
    """
    listed = gaps.requirements
    open_ids = list(uncovered)
    faults = [f"{name} has no case and is not listed" for name in open_ids if name not in listed]
    seen: set[str] = set()
    for name in listed:
        if name in seen:
            faults.append(f"{name} is listed twice")
        elif name not in registry:
            faults.append(f"{name} is listed and no requirement has that id")
        elif name not in open_ids:
            faults.append(f"{name} is listed and needs no exception: {_why(registry, name)}")
        seen.add(name)
    if gaps.count != len(listed):
        faults.append(f"the list has {len(listed)} entries and says {gaps.count}")
    return faults


def _why(registry: Registry, name: str) -> str:
    row = registry[name]
    if row.retired is not None:
        return "it is retired"
    return "it has a case" if row.level == "MUST" else f"its level is {row.level}"
