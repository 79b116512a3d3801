"""The histories of the gate are data: whole, canonical, and the same wherever the kit lies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from generators.__main__ import main
from generators.histories.document import HistoryError, document_of
from generators.histories.gate import FOLDER, MANIFEST, check_gate, gate_histories
from generators.histories.groups import GROUPS, followable
from generators.materialise.layouts import LAYOUTS, lay_out
from generators.oracle.delta_schema import field, map_of, struct
from generators.oracle.operations import Append, Create, Restore, Update, replay
from generators.steps import HISTORY_ONLY

ROOT = Path(__file__).resolve().parents[3]

TELL = """
import hashlib, json, sys
import conformance.run.run
from conformance.items.generated import Plan, generated_items
from conformance.items.recipes import generated_recipes
from generators.histories.document import document_of, text_of
chosen = sys.argv[1:]
drawn = [
    [i.id, i.title, sorted(i.features), sorted(i.revisions), list(i.requirements)]
    + [hashlib.sha256(text_of(document_of(i.history.drawn.load())).encode()).hexdigest()]
    for i in (*generated_items(Plan()), *generated_recipes(Plan()))
    if i.id in chosen or not chosen
]
print(json.dumps(drawn))
"""
"""Lists what the gate judges, with the digest of each history."""

DRAW = """
from generators.histories.document import document_of, text_of
from generators.histories.drawing import draw_histories
for history in draw_histories(4, 7, ("columnMapping", "typeWidening")):
    print(text_of(document_of(history)))
"""
"""Draws as exploring does."""

WITHOUT_HYPOTHESIS = """
import sys


class Blocker:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "hypothesis":
            raise ImportError("the gate draws nothing")


