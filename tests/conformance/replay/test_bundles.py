"""A failure on a drawn history is kept small, whole, and fails again when it is replayed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import schemas
from conformance.adapter import Answer, Description, Ok, Refused, Request, Scan, Write
from conformance.adapters import ours
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.base.status import Status
from conformance.cli import main
from conformance.items.generated import ReadHistory
from conformance.items.items import ALL_REVISIONS, Item
from conformance.items.recipes import WrittenHistory
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.replay.bundle import BundleError, read_bundle
from conformance.replay.keeper import Keeper
from conformance.replay.shrink import Limit, _without, shrink, way_of
from conformance.requirements.judged import Judged
from generators.histories.groups import Drawn
from generators.materialise.layouts import LAYOUTS
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import (
    Append,
    Compact,
    Create,
    Delete,
    History,
    Operation,
    RenameColumn,
    SetComment,
    SetDefault,
    SetNullable,
    SetProperties,
    Update,
    replay,
)
from reference_impl import read_table

ROWS = tuple({"a": n, "b": f"row {n}", "c": float(n)} for n in range(6))
HISTORY: History = (
    Create(struct(field("a", "long"), field("b", "string"), field("c", "double")), ("b",)),
    SetProperties({"x": "y"}),
    Append(ROWS[:3], 1),
    Compact(),
    Update({"c": 1.5}, node("=", column("a"), literal("long", 1))),
    Append(ROWS[3:]),
    Delete(node(">", column("a"), literal("long", 4))),
)


@dataclass(frozen=True)
class Wrong:
    """The reference implementation, but that rows of one number are lost or refused."""

    how: str
    inner: Any

    def describe(self) -> Description:
        return replace(self.inner.describe(), name="wrong")

    def run(self, request: Request) -> Answer:
        if self.how == "crash":
            raise RuntimeError("0x1234 is no place")
        if self.how == "drop" and isinstance(request, Write) and request.operation == "append":
            request = replace(request, rows=request.rows.slice(1))
        answer = self.inner.run(request)
        if isinstance(request, Scan) and isinstance(answer, Ok):
            numbers = answer.payload.column("a").to_pylist()
            if self.how == "lose":
                kept = [each != 3 for each in numbers]
                return Ok(answer.payload.filter(kept))
            if self.how == "refuse" and 3 in numbers:
                return Refused("unsupported", "scan", f"3 at {numbers.index(3)} is odd")
        return answer

    def close(self) -> None:
        self.inner.close()


def create_losing() -> Wrong:
    """Return an adapter that ``--impl=python:…`` can name."""
    return Wrong("lose", ours.create())


def create_dropping() -> Wrong:
    """Return one that writes wrong."""
    return Wrong("drop", ours.create())


def create_crashing() -> Wrong:
    """Return one that answers nothing."""
    return Wrong("crash", ours.create())


@dataclass(frozen=True)
class Claiming(Wrong):
    """An implementation that loses rows, and claims other operations than it has."""

    operations: frozenset[str] = frozenset()

    def describe(self) -> Description:
        description = super().describe()
        claims = replace(description.claims, operations=self.operations)
        return replace(description, claims=claims)


def create_silent() -> Claiming:
    """Return an adapter that loses rows, and does not claim to read them."""
    return Claiming("lose", ours.create(), frozenset({"snapshot"}))


def create_misspelled() -> Claiming:
    """Return an adapter that loses rows, and misspells what it claims."""
    return Claiming("lose", ours.create(), frozenset({"scam"}))


class Untyped(Wrong):
    """An implementation that says its version as text."""

    def describe(self) -> Description:
        description = super().describe()
        text: Any = "3"
        return replace(description, claims=replace(description.claims, reader_version=text))


def create_untyped() -> Untyped:
    """Return an adapter whose description is of other types than the contract's."""
    return Untyped("lose", ours.create())


