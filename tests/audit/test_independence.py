"""The audit judges tables of the reference implementation, and parses no value by its code."""

from __future__ import annotations

import ast
from pathlib import Path

import conformance.audit

ROOT = Path(conformance.audit.__file__).parent

SHARED = {
    # Names and places of files, and what listing and opening them takes.
    "reference_impl.log.names",
    "reference_impl.places",
    "reference_impl.storage",
    "reference_impl.log.checkpoints.sidecars",
    # What may be decoded of a file that nobody vouches for.
    "reference_impl.limits",
    "reference_impl.log.checkpoints.bounds",
    "reference_impl.parquet.bounds",
    "reference_impl.errors",
    # JSON as such, under bounds.
    "reference_impl.untrusted",
    # The table of features.
    "reference_impl.model.features",
}
"""What the audit may share; none of it reads a value of a table."""

SQL = {
    "reference_impl.expressions.sql",
    "reference_impl.types.arrow",
    "reference_impl.types.model",
} | {"reference_impl.types.schema"}
"""What evaluates Spark SQL, whose meaning is no clause of the protocol."""


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    found: set[str] = set()
    for node in ast.walk(tree):
        names = {alias.name for alias in getattr(node, "names", ())}
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = node.module == "reference_impl"
            found |= {f"reference_impl.{name}" for name in names} if whole else {node.module}
        elif isinstance(node, ast.Import):
            found |= names
    return {name for name in found if name.split(".")[0] in ("reference_impl", "generators")}


def test_the_audit_shares_no_parser_of_values() -> None:
    foreign = {
        path.relative_to(ROOT).as_posix(): sorted(beyond)
        for path in sorted(ROOT.rglob("*.py"))
        if (beyond := _imports(path) - SHARED - (SQL if path.name == "rules.py" else set()))
    }
    assert foreign == {}


def test_the_list_of_what_is_shared_is_no_longer_than_it_has_to_be() -> None:
    used = {name for path in ROOT.rglob("*.py") for name in _imports(path)}
    assert sorted((SHARED | SQL) - used) == []
