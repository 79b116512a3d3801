"""Cases of unknown actions and domains, in every file of a log and for every question.

Covers "Protocol Evolution". A summary of the log holds them where the commits that added them
are gone, and reads of changes, times or transactions meet them in the commits.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED, ask_changes, each_row
from generators.golden.cases.publish import publish, publish_timed
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.summarise import SUMMARIES
from generators.golden.cases.table import (
    EPOCH,
    MINUTE,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    legacy_protocol,
    pairs,
    remove,
    txn,
)
from generators.golden.chapters.log.reconciliation import domain_spec
from generators.materialise.log.checkpoints import Written
from generators.materialise.log.files import LOG_DIRECTORY, compaction_name, drop_commits, json_text
from generators.materialise.log.hints import write_last_checkpoint

EVOLUTION: Final = Chapter("protocol-evolution")
DOMAINS: Final = Chapter("domain-metadata", since="2025")

_FUTURE: Final = json_text({"futureAction": {"x": 1, "deep": {"list": [1, None]}}})
_FUTURE_ROWS: Final = pa.table({"futureAction": [{"x": 1}, {"x": None}]})


def _columns(path: Path, rows: int) -> None:
    """Give a Parquet file of actions the column of an unknown one, and so many rows of it."""
    held = pq.read_table(path, partitioning=None)
    wider = pa.concat_tables([held, _FUTURE_ROWS.slice(0, rows)], promote_options="default")
    pq.write_table(wider, path, store_schema=False)


def _parts(table: GoldenTable, version: int) -> Written:
    written = table.checkpoint("multi-part", version, parts=3, hint=False)
    for path in written.files[1:]:
        _columns(path, 2)
    return replace(written, actions=written.actions + 4)


def _v2(
    table: GoldenTable, version: int, kind: Literal["v2-json", "v2-parquet"], sidecars: int = 0
) -> Written:
    written = table.checkpoint(kind, version, sidecars=sidecars, hint=False)
    top, *others = written.files
    if sidecars:
        # A sidecar may have rows of adds and removes alone: the column has no value.
        lines = [json.loads(line) for line in top.read_text("utf-8").splitlines()]
        for path, line in zip(others, (each for each in lines if "sidecar" in each), strict=True):
            _columns(path, 0)
            line["sidecar"]["sizeInBytes"] = path.stat().st_size
        top.write_text("".join(f"{json_text(line)}\n" for line in lines), "utf-8")
        return written
    if kind == "v2-json":
        top.write_text(f"{_FUTURE}\n{top.read_text('utf-8')}{_FUTURE}\n", "utf-8")
    else:
        _columns(top, 2)
    return replace(written, actions=written.actions + 2)


def _compacted(table: GoldenTable, version: int) -> None:
    table.compact_log(1, version)
    path = table.root / LOG_DIRECTORY / compaction_name(1, version)
    path.write_text(f"{_FUTURE}\n{path.read_text('utf-8')}{_FUTURE}\n", "utf-8")


_FORMS: Final[dict[str, tuple[str, Any]]] = {
    "parts": ("the parts of a checkpoint", _parts),
    "v2-parquet": ("a V2 checkpoint in Parquet", partial(_v2, kind="v2-parquet")),
    "v2-json": ("a V2 checkpoint in JSON", partial(_v2, kind="v2-json")),
    "sidecars": ("columns of sidecars", partial(_v2, kind="v2-json", sidecars=2)),
    "compaction": ("a log compaction", None),
}


def _actions(case: CaseWriter, form: str) -> None:
    v2 = form.startswith("v2-") or form == "sidecars"
    protocol = feature_protocol(["v2Checkpoint"]) if v2 else legacy_protocol(1, 2)
    table = GoldenTable.of(case, PAIR, protocol=protocol)
    files = [table.file(pairs(10 * n)) for n in range(4)]
    table.create(add(files[0]), add(files[1]))
    table.commit(_FUTURE, add(files[2]))
    table.commit(_FUTURE, remove(files[0]), txn("app", 2))
    if form == "compaction":
        _compacted(table, 2)
    else:
        written = _FORMS[form][1](table, 2)
        size = sum(path.stat().st_size for path in written.files)
        write_last_checkpoint(table.root, replace(written, bytes=size))
        drop_commits(table.root, 2)
    table.commit(add(files[3]))
    publish(case, table, versions=[2, 3])


for _form, (_words, _) in _FORMS.items():
    EVOLUTION.define(
        f"unknown-actions-in-{_form}",
        f"Unknown actions in {_words} are ignored",
        "PROTO-008",
        partial(_actions, form=_form),
        since=None if _form == "parts" else "2025",
    )


@EVOLUTION.case("unknown-actions-in-every-answer", "PROTO-008", since="2025")
def _every_answer(case: CaseWriter) -> None:
    """Unknown actions are ignored whatever is asked."""
    protocol = feature_protocol([], ["changeDataFeed", "domainMetadata"])
    table = GoldenTable.of(case, PAIR, protocol=protocol, properties=FEED)
    first, second = table.file(pairs(0)), table.file(pairs(10))
    table.create(_FUTURE, add(first), txn("app", 1), domain("app.d", "1"))
    table.commit(add(second), _FUTURE, operation="MERGE")
    table.commit(_FUTURE, remove(first), txn("app", 2), domain("app.d", "2"), operation="DELETE")
    table.commit(_FUTURE, operation="OPTIMIZE")
    publish_timed(case, table, versions=[])
    changes = [
        *each_row("insert", 0, first.rows),
        *each_row("insert", 1, second.rows),
        *each_row("delete", 2, first.rows),
    ]
    title = "All changes are given, and none besides"
    ask_changes(case, table, "changes-all", 0, None, changes, title, requirement="PROTO-008")
    commits = [
        {
            "version": version,
            "timestamp": EPOCH + MINUTE * version,
            "operation": (table.infos[version] or {})["operation"],
        }
        for version in reversed(table.versions)
    ]
    # To list commits with their times is a recommendation.
    case.spec(
        "history",
        "history-all",
        title="The commits are listed newest first",
        expected={"commits": commits},
        requirements=("ICT-013", "PROTO-008"),
    )
    for type_, slug, expected, parameters in (
        ("txn", "txn-app", {"txnVersion": 2}, {"appId": "app"}),
        ("domain_metadata", "domain-app-d", {"configuration": "2"}, {"domain": "app.d"}),
    ):
        case.spec(
            type_,
            slug,
            title="What is known is told",
            expected=expected,
            parameters=parameters,
            requirement="PROTO-008",
        )


_SUMMARIES: Final = {
    "classic": "a checkpoint",
    "multi-part": "the parts of a checkpoint",
    "v2-parquet": "a V2 checkpoint in Parquet",
    "v2-json-sidecars": "a V2 checkpoint in JSON",
    "compaction": "a log compaction",
}


def _domains(case: CaseWriter, form: str) -> None:
    readers = ["v2Checkpoint"] if form.startswith("v2-") else []
    table = GoldenTable.of(case, PAIR, protocol=feature_protocol(readers, ["domainMetadata"]))
    unknown = domain("delta.somethingNew", '{"rows":"none"}'), domain("vendor.x", "[1,2")
    compacted = form == "compaction"
    table.create(*(() if compacted else unknown))
    table.commit(add(table.file(pairs(0))), *(unknown if compacted else ()))
    table.append(pairs(10))
    SUMMARIES[form](table, 2)
    if not compacted:
        drop_commits(table.root, 2)
    table.append(pairs(20))
    case.judged = {"domain-vendor-x": "DOM-013"}
    publish(case, table, versions=[2, 3])
    domain_spec(case, "vendor.x", "[1,2")


for _form, _words in _SUMMARIES.items():
    DOMAINS.define(
        f"unknown-domains-in-{_form}",
        f"Unknown domains of {_words} alone change no read",
        "PROTO-010 DOM-010 DOM-013",
        partial(_domains, form=_form),
    )


@DOMAINS.case("unknown-domains-of-any-text", "PROTO-010 DOM-010")
def _any_text(case: CaseWriter) -> None:
    """Unknown domains change no read, whatever texts they have."""
    table = GoldenTable.of(case, PAIR, protocol=feature_protocol([], ["domainMetadata"]))
    texts = ("", "rows: none", '{"minReaderVersion":', "[1]", "null")
    table.create(*(domain(f"delta.new{n}", text) for n, text in enumerate(texts)))
    table.append(pairs(0))
    table.commit(domain("delta.newer", "\t"), add(table.file(pairs(1))))
    table.checksum()
    publish(case, table, log_info={"lastCrcVersion": 2})
