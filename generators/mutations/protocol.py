"""Protocols that are missing, contradictory or beyond any reader.

Serves "Protocol Evolution", "Table Features" and "Reader Version Requirements".
"""

from __future__ import annotations

from typing import Any, Final

from generators.mutations.bases import CHECKPOINTED, VECTORS
from generators.mutations.edits import add_line, drop_action, edit_action, set_fields, without
from generators.mutations.mutation import Change, Chapter

_EVOLUTION: Final = Chapter("protocol-evolution")
_FEATURES: Final = Chapter("table-features")

_WRITERS_ONLY: Final = "a reader can tell what it must honour; the fault is the writer's"


def _protocol(**fields: Any) -> Change:
    """Replace the protocol of version 0 as a whole."""
    return edit_action(0, "protocol", lambda _body: fields)


def _misspelled(body: dict[str, Any]) -> dict[str, Any]:
    return {"readerVersion": body["minReaderVersion"], "writerVersion": body["minWriterVersion"]}


MUTATIONS: Final = (
    _EVOLUTION.refused(
        "protocol-missing",
        "no commit has a protocol action",
        "REC-002 SNAP-004",
        drop_action(0, "protocol"),
    ),
    _EVOLUTION.refused(
        "protocol-reader-version-beyond",
        "the table needs a reader version that does not exist",
        "PROTO-005 PROTO-007",
        _protocol(minReaderVersion=99, minWriterVersion=99),
        kind="unsupported",
    ),
    _EVOLUTION.refused(
        "protocol-reader-version-raised-later",
        "the last commit raises the reader version beyond any reader",
        "PROTO-005 REC-012",
        add_line(4, {"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}),
        base=CHECKPOINTED,
        kind="unsupported",
    ),
    _EVOLUTION.refused(
        "protocol-reader-version-missing",
        "the protocol has no minReaderVersion",
        "PROTO-005 PROTO-001",
        without(0, "protocol", "minReaderVersion"),
    ),
    _EVOLUTION.refused(
        "protocol-misspelled-versions",
        "the protocol spells its versions readerVersion and writerVersion",
        "PROTO-005 PROTO-001 PROTO-002",
        edit_action(0, "protocol", _misspelled),
    ),
    _EVOLUTION.refused(
        "protocol-reader-version-null",
        "the reader version is null",
        "PROTO-005 PROTO-001",
        set_fields(0, "protocol", minReaderVersion=None),
    ),
    _EVOLUTION.refused(
        "protocol-reader-version-word",
        "the reader version is a word",
        "PROTO-005 PROTO-001",
        set_fields(0, "protocol", minReaderVersion="one"),
    ),
    _EVOLUTION.refused(
        "protocol-reader-version-beyond-int",
        "the reader version does not fit 32 bits",
        "PROTO-005 PROTO-001",
        set_fields(0, "protocol", minReaderVersion=2**32 + 1),
        kind="unsupported",
    ),
    _EVOLUTION.contested(
        "protocol-reader-version-zero",
        "the reader version is zero",
        "PROTO-001",
        set_fields(0, "protocol", minReaderVersion=0),
        reason="versions begin with 1, but a reader of any version is new enough",
    ),
    _EVOLUTION.contested(
        "protocol-writer-version-missing",
        "the protocol has no minWriterVersion",
        "PROTO-002",
        without(0, "protocol", "minWriterVersion"),
        reason=_WRITERS_ONLY,
    ),
    _EVOLUTION.survived(
        "protocol-unknown-action",
        "a commit has an action that no revision knows",
        "PROTO-008",
        add_line(2, {"futureAction": {"path": "x", "nested": {"deep": [1, None, {"a": 1.5}]}}}),
    ),
    _EVOLUTION.survived(
        "protocol-unknown-field",
        "add actions have fields that no revision knows",
        "PROTO-009",
        set_fields(1, "add", futureField={"a": [1, 2]}, otherField="text"),
    ),
    _EVOLUTION.survived(
        "protocol-unknown-field-of-protocol",
        "the protocol has a field that no revision knows",
        "PROTO-009",
        set_fields(0, "protocol", futureField=True),
    ),
    _EVOLUTION.survived(
        "protocol-unknown-domain",
        "a commit sets a metadata domain that nobody knows",
        "PROTO-010 DOM-011 DOM-008",
        add_line(
            2,
            {
                "domainMetadata": {
                    "domain": "com.example.future",
                    "configuration": "{not json",
                    "removed": False,
                }
            },
        ),
        noticed_by="audit",
    ),
    _FEATURES.refused(
        "features-unknown-reader-feature",
        "the table lists a reader feature that does not exist",
        "TF-001 FEAT-003",
        _protocol(
            minReaderVersion=3,
            minWriterVersion=7,
            readerFeatures=["featureOfTheFuture"],
            writerFeatures=["featureOfTheFuture"],
        ),
        kind="unsupported",
    ),
    _FEATURES.refused(
        "features-unknown-beside-known",
        "an unknown reader feature stands beside a known one",
        "TF-001 FEAT-003",
        set_fields(
            0,
            "protocol",
            readerFeatures=["deletionVectors", "featureOfTheFuture"],
            writerFeatures=["deletionVectors", "featureOfTheFuture"],
        ),
        base=VECTORS,
        kind="unsupported",
    ),
    _FEATURES.refused(
        "features-other-letter-case",
        "a reader feature is spelled in other letter case",
        "FEAT-003 TF-001",
        set_fields(
            0,
            "protocol",
            readerFeatures=["DeletionVectors"],
            writerFeatures=["DeletionVectors"],
        ),
        base=VECTORS,
        kind="unsupported",
    ),
    _FEATURES.refused(
        "features-no-reader-list",
        "reader version 3 comes without readerFeatures",
        "RVER-002 PROTO-003",
        _protocol(minReaderVersion=3, minWriterVersion=7, writerFeatures=[]),
    ),
    _FEATURES.refused(
        "features-reader-list-is-text",
        "readerFeatures is a string",
        "RVER-002 PROTO-003",
        _protocol(minReaderVersion=3, minWriterVersion=7, readerFeatures="none", writerFeatures=[]),
    ),
    _FEATURES.contested(
        "features-reader-3-writer-6",
        "reader version 3 stands beside writer version 6",
        "RVER-003 TF-009",
        _protocol(minReaderVersion=3, minWriterVersion=6, readerFeatures=[]),
        reason=_WRITERS_ONLY,
    ),
    _FEATURES.contested(
        "features-no-writer-list",
        "writer version 7 comes without writerFeatures",
        "PROTO-004",
        _protocol(minReaderVersion=1, minWriterVersion=7),
        reason=_WRITERS_ONLY,
    ),
    _FEATURES.contested(
        "features-lists-at-old-versions",
        "versions 1 and 2 come with feature lists",
        "PROTO-003 PROTO-004",
        _protocol(
            minReaderVersion=1,
            minWriterVersion=2,
            readerFeatures=["deletionVectors"],
            writerFeatures=["deletionVectors"],
        ),
        reason="the lists exist at versions 3 and 7 only; elsewhere they may count as unknown",
    ),
    _FEATURES.contested(
        "features-reader-list-alone",
        "a feature is listed for readers and not for writers",
        "TF-006 TF-020",
        set_fields(0, "protocol", writerFeatures=[]),
        base=VECTORS,
        reason=_WRITERS_ONLY,
    ),
    _FEATURES.contested(
        "features-writer-list-alone",
        "deletion vectors are listed for writers alone at reader version 3",
        "TF-018",
        set_fields(0, "protocol", readerFeatures=[]),
        base=VECTORS,
        reason="a reader-writer feature belongs in both lists; engines differ on one alone",
        open=True,
    ),
    _FEATURES.survived(
        "features-unknown-writer-feature",
        "the table lists a writer feature that does not exist",
        "TF-002 FEAT-003",
        _protocol(minReaderVersion=1, minWriterVersion=7, writerFeatures=["featureOfTheFuture"]),
        noticed_by="audit",
    ),
    _FEATURES.survived(
        "features-writer-version-beyond",
        "the table needs a writer version that does not exist",
        "PROTO-005 PROTO-006",
        _protocol(minReaderVersion=1, minWriterVersion=99),
        noticed_by="audit",
    ),
)
