"""What a run of the job keeps: its plan, the outcome of each table, and all findings.

Three Delta tables below the store of a run, each of which takes a part of the work in once, by
its transaction identifier: who is killed between them does the part again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from conformance.audit.findings import Finding
from conformance.audit.forms import counts
from conformance.pipeline.audit.split import Size
from conformance.pipeline.store import StoredTable, columns
from conformance.requirements.registry import load_registry
from reference_impl.shown import shown_location

_PLAN: Final = columns("run part:int64 table log_bytes:int64 log_actions:int64")
_AUDITS: Final = columns("run table status message errors:int64 warnings:int64 infos:int64")
_FINDINGS: Final = columns(
    "run table requirement section severity place message hint limit count:int64 places:texts"
)


@dataclass(frozen=True, slots=True)
class TableAudit:
    """The outcome of one table.

    Attributes:
        table: as it was named.
        findings: empty where it could not be audited.
        fault: why it could not be audited; empty where it was.
    """

    table: str
    findings: Sequence[Finding] = ()
    fault: str = ""

    @property
    def status(self) -> str:
        """``unusable``, ``nonconforming``, ``limited`` or ``clean``, as of ``delta-tck audit``."""
        if self.fault:
            return "unusable"
        if any(each.severity == "error" for each in self.findings):
            return "nonconforming"
        return "limited" if any(each.limit for each in self.findings) else "clean"


class AuditStore:
    """The store of a run."""

    def __init__(self, location: str, run: str) -> None:
        """Name a store, and a run in it."""
        root = location.rstrip("/")
        self.run = run
        self._plan = StoredTable(f"{root}/plan", _PLAN)
        self._audits = StoredTable(f"{root}/audits", _AUDITS)
        self._findings = StoredTable(f"{root}/findings", _FINDINGS)

    @property
    def _app(self) -> str:
        return f"delta-tck audit {self.run}"

    def plan(self, parts: Sequence[Sequence[tuple[str, Size]]]) -> None:
        """Keep which tables are in which part, with the sizes of their logs."""
        rows = [
            {
                "run": self.run,
                "part": part,
                "table": shown_location(table),
                "log_bytes": size.bytes,
                "log_actions": size.actions,
            }
            for part, tables in enumerate(parts)
            for table, size in tables
        ]
        self._plan.add(rows, self._app)

    def planned(self, tables: Sequence[str]) -> list[list[tuple[str, Size]]]:
        """Return what was planned; nothing for a new run.

        Secrets in the URLs of tables are not kept, and come back with the tables.
        """
        named = {shown_location(table): table for table in tables}
        rows = [row for row in self._plan.read().to_pylist() if row["run"] == self.run]
        parts: list[list[tuple[str, Size]]] = [
            [] for _ in range(max((row["part"] + 1 for row in rows), default=0))
        ]
        for row in rows:
            size = Size(row["log_bytes"], row["log_actions"] or 0)
            parts[row["part"]].append((named.get(row["table"], row["table"]), size))
        return parts

    def done(self) -> int:
        """Return how many parts are done."""
        return self._audits.progress().get(self._app, 0)

    def add(self, part: int, outcomes: Sequence[TableAudit]) -> None:
        """Keep the outcomes of a part, once."""
        registry = load_registry()
        findings: list[Mapping[str, Any]] = [
            asdict(each)
            | {
                "run": self.run,
                "table": shown_location(outcome.table),
                "section": registry[each.requirement].section,
                "places": list(each.places or (each.place,)),
            }
            for outcome in outcomes
            for each in outcome.findings
        ]
        self._findings.add(findings, self._app, part + 1)
        audits = []
        for outcome in outcomes:
            counted = counts(outcome.findings)
            audits.append(
                {
                    "run": self.run,
                    "table": shown_location(outcome.table),
                    "status": outcome.status,
                    "message": outcome.fault,
                    "errors": counted["error"],
                    "warnings": counted["warning"],
                    "infos": counted["info"],
                }
            )
        self._audits.add(audits, self._app, part + 1)

    def outcomes(self) -> Iterator[TableAudit]:
        """Return the outcomes of the run, by table."""
        found: dict[str, list[Finding]] = {}
        for row in self._findings.read().to_pylist():
            if row["run"] == self.run:
                held = {field.name: row[field.name] for field in fields(Finding)}
                held["places"] = tuple(row["places"]) if len(row["places"]) > 1 else ()
                found.setdefault(row["table"], []).append(Finding(**held))
        for row in self._audits.read().to_pylist():
            if row["run"] == self.run:
                yield TableAudit(row["table"], found.get(row["table"], []), row["message"])