sys.meta_path.insert(0, Blocker)
"""
"""A ``sitecustomize``: no process that has it loads Hypothesis, test processes of xdist neither."""


def constants() -> str:
    """Return a module full of constants, as a program has them."""
    words = ", ".join(f'"word{n}"' for n in range(40))
    numbers = ", ".join(str(n * 1_000_003) for n in range(1, 40))
    return f"WORDS = [{words}]\nNUMBERS = [{numbers}]\nFLOATS = [1.125, -7.5]\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the kit's packages as an installation has them, and no golden tables."""
    folder = tmp_path_factory.mktemp("installed") / "site-packages"
    for name in ("conformance", "generators", "reference_impl", "schemas"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def process(place: Path, folder: Path, *arguments: str, seed: str = "0") -> str:
    """Return what Python prints in a process of its own.

    Args:
        place: where the kit lies.
        folder: where the process runs; its modules can be imported.
        arguments: of Python.
        seed: of Python's hashes.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(place), str(folder))),
        "PYTHONHASHSEED": seed,
    }
    ended = subprocess.run(  # noqa: S603  our own program
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """List the gate from the checkout, in an empty folder."""
    return process(ROOT, tmp_path_factory.mktemp("empty"), "-c", TELL)


def test_the_gate_is_the_same_from_a_checkout_and_installed(
    gate: str, installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(constants())
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_HYPOTHESIS)
    assert len(json.loads(gate)) == 201
    assert process(installed, tmp_path, "-c", "import mine\n" + TELL, seed="7") == gate


def test_one_case_alone_is_the_case_of_a_whole_run(gate: str, tmp_path: Path) -> None:
    chosen = ("generated/history-6/cleaned", "generated/recipe-13/written")
    among = [each for each in json.loads(gate) if each[0] in chosen]
    assert json.loads(process(ROOT, tmp_path, "-c", TELL, *chosen)) == among
    assert len(among) == 2


def test_exploring_draws_the_same_from_a_seed_wherever_the_kit_lies(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(constants())
    draws_before = (
        "import mine\n"
        "from hypothesis import find, strategies\n"
        "find(strategies.text(), lambda text: len(text) > 3)\n"
    )
    checkout = process(ROOT, tmp_path, "-c", draws_before + DRAW)
    assert process(installed, tmp_path, "-c", DRAW, seed="7") == checkout


def test_constants_of_modules_do_change_what_hypothesis_draws_otherwise(tmp_path: Path) -> None:
    """Else the test before would hold whatever the kit does."""
    (tmp_path / "mine.py").write_text(constants())
    unguarded = (
        "import contextlib, generators.histories.drawing as drawing\n"
        "drawing._without_local_constants = contextlib.nullcontext\n"
    )
    plain = process(ROOT, tmp_path, "-c", unguarded + DRAW)
    assert process(ROOT, tmp_path, "-c", "import mine\n" + unguarded + DRAW) != plain


def test_a_gate_in_two_processes_loads_no_hypothesis(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_HYPOTHESIS)
    chosen = ("generated/history-0/classic", "generated/recipe-1/written")
    cases = [f"--tck-case={each}" for each in chosen]
    # The plugin that Hypothesis itself has for pytest loads it for the terminal's summary.
    without = ("-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    options = ("-m", "pytest", "--impl=ours", "-q", "-n2", *without, *cases)
    assert "2 pass" in process(ROOT, tmp_path, *options)


def test_the_files_of_the_gate_are_whole() -> None:
    assert check_gate() == []
    assert main(["histories", "draw", "--check"]) == 0


def test_the_files_hold_what_the_groups_say() -> None:
    listed = gate_histories()
    wanted = [
        (kind, group.features)
        for kind in ("read", "write")
        for group in GROUPS
        if group.kind == kind
        for _ in range(group.count)
    ]
    assert [(each.kind, each.features) for each in listed] == wanted
    names = {"read": "history", "write": "recipe"}
    for kind, name in names.items():
        numbers = [each.name for each in listed if each.kind == kind]
        assert numbers == [f"{name}-{number}" for number in range(len(numbers))]


def test_rows_of_a_history_of_upkeep_differ() -> None:
    """Else it shows nothing of which rows a merge, a delete or a restore is about."""
    groups = [group for group in GROUPS if group.kind == "write" for _ in range(group.count)]
    written = [each for each in gate_histories() if each.kind == "write"]
    for each in (each for each, group in zip(written, groups, strict=True) if group.upkeep):
        rows = [
            row for step in document_of(each.load())["operations"] for row in step.get("rows", ())
        ]
        assert any(row != rows[0] for row in rows), each.name


def test_every_history_of_the_gate_can_be_laid_out_or_asked_for(tmp_path: Path) -> None:
    for each in gate_histories():
        history = each.load()
        versions = len(replay(history).versions)
        if each.kind == "read":
            laid = lay_out(tmp_path / each.name, history, LAYOUTS[0])
            assert laid.builder.version == versions - 1
            continue
        assert tuple(followable(history)) == history
        steps = document_of(history)["operations"]
        assert not any(name in step for step in steps for name in HISTORY_ONLY)


def test_drawing_says_that_a_changelog_entry_is_due(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["histories", "draw", "--folder", str(tmp_path)]) == 0
    assert "CHANGELOG.md" in capsys.readouterr().out
    assert check_gate(tmp_path) == []
    assert main(["histories", "draw", "--folder", str(tmp_path)]) == 0
    assert "0 files changed" in capsys.readouterr().out


def test_drawing_what_is_missing_keeps_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "gate"
    shutil.copytree(FOLDER, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    manifest = json.loads(before[MANIFEST])
    lost = manifest["histories"].pop()
    (folder / f"{lost['name']}.json").unlink()
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert main(["histories", "draw", "--missing", "--seed", "5", "--folder", str(folder)]) == 0
    assert check_gate(folder) == []
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert after.keys() == before.keys()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {MANIFEST, f"{lost['name']}.json"}


def test_a_restore_goes_back_to_the_version_that_the_recipe_has_in_its_place() -> None:
    value = [("a", 1)]
    schema = struct(field("id", "long"), field("m", map_of("string", "long")))
    history = (
        Create(schema),
        Update({"m": value}),
        Append(({"id": 1, "m": None},)),
        Append(({"id": 2, "m": None},)),
        Restore(2),
    )
    asked = tuple(followable(history))
    assert asked == (history[0], history[2], history[3], Restore(1))
    assert [row["id"] for row in replay(asked).rows()] == [1]


def damaged(folder: Path, name: str) -> Path:
    """Copy the files of the gate and give the place of one."""
    shutil.copytree(FOLDER, folder)
    return folder / name


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (MANIFEST, lambda text: text[:-5], "manifest.json"),
        (MANIFEST, lambda text: text.replace('"read"', '"both"', 1), "/histories/0/kind"),
        ("recipe-3.json", lambda text: text.replace("\n", "\n\n", 1), "digest is not"),
        ("recipe-3.json", lambda text: text[:-5], "no JSON"),
        ("history-2.json", lambda text: text.replace("append", "explode", 1), "/operations"),
    ],
)
def test_damaged_files_are_found(tmp_path: Path, name: str, change: object, words: str) -> None:
    path = damaged(tmp_path / "gate", name)
    assert callable(change)
    path.write_text(change(path.read_text()))
    found = check_gate(path.parent)
    assert len(found) == 1
    assert words in found[0]
    assert path.name in found[0]
    with pytest.raises(HistoryError, match=path.name):
        [each.load() for each in gate_histories(path.parent)]


def test_files_that_are_missing_or_unlisted_are_found(tmp_path: Path) -> None:
    path = damaged(tmp_path / "gate", "history-0.json")
    path.rename(path.with_name("history-9.json"))
    assert [words for words in check_gate(path.parent) if "not in the manifest" in words]
    assert [words for words in check_gate(path.parent) if "No such file" in words]
    assert check_gate(tmp_path / "none")[0].startswith(str(tmp_path / "none" / MANIFEST))
