"""Cases of the log itself: names, versions, lines, foreign files, and what breaks them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import (
    aggregated,
    describe,
    earlier_spec,
    filtered,
    publish,
    refuse_load,
)
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import EPOCH, MINUTE, GoldenTable, add, remove, txn
from generators.golden.chapters.log.reconciliation import txn_spec
from generators.materialise.log.files import LOG_DIRECTORY, commit_name, drop_commits, json_text
from generators.oracle.delta_schema import field

TABLE = Chapter("table-specification")
LOG = Chapter("delta-log-entries")


def _appended(case: CaseWriter, versions: int) -> GoldenTable:
    """Return a table of one row per version."""
    table = GoldenTable.of(case, PAIR)
    for number in range(versions):
        action = add(table.file([{"id": number, "name": f"v{number}"}]))
        if number == 0:
            table.create(action)
        else:
            table.commit(action)
    return table


def _log(case: CaseWriter) -> Path:
    return case.delta / LOG_DIRECTORY


def _commit(case: CaseWriter, version: int) -> Path:
    return _log(case) / commit_name(version)


@TABLE.case("linear-history", "SNAP-001 SNAP-002 LOG-005 REC-001")
def _linear(case: CaseWriter) -> None:
    """Every version of a linear history can be read."""
    table = GoldenTable.created(case, PAIR)
    files = []
    for number in range(1, 6):
        files.append(table.file([{"id": number, "name": f"n{number}"}]))
        table.commit(add(files[-1]))
    table.commit(remove(files[0]), remove(files[2]), operation="DELETE")
    rewritten = table.file([{"id": 4, "name": "changed"}])
    table.commit(remove(files[3]), add(rewritten), operation="UPDATE")
    publish(case, table)


@TABLE.case("schema-of-its-version", "SNAP-002 META-002")
def _own_schema(case: CaseWriter) -> None:
    """A version is read with the schema and properties that it has."""
    table = GoldenTable.of(case, PAIR)
    table.create(add(table.file([{"id": 1, "name": "a"}])), txn("app", 1))
    table.schema = table.schema.with_fields(field("extra", "double"))
    table.properties["later"] = "1"
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.commit(add(table.file([{"id": 2, "name": "b", "extra": 0.5}])), txn("app", 2))
    slugs = ("read-v0", "read-v1", "snapshot-v0", "snapshot-v1", "count-v1", "filter-v1")
    case.judged = dict.fromkeys((*slugs, "txn-app-v1"), "SNAP-002")
    publish(case, table)
    title = "Whatever is asked of a version, later ones say nothing of it"
    aggregated(case, table, "count-v1", ["id"], title, version=1)
    filtered(case, table, "filter-v1", compare("id", ">", 0, "long"), title, version=1)
    txn_spec(case, "app", 1, 1, title=title)


@TABLE.case("long-history", "SNAP-001 LOG-002 REC-001")
def _long(case: CaseWriter) -> None:
    """A log of more than ten commits replays in order of their versions."""
    table = GoldenTable.created(case, PAIR)
    live = []
    for number in range(1, 25):
        live.append(table.file([{"id": number, "name": f"n{number}"}]))
        actions = [add(live[-1])]
        if number % 3 == 0:
            actions.append(remove(live.pop(0)))
        table.commit(*actions)
    for version in range(1, 25):
        # File times run backwards.
        case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", EPOCH + MINUTE * (100 - version))
    publish(case, table, versions=[0, 9, 10, 11, 24])


@TABLE.case("version-unknown", "SNAP-001 SNAP-002")
def _unknown_version(case: CaseWriter) -> None:
    """A version that does not exist is refused."""
    publish(case, _appended(case, 3))
    refusal = Refusal("not_found", "load", "SNAP-002", code="DELTA_VERSION_NOT_FOUND")
    refuse_load(case, refusal, "A version after the last is refused", slug="v3", version=3)
    refuse_load(case, refusal, "A far version is refused", slug="v1000000", version=1_000_000)


@TABLE.case("gap-in-versions", "SNAP-001")
def _gap(case: CaseWriter) -> None:
    """A missing commit makes the log invalid."""
    describe(case, _appended(case, 5))
    _commit(case, 2).unlink()
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_VERSIONS_NOT_CONTIGUOUS")
    refuse_load(case, refusal, "The latest version cannot be told")
    refuse_load(case, refusal, "A version after the gap is refused", slug="v3", version=3)


@TABLE.case("version-zero-missing", "SNAP-001 META-001")
def _no_zero(case: CaseWriter) -> None:
    """A log without version 0 or checkpoint is invalid."""
    describe(case, _appended(case, 3))
    _commit(case, 0).unlink()
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_TRUNCATED_TRANSACTION_LOG")
    refuse_load(case, refusal, "Nothing tells the state before version 1")


@TABLE.case("log-prefix-missing", "SNAP-001 CKPT-011")
def _no_prefix(case: CaseWriter) -> None:
    """A log that starts late without checkpoint is invalid."""
    table = GoldenTable.created(case, PAIR)
    for number in range(1, 6):
        actions = [add(table.file([{"id": number, "name": "x"}]))]
        if number == 3:
            actions = [table.protocol_action(), table.metadata(), *actions]
        table.commit(*actions)
    describe(case, table)
    drop_commits(case.delta, 3)
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_TRUNCATED_TRANSACTION_LOG")
    title = "Protocol and metadata alone do not make up for it"
    case.refuse("read", "read-latest", refusal, title=title)
    state = table.states[table.version]
    stated = {"protocol": state.protocol, "metadata": state.metadata}
    accepted = [
        Accepted("refused", "the log begins in the middle", refusal=refusal),
        Accepted("stated", "the newest protocol and metadata are there", expected=stated),
    ]
    title = "The metadata is that of the newest action, or refused with the rest"
    case.contest("snapshot", "snapshot-latest", accepted, title=title)


@TABLE.case("log-empty", "SNAP-004 META-001")
def _empty_log(case: CaseWriter) -> None:
    """A log directory without commits is no table."""
    describe(case, _appended(case, 1))
    _commit(case, 0).unlink()
    (_log(case) / "README").write_text("no commit here\n", encoding="utf-8")
    refusal = Refusal("not_found", "load", "REC-003", code="DELTA_TABLE_NOT_FOUND")
    refuse_load(case, refusal, "There is nothing to read")


@TABLE.case("no-log", "SNAP-003")
def _no_log(case: CaseWriter) -> None:
    """A directory of data files without a log is no table."""
    describe(case, _appended(case, 1))
    _commit(case, 0).unlink()
    _log(case).rmdir()
    refusal = Refusal("not_found", "load", "SNAP-003", code="DELTA_TABLE_NOT_FOUND")
    refuse_load(case, refusal, "Data files alone are no table")


@LOG.case("foreign-files", "LOG-001 LOG-002")
def _foreign(case: CaseWriter) -> None:
    """Files of other names in the log are ignored."""
    table = _appended(case, 3)
    log = _log(case)
    stray = json_text(add(table.file([{"id": 99, "name": "stray"}])))
    names = (
        "3.json",
        f"{3:020d}.json.tmp",
        f".{3:020d}.json.crc",
        f"{3:020d}.6f1d9c5e-3a5b-4d0e-9c39-0c6f4e2f8f11.json",
        f"_commit_{3:020d}.json",
        f"{3:020d}.JSON",
        f"{3:021d}.json",
        "00000000000000000x03.json",
        "notes.txt",
    )
    for name in names:
        (log / name).write_text(stray + "\n", encoding="utf-8")
    nested = log / "archive"
    nested.mkdir()
    (nested / commit_name(3)).write_text(stray + "\n", encoding="utf-8")
    case.judged = dict.fromkeys(("files-latest", "read-latest"), "SNAP-003")
    publish(case, table)


@LOG.case("staged-commits-ignored", "LOG-001 LOG-002")
def _staged(case: CaseWriter) -> None:
    """A staged commit of a plain table does not count."""
    table = _appended(case, 2)
    folder = _log(case) / "_staged_commits"
    folder.mkdir()
    stray = json_text(add(table.file([{"id": 99, "name": "stray"}])))
    name = f"{2:020d}.0b5ea8f1-7e4f-4f39-9d8a-2f6f2f1f4c55.json"
    (folder / name).write_text(stray + "\n", encoding="utf-8")
    case.judged = dict.fromkeys(("files-latest", "read-latest"), "SNAP-003")
    publish(case, table)


@LOG.case("line-layout", "LOG-004")
def _layout(case: CaseWriter) -> None:
    """Spaces, key order and escapes of a line do not matter."""
    table = _appended(case, 2)
    file = table.file([{"id": 7, "name": "spaced"}])
    body = dict(reversed(list(file.body.items())))
    text = json_text({"add": body}).replace(":", " : ").replace(',"', ' , "')
    spaced = text.replace("part-", "\\u0070art-").replace("/", "\\/")
    table.commit(add(file))
    _commit(case, 2).write_text("  " + spaced, encoding="utf-8")  # no newline at the end
    publish(case, table)


@LOG.case("commit-without-info", "CINFO-001 LOG-005")
def _no_info(case: CaseWriter) -> None:
    """A commit without commitInfo is complete."""
    table = GoldenTable.of(case, PAIR)
    table.create(add(table.file([{"id": 1, "name": "a"}])), with_info=False)
    table.commit(add(table.file([{"id": 2, "name": "b"}])), with_info=False)
    publish(case, table)


@LOG.case("metadata-after-files", "FA-015")
def _order(case: CaseWriter) -> None:
    """The order of actions in a commit does not matter."""
    table = GoldenTable.of(case, PAIR)
    file = table.file([{"id": 1, "name": "a"}])
    table.commit(add(file), txn("app", 1), table.metadata(), table.protocol_action())
    table.commit(add(table.file([{"id": 2, "name": "b"}])), remove(file))
    publish(case, table)


@LOG.case("commit-of-no-actions", "LOG-005 CINFO-003")
def _only_info(case: CaseWriter) -> None:
    """A commit that only informs changes nothing."""
    table = _appended(case, 1)
    table.commit(operation="OPTIMIZE")
    table.append([{"id": 5, "name": "later"}])
    publish(case, table)


@LOG.case("commit-zero-bytes", "LOG-004 LOG-006")
def _zero_bytes(case: CaseWriter) -> None:
    """A commit of zero bytes in mid-log is contested."""
    table = _appended(case, 2)
    table.commit(with_info=False)
    table.append([{"id": 5, "name": "later"}])
    describe(case, table)
    earlier_spec(case, table, 1)
    refusal = Refusal("invalid_table", "read", "LOG-006")
    for version, slug in ((2, "read-v2"), (3, "read-v3")):
        case.contest_read(
            "The empty commit counts as no actions or is refused",
            PAIR,
            Accepted("no-actions", "Spark: a commit of no actions", rows=table.rows(version)),
            Accepted("refused", "a commit has a complete action", refusal=refusal),
            slug=slug,
            version=version,
        )


@LOG.case("version-zero-empty", "META-001 LOG-004")
def _zero_empty(case: CaseWriter) -> None:
    """A version 0 of zero bytes is invalid."""
    describe(case, _appended(case, 1))
    _commit(case, 0).write_bytes(b"")
    refusal = Refusal("invalid_table", "load", "REC-003", code="DELTA_STATE_RECOVER_ERROR")
    refuse_load(case, refusal, "There is no metadata")


_BROKEN_LINES = {
    "truncated": ('{"add":{"path":"part', "A commit cut short in a line is refused"),
    "not-json": ("this is no JSON", "A line that is no JSON is refused"),
    "array": ("[1,2,3]", "A line that is no object is refused"),
    "scalar": ('"add"', "A line that is a bare value is refused"),
    "add-is-text": ('{"add":"part.parquet"}', "An action that is no object is refused"),
    "size-is-text": (
        (
            '{"add":{"path":"p","partitionValues":{},"size":"big","modificationTime":0,'
            '"dataChange":true}}'
        ),
        "A field of the wrong type is refused",
    ),
}


def _broken_line(case: CaseWriter, line: str) -> None:
    table = _appended(case, 2)
    describe(case, table)
    table.commit(line)
    # A reader that skips the line applies a part of the commit; no file has the name "p".
    refusal = Refusal("invalid_table", "read", "LOG-006", code="DELTA_COMMIT_MALFORMED")
    case.refuse("read", "read-latest", refusal, title="The version of the bad line is refused")
    case.refuse("read", "read-v2", refusal, title="It is refused by number too", version=2)
    earlier_spec(case, table, 1)


for _name, (_line, _title) in _BROKEN_LINES.items():
    LOG.define(f"line-{_name}", _title, "LOG-004 LOG-006", partial(_broken_line, line=_line))


@LOG.case("action-over-two-lines", "LOG-004 LOG-006")
def _two_lines(case: CaseWriter) -> None:
    """An action over two lines is refused or read."""
    table = _appended(case, 2)
    describe(case, table)
    row = {"id": 9, "name": "split"}
    text = json_text(add(table.file([row])))
    table.commit(text[:30] + "\n" + text[30:])
    refusal = Refusal("invalid_table", "read", "LOG-006", code="DELTA_COMMIT_MALFORMED")
    case.contest_read(
        "The version of the split action is refused or read",
        PAIR,
        Accepted("refused", "an action is one line", refusal=refusal),
        Accepted(
            "read", "a parser that goes by values finds the action", rows=[*table.rows(), row]
        ),
    )
    earlier_spec(case, table, 1)


@LOG.case("commit-not-utf8", "LOG-006 LOG-004")
def _not_utf8(case: CaseWriter) -> None:
    """A commit that is not UTF-8 is refused."""
    table = _appended(case, 2)
    describe(case, table)
    path = _log(case) / commit_name(2)
    path.write_bytes(b'{"commitInfo":{"operation":"\xff\xfe"}}\n{"add":\xc3\x28}\n')
    refusal = Refusal("invalid_table", "read", "LOG-006", code="DELTA_COMMIT_MALFORMED")
    case.refuse("read", "read-latest", refusal, title="The version of the bad bytes is refused")
    earlier_spec(case, table, 1)
