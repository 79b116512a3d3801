"""A storage that fails: every operation names itself and the file, and raises nothing bare."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pytest

from conformance.audit import AuditError, audit
from reference_impl import Table, read_table
from reference_impl.errors import CommitOutcomeUnknown, DeltaError, StorageFailed
from reference_impl.storage import LocalStorage
from reference_impl.write.checkpoints.write import Style

ROWS = pa.table({"id": pa.array([3], pa.int64()), "p": ["a"]})
OPERATIONS: dict[str, Callable[[str], Any]] = {
    "read": read_table,
    "scan": lambda root: read_table(root, filter="id > 0"),
    "changes": lambda root: Table(root).changes(0),
    "history": lambda root: Table(root).history(),
    "audit": audit,
    "append": lambda root: Table(root).append(ROWS),
    "delete": lambda root: Table(root).delete("id = 1"),
    "merge": lambda root: Table(root).merge(ROWS, ["id"]),
    "optimize": lambda root: Table(root).optimize(),
    "checkpoint": lambda root: Table(root).checkpoint(Style("v2", "json", sidecars=1)),
    "compact_log": lambda root: Table(root).compact_log(0, 1),
    "generate_manifest": lambda root: Table(root).generate_manifest(),
    "vacuum": lambda root: Table(root).vacuum(),
    "clean_log": lambda root: Table(root).clean_log(),
}
TYPED = (AuditError, CommitOutcomeUnknown, DeltaError)
METHODS = ("list_from", "walk", "head", "get", "get_range", "open_input", "put", "put_if_absent")
CODES = (
    errno.EACCES, errno.EPERM, errno.EIO, errno.ENOSPC, errno.EROFS, errno.EMFILE, errno.ESTALE,
    errno.EINVAL, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, None,
)  # fmt: skip


def _table(root: Path) -> str:
    table = Table(root)
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    table.create(ROWS.schema, partition_columns=["p"], properties=properties)
    for number in range(2):
        table.append(ROWS.set_column(0, "id", pa.array([number], pa.int64())))
    return str(root)


@pytest.mark.parametrize("code", CODES, ids=lambda code: errno.errorcode.get(code, "none"))
@pytest.mark.parametrize("method", METHODS)
def test_no_error_of_the_storage_comes_out_bare(
    tmp_path: Path, method: str, code: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _table(tmp_path / "t")

    def fail(_self: LocalStorage, path: str = "", *_: Any, **__: Any) -> Any:
        error = OSError("planted") if code is None else OSError(code, os.strerror(code), str(path))
        raise error

    monkeypatch.setattr(LocalStorage, method, fail)
    raised: dict[str, Exception] = {}
    for name, ask in OPERATIONS.items():
        try:
            ask(root)
        except Exception as error:  # noqa: BLE001  which one it is, is the question
            raised[name] = error
    named = [error for error in raised.values() if isinstance(error, StorageFailed)]
    bare = {name: e for name, e in raised.items() if not isinstance(e, (*TYPED, StorageFailed))}
    assert bare == {}
    assert {error.errno for error in named} <= {code}
    assert {error.operation for error in named} <= {*OPERATIONS, "snapshot"}
    # Without a number it is damage of the file, which pyarrow reports so.
    assert named or method == "head" or code is None


HIDDEN = "hidden-words"


@pytest.mark.parametrize(
    "location",
    [
        f"http://user:{HIDDEN}@127.0.0.1:1/t",
        f"http://user:x@{HIDDEN}@127.0.0.1:1/t",
        f"http://user:x/{HIDDEN}@127.0.0.1:1/t",
        f"http://127.0.0.1:1/t?sv=1&sig={HIDDEN}",
        f"http://127.0.0.1:1/t#token={HIDDEN}",
        f"ftp://user:{HIDDEN}@127.0.0.1/t",
        f"s3://{HIDDEN}@/t",
    ],
)
@pytest.mark.parametrize("operation", ["read", "audit"])
def test_no_message_has_a_secret_of_a_url(
    location: str, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        message = f"Error performing HEAD {location} in 2 s"
        raise obstore.exceptions.GenericError(message)

    for name in ("head", "get", "list", "list_with_delimiter", "get_range"):
        monkeypatch.setattr(obstore, name, fail)
    with pytest.raises((*TYPED, StorageFailed)) as caught:
        OPERATIONS[operation](location)
    assert HIDDEN not in "".join(traceback.format_exception(caught.value))


def test_a_client_that_panics_is_a_failure_of_the_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def fail(*_: Any, **__: Any) -> Any:
        raise PanicException("request valid: InvalidUri")

    for name in ("head", "get", "list", "list_with_delimiter", "get_range"):
        monkeypatch.setattr(obstore, name, fail)
    options = {"aws_region": "r", "aws_skip_signature": "true"}
    with pytest.raises(StorageFailed, match="InvalidUri"):
        read_table("s3://bucket/t", options=options)
