"""Turn a spec into the request that asks it, and name what the request needs.

Serves the sections "Case" and "Adapter messages" of ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from conformance.adapter import (
    Changes,
    Claims,
    DomainMetadata,
    Files,
    History,
    Request,
    Scan,
    Snapshot,
    Txn,
)
from conformance.base.untrusted import parse_json, read_bytes
from conformance.golden.cases import Case, Spec
from conformance.judging.recipes.judge import unclaimed_operations
from conformance.judging.recipes.needs import capabilities_of

__all__ = ["ask", "lacking", "milliseconds", "unclaimed_features"]


def milliseconds(text: str) -> int:
    """Read a spec's ``yyyy-MM-dd HH:mm:ss.SSS`` in UTC as ms since the epoch."""
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    seconds, micros = divmod((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), 1)
    return int(seconds) * 1000 + round(micros * 1000)


def _timestamp(parameters: Mapping[str, Any]) -> int | None:
    text = parameters.get("timestamp")
    return None if text is None else milliseconds(text)


@dataclass(frozen=True, slots=True)
class _Question:
    """How specs of one type are asked."""

    operation: str
    build: Callable[[str, Mapping[str, Any]], Request]
    capabilities: tuple[str, ...] = ()


_QUESTIONS: Final[Mapping[str, _Question]] = {
    "read": _Question(
        "scan",
        lambda table, p: Scan(
            table,
            p.get("version"),
            _timestamp(p),
            columns=p.get("columns"),
            filter=p.get("filter"),
            predicate=p.get("predicate"),
        ),
    ),
    "row_ids": _Question(
        "scan",
        lambda table, p: Scan(table, p.get("version"), _timestamp(p), row_ids=True),
        ("scan.row_ids",),
    ),
    "snapshot": _Question(
        "snapshot", lambda table, p: Snapshot(table, p.get("version"), _timestamp(p))
    ),
    "files": _Question("files", lambda table, p: Files(table, p.get("version"), _timestamp(p))),
    "changes": _Question("changes", lambda table, p: Changes(table, p["start"], p.get("end"))),
    "history": _Question("history", lambda table, p: History(table, p.get("limit"))),
    "txn": _Question("txn", lambda table, p: Txn(table, p["appId"], p.get("version"))),
    "domain_metadata": _Question(
        "domain_metadata", lambda table, p: DomainMetadata(table, p["domain"], p.get("version"))
    ),
}
_FINE: Final = ("version", "timestamp", "columns", "filter")
"""Parameters that an implementation may lack, each named ``<operation>.<parameter>``."""


def ask(spec: Spec, table: Path) -> Request:
    """Build the request of a spec about a table."""
    request = _QUESTIONS[spec.type].build(str(table), spec.parameters)
    ratified = spec.parameters.get("ratified")
    return request if ratified is None else replace(request, ratified=ratified)


def lacking(spec: Spec, claims: Claims) -> str | None:
    """Name the operation or capability that a spec needs and an implementation does not claim.

    A type that is asked by no request (as ``checksum``) is nobody's to claim.
    """
    if spec.type == "write":
        needed = set(spec.needs).union(*map(capabilities_of, spec.parameters["operations"]))
        missing = unclaimed_operations(spec, claims) or sorted(needed - claims.capabilities)
        return next(iter(missing), None)
    question = _QUESTIONS.get(spec.type)
    if question is None:
        return spec.type
    if question.operation not in claims.operations:
        return question.operation
    needed = {*spec.needs, *question.capabilities}
    needed |= {f"{question.operation}.{p}" for p in _FINE if p in spec.parameters}
    if "ratified" in spec.parameters:
        needed.add(f"{question.operation}.ratified")
    missing = sorted(needed - claims.capabilities)
    return missing[0] if missing else None


def unclaimed_features(case: Case, claims: Claims) -> list[str]:
    """Name the features, or the version, of a case's table that are not claimed for reading."""
    # Version 2 implies the feature; version 3 says nothing of a feature that it does not list.
    legacy = {"columnMapping"} if claims.reader_version == 2 else set()
    missing = sorted(case.features - claims.reader_features - legacy)
    if not missing and claims.reader_version < 3 and not case.features:
        version = _reader_version(case)
        return [f"reader version {version}"] if version > claims.reader_version else []
    return missing


def _reader_version(case: Case) -> int:
    """Give what a table without features of readers asks of them; 1 where it is unknown."""
    path = case.table.parent / "table_info.json"
    if not path.is_file():
        return 1
    protocol = parse_json(read_bytes(path)).get("protocol")
    version = protocol.get("minReaderVersion") if isinstance(protocol, dict) else None
    return version if type(version) is int else 1
