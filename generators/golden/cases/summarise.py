"""Summaries of a golden table's log, in every form that a reader may start from or read instead.

Covers "Checkpoints" and "Log Compaction Files".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from generators.golden.cases.table import GoldenTable
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.materialise.log.files import drop_commits
from generators.oracle.operations import CheckpointKind

Summarise: TypeAlias = Callable[[GoldenTable, int], object]
"""Writes a summary of a table at a version."""


def checkpoint(kind: CheckpointKind, **options: Any) -> Summarise:
    """Return what writes a checkpoint of a kind; options are those of the table's method."""
    return lambda table, version: table.checkpoint(kind, version, **options)


def compaction(table: GoldenTable, version: int) -> None:
    """Write a log compaction of two versions or more that ends with a version."""
    table.compact_log(min(1, version - 1), version)


SUMMARIES: Final[Mapping[str, Summarise]] = {
    "classic": checkpoint("classic"),
    "multi-part": checkpoint("multi-part", parts=3, hint=False),
    "v2-parquet": checkpoint("v2-parquet"),
    "v2-json-sidecars": checkpoint("v2-json", sidecars=2),
    "compaction": compaction,
}
"""Summaries by the names of their forms."""


def _all(table: GoldenTable, version: int) -> None:
    """Write a checkpoint, a compaction after it, and a checksum of all versions but the newest."""
    table.checkpoint(version=version - 1)
    table.compact_log(version, version + 1)
    for each in table.versions[:-1]:
        table.checksum(each, all_files=True)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a log is laid out about one of its versions, before and after which it changes.

    Attributes:
        write: writes the summaries.
        readers: features of readers that it needs.
        properties: table properties that go with it.
        cuts: the commits that the summary stands in for are gone.
        back: how many versions before it is the earlier one that is asked for.
    """

    write: Summarise
    readers: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    cuts: bool = False
    back: int = 0

    def lay(self, table: GoldenTable, version: int) -> int:
        """Lay the log of a whole table out about a version; returns the earlier one to ask for."""
        self.write(table, version)
        if self.cuts:
            drop_commits(table.root, version)
        return version - self.back


AS_STRUCT: Final = {
    "delta.checkpoint.writeStatsAsJson": "false",
    "delta.checkpoint.writeStatsAsStruct": "true",
}
"""Properties of tables whose checkpoints have statistics as a struct alone."""

_STYLE: Final = CheckpointStyle(stats_json=False, stats_parsed=True)

LAYOUTS: Final[Mapping[str, Layout]] = {
    "commits": Layout(lambda _table, _version: None),
    "classic": Layout(SUMMARIES["classic"], back=1),
    "parts": Layout(
        checkpoint("multi-part", parts=3, style=_STYLE, hint=False), properties=AS_STRUCT, cuts=True
    ),
    "v2-json": Layout(SUMMARIES["v2-json-sidecars"], ["v2Checkpoint"], cuts=True),
    "v2-parquet": Layout(
        checkpoint("v2-parquet", sidecars=2, style=_STYLE), ["v2Checkpoint"], AS_STRUCT, cuts=True
    ),
    "compaction": Layout(compaction, back=1),
    "all": Layout(_all),
}
"""Layouts by name, for cases that ask the same history in each."""
