"""Commits that a catalog ratified, as the caller got them from it.

Implements "Catalog-managed tables". The files of such a table do not say which commits count: the
catalog does, and this implementation has no client for one. The caller passes the ratified commits,
which are authoritative: they take precedence over published commits of their versions, and
versions after the latest ratified one are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from reference_impl.errors import InvalidRatifiedCommits
from reference_impl.log.names import LOG_DIR, UUID, VERSION, LogFile, commit_name
from reference_impl.model.ranges import INT64, Range

_STAGED_DIR: Final = "_staged_commits"
_STAGED: Final = re.compile(rf"(?:(?:{LOG_DIR}/)?{_STAGED_DIR}/)?({VERSION}\.{UUID}\.json)")


@dataclass(frozen=True, slots=True)
class StagedCommit:
    """A ratified commit that lies in a staged file.

    Attributes:
        path: the file's name ``<version>.<uuid>.json``, alone or with its directory, relative
            to the log or to the table root.
    """

    path: str


@dataclass(frozen=True, slots=True)
class InlineCommit:
    """A ratified commit whose content the catalog keeps.

    Attributes:
        version: the version that it makes.
        content: its actions as in a commit file, one JSON object per line.
    """

    version: int
    content: bytes


RatifiedCommit: TypeAlias = StagedCommit | InlineCommit
"""A commit that the catalog gave to a version."""


@dataclass(frozen=True, slots=True)
class RatifiedCommits:
    """What a catalog answers when it is asked for the commits of a table.

    Attributes:
        latest: the latest ratified version.
        commits: the ratified commits that the catalog still keeps, in any order; all others up
            to the latest are published.
    """

    # Obeys CAT-004.

    latest: int
    commits: Sequence[RatifiedCommit] = ()

    def by_version(self) -> dict[int, LogFile]:
        """Return the commits as files of the log, by version.

        Raises:
            InvalidRatifiedCommits: the answer contradicts itself: a path is not that of a
                staged commit, a version has two commits or lies beyond the latest.
        """
        if self.latest not in Range(0, INT64.most):
            raise InvalidRatifiedCommits(f"the latest ratified version is {self.latest}")
        found: dict[int, LogFile] = {}
        for commit in self.commits:
            file = _log_file(commit)
            if not 0 <= file.version <= self.latest:
                raise InvalidRatifiedCommits(
                    f"a commit of version {file.version} is handed in, and the latest ratified "
                    f"version is {self.latest}",
                    version=file.version,
                    requirement="CAT-010",
                )
            if found.setdefault(file.version, file) != file:
                raise InvalidRatifiedCommits(
                    f"two commits of version {file.version} are handed in",
                    version=file.version,
                    hint="a catalog ratifies a version once at most",
                    requirement="CAT-012",
                )
        return found


def _log_file(commit: RatifiedCommit) -> LogFile:
    match commit:
        case InlineCommit(version, content):
            return LogFile(commit_name(version), "commit", version, version, content=content)
        case StagedCommit(path):
            match = _STAGED.fullmatch(path)
            if match is None:
                raise InvalidRatifiedCommits(
                    "the path is not that of a staged commit",
                    path=path,
                    hint=f"it is {LOG_DIR}/{_STAGED_DIR}/<version>.<uuid>.json",
                )
            version = int(match["version"])
            return LogFile(f"{_STAGED_DIR}/{match[1]}", "commit", version, version)
