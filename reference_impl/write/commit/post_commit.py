"""Post-commit work: the checksum, and at intervals a checkpoint.

Implements "Version Checksum File", "Checkpoints" and upstream's ``delta.checkpointInterval``. The
commit is valid without them: a failure is logged and never raised, because a caller who sees
an error repeats the operation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reference_impl.log.names import LOG_DIR
from reference_impl.model.actions import SMALL_ACTIONS, decode_action
from reference_impl.model.wire import LogPlace
from reference_impl.shown import shown_location
from reference_impl.snapshot.segment import list_log
from reference_impl.snapshot.snapshot import Snapshot, State
from reference_impl.storage import Storage
from reference_impl.write.checkpoints.write import write_checkpoint
from reference_impl.write.commit.checksum import Totals, read_totals, write_checksum
from reference_impl.write.features.target import Target
from reference_impl.write.properties import CHECKPOINT_INTERVAL, integer_property

ENGINE: Final = "delta-tck-reference"
"""``commitInfo.engineInfo`` of our commits."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that exists.

    Attributes:
        storage: the table's storage.
        base: the version before it; ``None`` for the first one.
        target: the protocol and the metadata from it on.
        version: the version that it made.
        lines: its actions in wire form, commitInfo first.
    """

    storage: Storage
    base: Snapshot | None
    target: Target
    version: int
    lines: Sequence[Mapping[str, Any]]

    def bodies(self, name: str) -> list[dict[str, Any]]:
        """Return the actions of a wire name."""
        return [line[name] for line in self.lines if name in line]


def after_commit(commit: Committed) -> None:
    """Write checksum and checkpoint of a version. Only an interrupt is raised."""
    _attempt("checksum", commit, lambda: _write_checksum(commit))
    _attempt("checkpoint", commit, lambda: _write_checkpoint(commit))


def _attempt(what: str, commit: Committed, step: Callable[[], object]) -> None:
    try:
        step()
    except Exception:  # noqa: BLE001  the commit is valid without it
        _log.warning(
            "version %d of %s is committed, and its %s could not be written",
            commit.version,
            shown_location(commit.storage.location),
            what,
            exc_info=True,
        )


def _write_checkpoint(commit: Committed) -> None:
    # Obeys CKPT-010.
    every = integer_property(commit.target.configuration, CHECKPOINT_INTERVAL)
    if commit.version and commit.version % every == 0:
        listing = list_log(commit.storage, commit.version)
        write_checkpoint(Snapshot(commit.storage, listing, commit.version))


def _write_checksum(commit: Committed) -> None:
    # Obeys CRC-036 CRC-038.
    state, base = State(), commit.base
    if base is not None:
        state.apply((base.protocol, base.metadata))
        state.apply((*base.txns.values(), *base.domain_metadata.values()))
    place = LogPlace(LOG_DIR, commit.version)
    small = (item for line in commit.lines for item in line.items() if item[0] in SMALL_ACTIONS)
    state.apply(decode_action(*item, place) for item in small)
    (info,) = commit.bodies("commitInfo")
    write_checksum(commit.storage, commit.version, state, info, _totals(commit))


def _totals(commit: Committed) -> Totals:
    adds, removes = commit.bodies("add"), commit.bodies("remove")
    totals = Totals() if commit.base is None else _totals_before(commit.base)
    removed = {body["path"] for body in removes}
    # An add without a remove may replace a live file, which then counts once.
    replaces = any(not body["dataChange"] and body["path"] not in removed for body in adds)
    if totals is None or replaces:
        listing = list_log(commit.storage, commit.version)
        return Totals.of(Snapshot(commit.storage, listing, commit.version).adds())
    totals.count(adds, 1)
    totals.count(removes, -1)
    return totals


def _totals_before(base: Snapshot) -> Totals | None:
    """Return the counts in the checksum of a version, where this writer wrote it."""
    info = base.commit_info
    if info is None or info.raw.get("engineInfo") != ENGINE:
        return None
    return read_totals(base.storage, base.version, str(info.raw.get("txnId")))