pytest_plugins = ["pytester"]


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name under which this module can be imported by ``--impl``."""
    monkeypatch.setitem(sys.modules, "wrong_adapters", sys.modules[__name__])
    return "python:wrong_adapters"


def item(kind: str) -> Item:
    """Make an item of the history."""
    if kind == "read":
        drawn = Drawn("seed-1-0", "read", (), lambda: HISTORY)
        about: Any = ReadHistory("generated/seed-1-0/classic", drawn, LAYOUTS[1])
        requirements = LAYOUTS[1].requirements
    else:
        drawn = Drawn("recipe-seed-1-0", "write", (), lambda: HISTORY)
        about = WrittenHistory("generated/recipe-seed-1-0/written", drawn)
        requirements = ("LOG-005",)
    revisions = ALL_REVISIONS
    nothing: frozenset[str] = frozenset()
    return Item(
        about.id,
        "generated",
        "generated",
        "t",
        requirements,
        nothing,
        revisions,
        about.judge,
        Judged(kind, requirements),
        about,
    )


def judge(how: str, store: TableStore) -> Judge:
    adapter = Wrong(how, ours.create())
    return Judge(adapter, adapter.describe().claims, store)


def kept(folder: Path, how: str, kind: str, store: TableStore, **limits: Any) -> Path:
    """Judge an item and give the bundle of its failure."""
    asked, made = judge(how, store), item(kind)
    verdict = made.judge(asked)
    assert verdict.outcome in (Outcome.FAIL, Outcome.ERROR)
    keeper = Keeper(folder, asked.adapter.describe(), Limit(**{"seconds": 600.0, **limits}))
    printed = keeper.keep(made, asked, verdict)
    assert printed.startswith("bundle: ")
    path = Path(printed.removeprefix("bundle: "))
    document = json.loads((path / "bundle.json").read_text())
    assert schemas.errors("kit/bundle", document) == []
    history = json.loads((path / "history.json").read_text())
    assert schemas.errors("kit/history", history) == []
    return path


def test_a_wrong_answer_is_kept_with_the_least_table_that_shows_it(
    tmp_path: Path, store: TableStore, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept(tmp_path, "lose", "read", store)
    described, about = read_bundle(path)
    first, append = about.drawn.load()
    assert isinstance(first, Create)
    assert first.schema.names == ("a",)
    assert first.rows == ()
    assert append == Append(({"a": 3},))
    assert described["shrinking"]["operations"] == [7, 2]
    assert described["shrinking"]["ended"]
    assert described["layout"] == "classic"
    assert read_table(path / "table").to_pylist() == [{"a": 3}]
    expected = json.loads((path / "expected.json").read_text())
    assert expected["versions"][-1]["rows"] == [{"a": "3"}]
    assert (path / "actual.arrow").exists()
    assert f"delta-tck replay {path.name} --impl=wrong" in (path / "README.md").read_text()
    run = ["replay", str(path), "--isolation=none"]
    assert main([*run, f"--impl={named}:create_losing"]) == Status.NONCONFORMANT
    assert "silent wrong data" in capsys.readouterr().out
    assert main([*run, "--impl=ours"]) == Status.OK
    printed = capsys.readouterr().out
    assert "generated/seed-1-0/classic: pass" in printed
    assert "note" not in printed


def test_a_wrong_writer_is_kept_with_the_table_that_it_left(
    tmp_path: Path, store: TableStore, named: str
) -> None:
    path = kept(tmp_path, "drop", "write", store)
    described, about = read_bundle(path)
    assert len(about.drawn.load()) == 2
    assert described["layout"] is None
    assert (path / "table" / "_delta_log").is_dir()
    run = ["replay", str(path), "--isolation=none"]
    assert main([*run, f"--impl={named}:create_dropping"]) == Status.NONCONFORMANT
    assert main([*run, "--impl=ours"]) == Status.OK


@pytest.mark.parametrize(("how", "outcome"), [("refuse", "fail"), ("crash", "error")])
def test_refusals_and_crashes_are_kept_too(
    tmp_path: Path, store: TableStore, how: str, outcome: str
) -> None:
    described, about = read_bundle(kept(tmp_path, how, "read", store))
    assert described["verdict"]["outcome"] == outcome
    assert len(about.drawn.load()) == (2 if how == "refuse" else 1)


def test_what_is_tried_is_bounded_and_a_bundle_says_so(tmp_path: Path, store: TableStore) -> None:
    described, about = read_bundle(kept(tmp_path, "lose", "read", store, asks=2))
    assert described["shrinking"]["asked"] == 2
    assert not described["shrinking"]["ended"]
    assert len(replay(about.drawn.load()).versions) > 1
    described, about = read_bundle(kept(tmp_path, "lose", "read", store, seconds=0.0))
    assert described["shrinking"] == {"operations": [7, 7], "asked": 0, "ended": False}
    assert about.drawn.load() == HISTORY


def test_a_history_is_followed_through_the_names_of_a_column() -> None:
    history: History = (
        Create(struct(field("a", "long"), field("b", "long"))),
        Append(({"a": 1, "b": 2},)),
        RenameColumn("b", "z"),
        Update({"z": 5}),
        Append(({"a": 7, "z": 8},)),
    )

    def lost(tried: History) -> Verdict:
        rows = replay(tried).rows()
        fails = any(row.get("a") == 7 for row in rows)
        return Verdict(Outcome.FAIL if fails else Outcome.PASS, "lost", Hazard.COSMETIC)

    shrunk = shrink(history, lost, way_of(lost(history)), Limit(seconds=600.0))
    assert shrunk.ended
    assert shrunk.history == (Create(struct(field("a", "long"))), Append(({"a": 7},)))


@pytest.mark.parametrize(
    "operation", [SetNullable("b", nullable=True), SetComment("b", "c"), SetDefault("b", None)]
)
def test_what_changes_a_column_goes_with_the_column(operation: Operation) -> None:
    history = (Create(struct(field("a", "long"), field("b", "long"))), operation)
    assert [*_without(history, "b")] == [Create(struct(field("a", "long")))]


def test_another_failure_is_not_taken_for_the_same() -> None:
    verdict = Verdict(Outcome.FAIL, "version 3: rows: 1 missing; column 'a' got 2", Hazard.COSMETIC)
    same = replace(verdict, message="latest version: rows: 4 missing; column 'b' got 'x'")
    assert way_of(verdict) == way_of(same)
    for other in (
        replace(verdict, hazard=Hazard.SILENT_WRONG_DATA),
        replace(verdict, requirement="CKPT-005"),
        replace(verdict, outcome=Outcome.ERROR, hazard=None),
        replace(verdict, message="refused a valid table: no"),
    ):
        assert way_of(verdict) != way_of(other)


def test_a_folder_that_cannot_be_written_costs_no_verdict(
    tmp_path: Path, store: TableStore
) -> None:
    (tmp_path / "file").write_text("")
    asked, made = judge("lose", store), item("read")
    keeper = Keeper(tmp_path / "file", asked.adapter.describe(), Limit(asks=0))
    assert keeper.keep(made, asked, made.judge(asked)).startswith("not kept: ")


BAD: dict[str, tuple[str, str | None]] = {
    "no description": ("bundle.json", None),
    "no JSON": ("bundle.json", "{"),
    "nested without end": ("bundle.json", "[" * 100_000),
    "another shape": ("bundle.json", "[]"),
    "too long": ("bundle.json", " " * (256 * 1024 + 1)),
    "no text": ("bundle.json", "\udcff"),
    "no history": ("history.json", None),
    "a history of another shape": ("history.json", '{"operations": []}'),
    "a history that is too long": ("history.json", " " * (256 * 1024 + 1)),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_bundle_is_refused_by_name(
    tmp_path: Path, store: TableStore, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, text = BAD[case]
    path = kept(tmp_path, "lose", "read", store, asks=0)
    (path / name).unlink()
    if text is not None:
        (path / name).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BundleError, match=name):
        read_bundle(path)
    assert main(["replay", str(path), "--impl=ours"]) == Status.CORPUS
    assert name in capsys.readouterr().err


ODD: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a link to a pipe of the kernel": lambda path: path.symlink_to("/proc/kmsg"),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["bundle.json", "history.json"])
def test_what_is_no_file_of_a_bundle_holds_nothing_up(
    tmp_path: Path, store: TableStore, name: str, odd: str
) -> None:
    path = kept(tmp_path, "lose", "read", store, asks=0)
    (path / name).unlink()
    ODD[odd](path / name)
    with pytest.raises(BundleError, match=name):
        read_bundle(path)


def test_an_unknown_layout_and_an_unknown_implementation_are_refused(
    tmp_path: Path, store: TableStore
) -> None:
    path = kept(tmp_path, "lose", "read", store, asks=0)
    assert main(["replay", str(path), "--impl=nobody"]) == Status.ADAPTER
    document = json.loads((path / "bundle.json").read_text())
    (path / "bundle.json").write_text(json.dumps({**document, "layout": "../../x"}))
    assert main(["replay", str(path), "--impl=ours"]) == Status.CORPUS


def test_a_table_that_this_kit_lays_out_otherwise_is_noted(
    tmp_path: Path, store: TableStore, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept(tmp_path, "lose", "read", store, asks=0)
    document = json.loads((path / "bundle.json").read_text())
    (path / "bundle.json").write_text(json.dumps({**document, "table_sha256": "0" * 64}))
    assert main(["replay", str(path), "--impl=ours"]) == Status.OK
    assert "otherwise than the bundle's table" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [("--tck-generate=explore", "--tck-seed=5"), ("--tck-bundles=kept",), ()]
)
def test_a_run_keeps_its_new_failures_where_it_is_asked_to(
    pytester: pytest.Pytester, named: str, options: tuple[str, ...]
) -> None:
    explores = "--tck-seed=5" in options
    case = "generated/seed-5-0/plain" if explores else "generated/history-0/plain"
    done = pytester.runpytest_inprocess(
        "-pno:cacheprovider",
        f"--impl={named}:create_crashing",
        "--tck-isolation=none",
        f"--tck-case={case}",
        *options,
    )
    assert done.ret == Status.ERRORS
    written = sorted(pytester.path.glob("*/*/history.json"))
    if not options:
        assert written == []
        return
    folder = "delta-tck-bundles" if explores else "kept"
    name = case.removeprefix("generated/").replace("/", "-")
    assert written == [pytester.path / folder / name / "history.json"]
    assert f"bundle: {written[0].parent}" in str(done.stdout)


@pytest.mark.parametrize(
    ("number", "partitions"),
    [(str(2**63), []), ("1" + "0" * 300, []), ("1", ["a", "b"])],
)
def test_a_bundle_that_no_table_can_hold_is_refused_and_is_no_failure(
    tmp_path: Path,
    store: TableStore,
    capsys: pytest.CaptureFixture[str],
    number: str,
    partitions: list[str],
) -> None:
    path = kept(tmp_path, "lose", "read", store, asks=0)
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("a", "long"), ("b", "string"))
    ]
    create: dict[str, Any] = {"operation": "create", "schema": {"type": "struct", "fields": fields}}
    if partitions:
        create["partition_columns"] = partitions
    steps = [create, {"operation": "append", "rows": [{"a": number, "b": "x"}]}]
    (path / "history.json").write_text(json.dumps({"operations": steps}))
    assert main(["replay", str(path), "--impl=ours"]) == Status.CORPUS
    printed = capsys.readouterr().err
    assert ("no column is left" if partitions else "fit each other") in printed
    assert "history.json" in printed


@pytest.fixture
def replayed(tmp_path: Path, store: TableStore, named: str) -> Callable[[str], int]:
    """Replay a bundle of lost rows by what a function of this module makes."""
    path = kept(tmp_path, "lose", "read", store, asks=0)
    return lambda made: main(["replay", str(path), "--isolation=none", f"--impl={named}:{made}"])


def test_a_bundle_that_judges_nothing_does_not_pass(
    replayed: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure whose claim was taken back is not mended."""
    assert replayed("create_silent") == Status.NOTHING_JUDGED
    assert ": unsupported" in capsys.readouterr().out


def test_a_bundle_is_not_replayed_by_unknown_claims(
    replayed: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert replayed("create_misspelled") == Status.ADAPTER
    assert "did you mean 'scan'?" in capsys.readouterr().err


def test_a_description_of_other_types_is_a_fault_of_the_adapter(
    replayed: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert replayed("create_untyped") == Status.ADAPTER
    assert "reader_version is a whole number, not '3'" in capsys.readouterr().err
