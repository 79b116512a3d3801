"""Summaries of a golden table's log, in every form that a reader may start from or read instead.

Serves "Checkpoints" and "Log Compaction Files".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from generators.golden.cases.table import GoldenTable
from generators.materialise.log.checkpoints import (
    CheckpointStyle,
    Written,
    write_classic,
    write_multi_part,
    write_v2,
)
from generators.materialise.log.files import drop_commits
from generators.materialise.log.hints import (
    version_checksum_document,
    write_compaction,
    write_last_checkpoint,
    write_version_checksum,
)

Summarise: TypeAlias = Callable[[GoldenTable, int], None]
"""Writes a summary of a table at a version."""


def classic(table: GoldenTable, version: int) -> None:
    """Write a classic checkpoint of a version, and the hint to it."""
    write_last_checkpoint(table.root, write_classic(table.root, version, table.states[version]))


def multi_part(table: GoldenTable, version: int, style: CheckpointStyle | None = None) -> None:
    """Write a checkpoint of three parts."""
    write_multi_part(table.root, version, table.states[version], 3, style)


def v2(table: GoldenTable, version: int, extension: str, sidecars: int, **options: Any) -> None:
    """Write a V2 checkpoint with so many sidecars, and the hint to it."""
    write_last_checkpoint(table.root, v2_alone(table, version, extension, sidecars, **options))


def v2_alone(
    table: GoldenTable, version: int, extension: str, sidecars: int, **options: Any
) -> Written:
    """Write a V2 checkpoint with so many sidecars, and no hint."""
    return write_v2(
        table.root,
        version,
        table.states[version],
        identity=table.unique_name("checkpoint"),
        extension=extension,
        sidecars=sidecars,
        sidecar_names=[f"{table.unique_name('sidecar')}.parquet" for _ in range(sidecars)],
        **options,
    )


def compaction(table: GoldenTable, version: int, start: int | None = None) -> None:
    """Write a log compaction of two versions or more that ends with a version."""
    start = min(1, version - 1) if start is None else start
    commits = [
        [each for each in table.actions[number] if not isinstance(each, str)]
        for number in range(start, version + 1)
    ]
    write_compaction(
        table.root,
        start,
        version,
        [[each for each in actions if "commitInfo" not in each] for actions in commits],
    )


def checksum(table: GoldenTable, version: int, **options: Any) -> None:
    """Write the checksum of a version, with the in-commit timestamp that its commit has."""
    for action in table.actions[version]:
        if not isinstance(action, str) and "commitInfo" in action:
            options["in_commit_timestamp"] = action["commitInfo"].get("inCommitTimestamp")
    document = version_checksum_document(table.states[version], **options)
    write_version_checksum(table.root, version, document)


SUMMARIES: Final[Mapping[str, Summarise]] = {
    "classic": classic,
    "multi-part": multi_part,
    "v2-parquet": partial(v2, extension="parquet", sidecars=0),
    "v2-json-sidecars": partial(v2, extension="json", sidecars=2),
    "compaction": compaction,
}
"""Summaries by the names of their forms."""


def _all(table: GoldenTable, version: int) -> None:
    """Write a checkpoint, a compaction after it, and a checksum of all versions but the newest."""
    classic(table, version - 1)
    compaction(table, version + 1, version)
    for each in table.versions[:-1]:
        checksum(table, each, all_files=True)


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


_AS_STRUCT: Final = {
    "delta.checkpoint.writeStatsAsJson": "false",
    "delta.checkpoint.writeStatsAsStruct": "true",
}
_STYLE: Final = CheckpointStyle(stats_json=False, stats_parsed=True)

LAYOUTS: Final[Mapping[str, Layout]] = {
    "commits": Layout(lambda _table, _version: None),
    "classic": Layout(classic, back=1),
    "parts": Layout(partial(multi_part, style=_STYLE), properties=_AS_STRUCT, cuts=True),
    "v2-json": Layout(SUMMARIES["v2-json-sidecars"], ["v2Checkpoint"], cuts=True),
    "v2-parquet": Layout(
        partial(v2, extension="parquet", sidecars=2, style=_STYLE),
        ["v2Checkpoint"],
        _AS_STRUCT,
        cuts=True,
    ),
    "compaction": Layout(compaction, back=1),
    "all": Layout(_all),
}
"""Layouts by name, for cases that ask the same history in each."""
