"""Wrong readers of actions: paths, reconciliation, changes, transactions, domains, protocols."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from breaches.edits import (
    CHECKPOINTS,
    COMMIT,
    Lines,
    each,
    lines,
    listed,
    setting,
    without,
)
from breaches.model import reader
from breaches.seams import answering, documents, refusing, viewing, where_asked
from breaches.views import (
    bodies,
    by_path_alone,
    commits_of,
    directory_values,
    first_wins,
    partition_values,
    replaying,
)
from conformance.adapter import Changes, DomainMetadata, Ok, Scan
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


def _actions(root: Path) -> Lines:
    return [action for found in commits_of(root).values() for action in found]


def _unknown_action(root: Path) -> bool:
    return any(not action.keys() <= KNOWN for action in _actions(root))


def _unknown_field(root: Path) -> bool:
    return any(
        not {*_FIELDS[kind].split()} >= action[kind].keys()
        for action in _actions(root)
        for kind in _FIELDS
        if isinstance(action.get(kind), dict)
    )


def _null_vector(kind: str) -> Callable[[Path], bool]:
    return lambda root: any(
        "deletionVector" in body and body["deletionVector"] is None for body in bodies(root, kind)
    )


def _undecoded(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": body["path"].replace("%", "%25")}


def _relative(body: dict[str, Any]) -> dict[str, Any]:
    path = body["path"]
    absolute = path.startswith("/") or re.match(r"[a-z][a-z0-9+]*:", path)
    return {**body, "path": path.rsplit("/", 1)[-1]} if absolute else body


def _in_order(actions: Lines, _kept: Any) -> Lines:
    """Take no metadata once a file was named."""
    found, files = [], False
    for action in actions:
        files = files or "add" in action
        if not (files and ("metaData" in action or "protocol" in action)):
            found.append(action)
    return found


def _no_inferred_changes(actions: Lines) -> Lines:
    if any("cdc" in action for action in actions):
        return actions
    return [
        {k: {**b, "dataChange": False} if k in ("add", "remove") else b for k, b in a.items()}
        for a in actions
    ]


def _highest_transaction(actions: Lines, kept: dict[Any, Any]) -> Lines:
    found = []
    for action in actions:
        if "txn" in action:
            name, version = action["txn"]["appId"], action["txn"]["version"]
            if version < kept.setdefault(name, version):
                continue
            kept[name] = version
        found.append(action)
    return found


def _lower_protocol(body: dict[str, Any]) -> dict[str, Any]:
    return (
        {**body, "minReaderVersion": 1}
        if isinstance(body.get("minReaderVersion"), int) and body["minReaderVersion"] > 3
        else body
    )


def _removed_stays(actions: Lines, kept: dict[Any, Any]) -> Lines:
    found = [a for a in actions if "add" not in a or a["add"]["path"] not in kept]
    kept.update((a["remove"]["path"], 1) for a in actions if "remove" in a)
    return found


def _removed_if(kept: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Take no notice of the removal of domains, but of some."""
    return lambda body: body if not body.get("removed") or kept(body) else None


def _removed_domain_stays(actions: Lines, kept: dict[Any, Any]) -> Lines:
    found = [
        a for a in actions if "domainMetadata" not in a or a["domainMetadata"]["domain"] not in kept
    ]
    gone = [a["domainMetadata"] for a in actions if "domainMetadata" in a]
    kept.update((body["domain"], 1) for body in gone if body.get("removed"))
    return found


def _added_twice(request: Any, answer: Any) -> Any:
    """Return rows of a file as often as the log adds it."""
    if not isinstance(answer, Ok) or not isinstance(request, Scan):
        return answer
    version = request.version
    paths = [
        a["add"]["path"]
        for number, found in commits_of(Path(request.table)).items()
        if version is None or number <= version
        for a in found
        if isinstance(a.get("add"), dict)
    ]
    if len(set(paths)) == len(paths) or not answer.payload.num_rows:
        return answer
    return Ok(pa.concat_tables([answer.payload, answer.payload]))


