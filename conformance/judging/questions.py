"""Turn a spec into the request that asks it, and name what the request needs.

Serves the sections "Case" and "Adapter messages" of ``docs/formats.md``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conformance.adapter import Claims, Request
from conformance.base.untrusted import parse_json, read_bytes
from conformance.golden.cases import Case, Spec
from conformance.judging.recipes.needs import capabilities_of, unclaimed_operations
from conformance.questions import CAPABILITY_PARAMETERS, QUESTIONS

__all__ = ["ask", "lacking", "unclaimed_features"]


def ask(spec: Spec, table: Path) -> Request:
    """Build the request of a spec about a table."""
    request = QUESTIONS[spec.type].build(str(table), spec.parameters)
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
    question = QUESTIONS[spec.type]
    if question.operation is None:
        return spec.type
    if question.operation not in claims.operations:
        return question.operation
    needed = {*spec.needs, *question.capabilities}
    needed |= {f"{question.operation}.{p}" for p in CAPABILITY_PARAMETERS if p in spec.parameters}
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
    """Return what a table without features of readers asks of them; 1 where it is unknown."""
    path = case.table.parent / "table_info.json"
    if not path.is_file():
        return 1
    protocol = parse_json(read_bytes(path)).get("protocol")
    version = protocol.get("minReaderVersion") if isinstance(protocol, dict) else None
    return version if type(version) is int else 1
