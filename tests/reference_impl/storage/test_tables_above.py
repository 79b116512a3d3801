"""A table in an object store leaves the files of a table in whose folder it lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest
from obstore.exceptions import PermissionDeniedError
from obstore.store import LocalStore

from reference_impl import Table, read_table
from reference_impl.errors import ConstraintViolation, InvalidTableError, StorageFailed
from reference_impl.storage import listing, object_store

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
ORPHAN = "orphan.parquet"


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a folder be the bucket of every URL; the store of a URL has the prefix of that."""

    def opened(url: str, options: Any) -> LocalStore:
        assert dict(options) == {"key": "of the table"}
        key = unquote(urlsplit(url).path).strip("/")
        store: LocalStore = type("Store", (LocalStore,), {"prefix": key or None})(
            tmp_path / key, mkdir=True
        )
        return store

    monkeypatch.setattr(object_store, "_open_url", opened)
    return tmp_path


def _table(place: str, **options: Any) -> Table:
    return Table(f"s3://bucket/{place}", options={"key": "of the table"}, **options)


def _made(place: str) -> Table:
    table = _table(place)
    table.create(ROWS.schema)
    table.append(ROWS)
    return table


@pytest.fixture
def inner(bucket: Path) -> Table:
    """Return a table in a folder of another that has a file there, and a file of neither."""
    _made("a b")
    (data,) = (bucket / "a b").glob("*.parquet")
    theirs = bucket / "a b" / "p=1" / "q=2" / "theirs.parquet"
    theirs.parent.mkdir(parents=True)
    data.rename(theirs)
    commit = bucket / "a b" / "_delta_log" / f"{1:020d}.json"
    commit.write_text(commit.read_text().replace(data.name, "p=1/q=2/theirs.parquet"))
    table = _made("a%20b/p=1/q=2/")
    (theirs.parent / ORPHAN).write_bytes(b"left by a crash")
    return table


def _vacuum(table: Table) -> list[str]:
    return table.vacuum(retention=0, unsafe=True)


def test_a_file_of_a_table_above_stays(inner: Table) -> None:
    assert _vacuum(inner) == [ORPHAN]
    assert read_table("s3://bucket/a b", options={"key": "of the table"}) == ROWS


@pytest.mark.usefixtures("inner")
def test_a_file_of_a_table_above_is_not_converted(bucket: Path) -> None:
    for path in (bucket / "a b" / "p=1" / "q=2" / "_delta_log").iterdir():
        path.unlink()
    with pytest.raises(ConstraintViolation, match="another table"):
        _table("a b/p=1").convert()


def test_nothing_is_deleted_below_a_table_that_cannot_be_read(bucket: Path, inner: Table) -> None:
    commit = bucket / "a b" / "_delta_log" / f"{1:020d}.json"
    held = commit.read_text()
    commit.write_text("{")
    with pytest.raises(InvalidTableError):
        _vacuum(inner)
    commit.write_text(held)


def _failing(error: Exception, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    """Let listings fail of all but what has that prefix."""
    ask: Callable[..., Any] = listing.obstore.list_with_delimiter_async

    async def asked(store: Any, prefix: str | None) -> Any:
        if (store.prefix or "").startswith(below):
            return await ask(store, prefix)
        raise error

    monkeypatch.setattr(listing.obstore, "list_with_delimiter_async", asked)


def test_a_folder_that_the_credentials_do_not_list_counts_as_no_table(
    inner: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        _failing(PermissionDeniedError("of a prefix"), patched, "a b/p=1")
        assert ORPHAN in _vacuum(inner)


def test_nothing_is_deleted_where_a_folder_above_cannot_be_listed(
    bucket: Path, inner: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        _failing(OSError(5, "no connection"), patched, "a b/p=1")
        with pytest.raises(StorageFailed):
            _vacuum(inner)
    assert (bucket / "a b" / "p=1" / "q=2" / ORPHAN).exists()