def _assumed(kind: str, body: dict[str, Any]) -> Callable[[Path, frozenset[str]], None]:
    """Take something for what a log lacks."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        held = [*bodies(root, kind)]
        first = min(commits_of(root), default=None)
        if not held and first is not None:
            name = rf"_delta_log/{first:020}\.json"
            lines(lambda found: [{kind: body}, *found], name)(root, fresh)

    return edit


_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
    }
)
_METADATA = {
    "id": "3f1c0a52-7a5d-4d58-9a01-6f2b8f9f2a10",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": _SCHEMA,
    "partitionColumns": [],
    "configuration": {},
}


def _hidden_domain(request: Any, payload: Any) -> Any:
    if isinstance(request, DomainMetadata) and not request.domain.startswith("delta."):
        return None
    return payload


def _known(names: list[str]) -> list[str]:
    return [name for name in names if name in FEATURES]


def _in_any_case(names: list[str]) -> list[str]:
    by_lower = {name.lower(): name for name in FEATURES}
    return [by_lower.get(name.lower(), name) for name in names]


def _unknown_writer_feature(root: Path) -> bool:
    return any(
        name not in FEATURES or FEATURES[name].kind != "reader_writer"
        for body in bodies(root, "protocol")
        for name in body.get("writerFeatures") or ()
        if name not in (body.get("readerFeatures") or ())
    )


def _odd_provenance(root: Path) -> bool:
    return any(
        not isinstance(action["commitInfo"], dict) or "timestamp" not in action["commitInfo"]
        for action in _actions(root)
        if "commitInfo" in action
    )


def _same_offset(add: Any, remove: Any) -> bool:
    one, other = add.get("deletionVector") or {}, remove.get("deletionVector") or {}
    return bool(one) and one.get("pathOrInlineDv") == other.get("pathOrInlineDv")


def _both_inline(add: Any, remove: Any) -> bool:
    one, other = add.get("deletionVector") or {}, remove.get("deletionVector") or {}
    return one.get("storageType") == "i" and other.get("storageType") in (None, "i")


ROWS = (
    reader(
        "takes-partition-values-from-directories",
        "DATA-003",
        viewing(partition_values(directory_values)),
    ),
    reader(
        "keeps-the-first-add",
        "FA-003",
        viewing(first_wins("add", lambda b: b["path"])),
    ),
    reader("goes-by-the-order-of-actions", "FA-015", viewing(replaying(_in_order))),
    reader("takes-every-path-for-relative", "ADD-002", viewing(each("add", _relative))),
    reader("never-decodes-paths", "ADD-003", viewing(each("add", _undecoded))),
    reader("takes-null-for-a-vector", "ADD-012", refusing(_null_vector("add"))),
    reader("takes-null-for-a-removed-vector", "REM-013", refusing(_null_vector("remove"))),
    reader("passes-over-change-files", "CDC-003", viewing(without("cdc"))),
    reader("infers-no-changes", "CDC-004", viewing(lines(_no_inferred_changes, COMMIT))),
    reader("never-decodes-paths-of-changes", "CDC-006", viewing(each("cdc", _undecoded))),
    reader("highest-transaction-wins", "TXN-005", viewing(replaying(_highest_transaction))),
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
    reader("asks-for-a-usual-commitInfo", "CINFO-003", refusing(_odd_provenance)),
    reader(
        "loses-domains-of-checkpoints",
        "DOM-012",
        viewing(without("domainMetadata", where=CHECKPOINTS)),
    ),
    reader("hides-domains-it-does-not-know", "DOM-013", documents(_hidden_domain)),
    reader("first-protocol-wins", "REC-012", viewing(first_wins("protocol", lambda _: 0))),
    reader(
        "takes-a-protocol-for-granted",
        "REC-002",
        viewing(_assumed("protocol", {"minReaderVersion": 1, "minWriterVersion": 2})),
    ),
    reader("takes-metadata-for-granted", "REC-003", viewing(_assumed("metaData", _METADATA))),
    reader("first-metadata-wins", "REC-013", viewing(first_wins("metaData", lambda _: 0))),
    reader("first-txn-wins", "REC-004", viewing(first_wins("txn", lambda b: b["appId"]))),
    reader(
        "first-txn-after-checkpoints-wins",
        "REC-004",
        viewing(without("txn", where=COMMIT)),
    ),
    reader(
        "first-domain-wins",
        "REC-014",
        viewing(first_wins("domainMetadata", lambda b: b["domain"])),
    ),
    reader("reads-a-file-twice", "REC-006", answering(_added_twice)),
    reader("removed-stays-removed", "REC-008", viewing(replaying(_removed_stays))),
    reader("removes-by-path-alone", "REC-009", viewing(by_path_alone())),
    reader("cancels-adds-by-path-alone", "REC-010", viewing(by_path_alone())),
    reader("reads-what-was-removed", "REC-011", viewing(without("remove"))),
    reader("ignores-removes", "REC-018", viewing(without("remove"))),
    reader(
        "lets-removed-domains-hide-nothing",
        "REC-015",
        viewing(each("domainMetadata", lambda b: None if b.get("removed") else b)),
    ),
    reader(
        "gives-removed-domains",
        "REC-016",
        viewing(setting("domainMetadata", "removed", value=False)),
    ),
    *(
        reader(
            f"gives-removed-domains-{name}",
            "REC-016",
            viewing(each("domainMetadata", _removed_if(kept))),
            "domain-metadata/removed-otherwise-*",
        )
        for name, kept in (
            ("without-values", lambda b: bool(b["configuration"])),
            ("of-the-system", lambda b: not b["domain"].startswith("delta.")),
            ("of-the-second-time", lambda b: b["configuration"] != "2"),
        )
    ),
    reader(
        "loses-domains-without-values",
        "DOM-012",
        viewing(
            each(
                "domainMetadata",
                lambda b: b if b["configuration"] or b.get("removed") else None,
            )
        ),
        "domain-metadata/removed-otherwise-*",
    ),
    reader(
        "removed-domains-stay-removed",
        "REC-017",
        viewing(replaying(_removed_domain_stays)),
    ),
    reader("reads-without-unknown-features", "TF-001", viewing(listed(_known))),
    reader("asks-for-features-of-writers", "TF-002", refusing(_unknown_writer_feature)),
    reader(
        "reads-no-changes-under-unknown-features-of-writers",
        "TF-002",
        where_asked(lambda asked: isinstance(asked, Changes), refusing(_unknown_writer_feature)),
        "table-features/unknown-writer-feature-in-*/changes",
    ),
    reader("folds-the-case-of-features", "FEAT-003", viewing(listed(_in_any_case))),
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
        "decodes-removed-paths-twice",
        "REM-002",
        viewing(setting("remove", "path", unquote, COMMIT)),
    ),
    reader(
        "reads-empty-texts-as-zero",
        "PART-002",
        viewing(
            partition_values(
                lambda values, _path: {
                    name: "0" if text == "" else text for name, text in values.items()
                }
            )
        ),
        "partition-value-serialization/empty-string-typed/*",
    ),
    reader(
        "takes-vectors-of-one-file-for-one",
        "DVDESC-014",
        viewing(by_path_alone(_same_offset)),
    ),
    reader(
        "takes-inline-vectors-for-one",
        "DVDESC-013",
        viewing(by_path_alone(_both_inline)),
    ),
)
