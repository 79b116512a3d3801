"""What one process does for a fleet: audit a table, or look up the size of its log.

A unit names the table and what the audit is asked for; both go and come as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from conformance.audit import AuditError, audit
from conformance.audit.findings import Finding
from conformance.audit.read.log import list_log
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.sizes import Size, size_of
from conformance.pipeline.audit.store import TableAudit
from conformance.pipeline.spread import Run
from reference_impl.errors import DeltaError
from reference_impl.limits import Limits

_SIZE = "conformance.pipeline.audit.table:size_unit"
_AUDIT = "conformance.pipeline.audit.table:audit_unit"


def sizes_of(run: Run, asked: Options, tables: Sequence[str]) -> list[Size]:
    """Return the sizes of the logs of tables; nothing where there is none."""
    return [Size(**answer) for answer in run(_SIZE, _units(asked, tables))]


def outcomes_of(run: Run, asked: Options, tables: Sequence[str]) -> list[TableAudit]:
    """Audit tables, each by one process."""
    return [
        TableAudit(
            table,
            [Finding(**{**each, "places": tuple(each["places"])}) for each in answer["findings"]],
            answer["fault"],
        )
        for table, answer in zip(tables, run(_AUDIT, _units(asked, tables)), strict=True)
    ]


def _units(asked: Options, tables: Sequence[str]) -> list[dict[str, Any]]:
    options = asdict(asked)
    return [{"table": table, "options": options} for table in tables]


def _options(unit: Mapping[str, Any]) -> Options:
    given = unit["options"]
    return Options(**{**given, "limits": Limits(**given["limits"])})


def size_unit(unit: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the :class:`~conformance.pipeline.audit.sizes.Size` of a table's log."""
    try:
        storage = _options(unit).storage(unit["table"])
        return asdict(size_of(storage, list_log(storage)))
    except (AuditError, DeltaError):
        return asdict(Size())


def audit_unit(unit: dict[str, Any]) -> dict[str, Any]:
    """Audit the unit's table; returns its ``findings``, or the ``fault`` that keeps from it."""
    asked = _options(unit)
    try:
        found = audit(
            unit["table"],
            data=asked.data,
            limits=asked.limits,
            outside=asked.outside,
            revision=asked.revision,
        )
    except (AuditError, DeltaError) as error:
        return {"findings": [], "fault": str(error)}
    return {"findings": [asdict(each) for each in found], "fault": ""}
