"""The audit judges tables of the reference implementation, and parses nothing by its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import conformance.audit

AUDIT = Path(conformance.audit.__file__).parent
ROOT = AUDIT.parents[1]

SHARED = {
    # What listing and opening files takes, and which of them are looked at.
    "reference_impl.places": {"OUTSIDE", "SAME_STORE", "Outside"},
    "reference_impl.shown": {"shown_location"},
    "reference_impl.storage": {"Entry", "Storage", "open_storage"},
    # What may be decoded of an untrusted file.
    "reference_impl.limits": {
        "DEFAULT_LIMITS", "Limits", "budget", "exceeded", "out_of_memory", "within_limits",
    },
    "reference_impl.log.checkpoints.bounds": {"bounded", "refuse_bomb"},
    "reference_impl.parquet.bounds": {"Bounded"},
    "reference_impl.parquet.opening": {"open_parquet"},
    "reference_impl.errors": {"DataFileTooLarge", "DeltaError", "LimitExceeded", "PlaceRefused"},
    # The hash of Spark, which nothing of reference_impl takes from there; checkpoints that Spark
    # wrote are checked against it.
    "generators.materialise.data.spark_hash": {"murmur3_text"},
    # JSON as such, under bounds.
    "reference_impl": {"untrusted"},
}  # fmt: skip
"""What the audit may share, name by name; none of it reads a value or a name of a table."""

OURS = ("reference_impl", "generators")


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of every import; a name is empty where a module is imported whole."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def _foreign(path: Path, allowed: dict[str, set[str]]) -> list[str]:
    return sorted(
        f"{module}:{name}"
        for module, name in _imports(path)
        if module.split(".")[0] in OURS and name not in allowed.get(module, ())
    )


def _module(name: str) -> Path | None:
    """Return the file of a module of this project; ``None`` where it is no module of it."""
    place = ROOT.joinpath(*name.split("."))
    return next(
        (each for each in (place / "__init__.py", place.with_suffix(".py")) if each.is_file()), None
    )


def _reached() -> set[Path]:
    """Return every file of `conformance` and `schemas` that the audit imports, far ones too."""
    waiting, seen = sorted(AUDIT.rglob("*.py")), set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for module, name in _imports(path):
            if module.split(".")[0] in ("conformance", "schemas"):
                names = (module, f"{module}.{name}") if name else (module,)
                waiting += [found for each in names if (found := _module(each)) is not None]
    return seen


def test_the_audit_shares_no_parser() -> None:
    foreign = {
        path.relative_to(AUDIT).as_posix(): beyond
        for path in sorted(AUDIT.rglob("*.py"))
        if (beyond := _foreign(path, SHARED))
    }
    assert foreign == {}


def test_what_the_audit_imports_elsewhere_shares_no_parser_either() -> None:
    reached = {path for path in _reached() if AUDIT not in path.parents}
    assert reached
    assert {str(path): beyond for path in reached if (beyond := _foreign(path, SHARED))} == {}


@pytest.mark.parametrize("word", ["importlib", "__import__", "eval(", "exec("])
def test_nothing_is_imported_in_a_way_that_imports_do_not_show(word: str) -> None:
    assert [path for path in AUDIT.rglob("*.py") if word in path.read_text(encoding="utf-8")] == []


JUDGING = ROOT / "conformance/judging"
READING = {
    "reference_impl": {"DeltaError", "Snapshot", "Table", "read_table"},
    # Rows that vectors mark: they say what a wrong read breaks, never that it is wrong.
    "reference_impl.deletion_vectors": {"VectorStore"},
    "reference_impl.scan.reader": {"FileReader", "file_tasks"},
    "reference_impl.errors": {"NotFoundError"},
    "reference_impl.model.actions": {"Protocol"},
    "reference_impl.model.features": {"active", "supported"},
    "reference_impl.scan.scan": {"scan"},
    "reference_impl.storage": {"LocalStorage"},
}
"""What the judge of recipes reads tables by; golden tables judge that reading first.

It takes what was read and compares it with what the oracle says. It parses and computes nothing
by these names, and the audit judges the same table without them.
"""

ALONE = ("conformance/judging/compare", "conformance/base", "conformance/golden")
"""What compares and decides shares nothing at all."""

GUARDED = {"conformance/golden/tree.py"}
"""What keeps a corpus inside its folder, by the one owner of places; it judges nothing."""


def _of_the_reference(path: Path) -> set[tuple[str, str]]:
    return {each for each in _imports(path) if each[0].split(".")[0] == "reference_impl"}


def test_the_judge_of_recipes_shares_the_reading_of_tables_and_no_more() -> None:
    used = {each for path in JUDGING.rglob("*.py") for each in _of_the_reference(path)}
    assert used == {(module, name) for module, names in READING.items() for name in names}


@pytest.mark.parametrize("folder", ALONE)
def test_what_compares_shares_nothing(folder: str) -> None:
    paths = sorted({*(ROOT / folder).rglob("*.py")} - {ROOT / each for each in GUARDED})
    assert paths
    assert [(path.name, found) for path in paths if (found := _of_the_reference(path))] == []


def test_the_list_of_what_is_shared_is_no_longer_than_it_has_to_be() -> None:
    used = {each for path in AUDIT.rglob("*.py") for each in _imports(path)}
    listed = {(module, name) for module, names in SHARED.items() for name in names}
    assert sorted(listed - used) == []
