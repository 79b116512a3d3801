"""Cases of logs that say the same in letters, orders and columns that few writers choose.

Covers "Delta Log Entries", "Domain Metadata", "Version Checksum File" and "Checkpoints". A line
ends at a line feed and at no other separator of Unicode, an escape spells the letter that it
stands for, and an optional list that is absent is not an empty one.
"""

from __future__ import annotations

import json
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import filtered, publish
from generators.golden.cases.table import (
    GoldenTable,
    add,
    domain,
    feature_protocol,
    txn,
    writer_protocol,
)
from generators.golden.chapters.log.checkpoints import grown
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.materialise.log.files import LOG_DIRECTORY, commit_name, drop_commits
from generators.materialise.log.hints import version_checksum_document, write_version_checksum
from generators.oracle.delta_schema import struct

LOG: Final = Chapter("delta-log-entries")
DOMAINS: Final = Chapter("domain-metadata", since="2025")
CHECKSUM: Final = Chapter("version-checksum-file")
V2: Final = Chapter("v2-checkpoint-feature", since="2025")
CHECKPOINTS: Final = Chapter("checkpoints")

_SCHEMA: Final = struct(id="long", name="string", p="string")
_SEPARATORS: Final = ("a\u2028b", "a\u2029b", "a\u0085b", "a\u00a0b", "\u2028")
_LETTERS: Final = ("\U0001f600", "a\U00010000b", "\U0010ffff", "\ue000", "\u00e9", '"\\/')


def _of_texts(case: CaseWriter, texts: tuple[str, ...]) -> GoldenTable:
    """Return a table with each text in rows, statistics, partition values and a property."""
    properties = {"app.texts": "".join(texts)}
    table = GoldenTable.of(case, _SCHEMA, partition_columns=["p"], properties=properties)
    table.create()
    for number, text in enumerate(texts):
        rows = [{"id": number, "name": text}]
        table.append(rows, partition={"p": text}, path=f"file-{number}.parquet")
    return table


def _ask(case: CaseWriter, table: GoldenTable, texts: tuple[str, ...]) -> None:
    publish(case, table, versions=[])
    for number in (0, 2):
        probe = compare("p", "=", texts[number], "string")
        title = "A text of the log is the one that was put in"
        filtered(case, table, f"equal-{number}", probe, title)


@LOG.case("separators-in-texts", "LOG-004")
def _separators(case: CaseWriter) -> None:
    """A line ends at a line feed, and at no other separator."""
    _ask(case, _of_texts(case, _SEPARATORS), _SEPARATORS)


@LOG.case("letters-as-escapes", "LOG-004")
def _escapes(case: CaseWriter) -> None:
    """Escapes spell letters, two of them a letter beyond 16 bits."""
    table = _of_texts(case, _LETTERS)
    for path in (table.root / LOG_DIRECTORY / commit_name(v) for v in table.versions):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        path.write_text(text, encoding="ascii")
    _ask(case, table, _LETTERS)


_CONFIGURATIONS: Final = {
    "app.spaced": '{ "b": 1.50, "a": [ 1, 2 ], "b2": 1e2 }',
    "app.escaped": '{"\\u0061":"\\/","a":null}',
    "app.twice": '{"a":1,"a":2}',
    "app.text": "not JSON: {",
    "app.number": "007",
}


@DOMAINS.case("configurations-as-written", "DOM-002 DOM-012 DOM-013")
def _as_written(case: CaseWriter) -> None:
    """A configuration is a text, which readers give as it was written."""
    table = GoldenTable.of(case, _SCHEMA, protocol=writer_protocol(["domainMetadata"]))
    table.create(*(domain(name, text) for name, text in _CONFIGURATIONS.items()))
    table.checkpoint(version=0)
    table.append([{"id": 1, "name": "a", "p": "x"}])
    publish(case, table, log_info={"lastCheckpointVersion": 0})
    for name, text in _CONFIGURATIONS.items():
        domain_spec(case, name, text)


@CHECKSUM.case("optional-lists-absent", "CRC-012 CRC-013 CRC-034 DOM-012 REC-004", since="2025")
def _lists_absent(case: CaseWriter) -> None:
    """A checksum without its optional lists does not say that they are empty."""
    table = GoldenTable.of(case, _SCHEMA, protocol=writer_protocol(["domainMetadata"]))
    table.create(txn("app", 1), domain("app.d", "one"))
    table.append([{"id": 1, "name": "a", "p": "x"}])
    for version in table.versions:
        document: dict[str, Any] = version_checksum_document(table.states[version])
        for name in ("setTransactions", "domainMetadata", "allFiles"):
            document.pop(name, None)
        write_version_checksum(table.root, version, document)
    case.judged = {"txn-app": "REC-004", "domain-app-d": "DOM-012"}
    publish(case, table, log_info={"lastCrcVersion": 1})
    txn_spec(case, "app", 1)
    domain_spec(case, "app.d", "one")


@V2.case("lines-in-reverse", "CKPT-V2-002 CKPT-V2-003 SIDE-005 REC-018")
def _reversed(case: CaseWriter) -> None:
    """The actions of a checkpoint are in any order."""
    table = grown(case, 5, protocol=feature_protocol(["v2Checkpoint"]))
    [path, *_] = table.checkpoint("v2-json", 3, sidecars=2, hint=False).files
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(reversed(lines)), encoding="utf-8")
    drop_commits(table.root, 3)
    publish(case, table, versions=[3, 4], log_info={"lastCheckpointVersion": 3})


@V2.case("sidecars-of-small-row-groups", "SIDE-005 CKC-001 REC-018")
def _small_groups(case: CaseWriter) -> None:
    """Row groups of a sidecar do not matter."""
    table = grown(case, 7, protocol=feature_protocol(["v2Checkpoint"]))
    style = CheckpointStyle(row_group_rows=1)
    table.checkpoint("v2-parquet", 5, sidecars=2, style=style, hint=False)
    drop_commits(table.root, 5)
    case.judged = dict.fromkeys(("files-latest", "read-latest", "read-v5"), "SIDE-005")
    publish(case, table, versions=[5, 6], log_info={"lastCheckpointVersion": 5})


@CHECKPOINTS.case("description", "CKC-003 REC-003")
def _description(case: CaseWriter) -> None:
    """A checkpoint holds the name and the description of the table."""
    table = GoldenTable.of(case, struct(id="long"))
    metadata = table.metadata(name="ids", description="All that there are.\nNo more.")
    table.commit(table.protocol_action(), metadata, add(table.file([{"id": 1}])))
    table.checkpoint(version=0)
    drop_commits(table.root, 0)
    table.append([{"id": 2}])
    publish(case, table, log_info={"lastCheckpointVersion": 0})


@CHECKPOINTS.case("format-options", "CKC-003")
def _format_options(case: CaseWriter) -> None:
    """A checkpoint holds the options of the format."""
    options = {"compression": "snappy", "header": ""}
    table = GoldenTable.of(case, struct(id="long"))
    metadata = table.metadata(format={"provider": "parquet", "options": options})
    table.commit(table.protocol_action(), metadata, add(table.file([{"id": 1}])))
    table.append([{"id": 2}])
    table.checkpoint(version=1)
    drop_commits(table.root, 1)
    table.append([{"id": 3}])
    publish(case, table, versions=[1, 2], log_info={"lastCheckpointVersion": 1})
