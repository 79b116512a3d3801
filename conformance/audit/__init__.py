"""Checks of a table on disk, each tied to requirements of the protocol.

An audit reads the log of a table raw, replays it once, and holds every commit, checkpoint,
checksum and live data file against the clauses that bind their writers. It raises nothing on a
bad table: what it sees becomes findings. ``delta-tck audit TABLE`` prints them.
"""

from conformance.audit.checker import CHECKS
from conformance.audit.cli import run_audit_cli
from conformance.audit.engine import audit
from conformance.audit.findings import Check, Finding, Severity
from conformance.audit.read.log import AuditError

__all__ = ["CHECKS", "AuditError", "Check", "Finding", "Severity", "audit", "run_audit_cli"]
