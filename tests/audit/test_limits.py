"""The audit of a hostile table ends within its limits, and says what it could not check."""

from __future__ import annotations

import base64
import io
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from conformance.audit import audit, checker, run_audit_cli
from conformance.audit.cli import BROKEN, LIMITED, NONCONFORMING
from generators.materialise.data.legacy_parquet import chunks, edit_footer
from reference_impl import LimitExceeded, Limits, Table
from reference_impl.storage import LocalStorage

pytestmark = pytest.mark.usefixtures("ends_where_it_hangs")


def _commit(lake: Any, text: str) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    lake.write(f"{1:020d}.json", text)


_LINES: dict[str, Callable[[int], str]] = {
    "empty objects": lambda n: "{}\n" * n,
    "blank lines": lambda n: "\n" * (100 * n),
    "broken lines": lambda n: "".join(f"x{at}\n" for at in range(n)),
    "adds without fields": lambda n: "".join(f'{{"add":{{"path":"{at}"}}}}\n' for at in range(n)),
    "one transaction": lambda n: '{"txn":{"appId":"a","version":1}}\n' * n,
    "a long path": lambda n: f'{{"add":{{"path":"{"%41" * n}"}}}}\n',
    "repeated keys": lambda n: '{"add":{"path":"p"' + ',"size":1' * n + "}}\n",
    "many values": lambda n: json.dumps(
        {"add": {"path": "p", "partitionValues": {f"k{at}": 1 for at in range(n)}}}
    ),
    "many features": lambda n: json.dumps(
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": [f"f{at}" for at in range(n)],
                "writerFeatures": [f"f{at}" for at in range(n)],
            }
        }
    ),
}


@pytest.mark.parametrize("kind", _LINES)
def test_many_of_a_kind_give_few_findings_in_time(kind: str, lake: Any) -> None:
    _commit(lake, _LINES[kind](20_000))
    findings = lake.audit(data=False)
    messages = {(each.requirement, each.message, each.hint) for each in findings}
    assert len(messages) == len(findings)
    assert all(len(each.places) <= 100 for each in findings)


def test_what_is_found_again_is_counted_with_its_first_places(lake: Any) -> None:
    _commit(lake, "{}\n" * 500)
    found = [each for each in lake.audit() if each.requirement == "LOG-004"]
    assert sum(each.count for each in found) == 500
    assert found[0].places[:2] == (f"_delta_log/{1:020d}.json:1", f"_delta_log/{1:020d}.json:2")
    assert found[0].place == found[0].places[0]


def test_a_path_of_a_million_characters_is_not_printed_whole(lake: Any) -> None:
    paths = [f"{'%61' * 1_000_000}{number}" for number in range(3)]
    lake.commit(lake.protocol(), lake.metadata())
    adds = [lake.file("a.parquet") for _ in paths]
    for add, path in zip(adds, paths, strict=True):
        add["add"]["path"] = f"{path} "
    lake.commit(*adds)
    found = [each for each in lake.audit() if each.requirement in ("ADD-004", "SNAP-004")]
    assert sum(each.count for each in found if each.requirement == "ADD-004") == 3
    texts = [text for each in found for text in (each.place, each.message, *each.places)]
    assert max(map(len, texts)) == 10_000


def test_statistics_with_fractions_are_not_miscounted(lake: Any) -> None:
    good = '{"numRecords":2,"minValues":{"id":1.5}}'
    bad = '{"numRecords":"2"}'
    adds = [lake.file(f"{at}.parquet", stats=bad if at < 150 else good) for at in range(300)]
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(*adds)
    found = [each for each in lake.audit(data=False) if "stat" in each.message]
    assert sum(each.count for each in found) == 150


def _struct(depth: int) -> str:
    field = '{"type":"struct","fields":[{"name":"a","nullable":true,"metadata":{},"type":'
    return field * depth + '"long"' + "}]}" * depth


