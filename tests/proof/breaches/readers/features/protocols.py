"""Wrong readers of protocols: versions, features, what is unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINTS,
    COMPACTION,
    JSON_CHECKPOINT,
    PHYSICAL_NAME,
    Lines,
    each,
    fields,
    listed,
    matching,
    only_when,
    read_lines,
    setting,
)
from breaches.model import reader
from breaches.seams import for_changes, refusing, viewing, where_asked
from breaches.views import actions_of, bodies, commits_of, log_actions, log_of
from conformance.adapter import Changes
from schemas.features import FEATURES

KNOWN = frozenset(
    {"add", "remove", "cdc", "metaData", "protocol", "txn", "commitInfo", "domainMetadata"}
    | {"sidecar", "checkpointMetadata"}
)


_FIELDS = {
    "add": "path partitionValues size modificationTime dataChange stats tags deletionVector "
    "baseRowId defaultRowCommitVersion clusteringProvider",
    "remove": "path deletionTimestamp dataChange extendedFileMetadata partitionValues size stats "
    "tags deletionVector baseRowId defaultRowCommitVersion",
    "metaData": "id name description format schemaString partitionColumns configuration "
    "createdTime",
    "protocol": "minReaderVersion minWriterVersion readerFeatures writerFeatures",
    "txn": "appId version lastUpdated",
}


def _unknown_action(root: Path) -> bool:
    return any(not action.keys() <= KNOWN for action in actions_of(root))


def _unknown_field(root: Path) -> bool:
    return any(
        not {*_FIELDS[kind].split()} >= action[kind].keys()
        for action in actions_of(root)
        for kind in _FIELDS
        if isinstance(action.get(kind), dict)
    )


def _lower_protocol(body: dict[str, Any]) -> dict[str, Any]:
    return (
        {**body, "minReaderVersion": 1}
        if isinstance(body.get("minReaderVersion"), int) and body["minReaderVersion"] > 3
        else body
    )


def _known(names: list[str]) -> list[str]:
    return [name for name in names if name in FEATURES]


def _in_any_case(names: list[str]) -> list[str]:
    by_lower = {name.lower(): name for name in FEATURES}
    return [by_lower.get(name.lower(), name) for name in names]


def _spelled(change: Callable[[str], str], names: list[str]) -> list[str]:
    return [change(name) for name in names]


_SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "blanks-around-names": str.strip,
    "dashes-in-names": lambda name: re.sub("-([a-z])", lambda found: found[1].upper(), name),
    "previews": lambda name: name.removesuffix("-preview"),
    "properties-for-names": lambda name: name.removeprefix("delta.feature."),
}
"""Spellings that wrong readers take for names of features."""


def _unknown_writer_feature(root: Path) -> bool:
    return any(
        name not in FEATURES or FEATURES[name].kind != "reader_writer"
        for body in bodies(root, "protocol")
        for name in body.get("writerFeatures") or ()
        if name not in (body.get("readerFeatures") or ())
    )


def _unknown_writer_version_in(pattern: str) -> Callable[[Path], bool]:
    """Look at the versions of writers in some files of the log alone."""
    return lambda root: any(
        (action.get("protocol") or {}).get("minWriterVersion", 0) > 7
        for path in log_of(root).glob(pattern)
        for action in log_actions(path)
    )


def _wider_add(root: Path) -> bool:
    """Say whether a checkpoint has a field of files that no text knows."""
    return any(
        "add" in schema.names and schema.field("add").type.get_field_index("future") >= 0
        for schema in map(pq.read_schema, log_of(root).glob("*.checkpoint*.parquet"))
    )


def _reader_2(body: dict[str, Any]) -> bool:
    return bool(body.get("minReaderVersion") == 2)


def _odd_format(root: Path) -> bool:
    known = {"provider", "options"}
    return any({*(b.get("format") or {})} - known for b in bodies(root, "metaData"))


def _more_than(kind: str, *known: str) -> Callable[[Path], bool]:
    return lambda root: any(not {*known} >= body.keys() for body in bodies(root, kind))


def _unknown(actions: Lines) -> bool:
    return any(not action.keys() <= KNOWN for action in actions)


def _unknown_in(pattern: str) -> Callable[[Path], bool]:
    def found(root: Path) -> bool:
        files = (path.relative_to(root).as_posix() for path in log_of(root).glob("*.json"))
        return any(_unknown(read_lines(root / name)) for name in matching(pattern, files))

    return found


def _unknown_columns(folder: str) -> Callable[[Path], bool]:
    return lambda root: any(
        not {*pq.read_schema(path).names} <= KNOWN for path in log_of(root).glob(folder)
    )


def _unknown_in_commits(root: Path) -> bool:
    return any(map(_unknown, commits_of(root).values()))


def _domains_of_a_checkpoint(root: Path) -> bool:
    return any(
        row is not None and row["domain"] != "delta.rowTracking"
        for path in log_of(root).glob("*.checkpoint*.parquet")
        for row in pq.read_table(path, columns=["domainMetadata"])[0].to_pylist()
    )


def _domains_of_a_compaction(root: Path) -> bool:
    return any(
        "domainMetadata" in action
        for path in log_of(root).glob("*.compacted.json")
        for action in read_lines(path)
    )


def _domains_that_are_no_json(root: Path) -> bool:
    """Say whether a domain of the protocol's own names has a text that is no JSON."""
    for body in bodies(root, "domainMetadata"):
        try:
            json.loads(body["configuration"])
        except ValueError:
            if body["domain"].startswith("delta."):
                return True
    return False


