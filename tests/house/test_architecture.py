"""What the architecture page, the glossary and the READMEs name is there."""

from __future__ import annotations

import ast
import re
import runpy
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = runpy.run_path(str(Path(__file__).with_name("test_layers.py")))["LAYERS"]
ARCHITECTURE = "docs/architecture.md"
READMES = (
    "reference_impl/README.md",
    "conformance/README.md",
    "conformance/audit/README.md",
    "conformance/requirements/README.md",
    "generators/README.md",
    "generators/golden/README.md",
    "schemas/README.md",
    "CONTRIBUTING.md",
    "docs/glossary.md",
)
# Names in backticks that look like files of the tree, and stand for others.
FOREIGN = {"conformance/requirements/README.md": {"delta-io/delta"}}
_PATH = re.compile(r"(?:\.\./)?[a-z_][\w.*-]*/(?:[\w.*-]+/?)*|[a-z_]\w*\.(?:py|yaml|md|toml)")


def _code(text: str) -> list[str]:
    prose = re.sub(
        r"^```.*?^```$|<!-- order of (\w+) -->.*?<!-- /order of \1 -->",
        "",
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    return re.findall(r"`([^`]+)`", prose)


def _defined(body: list[ast.stmt], prefix: str = "") -> set[str]:
    found = set()
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name):
                found.add(f"{prefix}{name}")
            case ast.ClassDef(name=name, body=inner):
                found |= {f"{prefix}{name}", *_defined(inner, f"{prefix}{name}.")}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(f"{prefix}{name}")
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(f"{prefix}{name}")
            case _:
                pass
    return found


@cache
def _names_of(module: str) -> set[str]:
    return _defined(ast.parse((ROOT / module).read_text()).body)


def _missing(guide: str, text: str) -> list[str]:
    """Name what a text says is in the tree and is not: files, and names in the module before."""
    folder = (ROOT / guide).parent
    return [
        name
        for name in _code(text)
        if _PATH.fullmatch(name)
        and name not in FOREIGN.get(guide, ())
        and not any(_is_there(at, name) for at in (folder, ROOT))
    ]


def _is_there(folder: Path, name: str) -> bool:
    if "*" in name:
        return any(folder.glob(name.rstrip("/")))
    return (folder / name).exists()


@pytest.mark.parametrize("guide", [ARCHITECTURE, *READMES])
def test_files_that_a_guide_names_exist(guide: str) -> None:
    assert _missing(guide, (ROOT / guide).read_text()) == []


def test_a_file_that_is_gone_is_noticed() -> None:
    assert _missing("conformance/README.md", "`judging/judge.py` and `judges/` and `judge.py`") == [
        "judges/",
        "judge.py",
    ]


def _journeys(text: str) -> dict[str, list[str]]:
    """Return the steps of each section that has numbered steps."""
    sections = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return {
        title: [" ".join(step.split()) for step in steps]
        for title, section in zip(sections[1::2], sections[2::2], strict=True)
        if (steps := re.findall(r"^\d+\. (.*(?:\n {2,}.*)*)", section, flags=re.MULTILINE))
    }


def _undefined(step: str) -> list[str]:
    """Name what a step of a journey calls and its module does not define."""
    assert step.startswith("`"), f"begins with no module: {step}"
    module, found = "", []
    for name in _code(step):
        if name.endswith(".py"):
            module = name
        elif re.fullmatch(r"[A-Za-z]\w*(\.\w+)?", name) and name not in _names_of(module):
            found.append(f"{module}: {name}")
    return found


JOURNEYS = _journeys((ROOT / ARCHITECTURE).read_text())


def test_there_are_three_journeys() -> None:
    assert list(JOURNEYS) == [
        "From a commit line to rows",
        "From a requirement to a report line",
        "From an append to a commit",
    ]


@pytest.mark.parametrize("step", list(chain.from_iterable(JOURNEYS.values())))
def test_a_step_of_a_journey_names_what_its_module_defines(step: str) -> None:
    assert _undefined(re.sub(r"`_last_checkpoint`|`golden-tables/`", "", step)) == []


def test_a_function_that_is_gone_is_noticed() -> None:
    step = "`reference_impl/read.py`: `read_table` calls `read_rows`."
    assert _undefined(step) == ["reference_impl/read.py: read_rows"]


@pytest.mark.parametrize("package", LAYERS)
def test_the_order_of_the_folders_is_that_of_the_imports(package: str) -> None:
    mark = f"order of {package} -->"
    section = (ROOT / ARCHITECTURE).read_text().split(f"<!-- {mark}")[1].split(f"<!-- /{mark}")[0]
    listed = re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)
    named = tuple(re.sub(r"/$|\.py$", "", name).replace("/", ".") for name in listed)
    assert named == LAYERS[package]
    assert [name for name in listed if not (ROOT / package / name).exists()] == []


@pytest.mark.parametrize("guide", [ARCHITECTURE, "reference_impl/README.md", *READMES[1:6]])
def test_classes_that_a_guide_names_exist(guide: str) -> None:
    known = set().union(
        *(
            _names_of(str(path.relative_to(ROOT)))
            for package in ("schemas", "reference_impl", "generators", "conformance")
            for path in (ROOT / package).rglob("*.py")
        )
    )
    named = {
        n for n in _code((ROOT / guide).read_text()) if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", n)
    }
    assert named <= known


@pytest.mark.parametrize("guide", sorted((ROOT / "docs").rglob("*.md"), key=str))
def test_links_of_the_documentation_lead_somewhere(guide: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", guide.read_text()):
        assert "://" in target or (guide.parent / target).exists(), target
