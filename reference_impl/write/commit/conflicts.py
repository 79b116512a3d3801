"""Conflict detection: whether a transaction may commit after a concurrent commit.

Implements "Delta Log Entries" (the version a writer commits follows the one it read) and "Writer
Requirements" of the features that count. The rules give serializable isolation: what commits
could have been done one after the other, in the order of their versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reference_impl.errors import (
    CommitConflict,
    ConcurrentAppend,
    ConcurrentDelete,
    ConcurrentDomainChange,
    ConcurrentMetadataChange,
    ConcurrentProtocolChange,
    ConcurrentTransaction,
)
from reference_impl.filters import Node
from reference_impl.log.commits import Commit
from reference_impl.model.actions import DomainMetadata, Metadata, Protocol, Txn
from reference_impl.model.file_actions import from_objects
from reference_impl.places import decode_path
from reference_impl.scan.skipping import may_match
from reference_impl.snapshot.table_schema import TableSchema
from reference_impl.write.features.row_ids import ROW_TRACKING_DOMAIN


@dataclass(slots=True)
class ReadWriteSet:
    """What a transaction read and what it changes, other than the files that it adds.

    Attributes:
        reads_all: the whole table was read.
        predicates: of the rows that were read.
        files: decoded paths of the files that it read or removes.
        removed: those of them that are removed.
        applications: application ids of transactions that are read or set.
        domains: metadata domains that are set.
    """

    reads_all: bool = False
    predicates: list[Node] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    applications: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)


_RETRY: Final = "load the table again and repeat the operation"


def check_conflict(own: ReadWriteSet, winner: Commit, table: TableSchema) -> None:
    """Check that a transaction may commit after a winner.

    Args:
        own: the read and write set of the transaction.
        winner: the commit that came first.
        table: the schema that the transaction read under.

    Raises:
        CommitConflict: a subclass that names what both changed.
    """

    def conflict(error: type[CommitConflict], message: str) -> CommitConflict:
        return error(
            f"{message}: version {winner.place.version} was committed first",
            version=winner.place.version,
            hint=_RETRY,
        )

    for action in winner.actions:
        match action:
            case Protocol():
                raise conflict(ConcurrentProtocolChange, "the protocol was changed")
            case Metadata():
                raise conflict(ConcurrentMetadataChange, "the metadata were changed")
            case Txn() if action.app_id in own.applications:
                raise conflict(
                    ConcurrentTransaction, f"application {action.app_id!r} made progress"
                )
            case DomainMetadata() if (
                action.domain in own.domains and action.domain != ROW_TRACKING_DOMAIN
            ):
                raise conflict(ConcurrentDomainChange, f"domain {action.domain!r} was changed")
            case _:
                pass
    removed = {decode_path(body["path"], action="remove") for body in winner.bodies("remove")}
    lost = sorted(removed & own.files)
    if lost:
        raise conflict(ConcurrentDelete, f"file {lost[0]!r} was removed or rewritten")
    # An add that only moves rows is judged by the removes of its commit.
    added = [body for body in winner.bodies("add") if body.get("dataChange", True) or not removed]
    if added and _were_read(own, added, winner, table):
        raise conflict(ConcurrentAppend, "rows were added among those that were read")


def _were_read(own: ReadWriteSet, adds: Sequence[Any], winner: Commit, table: TableSchema) -> bool:
    if own.reads_all:
        return True
    if not own.predicates:
        return False
    files = from_objects("add", adds, winner.place)
    return any(any(may_match(files, predicate, table).to_pylist()) for predicate in own.predicates)
