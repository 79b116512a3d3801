"""Items out of histories: one history laid out as many logs, which all read equal.

Covers "Action Reconciliation", "Checkpoints", "Log Compaction Files", "Last Checkpoint File",
"Version Checksum File" and "Metadata Cleanup". The oracle that gives the expected rows shares no
code with the reference implementation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from conformance.base.faults import CorpusError
from conformance.base.outcomes import FAILING, Outcome, Verdict
from conformance.golden.cases import Case, Expected, Spec
from conformance.items.items import ALL_REVISIONS, Item
from conformance.judging.judge import Judge
from conformance.judging.messages import alike
from conformance.requirements.judged import Judged, shown_rows
from conformance.requirements.levels import ROWS_READ
from generators.histories.document import HistoryError
from generators.histories.gate import FOLDER, gate_histories
from generators.histories.groups import Drawn, Kind
from generators.materialise.builder import TableBuilder
from generators.materialise.data.arrow_rows import arrow_table
from generators.materialise.layouts import LAYOUTS, PLAIN, Layout, lay_out
from generators.oracle.delta_schema import Struct
from generators.oracle.model import Row
from generators.oracle.operations import History

MODERN = frozenset({"2025", "upstream"})
"""Revisions of tables that need what came after the one of 2021."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which histories to judge by.

    Attributes:
        profile: ``gate`` has those of the package's files, ``explore`` draws ten times as many.
        seed: what ``explore`` draws from.
    """

    profile: str = "gate"
    seed: int = 0

    def histories(self, kind: Kind) -> list[Drawn]:
        """List the histories of a kind.

        Raises:
            CorpusError: the package's files are missing or damaged.
        """
        return [each for each in self._all() if each.kind == kind]

    def _all(self) -> tuple[Drawn, ...]:
        if self.profile == "gate":
            try:
                return gate_histories()
            except HistoryError as error:
                raise CorpusError(FOLDER, str(error)) from error
        # Only exploring draws; a gate never loads Hypothesis.
        from generators.histories.drawing import explored_histories  # noqa: PLC0415  see above

        return explored_histories(self.seed)


@dataclass(frozen=True, slots=True)
class WantedRows:
    """Tables of the rows that versions are expected to have; layouts of a history share them."""

    _made: dict[int, tuple[Struct, list[Row], pa.Table]] = field(default_factory=dict)

    def table(self, version: int, schema: Struct, rows: list[Row]) -> pa.Table:
        """Return the table of a version; the one that was made of equal rows is returned again."""
        known = self._made.get(version)
        if known is not None and known[0] == schema and known[1] == rows:
            return known[2]
        made = arrow_table(schema, rows)
        self._made[version] = (schema, rows, made)
        return made


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """A history in one layout, to be read.

    Attributes:
        id: of the item.
        drawn: the history that the item is about.
        layout: how it is laid out.
        wanted: tables of expected rows, which the layouts of the history share.
    """

    id: str
    drawn: Drawn
    layout: Layout
    wanted: WantedRows = field(default_factory=WantedRows, repr=False, compare=False)

    def judge(self, judge: Judge) -> Verdict:
        """Ask for every version that the layout holds, the latest one first."""
        return self.judge_history(judge, self.drawn.load())

    def judge_history(self, judge: Judge, history: History) -> Verdict:
        """Judge another history in this layout, as one that a failure was shrunk to.

        A failure that the plain layout of the history has as well says nothing of the layout, and
        neither does a history too short for what the layout is about.
        """
        verdict = self._judge_layout(judge, history, self.layout)
        if self.layout.name == PLAIN.name or verdict.outcome not in FAILING:
            return verdict
        if set(self.layout.requirements).difference(self.layout.shown_by(history)):
            return replace(verdict, requirement=ROWS_READ)
        plain = self._judge_layout(judge, history, PLAIN)
        same = plain.outcome is verdict.outcome and alike(plain.message) == alike(verdict.message)
        return replace(verdict, requirement=ROWS_READ) if same else verdict

    def _judge_layout(self, judge: Judge, history: History, layout: Layout) -> Verdict:
        with judge.store.new_table() as root:
            laid = lay_out(root, history, layout)
            case = Case(
                self.id,
                self.id,
                frozenset(laid.builder.protocol.reader_features or ()),
                layout.requirements,
                MODERN,
                root,
                (),
            )
            with judge.alone(case):
                latest = judge.judge_once(case, self._spec(laid.builder, layout, None))
                if latest.outcome is not Outcome.PASS:
                    return _named(case, None, latest)
                for version in laid.versions:
                    verdict = judge.judge_once(case, self._spec(laid.builder, layout, version))
                    if verdict.outcome in FAILING:
                        return _named(case, version, verdict)
            return latest

    def _spec(self, builder: TableBuilder, layout: Layout, version: int | None) -> Spec:
        number = builder.version if version is None else version
        schema = builder.oracle.versions[number].schema
        rows = builder.rows(number)
        return Spec(
            f"{self.id}/{'latest' if version is None else f'v{version}'}",
            "read",
            "",
            layout.requirements,
            {} if version is None else {"version": version},
            Expected({"rowCount": len(rows)}, partial(self.wanted.table, number, schema, rows)),
        )


def _named(case: Case, version: int | None, verdict: Verdict) -> Verdict:
    """Name the version in a verdict; one that shows nothing of the layout is judged by its rows."""
    what = "latest version" if version is None else f"version {version}"
    verdict = replace(verdict, message=f"{what}: {verdict.message}")
    if verdict.outcome not in FAILING or case.requirements == shown_rows(
        case.requirements, case.table, version
    ):
        return verdict
    return replace(verdict, requirement=ROWS_READ)


def _rows_read() -> tuple[str, ...]:
    return (ROWS_READ,)


def generated_items(plan: Plan) -> Iterator[Item]:
    """Return an item for every history to be read, in every layout."""
    for number, drawn in enumerate(plan.histories("read")):
        yield from read_items(number, drawn, loaded=plan.profile == "gate")


def read_items(number: int, drawn: Drawn, *, loaded: bool = True) -> Iterator[Item]:
    """Return an item for every layout of a history; titles have its number.

    Without ``loaded`` the history is drawn when it is judged, and what it shows of a layout is not
    known until then.
    """
    wanted = WantedRows()
    for each in LAYOUTS:
        shown = each.shown_by(drawn.load()) if loaded else each.requirements
        layout = replace(each, requirements=shown or PLAIN.requirements)
        identity = f"generated/{drawn.name}/{layout.name}"
        made = ReadHistory(identity, drawn, layout, wanted)
        yield Item(
            identity,
            "generated",
            "generated",
            f"History {number} reads equal in the layout {layout.name}",
            layout.requirements,
            frozenset({*drawn.features, *layout.features}),
            MODERN if drawn.features or layout.features else ALL_REVISIONS,
            made.judge,
            Judged("read", layout.requirements),
            made,
            instead=_rows_read,
        )