def _nested(depth: int) -> dict[str, Callable[[Any], Any]]:
    opened, closed = '{"a":' * depth, "}" * depth
    value = f"{opened}1{closed}"

    def schema(lake: Any) -> None:
        metadata = lake.metadata()
        metadata["metaData"]["schemaString"] = _struct(depth)
        lake.commit(lake.protocol(), metadata)

    def statistics(lake: Any) -> None:
        stats = f'{{"numRecords":2,"minValues":{value}}}'
        lake.commit(lake.protocol(), lake.metadata())
        lake.commit(lake.file("a.parquet", stats=stats))

    def hint(lake: Any) -> None:
        lake.basic().write("_last_checkpoint", f'{{"version":2,"size":1,"x":{value}}}')

    def checksum(lake: Any) -> None:
        lake.basic().write(f"{2:020d}.crc", f'{{"x":{value}}}')

    return {
        "schema": schema,
        "statistics": statistics,
        "action": lambda lake: _commit(lake, f'{{"novelty":{value}}}\n'),
        "commit info": lambda lake: _commit(lake, f'{{"commitInfo":{{"x":{value}}}}}\n'),
        "hint": hint,
        "checksum": checksum,
    }


@pytest.mark.parametrize("depth", [41, 200, 5_000, 100_000])
@pytest.mark.parametrize("place", _nested(1))
def test_nesting_is_checked_or_beyond_the_limit(place: str, depth: int, lake: Any) -> None:
    _nested(depth)[place](lake)
    found = lake.audit()
    beyond = [each for each in found if each.limit]
    assert {each.limit for each in beyond} == ({"nesting"} if depth >= 5_000 else set())
    assert {each.severity for each in beyond} <= {"warning"}
    assert not any("not JSON" in each.message for each in found)


_WIDE: dict[str, tuple[str, bool]] = {
    "deep": ('{"a":' * 300 + "[" + "1," * 100_000 + "1]" + "}" * 300, True),
    "a long key": (f'{{"{"k" * 100_000}":[{"1," * 5_000}1]}}', True),
    "many": ("[" + "1," * 50_000 + "1]", False),
    "half of a surrogate pair": ('{"\\ud800":"\\udfff"}', False),
}


@pytest.mark.parametrize("kind", _WIDE)
def test_what_a_checksum_goes_over_is_spelled_or_beyond_the_limit(kind: str, lake: Any) -> None:
    value, beyond = _WIDE[kind]
    lake.basic().write("_last_checkpoint", f'{{"version":2,"checksum":"{0:032}","x":{value}}}')
    (found,) = (each for each in lake.audit(data=False) if each.requirement == "SUM-001")
    assert found.limit == ("hint" if beyond else "")


@pytest.mark.parametrize("parts", [10, 3_000])
def test_an_expression_with_a_long_name_hides_no_other_finding(parts: int, lake: Any) -> None:
    """The former recursion over its parts ended the audit."""
    metadata = lake.metadata(constraints__c=f"{'.'.join(['a'] * parts)} = 1")
    metadata["metaData"]["id"] = "no GUID"
    lake.commit(lake.protocol(writer=3), metadata)
    lake.commit(lake.file("a.parquet"))
    assert "META-004" in {each.requirement for each in lake.audit()}


