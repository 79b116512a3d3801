"""Run checks over what they look at, of one table or of a part of its file actions."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.audit.checks import (
    column_ids,
    commits,
    domains,
    features,
    high_water_marks,
    metadata,
    names,
    protocols,
    row_tracking,
    timestamps,
    transitions,
    values,
)
from conformance.audit.findings import Check, Findings, Stage, checks_in, unchecked
from conformance.audit.grammar.log_files import LOG_DIR
from conformance.audit.read.log import Log
from conformance.audit.read.state import State
from conformance.audit.stored import changes, files, row_ids, rules, vectors
from conformance.audit.subjects import Layouts, VersionView
from conformance.audit.summaries import checkpoints, checksums, columns, forms, pointers, tails
from reference_impl.limits import exceeded
from reference_impl.storage import Storage

CHECKS: Final = checks_in(
    names, pointers,
    commits, protocols, metadata, column_ids, transitions, domains, values, timestamps,
    high_water_marks, row_tracking, features,
    checkpoints, tails, columns, forms, checksums,
    rules, files, changes, vectors, row_ids,
)  # fmt: skip
"""Every check that an audit runs."""


def checks_of(*stages: Stage) -> tuple[Check[Any], ...]:
    """Return the checks of some stages, in the order in which they run."""
    return tuple(check for check in CHECKS if check.stage in stages)


SCREENS: Final = True
"""Whether screens are used; without them every check sees every row, and finds the same."""


@dataclass(frozen=True, slots=True)
class Checker:
    """Runs checks over subjects of a log.

    Over a part of the file actions, checks that are :attr:`~Check.whole` are left to the
    caller that has all of them.

    Attributes:
        storage: where the table is.
        log: of the table.
        data: also look at data files; over a part of the table, at change files alone.
        whole: the log has all file actions.
        first: also look at what has none of its file actions.
        now: current time in ms since the epoch; that of the clock by default.
        layouts: of the versions.
    """

    storage: Storage
    log: Log
    data: bool
    whole: bool = True
    first: bool = True
    now: int = field(default_factory=lambda: int(time.time() * 1000))
    layouts: Layouts = field(default_factory=Layouts)

    def run(self, checks: Iterable[Check[Any]], subject: Any) -> Findings:
        """Run checks over what they look at."""
        for check in checks:
            if self.whole or not check.whole:
                try:
                    yield from screened(check, subject)
                except RecursionError:
                    deep = exceeded("nesting", "something is nested deeper than can be followed")
                    for requirement in check.requirements:
                        yield unchecked(requirement, LOG_DIR, deep)

    def view(self, state: State) -> VersionView:
        """Return the version of a state, as checks look at it."""
        layout = self.layouts.get(state.protocol, state.metadata)
        return VersionView(self.storage, state, layout, self.log, self.now)


def screened(check: Check[Any], subject: Any) -> Findings:
    """Run a check over what its screen shows of the subject, irregular rows always among it."""
    if check.screen is not None and SCREENS and subject.rows.plain:
        subject = subject.only(check.screen(subject) | subject.rows.irregular)
    yield from check.run(subject)
