"""One history, many logs: every way to lay out the same versions, all of which must read equal.

Covers "Checkpoints", "Checkpoint Specs", "Log Compaction Files", "Last Checkpoint File",
"Version Checksum File" and "Metadata Cleanup".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from generators.materialise.builder import TableBuilder
from generators.materialise.data.data_files import FileLayout
from generators.materialise.histories import write_history
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.materialise.log.files import drop_commits
from generators.oracle.operations import Checkpoint, CheckpointKind, Create, History

Finish: TypeAlias = Callable[[TableBuilder], int]
"""Adds to, or takes from, a log; returns the first version that a reader can still load."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to lay out a log.

    Attributes:
        name: slug.
        finish: makes the layout of the log of plain commits.
        features: features that the layout needs.
        files: the layout of data files.
        requirements: ids that a reader breaks when it reads the layout wrong.
        properties: table properties that the layout needs.
        since: of requirements that a short history does not show, the last version from which it
            does.
        parted: whether only a partitioned table shows them.
        typed: of how a file stores a type, the pattern of the types in a schema string.
    """

    name: str
    finish: Finish
    features: tuple[str, ...] = ()
    files: FileLayout | None = None
    requirements: tuple[str, ...] = ("SNAP-007", "LOG-005", "REC-001", "REC-018")
    properties: tuple[tuple[str, str], ...] = ()
    since: tuple[tuple[str, int], ...] = ()
    parted: bool = False
    typed: str | None = None

    def shown_by(self, history: History) -> tuple[str, ...]:
        """Return the requirements that a history shows when it is laid out like this."""
        if self.parted and not any(getattr(each, "partition_columns", ()) for each in history):
            return ()
        if self.typed is not None and not _stored(history, self.typed):
            return ()
        last = sum(each.commits for each in history) - 1
        since = dict(self.since)
        return tuple(name for name in self.requirements if since.get(name, 0) <= last)


def _stored(history: History, types: str) -> bool:
    """Say whether files of a history hold columns of a type."""
    schemas = (getattr(each, "schema", None) for each in history)
    return any(getattr(each, "rows", ()) for each in history) and any(
        re.search(f'[tT]ype": ?"(?:{types})', schema.schema_string())
        for schema in schemas
        if schema
    )


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A history on disk.

    Attributes:
        builder: the builder, with the rows of every version.
        first: the first version that a reader can load.
    """

    builder: TableBuilder
    first: int

    @property
    def versions(self) -> range:
        """The versions that a reader can load."""
        return range(self.first, self.builder.version + 1)


_V2: Final = ("v2Checkpoint",)


def _middle(builder: TableBuilder) -> int:
    return builder.version // 2


def _steps(steps: Sequence[Finish], builder: TableBuilder) -> int:
    return max((step(builder) for step in steps), default=0)


def _checkpoint(
    kind: CheckpointKind, builder: TableBuilder, *, middle: bool = False, **options: Any
) -> int:
    """Write a checkpoint of the latest version, or of the one in the middle."""
    builder.checkpoint(kind, _middle(builder) if middle else None, **options)
    return 0


def _stale_hint(builder: TableBuilder) -> int:
    builder.checkpoint(version=0)
    builder.checkpoint(hint=False)
    return 0


def _classic_everywhere(builder: TableBuilder) -> int:
    for version in range(builder.version + 1):
        builder.checkpoint(version=version)
    return 0


def _incomplete_parts(builder: TableBuilder) -> int:
    """Leave a set of parts at the last version that lacks one, and a classic one before it."""
    builder.checkpoint(version=_middle(builder))
    builder.checkpoint("multi-part", parts=3, hint=False).files[1].unlink()
    return 0


def _checksums(builder: TableBuilder) -> int:
    for version in range(builder.version + 1):
        builder.checksum(version, all_files=version % 2 == 0)
    return 0


def _compact(builder: TableBuilder, start: int, end: int) -> None:
    """Compact a range of commits, unless they leave nothing that a compaction could hold."""
    commits = map(builder.commits.__getitem__, range(start, end + 1))
    if any(set(action) - {"commitInfo", "cdc"} for actions in commits for action in actions):
        builder.compact_log(start, end)


def _compactions(builder: TableBuilder) -> int:
    for start in range(1, builder.version, 2):
        _compact(builder, start, start + 1)
    return 0


def _overlapping_compactions(builder: TableBuilder) -> int:
    if builder.version >= 1:
        _compact(builder, 0, builder.version)
    if builder.version >= 2:
        _compact(builder, 1, builder.version)
        _compact(builder, 0, 1)
    return 0


def _cleaned(kind: CheckpointKind, builder: TableBuilder, **options: Any) -> int:
    """Checkpoint in the middle and drop every commit before it, as log cleanup does."""
    kept = _middle(builder)
    builder.checkpoint(kind, kept, **options)
    drop_commits(builder.root, kept)
    return kept


def _layout(
    name: str,
    finish: Finish,
    requirements: str,
    features: tuple[str, ...] = (),
    files: FileLayout | None = None,
) -> Layout:
    """Describe a layout; a requirement that is shown from a version on has it behind an at sign."""
    named = [each.partition("@") for each in requirements.split()]
    since = tuple((name, int(version)) for name, _, version in named if version)
    ids = tuple(name for name, _, _ in named)
    return Layout(name, finish, features, files, ids, since=since)


