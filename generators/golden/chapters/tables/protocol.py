"""Cases of protocol negotiation: versions, features, unknown actions, fields and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import ask_changes, each_row, feed_table
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import (
    aggregated,
    describe,
    earlier_spec,
    filtered,
    publish,
    publish_timed,
    refuse_load,
    refuse_unknown,
)
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import (
    GoldenTable,
    add,
    feature_protocol,
    legacy_protocol,
    pairs,
    remove,
    txn,
    writer_protocol,
)
from generators.golden.chapters.log.reconciliation import txn_spec
from generators.golden.chapters.tables.row_tracking import Tracked
from generators.materialise.log.files import json_text

EVOLUTION = Chapter("protocol-evolution")
FEATURES = Chapter("table-features")
VERSIONS = Chapter("version-requirements")

_ROWS: list[dict[str, Any]] = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


# Protocols that every reader of version 1 has to read.

_LEGACY = ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6))


def _readable(case: CaseWriter, protocol: Mapping[str, Any]) -> None:
    if "rowTracking" in protocol.get("writerFeatures", ()):
        tracked = Tracked(case, protocol=protocol, properties={})
        table = tracked.table
        table.create(add(tracked.file(_ROWS)), tracked.mark())
    else:
        table = GoldenTable.created(case, PAIR, _ROWS, protocol=protocol)
    publish(case, table)


for _reader, _writer in _LEGACY:
    VERSIONS.define(
        f"legacy-{_reader}-{_writer}",
        f"A table of versions {_reader} and {_writer} is read by any reader",
        "PROTO-001 PROTO-002 WVER-007",
        partial(_readable, protocol=legacy_protocol(_reader, _writer)),
    )

_WRITER_FEATURES = (
    "allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "clustering",
    "domainMetadata", "generatedColumns", "icebergCompatV1", "icebergCompatV2",
    "identityColumns", "inCommitTimestamp", "invariants", "rowTracking",
)  # fmt: skip


@FEATURES.case("writer-features-ignored", "TF-002 TF-019", since="2025")
def _writer_features(case: CaseWriter) -> None:
    """Writer-only features do not stop a reader."""
    listed = ["appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants"]
    _readable(case, writer_protocol(listed))


for _name in _WRITER_FEATURES:
    # Clustering and row tracking need domains beside them.
    _listed = (
        sorted({_name, "domainMetadata"}) if _name in {"clustering", "rowTracking"} else [_name]
    )
    if _name.startswith("iceberg"):
        continue  # needs column mapping, which is a reader's business
    _protocol = writer_protocol(_listed)
    FEATURES.define(
        f"writer-{_name.lower()}",
        f"A table that lists {_name} for writers is read normally",
        "TF-002 TF-019",
        partial(_readable, protocol=_protocol),
        since="2025",
    )


@FEATURES.case("unknown-writer-feature", "TF-002", since="2025")
def _unknown_writer(case: CaseWriter) -> None:
    """An unknown writer feature does not stop a reader."""
    _readable(case, writer_protocol(["appendOnly", "somethingNobodyKnows"]))


@FEATURES.case("unknown-writer-feature-3-7", "TF-002 PROTO-003", since="2025")
def _unknown_writer_three(case: CaseWriter) -> None:
    """An unknown writer feature on versions 3 and 7 is ignored."""
    _readable(case, feature_protocol(writers=["appendOnly", "somethingNobodyKnows"]))


@FEATURES.case("reader-version-2-writer-7", "PROTO-011 TF-007", since="2025")
def _two_seven(case: CaseWriter) -> None:
    """Reader version 2 may go with writer version 7."""
    _readable(case, writer_protocol(["appendOnly"], 2))


@FEATURES.case("vacuum-protocol-check", "VPC-003")
def _vacuum_check(case: CaseWriter) -> None:
    """A reader has to accept vacuumProtocolCheck by name only."""
    _readable(case, feature_protocol(["vacuumProtocolCheck"]))


@FEATURES.case("empty-feature-lists", "PROTO-003 PROTO-004 TF-011 RVER-002", since="2025")
def _empty_lists(case: CaseWriter) -> None:
    """Versions 3 and 7 without any feature read normally."""
    _readable(case, feature_protocol())


@FEATURES.case("one-feature-listed", "RVER-002 TF-001", since="2025")
def _one_feature(case: CaseWriter) -> None:
    """A list of one feature asks for that feature and no other."""
    table = GoldenTable.created(case, PAIR, _ROWS, protocol=feature_protocol(["columnMapping"]))
    for number, name in enumerate(("deletionVectors", "timestampNtz", "v2Checkpoint"), 3):
        table.protocol = feature_protocol([name])
        file = table.file([{"id": number, "name": name}])
        table.commit(table.protocol_action(), add(file), operation="UPGRADE PROTOCOL")
    slugs = ("latest", *(f"v{version}" for version in table.versions))
    case.judged = {f"read-{slug}": "RVER-002" for slug in slugs} | {"files-latest": "RVER-002"}
    publish(case, table)


# Protocols that a reader has to refuse.


@dataclass(frozen=True, slots=True)
class _Refused:
    chapter: Chapter
    title: str
    requirements: str
    protocol: Mapping[str, Any]
    refusal: Refusal
    since: str = "2021"
    lenient: str = ""
    """Why a reader may read the table all the same; empty when it may not."""


def _unsupported(requirement: str, code: str = "") -> Refusal:
    return Refusal("unsupported", "load", requirement, code=code)


_WRITERS_ONLY = "a reader can tell what it must honour; the fault is the writer's"

_VERSION = _unsupported("PROTO-005", "DELTA_INVALID_PROTOCOL_VERSION")


def _invalid(requirement: str, code: str = "DELTA_INVALID_PROTOCOL_VERSION") -> Refusal:
    return Refusal("invalid_table", "load", requirement, code=code)


_THREE_SEVEN = feature_protocol(["deletionVectors"])

_REFUSED = {
    "reader-version-4": _Refused(
        EVOLUTION,
        "A reader version that nobody has defined is refused",
        "PROTO-005 PROTO-007",
        {**feature_protocol(), "minReaderVersion": 4},
        _VERSION,
        "2025",
    ),
    "reader-version-4-without-lists": _Refused(
        EVOLUTION,
        "An undefined reader version is refused without lists",
        "PROTO-005 PROTO-007",
        legacy_protocol(4, 6),
        _VERSION,
    ),
    "reader-version-huge": _Refused(
        EVOLUTION,
        "A far reader version is refused, lists or not",
        "PROTO-005 PROTO-007",
        legacy_protocol(2**31 - 1, 2**31 - 1),
        _VERSION,
    ),
    "reader-version-0": _Refused(
        EVOLUTION,
        "A reader version of zero is refused or read",
        "PROTO-001",
        legacy_protocol(0, 2),
        _invalid("PROTO-001"),
        lenient="no clause forbids zero, and a reader of any version is new enough",
    ),
    "unknown-reader-feature": _Refused(
        FEATURES,
        "An unknown reader feature is refused",
        "TF-001 RVER-002",
        feature_protocol(["somethingNobodyKnows"]),
        _unsupported("TF-001"),
        "2025",
    ),
    "unknown-among-known": _Refused(
        FEATURES,
        "One unknown reader feature among known ones is refused",
        "TF-001",
        feature_protocol(["deletionVectors", "v2Checkpoint", "zzzUnknown"]),
        _unsupported("TF-001"),
        "2025",
    ),
    **{
        f"feature-name-{slug}": _Refused(
            FEATURES,
            f"A feature name {words} is an unknown one",
            "FEAT-003 TF-001",
            feature_protocol([name]),
            _unsupported("FEAT-003"),
            "2025",
        )
        for slug, name, words in (
            ("case", "DeletionVectors", "in other letter case"),
            ("blank", "deletionVectors ", "with a blank after it"),
            ("dashes", "deletion-vectors", "whose words have a dash between"),
            ("suffix", "deletionVectors-preview", "with more after it"),
            ("prefix", "delta.feature.deletionVectors", "with a prefix of properties"),
        )
    },
    "reader-features-missing": _Refused(
        FEATURES,
        "Reader version 3 without readerFeatures is invalid",
        "PROTO-003",
        {k: v for k, v in _THREE_SEVEN.items() if k != "readerFeatures"},
        _invalid("RVER-002"),
        "2025",
    ),
    "writer-features-missing": _Refused(
        FEATURES,
        "Writer version 7 without writerFeatures is invalid",
        "PROTO-004",
        {k: v for k, v in _THREE_SEVEN.items() if k != "writerFeatures"},
        _invalid("PROTO-004"),
        "2025",
        "the list that is missing is the writers'",
    ),
    "reader-3-writer-6": _Refused(
        VERSIONS,
        "Reader version 3 without writer version 7 is refused or read",
        "RVER-003 TF-009",
        {"minReaderVersion": 3, "minWriterVersion": 6, "readerFeatures": []},
        _invalid("RVER-003"),
        "2025",
        _WRITERS_ONLY,
    ),
    "reader-features-on-version-2": _Refused(
        FEATURES,
        "readerFeatures below reader version 3 is refused or read",
        "PROTO-003 TF-006",
        {
            "minReaderVersion": 2,
            "minWriterVersion": 7,
            "readerFeatures": ["columnMapping"],
            "writerFeatures": ["columnMapping"],
        },
        _invalid("PROTO-003"),
        "2025",
        "the list exists at version 3 only; elsewhere it may count as an unknown field",
    ),
    "reader-feature-not-for-writers": _Refused(
        FEATURES,
        "A feature listed for readers alone is refused or read",
        "TF-020",
        {**feature_protocol(["deletionVectors"]), "writerFeatures": []},
        _invalid("TF-020", "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH"),
        "2025",
        _WRITERS_ONLY,
    ),
    "old-field-names": _Refused(
        EVOLUTION,
        "readerVersion and writerVersion are no protocol fields",
        "PROTO-001 PROTO-002",
        {"readerVersion": 1, "writerVersion": 2},
        _invalid("PROTO-005"),
    ),
    "version-is-text": _Refused(
        EVOLUTION,
        "A protocol version that is a text is refused",
        "PROTO-001",
        {"minReaderVersion": "one", "minWriterVersion": 2},
        _invalid("PROTO-005"),
    ),
}


def _refused(case: CaseWriter, wrong: _Refused) -> None:
    intended = GoldenTable.created(case, PAIR, _ROWS)
    describe(case, intended)
    intended.commit({"protocol": wrong.protocol}, operation="UPGRADE PROTOCOL")
    if wrong.lenient:
        case.contest_read(
            "The protocol is refused or read",
            PAIR,
            Accepted("refused", "the protocol breaks its clause", refusal=wrong.refusal),
            Accepted("read", wrong.lenient, rows=intended.rows()),
        )
    else:
        by_version = "It is refused by version too"
        if isinstance(wrong.protocol.get("minReaderVersion"), int):
            refuse_unknown(case, intended, wrong.refusal, wrong.title)
            refuse_unknown(case, intended, wrong.refusal, by_version, slug="v1", version=1)
        else:
            refuse_load(case, wrong.refusal, wrong.title)
            refuse_load(case, wrong.refusal, by_version, slug="v1", version=1)
    earlier_spec(case, intended, 0)


for _name, _wrong in _REFUSED.items():
    _wrong.chapter.define(
        _name,
        _wrong.title,
        _wrong.requirements,
        partial(_refused, wrong=_wrong),
        since=_wrong.since,
    )


@FEATURES.case("feature-lists-on-legacy", "PROTO-003 PROTO-004")
def _lists_on_legacy(case: CaseWriter) -> None:
    """Empty feature lists on legacy versions are contested."""
    table = GoldenTable.created(case, PAIR, _ROWS)
    describe(case, table)
    table.commit(
        {"protocol": {**legacy_protocol(1, 2), "readerFeatures": [], "writerFeatures": []}}
    )
    case.contest_read(
        "Empty lists are ignored or refused",
        PAIR,
        Accepted("read", "some writers leave empty lists, most readers accept", rows=table.rows()),
        Accepted("refused", "protocol: no lists below 3 and 7", refusal=_invalid("PROTO-003")),
    )


@EVOLUTION.case("unknown-actions", "PROTO-008")
def _unknown_actions(case: CaseWriter) -> None:
    """Unknown actions are ignored."""
    table = GoldenTable.of(case, PAIR)
    table.create(
        {"futureAction": {"path": "x", "deep": {"list": [1, None]}}}, add(table.file(_ROWS))
    )
    table.commit('{"anotherOne":"text"}', add(table.file([{"id": 3, "name": "c"}])))
    table.commit('{"third":null}', '{"fourth":[1,2,3]}')
    publish(case, table)


@EVOLUTION.case("unknown-fields", "PROTO-009")
def _unknown_fields(case: CaseWriter) -> None:
    """Unknown fields of known actions are ignored."""
    table = GoldenTable.of(case, PAIR)
    file, other = table.file(_ROWS), table.file([{"id": 3, "name": "c"}])
    odd: dict[str, Any] = {"futureField": {"a": [1, {"b": None}]}, "zzz": 1}
    table.commit(
        {"protocol": {**table.protocol, **odd}},
        table.metadata(**odd),
        add(file, **odd),
        add(other, **odd),
        txn("app", 1, **odd),
    )
    table.commit(remove(other, **odd), info=odd)
    describe(case, table)
    case.read("read-latest", PAIR, table.rows(), title="The rows are those put in")
    case.read("read-v0", PAIR, table.rows(0), title="Version 0 reads too", version=0)
    txn_spec(case, "app", 1, title="The transaction is known")


@EVOLUTION.case("unknown-fields-of-format", "PROTO-009")
def _unknown_of_format(case: CaseWriter) -> None:
    """Unknown fields of a format are ignored."""
    table = GoldenTable.of(case, PAIR)
    odd = {"provider": "parquet", "options": {}, "futureField": {"a": [1, None]}}
    table.commit({"protocol": table.protocol}, table.metadata(format=odd), add(table.file(_ROWS)))
    describe(case, table)
    case.read("read-latest", PAIR, table.rows(), title="The rows are those put in")


@EVOLUTION.case("unknown-fields-checkpoint", "PROTO-008 REC-018")
def _unknown_checkpoint(case: CaseWriter) -> None:
    """A checkpoint keeps any tags, and an unknown action is ignored."""
    table = GoldenTable.of(case, PAIR)
    table.create(add(table.file(_ROWS, tags={"INSERTION_TIME": "1", "new": "x"})))
    table.append([{"id": 3, "name": "c"}])
    table.checkpoint(version=1, hint=False)
    table.commit('{"futureAction":{}}')
    # Tags may be any, so that a reader that loses them loses part of the newest add.
    case.judged["files-latest"] = "REC-018"
    publish(case, table, log_info={"lastCheckpointVersion": 1})


@EVOLUTION.case("commit-info-any-shape", "CINFO-002 CINFO-003")
def _commit_info(case: CaseWriter) -> None:
    """commitInfo may hold anything."""
    table = GoldenTable.of(case, PAIR)
    table.create(add(table.file(_ROWS)), info={"operationParameters": {"deep": [{"x": None}]}})
    table.commit('{"commitInfo":{}}', add(table.file([{"id": 3, "name": "c"}])), with_info=False)
    odd = {"timestamp": -1, "operation": ["a", 1], "version": "many", "add": {}}
    overwrites = {"operationParameters": {"mode": "Overwrite"}}
    table.commit(json_text({"commitInfo": odd | overwrites}), with_info=False)
    publish(case, table)


@EVOLUTION.case("commit-info-says-append", "CINFO-003 REC-018")
def _said_to_append(case: CaseWriter) -> None:
    """Removes count in a commit whose commitInfo says that it appends."""
    table = GoldenTable.of(case, PAIR)
    old = table.create_with(_ROWS)
    said = {"isBlindAppend": True, "operationParameters": {"mode": "Append"}}
    table.commit(remove(old), add(table.file([{"id": 3, "name": "c"}])), info=said)
    table.append([{"id": 4, "name": "d"}])
    publish(case, table)


_SAID: tuple[tuple[str, dict[str, Any]], ...] = (
    ("OPTIMIZE", {"operationMetrics": {"numAddedFiles": "0", "numRemovedFiles": "0"}}),
    ("RESTORE", {"operationParameters": {"version": 0, "timestamp": None}}),
    ("VACUUM END", {"operationParameters": {"status": "COMPLETED"}}),
    ("WRITE", {"isBlindAppend": True, "operationParameters": {"mode": "Append"}}),
    ("DELETE", {"operationMetrics": {"numDeletedRows": "2", "numAddedFiles": "0"}}),
    ("TRUNCATE", {"operationMetrics": {"numRemovedFiles": "5"}}),
    ("DROP TABLE", {"isBlindAppend": False}),
)
"""What commits say of themselves that replace a file by another."""


@EVOLUTION.case("commit-info-says-otherwise", "CINFO-003 REC-018 CDC-004", since="2025")
def _said_otherwise(case: CaseWriter) -> None:
    """The actions of a commit count, whatever operation it says it is."""
    table = feed_table(case)
    held = table.create_with([{"id": 0, "name": "v0"}, {"id": 1, "name": "v0"}])
    changes = each_row("insert", 0, held.rows)
    for version, (operation, said) in enumerate(_SAID, 1):
        file = table.file([{"id": n, "name": f"v{version}"} for n in range(version + 2)])
        table.commit(remove(held), add(file), operation=operation, info=said)
        changes += each_row("delete", version, held.rows) + each_row("insert", version, file.rows)
        held = file
    versions = table.versions[1:]
    slugs = ["read-latest", "files-latest", "count", "filter", "changes"]
    slugs += [f"{kind}-v{version}" for version in versions for kind in ("read", "changes")]
    case.judged = dict.fromkeys(slugs, "CINFO-003")
    publish_timed(case, table)
    title = "Whatever a commit says, its actions count"
    aggregated(case, table, "count", ["id"], title)
    filtered(case, table, "filter", compare("name", "=", f"v{table.version}", "string"), title)
    ask_changes(case, table, "changes", 0, None, changes, title)
    for version in versions:
        ask_changes(case, table, f"changes-v{version}", version, version, changes, title)


@FEATURES.case("changes-into-an-unknown-feature", "TF-001 RVER-002 CDC-004", since="2025")
def _changes(case: CaseWriter) -> None:
    """Changes are not read beyond a protocol that is not known."""
    table = feed_table(case)
    table.create(add(table.file(pairs(0))))
    table.protocol = feature_protocol(["somethingNobodyKnows"], ["changeDataFeed"])
    table.commit(table.protocol_action(), operation="UPGRADE PROTOCOL")
    table.append(pairs(10))
    describe(case, table)
    refusal = _unsupported("TF-001")
    refuse_unknown(case, table, refusal, "The latest version has an unknown feature")
    for start, end in ((0, 2), (2, 2)):
        title = "The range has versions with an unknown feature"
        asked = {"start": start, "end": end}
        case.refuse("changes", f"changes-{start}-{end}", refusal, title=title, parameters=asked)