def test_a_check_that_needs_more_stack_than_there_is_costs_itself_alone(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(subject: Any) -> Any:
        yield from endless(subject)

    deep = replace(checker.CHECKS[0], run=endless)
    monkeypatch.setattr(checker, "CHECKS", (deep, *checker.CHECKS[1:]))
    lake.basic().write(f"{2:020d}.crc", "x")
    found = lake.audit()
    said = [each for each in found if each.limit]
    assert {each.requirement for each in said} == {*deep.requirements}
    assert {(each.limit, each.severity) for each in said} == {("nesting", "warning")}
    assert any("JSON" in each.message for each in found)


def test_a_schema_of_41_structs_is_no_finding(lake: Any) -> None:
    _nested(41)["schema"](lake)
    assert lake.audit() == []


@pytest.mark.parametrize(
    "number", ["1e999999", "-1e999999", "1e99999999999999999999", "1e-999999", "0e9999999"]
)
def test_numbers_beyond_every_type_are_checked_against_the_values(number: str, lake: Any) -> None:
    stats = f'{{"numRecords":2,"minValues":{{"id":{number}}},"maxValues":{{"id":{number}}}}}'
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet", stats=stats))
    assert "STAT-012" in {each.requirement for each in lake.audit()}


def test_a_number_of_100_000_digits_is_beyond_the_limit(lake: Any) -> None:
    stats = '{"numRecords":2,"minValues":{"id":' + "9" * 100_000 + "}}"
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet", stats=stats))
    assert {each.limit for each in lake.audit()} == {"number"}


def _vector(lake: Any, payload: bytes, size: int) -> None:
    frame = struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
    path = lake.root / "v.bin"
    path.write_bytes(b"\x01" + frame)
    with path.open("r+b") as file:
        file.truncate(max(path.stat().st_size, size + 100))
    descriptor = lake.vector([0]) | {
        "pathOrInlineDv": f"file://{path}",
        "sizeInBytes": size,
        "cardinality": 0,
    }
    lake.commit(lake.protocol("r:deletionVectors"), lake.metadata(enableDeletionVectors="true"))
    lake.commit(lake.file("a.parquet", deletionVector=descriptor))


def test_a_vector_that_is_a_hole_in_its_file_is_not_read(lake: Any) -> None:
    _vector(lake, b"", (1 << 31) - 1)
    assert {each.limit for each in lake.audit()} == {"vector"}


def test_a_vector_of_empty_buckets_is_beyond_the_limit(lake: Any) -> None:
    empty = [struct.pack("<III", key, 12346, 0) for key in range(300_000)]
    payload = struct.pack("<IQ", 1681511377, len(empty)) + b"".join(empty)
    _vector(lake, payload, len(payload))
    assert {each.limit for each in lake.audit()} == {"vector_buckets"}


def test_a_data_file_beyond_a_limit_is_not_at_fault(
    lake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pa.table({"id": range(2000), "name": ["x" * 1000] * 2000})
    stats = json.dumps({"numRecords": 2000, "nullCount": {"id": 0, "name": 0}})
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet", rows, stats=stats))
    assert lake.audit() == []
    options = ["--limit=data_file=1000", "--limit=data_file_growth=1"]
    assert run_audit_cli([str(lake.root), *options]) == LIMITED
    assert "not checked" in capsys.readouterr().out
    assert run_audit_cli([str(lake.root), "--limit=nonsense=1"]) == 2


class _Keys(pe.KmsClient):
    """Keeps keys where they are needed, unwrapped."""

    def wrap_key(self, key: bytes, _name: str) -> str:
        return base64.b64encode(key).decode()


def _encrypted(path: Path, *, footer: bool) -> None:
    table, connection = pq.read_table(path), pe.KmsConnectionConfig()
    made = pe.EncryptionConfiguration("f", column_keys={"c": ["id"]}, plaintext_footer=not footer)
    keys = pe.CryptoFactory(lambda _: _Keys()).file_encryption_properties(connection, made)
    with pq.ParquetWriter(path, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)


def _packed_by_lzo(path: Path) -> None:
    def change(footer: Any) -> None:
        for chunk in chain(*chunks(footer)):
            chunk.get(3).set(4, 5, 3)

    edit_footer(path, change)


_BEYOND_ARROW: dict[str, Callable[[Path], None]] = {
    "LZO": _packed_by_lzo,
    "an encrypted footer": partial(_encrypted, footer=True),
    "an encrypted column": partial(_encrypted, footer=False),
}


@pytest.mark.parametrize("kind", _BEYOND_ARROW)
def test_parquet_that_arrow_does_not_read_is_not_at_fault(lake: Any, kind: str) -> None:
    stats = json.dumps({"numRecords": 2, "minValues": {"id": 1}, "nullCount": {"id": 0}})
    lake.commit(lake.protocol(), lake.metadata())
    add = lake.file("a.parquet", stats=stats)
    _BEYOND_ARROW[kind](lake.root / "a.parquet")
    add["add"]["size"] = (lake.root / "a.parquet").stat().st_size
    lake.commit(add)
    (found,) = lake.audit()
    assert (found.requirement, found.severity, found.limit) == ("META-012", "warning", "arrow")
    assert found.hint == "the limit is Arrow's own: no option raises it"


@pytest.mark.parametrize("number", ["x", "-1", "1_0", "1.5", "", "\u0661", "9" * 5000])
@pytest.mark.parametrize("option", ["--memory", "--limit=memory"])
def test_a_limit_is_a_whole_number(
    option: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_audit_cli(["t", f"{option}={number}"]) == 2
    assert f"{number[:18]!r} is no whole number" in capsys.readouterr().err


def test_the_time_of_an_audit_is_limited(lake: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lake.basic()
    with pytest.raises(LimitExceeded, match="limit 'seconds'"):
        audit(str(lake.root), limits=Limits(seconds=0))
    assert run_audit_cli([str(lake.root), "--time-limit=0.000000001"]) == LIMITED
    assert "limit 'seconds'" in capsys.readouterr().err
    assert run_audit_cli([str(lake.root), "--time-limit=0"]) == 0


_ODD = {
    "escapes": "\x1b]0;owned\x07\x1b[2J",
    "marks": "\u202eevil",
    "letters": "é日",
    "half": "\ud800",
}


@pytest.mark.parametrize("name", _ODD)
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_path_reaches_the_terminal_without_steering_it(
    name: str, encoding: str, lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = json.dumps(f"{_ODD[name]}.parquet")
    _commit(lake, f'{{"remove":{{"path":{path},"dataChange":true,"deletionTimestamp":1}}}}\n')
    for form in ("text", "json"):
        out = io.BytesIO()
        stream = io.TextIOWrapper(out, encoding=encoding, write_through=True)
        monkeypatch.setattr(sys, "stdout", stream)
        status = run_audit_cli([str(lake.root), f"--format={form}"])
        assert status in (0, NONCONFORMING)
        text = out.getvalue().decode(encoding)
        assert "REC-018" in text
        assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_a_root_with_any_name_is_printed(tmp_path: Path, lake: Any) -> None:
    lake.basic()
    odd = tmp_path / os.fsdecode(b"\xff-\x1b[2J")
    lake.root.rename(odd)
    ran = subprocess.run(  # noqa: S603  our own module
        [sys.executable, "-m", "conformance.audit", "--no-data", os.fsencode(odd)],
        check=False,
        capture_output=True,
        timeout=240,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert (ran.returncode, b"\x1b" in ran.stdout) == (0, False)


def test_an_audit_that_fails_has_a_status_of_its_own(
    lake: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.basic()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("\x1b[2J")

    monkeypatch.setattr("conformance.audit.cli.audit", broken)
    assert run_audit_cli([str(lake.root)]) == BROKEN
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "\x1b" not in said


def test_an_action_with_a_number_beyond_the_limit_ends_no_audit(tmp_path: Path) -> None:
    table = Table(tmp_path / "t")
    table.create(pa.schema([("id", pa.int64())]))
    body = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    lines = (json.dumps({"add": {**body, "path": f"a%20{n}"}}) + "\n" for n in range(200))
    (tmp_path / "t" / "_delta_log" / f"{1:020d}.json").write_text("".join(lines))
    found = audit(str(tmp_path / "t"), limits=Limits(number=0))
    assert any(each.limit == "number" for each in found)


def test_sidecars_that_are_gone_are_looked_for_until_the_time_is_up(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    head = LocalStorage.head

    def counting(storage: LocalStorage, path: str) -> Any:
        looked.append(path)
        return head(storage, path)

    protocol = lake.protocol("r:v2Checkpoint")
    sidecars = [
        {"sidecar": {"path": f"{n}.parquet", "sizeInBytes": 1, "modificationTime": 1}}
        for n in range(1000)
    ]
    lake.commit(protocol, lake.metadata())
    lines = [{"checkpointMetadata": {"version": 0}}, protocol, lake.metadata(), *sidecars]
    lake.write(
        f"{0:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        "".join(f"{json.dumps(line)}\n" for line in lines),
    )
    monkeypatch.setattr(LocalStorage, "head", counting)
    monkeypatch.setattr("reference_impl.limits.time.monotonic", lambda: float(len(looked)))
    with pytest.raises(LimitExceeded, match="'seconds'"):
        audit(str(lake.root), limits=Limits(seconds=50))
    assert 50 < len(looked) < 100