_plain: Final = partial(_steps, ())
_classic: Final = partial(_checkpoint, "classic")
_sidecars: Final = partial(_checkpoint, "v2-json", sidecars=2)
_parsed: Final = CheckpointStyle(stats_json=False, stats_parsed=True)

PLAIN: Final = Layout("plain", _plain)
"""The log of plain commits, which the others are compared with."""

LAYOUTS: Final = (
    PLAIN,
    _layout("classic", _classic, "CKPT-005 CKPT-018"),
    _layout(
        "classic-in-the-middle", partial(_classic, middle=True, hint=False), "CKPT-004@2 LAST-004"
    ),
    _layout("classic-everywhere", _classic_everywhere, "CKPT-004@1 CKPT-005"),
    _layout("stale-hint", _stale_hint, "LAST-003@1"),
    Layout(
        "parsed-statistics",
        partial(
            _steps,
            (partial(_classic, middle=True, style=_parsed), partial(_classic, style=_parsed)),
        ),
        requirements=("CKC-020", "CKC-021"),
        properties=(
            ("delta.checkpoint.writeStatsAsJson", "false"),
            ("delta.checkpoint.writeStatsAsStruct", "true"),
        ),
    ),
    _layout(
        "small-row-groups",
        partial(_classic, style=CheckpointStyle(row_group_rows=1)),
        "CKC-001",
        files=FileLayout(row_group_rows=1),
    ),
    _layout(
        "without-tombstones",
        partial(_classic, style=CheckpointStyle(tombstones=False)),
        "CKPT-008 REC-011",
    ),
    _layout("multi-part", partial(_checkpoint, "multi-part", parts=3), "CKPT-021 CKPT-N-002"),
    _layout("incomplete-parts", _incomplete_parts, "CKPT-030"),
    _layout("v2-json", partial(_checkpoint, "v2-json"), "CKPT-016 CKPT-V2-005", _V2),
    _layout("v2-json-sidecars", _sidecars, "CKPT-017 SIDE-005", _V2),
    _layout("v2-parquet", partial(_checkpoint, "v2-parquet", middle=True), "CKPT-016", _V2),
    _layout(
        "v2-parquet-sidecars",
        partial(_checkpoint, "v2-parquet", sidecars=3),
        "CKPT-017 SIDE-005",
        _V2,
    ),
    _layout("v2-classic", partial(_checkpoint, "v2-classic", sidecars=1), "CKPT-020 SIDE-005", _V2),
    _layout(
        "several-at-once",
        partial(_steps, (_sidecars, partial(_checkpoint, "v2-parquet"), _classic)),
        "CKPT-029",
        _V2,
    ),
    _layout("checksums", _checksums, "CRC-002 CRC-034"),
    _layout("compactions", _compactions, "COMP-011@2 COMP-012@2"),
    _layout("overlapping-compactions", _overlapping_compactions, "COMP-011@1 COMP-012@1"),
    _layout(
        "everything",
        partial(
            _steps, (_checksums, _compactions, partial(_classic, middle=True, hint=False), _classic)
        ),
        "CKPT-003 COMP-011@2",
    ),
    _layout("cleaned", partial(_cleaned, "classic"), "CKPT-011 CKPT-005"),
    _layout("cleaned-v2", partial(_cleaned, "v2-parquet", sidecars=2), "CKPT-011 SIDE-005", _V2),
    Layout(
        "old-parquet",
        _classic,
        files=FileLayout(int96=True, dictionary=False),
        requirements=("PQ-008", "PQ-001"),
        typed="timestamp",
    ),
    Layout(
        "short-decimals",
        _plain,
        files=FileLayout(short_decimals=True, compression="zstd"),
        requirements=("PQ-012", "PQ-001"),
        typed=r"decimal\((?:\d|1[0-8]),",
    ),
    Layout(
        "legacy-lists",
        _plain,
        files=FileLayout(lists="bag", legacy_maps=True),
        requirements=("PQ-015", "PQ-016", "PQ-001"),
        typed='(?:array|map)"',
    ),
    Layout(
        "partitions-inside",
        _plain,
        files=FileLayout(partitions_inside=True),
        requirements=("DATA-003",),
        parted=True,
    ),
)
"""Every layout, the plain one first."""


def lay_out(root: Path, history: History, layout: Layout, *, seed: str = "history") -> LaidOut:
    """Write a history below ``root`` in one layout.

    Checkpoint operations of the history are the layout's business and left out.

    Raises:
        ValueError: the history does not begin with a create.
    """
    kept = [each for each in history if not isinstance(each, Checkpoint)]
    if not kept or not isinstance(kept[0], Create):
        raise ValueError("a history begins with Create")
    first = replace(kept[0], properties={**kept[0].properties, **dict(layout.properties)})
    kept = [first, *kept[1:]]
    builder = write_history(root, kept, features=layout.features, layout=layout.files, seed=seed)
    return LaidOut(builder, layout.finish(builder))