def _unknown_domains_of_a_checksum(root: Path) -> bool:
    return any(
        body["domain"].startswith("delta.new")
        for path in log_of(root).glob("*.crc")
        for body in json.loads(path.read_bytes()).get("domainMetadata", ())
    )


def _checks_vacuum(root: Path, pattern: str) -> bool:
    """Say whether a summary of the log has a protocol with the check of vacuum."""
    return any(
        "vacuumProtocolCheck" in ((action.get("protocol") or {}).get("readerFeatures") or ())
        for path in log_of(root).glob(pattern)
        for action in log_actions(path)
    )


def _known_version(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "minReaderVersion": min(body["minReaderVersion"], 3)}


def _places() -> dict[str, Any]:
    return {
        "compactions": refusing(_unknown_in(COMPACTION)),
        "checkpoints-in-json": refusing(_unknown_in(JSON_CHECKPOINT)),
        "sidecars": refusing(_unknown_columns("_sidecars/*.parquet")),
        "checkpoints": refusing(_unknown_columns("*.checkpoint.*.parquet")),
        "commits-of-changes": for_changes(refusing(_unknown_in_commits)),
    }


ROWS = (
    reader(
        "reads-any-reader-version",
        "PROTO-005",
        viewing(each("protocol", _lower_protocol)),
    ),
    reader("refuses-unknown-actions", "PROTO-008", refusing(_unknown_action)),
    reader("refuses-unknown-fields", "PROTO-009", refusing(_unknown_field)),
    reader(
        "refuses-unknown-domains",
        "PROTO-010",
        refusing(
            lambda root: any(
                not b["domain"].startswith("delta.") for b in bodies(root, "domainMetadata")
            )
        ),
    ),
    reader("reads-without-unknown-features", "TF-001", viewing(listed(_known))),
    reader("asks-for-features-of-writers", "TF-002", refusing(_unknown_writer_feature)),
    reader(
        "asks-for-the-version-of-writers",
        "TF-002",
        refusing(lambda root: any(b["minWriterVersion"] > 7 for b in bodies(root, "protocol"))),
        "protocol-evolution/write-unknown-version*",
    ),
    *(
        reader(
            f"asks-for-the-version-of-writers-in-{called}",
            "TF-002",
            refusing(_unknown_writer_version_in(pattern)),
            f"table-features/unknown-writer-version-in-{called}/*",
        )
        for called, pattern in (
            ("commits", "*[1-9].json"),
            ("classic", "*.checkpoint.parquet"),
            ("compaction", "*.compacted.json"),
        )
    ),
    reader(
        "reads-no-changes-under-unknown-features-of-writers",
        "TF-002",
        where_asked(lambda asked: isinstance(asked, Changes), refusing(_unknown_writer_feature)),
        "table-features/unknown-writer-feature-in-*/changes",
    ),
    reader("folds-the-case-of-features", "FEAT-003", viewing(listed(_in_any_case))),
    *(
        reader(
            f"takes-{called}-of-features",
            "FEAT-003",
            viewing(listed(partial(_spelled, change))),
            "table-features/feature-name-*",
        )
        for called, change in _SPELLINGS.items()
    ),
    reader(
        "ignores-lists-of-features",
        "RVER-002",
        refusing(lambda root: any(b.get("readerFeatures") == [] for b in bodies(root, "protocol"))),
    ),
    reader(
        "reads-version-3-without-its-list",
        "RVER-002",
        viewing(
            each(
                "protocol",
                lambda b: (
                    b if b.get("readerFeatures") is not None else {**b, "minReaderVersion": 1}
                ),
            )
        ),
    ),
    reader(
        "knows-no-mapping-on-version-2",
        "RVER-001",
        viewing(
            only_when(
                lambda root: any(map(_reader_2, bodies(root, "protocol"))),
                fields(lambda f: f["metadata"].pop(PHYSICAL_NAME, None)),
            )
        ),
    ),
    *(
        reader(
            f"refuses-checks-of-vacuum-in-{form}",
            "VPC-003",
            refusing(partial(_checks_vacuum, pattern=pattern)),
            f"vacuum-protocol-check/beside-others-in-{form}/*",
        )
        for form, pattern in (
            ("classic", "*.checkpoint.parquet"),
            ("multi-part", "*.checkpoint.*.*.parquet"),
            ("v2-parquet", "*.checkpoint.*-*.parquet"),
            ("v2-json-sidecars", "*.checkpoint.*.json"),
            ("compaction", "*.compacted.json"),
        )
    ),
    reader(
        "refuses-vacuumProtocolCheck",
        "VPC-003",
        refusing(
            lambda root: any(
                "vacuumProtocolCheck" in (b.get("readerFeatures") or ())
                for b in bodies(root, "protocol")
            )
        ),
    ),
    reader(
        "refuses-unknown-fields-of-checkpointed-files",
        "PROTO-009",
        refusing(_wider_add),
        "checkpoint-schema/unknown-columns/*",
    ),
    reader(
        "maps-no-columns-at-writer-version-7",
        "RVER-001",
        viewing(setting("metaData", "configuration", {})),
        "column-mapping/two-seven/*",
    ),
    reader("refuses-unknown-fields-of-formats", "PROTO-009", refusing(_odd_format)),
    reader(
        "refuses-unknown-fields-of-changes",
        "PROTO-009",
        refusing(_more_than("cdc", "path", "partitionValues", "size", "dataChange", "tags")),
    ),
    reader(
        "refuses-unknown-fields-of-domains",
        "PROTO-009",
        refusing(_more_than("domainMetadata", "domain", "configuration", "removed")),
    ),
    reader(
        "refuses-unknown-domains-that-are-gone",
        "PROTO-010",
        refusing(
            lambda root: any(
                body.get("removed") and not body["domain"].startswith("delta.")
                for body in bodies(root, "domainMetadata")
            )
        ),
    ),
    *(
        reader(
            f"refuses-unknown-actions-in-{place}",
            "PROTO-008",
            how,
            "protocol-evolution/unknown-actions-in-*",
        )
        for place, how in _places().items()
    ),
    reader(
        "refuses-domains-of-a-compaction",
        "PROTO-010",
        refusing(_domains_of_a_compaction),
        "domain-metadata/unknown-domains-in-compaction/*",
    ),
    *(
        reader(slug, "PROTO-010", refusing(found), "domain-metadata/unknown-domains-of-any-text/*")
        for slug, found in (
            ("refuses-system-domains-that-are-no-json", _domains_that_are_no_json),
            ("refuses-unknown-domains-of-a-checksum", _unknown_domains_of_a_checksum),
        )
    ),
    reader(
        "refuses-lists-of-one-feature",
        "RVER-002",
        refusing(
            lambda root: any(
                len(b.get("readerFeatures", ())) == 1 for b in bodies(root, "protocol")
            )
        ),
    ),
    reader(
        "refuses-domains-of-a-checkpoint",
        "PROTO-010",
        refusing(_domains_of_a_checkpoint),
        "domain-metadata/unknown-domains-in-*",
    ),
    reader(
        "reads-any-reader-version-of-a-checkpoint",
        "PROTO-005",
        viewing(each("protocol", _known_version, CHECKPOINTS)),
        "protocol-evolution/unknown-reader-version-*",
    ),
    reader(
        "reads-any-reader-version-of-a-compaction",
        "PROTO-005",
        viewing(each("protocol", _known_version, COMPACTION)),
        "protocol-evolution/unknown-reader-version-*",
    ),
    reader(
        "reads-unknown-features-of-a-checkpoint",
        "TF-001",
        viewing(listed(lambda names: [n for n in names if n in FEATURES], where=CHECKPOINTS)),
        "table-features/unknown-reader-feature-in-*",
    ),
    reader(
        "checks-no-protocols-of-changes",
        "TF-001",
        for_changes(viewing(listed(lambda names: [n for n in names if "Nobody" not in n]))),
        "table-features/changes-*",
    ),
)
