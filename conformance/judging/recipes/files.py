"""The files that a version was read from, to know whether reading it again could find more.

See the section "Write recipes" of ``docs/formats.md``. What a version holds depends on the
content of files alone. Where each of them is as it was, and none came by which a reader could
reach the version in another way, a second reading is the first one over again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa

from conformance.audit.grammar.log_files import HINT, LOG_DIR, commit_name, name_of
from conformance.audit.grammar.uris import decode_path
from conformance.audit.read.raw import Lines, read_lines
from conformance.base.untrusted import MIB, DocumentError, lines_of, parse_json, read_bytes
from reference_impl.storage import LocalStorage

_VECTOR: Final = ".bin"
"""Ending of the files that hold deletion vectors."""

_COMMIT: Final = re.compile(rf"{LOG_DIR}/(\d{{20}})\.json")

_ABSOLUTE: Final = re.compile(r"(file:(//)?)?(?=/)")
"""What may stand before the path of an absolute place on the local disk."""

_MAX_COMMIT_BYTES: Final = 256 * MIB
"""Bytes of a commit that is looked into."""

_MAX_CACHED_COMMITS: Final = 1000
"""Commits whose paths are cached, to be looked at again after the next step."""

_STATELESS_KIND: Final = "checksum"
"""Kind of a log file from which no state is read."""


def first_version(names: Iterable[str]) -> int:
    """Return the version of the first commit among files of a table; 0 where there is none."""
    found = filter(None, map(_COMMIT.fullmatch, names))
    return min((int(each[1]) for each in found), default=0)


def copy_rank(place: str) -> int:
    """Rank a place by what it copies: a commit or data file 0, a checkpoint 1, a checksum 2.

    Args:
        place: the path of a file, with what follows it in a finding.
    """
    name = place.rpartition("/")[2] if LOG_DIR in place else ""
    if ".crc" in name or "_last_checkpoint" in name:
        return 2
    return int(".checkpoint" in name or ".compacted" in name or "_sidecars" in place)


def path_in_table(table: Path, path: str) -> str:
    """Return where a path of the log leads: below the table root, where it leads there.

    Args:
        table: the table root.
        path: as an action has it, relative or absolute.
    """
    place = decode_path(path)
    found = _ABSOLUTE.match(place)
    if found is None:
        return place
    for root in {table.absolute(), table.resolve()}:
        with suppress(ValueError):
            return Path(place[found.end() :]).relative_to(root).as_posix()
    return place


def read_commits(table: Path, versions: Iterable[int]) -> list[Lines]:
    """Return the commits of versions that the log has; a catalog may have others."""
    storage = LocalStorage(table)
    places = (f"{LOG_DIR}/{commit_name(version)}" for version in versions)
    return [read_lines(storage, place) for place in places if (table / place).exists()]


def overwritten_file(
    table: Path, before: Mapping[str, bytes], now: Mapping[str, bytes], *, cleans: bool = False
) -> tuple[str, str] | None:
    """Name what a step breaks that takes a version or a name that is not free, or a commit away.

    Args:
        table: the table root.
        before: digest of every file, before the step.
        now: the same after it.
        cleans: the step is to delete commits.
    """
    old, there = _commits(before), _commits(now)
    fresh = sorted(there.keys() - old)
    for wanted, version in enumerate(fresh, max(old, default=-1) + 1):
        if version != wanted:
            return "LOG-003", f"version {version} is committed, and the next one is {wanted}"
    changed = [path for path in before if path in now and now[path] != before[path]]
    commits = [path for path in changed if _COMMIT.fullmatch(path)]
    if commits:
        # What is changed may not be readable: that it is changed comes first.
        how = "was written again" if fresh else "is written over, and no version comes"
        return "WNEW-001", f"{commits[0]} {how}"
    gone = () if cleans else sorted(set(filter(_COMMIT.fullmatch, before)) - now.keys())
    if gone:
        return "CRC-001", f"{gone[0]} is gone"
    added = {path for version in fresh for path in _added(table, version, there[version])}
    for path in changed:
        if path.endswith(".parquet") and not path.startswith("_"):
            requirement = "DATA-004" if path in added else "DATA-005"
            return requirement, f"{path} is written over"
    # What is added again without a file of its own is restored; a new file has a new name.
    written = {path for path in added if path in now and path not in before}
    once = (_added(table, *commit) for commit in old.items()) if written else ()
    for path in sorted(written.intersection(chain.from_iterable(once))):
        return "DATA-004", f"{path} is a new file, with a name that one had before"
    return None


def _commits(files: Mapping[str, bytes]) -> dict[int, bytes]:
    return {int(found[1]): files[found[0]] for found in map(_COMMIT.fullmatch, files) if found}


@lru_cache(maxsize=_MAX_CACHED_COMMITS)
def _added(table: Path, version: int, digest: bytes) -> frozenset[str]:
    """Return the paths that a commit adds, as far as its lines can be read."""
    del digest  # what is read of a commit stands while it is the same
    found = set()
    with suppress(DocumentError):
        for line in lines_of(table / LOG_DIR / f"{version:020}.json", _MAX_COMMIT_BYTES):
            with suppress(DocumentError, ValueError, KeyError, TypeError, AttributeError):
                found.add(path_in_table(table, parse_json(line)["add"]["path"]))
    return frozenset(found)


def requirement_of_file(path: str, table: Path, *, lost: bool, vectors: bool) -> str | None:
    """Name what a step breaks that deletes a file that it must keep, or keeps one that has to go.

    Args:
        path: the file, below the table root.
        table: the root.
        lost: it is gone and has to be there; otherwise it is the other way about.
        vectors: files of the table have deletion vectors.
    """
    if path.endswith(_VECTOR):
        return "DVD-003" if lost else "DVD-002"
    if lost and _COMMIT.fullmatch(path) and any(table.glob(f"{path[:-5]}.checkpoint*")):
        return "CLEAN-012"
    return "DVD-004" if lost and vectors and not path.startswith(LOG_DIR) else None


def hinted_version(table: Path) -> int | None:
    """Return the version that the last-checkpoint hint names; ``None`` where it names none."""
    with suppress(DocumentError):
        hint = parse_json(read_bytes(table / HINT))
        version = hint.get("version") if isinstance(hint, dict) else None
        return version if type(version) is int else None
    return None


@dataclass(frozen=True, slots=True)
class Seen:
    """A version that was the latest once.

    Attributes:
        version: its number.
        rows: what it has to hold; ``None`` where that is not known.
        files: digest of every file of the table, when the version was read; ``None`` where it
            was not read yet.
    """

    version: int
    rows: pa.Table | None
    files: Mapping[str, bytes] | None = None

    def is_unchanged(self, now: Mapping[str, bytes], hint: int | None = None) -> bool:
        """Return whether all files from which the version can be read are unchanged.

        Args:
            now: digest of every file of the table.
            hint: version that the last-checkpoint hint names; a later one does not lead here.
        """
        then = self.files
        if then is None:
            return False
        moot = {HINT} if hint is not None and hint > self.version else frozenset()
        if any(now.get(path) != digest for path, digest in then.items() if path not in moot):
            return False
        return not any(self._leads_here(path) for path in now.keys() - then.keys() - moot)

    def _leads_here(self, path: str) -> bool:
        """Return whether a new file may be read in order to load the version."""
        folder, _, name = path.rpartition("/")
        if folder != LOG_DIR:
            return False  # only what the log names is read, and that stands as it was
        file = name_of(name)
        if file is None:
            return True  # the hint, or an unknown file
        return file.kind != _STATELESS_KIND and file.version <= self.version
