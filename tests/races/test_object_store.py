"""What a table in an object store rests on, asked of a real server: ``tox run -e s3``."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.errors import DeltaError
from reference_impl.storage import is_failure, open_storage

URL = os.environ.get("DELTA_TCK_RACE_URL", "")
WRITERS, ROUNDS = 16, 50

pytestmark = pytest.mark.s3


def test_of_writers_of_one_name_one_wins() -> None:
    storage = open_storage(f"{URL}/names")

    def put(number: int, writer: int) -> bool:
        try:
            storage.put_if_absent(f"{number:020}.json", str(writer).encode())
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as pool:
        for number in range(ROUNDS):
            won = [*pool.map(lambda writer, at=number: put(at, writer), range(WRITERS))]
            assert sum(won) == 1
            assert storage.get(f"{number:020}.json") == str(won.index(True)).encode()


def test_a_table_is_written_read_vacuumed_and_audited() -> None:
    location = f"{URL}/plain"
    table = Table(location)
    properties = {"delta.deletedFileRetentionDuration": "interval 0 hours"}
    table.create(
        pa.schema([("id", pa.int64()), ("p", pa.string())]),
        partition_columns=["p"],
        properties=properties,
    )
    for number in range(12):
        table.append(pa.table({"id": [number], "p": ["a b"]}))
    table.delete("id < 6")
    table.optimize()
    table.vacuum()
    assert sorted(read_table(location)["id"].to_pylist()) == [6, 7, 8, 9, 10, 11]
    names = [entry.path for entry in table.storage.walk() if "_delta_log" not in entry.path]
    assert len(names) == 1
    assert [f for f in audit(location) if f.severity == "error"] == []


def test_a_store_that_refuses_is_a_failure_and_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(OSError) as caught:  # noqa: PT011  every OSError is one of the storage
        Table(f"{URL}/plain").snapshot()
    assert is_failure(caught.value)
    assert not isinstance(caught.value, DeltaError)
