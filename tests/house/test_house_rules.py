"""Hold the tree to the rules of the house that a script can see."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from tracked import ROOT, tracked

PACKAGES = ("schemas", "reference_impl", "generators", "conformance")
MAX_LINES = 600

# What each package may import of the others. What makes the tables and knows their rows shares
# nothing with the implementation that they judge.
MAY_IMPORT = {
    "schemas": set(),
    "reference_impl": {"schemas"},
    "generators": {"schemas"},
    "conformance": {"schemas", "reference_impl", "generators"},
}
ENGINES = {
    "chdb": {"conformance/adapters/chdb"},
    "deltalake": {
        "conformance/adapters/deltalake",
        "conformance/adapters/polars",
        "generators/golden",
    },
    "polars": {"conformance/adapters/polars"},
    "pyspark": {"conformance/adapters/spark", "conformance/pipeline", "generators/golden/spark"},
    "delta": {"conformance/adapters/spark", "generators/golden/spark"},
}


PYTHON = tracked("*.py")
SOURCES = [name for name in PYTHON if name.split("/")[0] in PACKAGES]


def _imports(name: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


def test_the_tree_has_sources() -> None:
    assert {name.split("/")[0] for name in SOURCES} == set(PACKAGES)


@pytest.mark.parametrize("name", PYTHON)
def test_a_module_fits_its_size(name: str) -> None:
    lines = (ROOT / name).read_text().count("\n")
    assert lines <= MAX_LINES, f"{name} has {lines} lines; split it by what it does"


def test_no_test_imports_a_conftest() -> None:
    """There are many of that name, and which one it gets depends on what was imported before."""
    tests = [name for name in PYTHON if name.startswith("tests/")]
    assert [name for name in tests if "conftest" in _imports(name)] == []


def test_no_test_imports_the_adapter_of_an_engine() -> None:
    """The engines are extras: what tests import is there without them."""
    homes = {home.replace("/", ".") for each in ENGINES.values() for home in each}
    adapters = tuple(home for home in homes if home.startswith("conformance.adapters."))
    tests = [name for name in PYTHON if name.startswith("tests/")]
    assert len(adapters) > 1
    assert [n for n in tests if any(m.startswith(adapters) for m in _imports(n))] == []


_CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
# Tests that read a clock, and why.
MAY_READ_CLOCKS = {
    "tests/conformance/run/test_lifetime.py": "waits for another process, until that hangs",
}


@pytest.mark.parametrize("name", [n for n in PYTHON if n.split("/")[-1].startswith("test_")])
def test_no_test_is_timed_by_a_clock(name: str) -> None:
    """A busy machine is no fault; a test counts calls, or takes what would not end at all."""
    tree = ast.parse((ROOT / name).read_text())
    read = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} & _CLOCKS
    assert bool(read) == (name in MAY_READ_CLOCKS), f"{name} reads {sorted(read) or 'no clock'}"


@pytest.mark.parametrize("name", SOURCES)
def test_imports_point_one_way(name: str) -> None:
    package = name.split("/", maxsplit=1)[0]
    wrong = {
        module
        for module in _imports(name)
        if (top := module.split(".")[0]) in PACKAGES
        and top != package
        and top not in MAY_IMPORT[package]
    }
    assert not wrong, f"{name} imports {sorted(wrong)}"


@pytest.mark.parametrize("name", SOURCES)
def test_an_engine_is_imported_by_its_adapter_alone(name: str) -> None:
    for module in _imports(name):
        homes = ENGINES.get(module.split(".")[0])
        if homes is not None:
            assert any(name.startswith(home) for home in homes), f"{name} imports {module}"


@pytest.mark.parametrize("name", SOURCES)
def test_a_module_says_what_it_is(name: str) -> None:
    source = (ROOT / name).read_text()
    assert ast.get_docstring(ast.parse(source)), f"{name} has no docstring"
    assert not re.search(r'\n\n *"""\n', source), f"a docstring of {name} ends in an empty line"


PLACES = "reference_impl/places/"
# Who else takes a URL apart or decodes one, and why.
OWN_URLS = {
    "reference_impl/write/interop/convert.py": "names and values of Hive folders are no paths",
    "conformance/judging/compare/documents.py": "the comparator parses by itself",
}
_PARSERS = {"unquote", "unquote_to_bytes", "unquote_plus", "urlsplit", "urlparse", "url2pathname"}


def _takes_urls_apart(name: str) -> Iterator[str]:
    tree = ast.parse((ROOT / name).read_text())
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("urllib"):
            yield from {alias.name for alias in node.names} & _PARSERS
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in prose
            and re.search(r"A-Za-z0-9+.\\-]*\]\*:|file:[/+\\]", node.value)
        ):
            yield node.value


@pytest.mark.parametrize(
    "name", [n for n in SOURCES if n.startswith(("reference_impl/", "conformance/"))]
)
def test_one_module_owns_how_a_path_becomes_a_place(name: str) -> None:
    found = list(_takes_urls_apart(name))
    if name in OWN_URLS:
        assert found, f"{name} has no need of its exception"
    elif not name.startswith(PLACES):
        assert not found, f"{name} takes URLs apart: {found}; ask reference_impl.places"


def _properties(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the tests that Hypothesis draws examples for, each with how it draws them."""
    named = {
        ast.unparse(node.targets[0]): ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found = [ast.unparse(each) for each in node.decorator_list]
            if any(each.startswith("given(") for each in found):
                yield node.name, " ".join(named.get(each, each) for each in found)


@pytest.mark.parametrize(
    "name", [n for n in PYTHON if n.startswith("tests/") and "@given" in (ROOT / n).read_text()]
)
def test_a_property_is_tried_by_the_same_examples_however_slow_the_machine(name: str) -> None:
    """By a profile, or by settings without chance and without a deadline."""
    drawn = dict(_properties(ast.parse((ROOT / name).read_text())))
    wanted = ("derandomize=True", "deadline=None")
    fixed = {n for n, how in drawn.items() if "profile(" in how or all(w in how for w in wanted)}
    assert drawn.keys() == fixed
