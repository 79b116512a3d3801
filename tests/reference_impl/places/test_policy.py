"""Which places outside of the root are followed: the caller's policy, before any client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import LocalStore, MemoryStore
from profiles import profile

from conformance.audit import audit
from conformance.audit.cli import run_audit_cli
from reference_impl import Table, read_table
from reference_impl.errors import InvalidAction, PlaceRefused, UnsupportedError
from reference_impl.places import OUTSIDE, Policy, decode_path, decode_paths, encode_path
from reference_impl.storage import LocalStorage, open_storage
from reference_impl.storage import object_store as module
from reference_impl.storage.object_store import ObjectStorage

BUCKET = "s3://bucket/tables/t"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """Make no client: note what would be opened, and with which options."""
    made: list[tuple[str, dict[str, str]]] = []

    def note(url: str, config: dict[str, str]) -> MemoryStore:
        made.append((url, dict(config)))
        return MemoryStore()

    monkeypatch.setattr(module, "from_url", note)
    return made


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize(
    "path",
    [
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "../other/x",
        "x/../../other",
        "..",
        "a//b",
        "hdfs://node/x",
        "s3n+x://bucket/x",
        "gs://bucket/x",
        "http://127.0.0.1:9/x",
        "x:/y",
        "s3://bucket/tables/t/../u",
        "/tables/t//x",
    ],
)
def test_a_store_never_leads_to_a_local_file_nor_to_what_is_not_certain(
    path: str, outside: Any, offline: list[Any]
) -> None:
    storage = open_storage(BUCKET, {"aws_region": "x"}, outside=outside)
    offline.clear()
    for ask in (
        storage.get,
        storage.head,
        storage.open_input,
        lambda p: storage.get_range(p, 0, 1),
    ):
        with pytest.raises(PlaceRefused) as caught:
            ask(path)
        assert isinstance(caught.value, UnsupportedError)
    for change in (
        storage.delete,
        lambda p: storage.put(p, b""),
        lambda p: storage.put_if_absent(p, b""),
    ):
        with pytest.raises(PlaceRefused):
            change(path)
    assert offline == []


@pytest.mark.parametrize(
    "path",
    [
        "s3://bucket/tables/t/f",
        "s3a://bucket/tables/t/f",
        "S3N://bucket/tables/t/f",
        "/tables/t/f",
        "./f",
        "././f",
    ],
)
def test_a_key_below_the_root_is_the_tables_own(path: str, offline: list[Any]) -> None:
    storage = open_storage(BUCKET, outside="refuse")
    storage.put("f", b"x")
    assert storage.get(path) == b"x"
    assert storage.locator()(path) == "f"
    assert len(offline) == 1
    storage.delete(path)
    with pytest.raises(FileNotFoundError):
        storage.get("f")


def test_the_same_bucket_is_read_with_the_same_options_and_never_written(
    offline: list[Any],
) -> None:
    options = {"aws_secret_access_key": "secret"}
    storage = open_storage(BUCKET, options)
    with pytest.raises(FileNotFoundError):
        storage.get("s3a://bucket/elsewhere/f")
    assert offline[1:] == [("s3://bucket", options)]
    with pytest.raises(PlaceRefused):
        storage.delete("s3://bucket/elsewhere/f")
    with pytest.raises(PlaceRefused):
        open_storage(BUCKET, options, outside="refuse").get("s3://bucket/elsewhere/f")


@pytest.mark.parametrize("outside", ["refuse", "same-store"])
@pytest.mark.parametrize(
    "path", ["s3://other/f", "s3a://other/f", "S3://bucket.other/f", "s3://Bucket/f"]
)
def test_another_bucket_is_refused_by_default(path: str, outside: Any, offline: list[Any]) -> None:
    storage = open_storage(BUCKET, outside=outside)
    with pytest.raises(PlaceRefused) as caught:
        storage.get(path)
    assert "outside=" in (caught.value.hint or "")
    assert len(offline) == 1


def test_another_bucket_gets_what_the_caller_gave_and_nothing_that_is_found(
    offline: list[Any],
) -> None:
    def opened(path: str, options: dict[str, str], stores: Any = None) -> Any:
        storage = open_storage(BUCKET, options, outside="any", stores=stores)
        offline.clear()
        with pytest.raises(FileNotFoundError):
            storage.get(path)
        return offline[-1]

    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    assert opened("s3://other/f", keys) == ("s3://other", keys)
    anonymous = {"aws_region": "x", "aws_skip_signature": "true"}
    assert opened("s3a://other/f", {"aws_region": "x"}) == ("s3a://other", anonymous)
    theirs = {"s3://other": {"aws_region": "y"}}
    assert opened("s3://other/f", keys, theirs)[1] == anonymous | {"aws_region": "y"}
    google = {"gs://other": {}}
    assert opened("gs://other/f", keys, google) == ("gs://other", {"google_skip_signature": "true"})


def test_a_store_of_another_kind_is_read_only_where_it_is_named(tmp_path: Path) -> None:
    store = MemoryStore()
    store.put("f", b"12345")
    for storage in (
        LocalStorage(tmp_path, policy=Policy("any", stores={"memory://": store})),
        ObjectStorage(
            BUCKET, store=MemoryStore(), policy=Policy("any", stores={"memory://": store})
        ),
    ):
        assert storage.get("memory:///f") == b"12345"
        assert storage.get_range("memory:///f", 1, 2) == b"23"
        assert storage.head("memory:///f").size == 5
        with storage.open_input("memory:///f") as source:
            assert source.read() == b"12345"
        for path in ("gs://bucket/f", "http://127.0.0.1:9/f", "hdfs://node/f"):
            with pytest.raises(PlaceRefused):
                storage.get(path)
        with pytest.raises(PlaceRefused):
            storage.delete("memory:///f")
    assert bytes(store.get("f").bytes()) == b"12345"


@pytest.mark.parametrize(
    ("path", "same"),
    [("{outside}/precious.parquet", True), ("file:{outside}/precious.parquet", True),
     ("folder/precious.parquet", True), ("link.parquet", True), ("inside", False)],
)  # fmt: skip
def test_refuse_follows_nothing_that_leads_out_of_the_root(
    world: Any, path: str, *, same: bool
) -> None:
    (world.root / "folder").symlink_to(world.outside)
    (world.root / "link.parquet").symlink_to(world.outside / "precious.parquet")
    (world.root / "held").write_bytes(b"not the table's")
    (world.root / "inside").symlink_to("held")
    path = path.replace("{outside}", str(world.outside))
    for location in (world.root, world.linked):
        assert open_storage(location).get(path) == b"not the table's"
        assert open_storage(location).holds(path) is not same
        storage = open_storage(location, outside="refuse")
        if same:
            with pytest.raises(PlaceRefused):
                storage.get(path)
        else:
            assert storage.get(path) == b"not the table's"


def test_the_option_reaches_reader_table_and_audit(world: Any, capsys: Any) -> None:
    lent = world.outside / "lent.parquet"
    os.rename(world.root / "part-0.parquet", lent)  # noqa: PTH104  a plain move
    world.name(data=world.fill(f"file://{lent}", ""))
    assert read_table(world.root).num_rows == 3
    for ask in (
        lambda: read_table(world.root, outside="refuse"),
        lambda: Table(world.root, outside="refuse").changes(1, 1),
    ):
        with pytest.raises(PlaceRefused):
            ask()
    location = str(world.root)
    found = audit(location, outside="refuse")
    assert {f.requirement for f in found} - {f.requirement for f in audit(location)} == {"ADD-002"}
    run_audit_cli([location, "--outside=refuse"])
    assert "not looked at" in capsys.readouterr().out
    with pytest.raises(ValueError, match="outside"):
        open_storage(location, outside="all")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "location",
    [
        "hdfs://node/t",
        "FILE://host/t",
        "file://10.0.0.1/t",
        "ftp://x/t",
        "nope:/t",
        "s3://",
        "s3:///t",
        "az://",
        "gs://b//t",
        "\0",
        "/t/a\0b",
        "/t/\ud800",
    ],
)
def test_a_location_that_no_store_is_known_for_is_refused(location: str) -> None:
    with pytest.raises(PlaceRefused):
        open_storage(location)
    assert run_audit_cli([location]) == 2


@pytest.mark.parametrize(
    "template",
    [
        "{}",
        "./{}",
        ".//{}",
        "../t/{}",
        "/tables/t/{}",
        "s3://bucket/tables/t/{}",
        "s3a://bucket/tables/t/{}",
        "S3N://bucket/%74ables/t/{}",
        "s3://bucket//tables/t/{}",
        "gs://bucket/tables/t/{}",
        "s3://Bucket/tables/t/{}",
    ],
)
@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_a_file_in_a_store_outlives_vacuum_in_every_spelling(
    template: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    table = Table(ObjectStorage(BUCKET, store=store))
    table.create(pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    (held,) = table.snapshot().adds()["path"].to_pylist()
    name = f"_delta_log/{1:020d}.json"
    text = table.storage.get(name).decode()
    spelled = text.replace(f'"{held}"', f'"{template.format(held)}"')
    table.storage.put(name, spelled.encode())
    table.storage.put("orphan.parquet", b"left by a crash")
    monkeypatch.setattr("reference_impl.write.upkeep.vacuum.now", lambda: 2**42)
    assert table.vacuum() == ["orphan.parquet"]
    assert held in {entry.path for entry in table.storage.walk()}


PIECES = ["a", "é", "%20", "%", "%2", "%C3", "%A9", "%00", "%2F", "%zz", "/", ":", "%ED%A0%80"]


@profile("gate")
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), min_size=1, max_size=4))
@example(["a%00b"])
@example(["", "a"])
@example(["%C3%28"])
def test_one_path_and_a_column_of_them_are_decoded_alike(paths: list[str]) -> None:
    def one_by_one() -> Any:
        try:
            return [decode_path(path) for path in paths]
        except InvalidAction:
            return None

    try:
        column = decode_paths(pa.array(paths, pa.string())).to_pylist()
    except InvalidAction:
        column = None
    assert column == one_by_one()


@profile("gate")
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
@example("a:/b")
@example("file:/x")
@example("100%25")
def test_a_relative_path_survives_encoding(path: str) -> None:
    decoded = decode_path(encode_path(path))
    assert decoded.removeprefix("./") == path.removeprefix("./")


@pytest.mark.parametrize("path", ["", "\0", "a%00", "\ud800", "%FF", "x\udc80%20"])
def test_what_is_no_path_is_a_typed_error(path: str) -> None:
    with pytest.raises(InvalidAction):
        decode_path(path)


@pytest.mark.parametrize("options", [{"aws_allow_http": "true"}, {"nonsense": "x"}])
def test_options_that_no_client_takes_are_refused_by_name(options: dict[str, str]) -> None:
    with pytest.raises(PlaceRefused, match="no store can be opened"):
        Table("s3://bucket/t", options=options)


ELSEWHERE = ["x/../t", "./t", "x/%2e%2E/t", "%2e/t", "t\tu", "t\nu", "t ", "t\x1f", "t/.", "t/x/.."]


@pytest.mark.parametrize("key", ELSEWHERE)
def test_a_root_that_its_client_reads_otherwise_is_refused(key: str) -> None:
    """Else an absolute path into the table led out of it, and vacuum deleted what it names."""
    options = {"aws_region": "r", "aws_skip_signature": "true"}
    with pytest.raises(PlaceRefused, match=r"reads the location|no store can be opened"):
        open_storage(f"s3://bucket/{key}", options)


@pytest.mark.parametrize("key", ["", "t", "t/", "a/b%2Fc", "é %25", "a;b,c=d", "%2520"])
def test_a_plain_root_is_opened(key: str) -> None:
    options = {"aws_region": "r", "aws_skip_signature": "true"}
    assert open_storage(f"s3://bucket/{key}", options).location == f"s3://bucket/{key}"


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("operation", ["list", "list_with_delimiter_async"])
def test_a_listing_that_python_has_no_date_for_is_a_failure_of_the_store(
    operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def far(*_: Any, **__: Any) -> Any:
        raise ValueError("year 99999 is out of range")

    monkeypatch.setattr(module.obstore, operation, far)
    storage = ObjectStorage(BUCKET)
    with pytest.raises(OSError, match="year 99999") as caught:
        storage.list_from("_delta_log", None if "delimiter" in operation else "0")
    assert not isinstance(caught.value, PlaceRefused)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("error", [AlreadyExistsError, PreconditionError])
def test_a_conflict_of_a_file_of_its_own_is_a_failure_of_the_store(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that answers 409 or 412 to everything: only a commit may find that it exists."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise error("x")

    monkeypatch.setattr(module.obstore, "put", refuse)
    storage = ObjectStorage(BUCKET)
    with pytest.raises(FileExistsError):
        storage.put_if_absent("f", b"")
    with pytest.raises(OSError, match="x") as caught:
        storage.put("f", b"")
    assert not isinstance(caught.value, FileExistsError)
