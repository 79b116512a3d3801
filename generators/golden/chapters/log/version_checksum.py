"""Cases of the version checksum file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import describe, earlier_spec, publish, read_spec
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import GoldenTable, add, domain, writer_protocol
from generators.golden.chapters.log.checkpoints import grown
from generators.materialise.log.files import LOG_DIRECTORY, checksum_name, drop_commits, json_text
from generators.materialise.log.hints import version_checksum_document, write_version_checksum

CHECKSUM = Chapter("version-checksum-file")


def _summed_table(case: CaseWriter, versions: int) -> GoldenTable:
    table = grown(case, versions)
    for version in table.versions:
        table.checksum(version)
    return table


def _ask(case: CaseWriter, *versions: int, valid: bool) -> None:
    for version in versions:
        case.spec(
            "checksum",
            f"checksum-v{version}",
            title=f"The checksum {'agrees' if valid else 'does not agree'} with the state",
            expected={"valid": valid},
            version=version,
        )


@CHECKSUM.case(
    "present-and-right",
    "CRC-002 CRC-003 CRC-004 CRC-007 CRC-008 CRC-009 CRC-010 CRC-015 CRC-016 CRC-023",
)
def _right(case: CaseWriter) -> None:
    """Right checksums beside the commits change nothing."""
    publish(case, _summed_table(case, 6), log_info={"lastCrcVersion": 5})
    _ask(case, 0, 5, valid=True)


@CHECKSUM.case("histogram-opt", "CRC-017 CRC-022")
def _histogram(case: CaseWriter) -> None:
    """The older name of the histogram is read as well."""
    table = grown(case, 4)
    document = version_checksum_document(table.states[3])
    document["histogramOpt"] = document.pop("fileSizeHistogram")
    write_version_checksum(table.root, 3, document)
    publish(case, table, log_info={"lastCrcVersion": 3})


@CHECKSUM.case("in-commit-timestamp", "CRC-011 CRC-014 CRC-002", since="2025")
def _in_commit(case: CaseWriter) -> None:
    """A checksum repeats the in-commit timestamp of its version."""
    table = GoldenTable.of(
        case,
        PAIR,
        protocol=writer_protocol(["domainMetadata", "inCommitTimestamp"]),
        properties={"delta.enableInCommitTimestamps": "true"},
    )
    stamps = (1_700_000_000_123, 1_700_000_000_124)
    kept, gone = domain("app.kept", "1"), domain("app.gone", "2")
    table.create(kept, gone, info={"inCommitTimestamp": stamps[0]})
    removed = domain("app.gone", "2", removed=True)
    row = add(table.file([{"id": 1, "name": "a"}]))
    table.commit(removed, row, info={"inCommitTimestamp": stamps[1]})
    for version in table.versions:
        table.checksum(version)
    publish(case, table, log_info={"lastCrcVersion": 1})
    _ask(case, 0, 1, valid=True)


def _wrong_metadata(document: dict[str, Any]) -> str:
    metadata = {**document["metadata"], "id": "00000000-0000-0000-0000-000000000000"}
    return json_text({**document, "metadata": metadata})


_BAD_CHECKSUMS: Mapping[str, tuple[str, str, Callable[[dict[str, Any]], str]]] = {
    "wrong-file-count": (
        "A wrong file count is found by who looks",
        "CRC-008",
        lambda document: json_text({**document, "numFiles": document["numFiles"] + 1}),
    ),
    "wrong-table-size": (
        "A wrong table size is found by who looks",
        "CRC-007",
        lambda document: json_text({**document, "tableSizeBytes": 1}),
    ),
    "wrong-metadata": ("Other metadata is found by who looks", "CRC-015", _wrong_metadata),
    "truncated": (
        "A truncated checksum hides no row",
        "CRC-005",
        lambda document: json_text(document)[:40],
    ),
    "zero-bytes": ("An empty checksum hides no row", "CRC-005", lambda _: ""),
}
"""Case to title, requirement, and the text in the place of the right document."""


def _bad_checksum(case: CaseWriter, spoil: Callable[[dict[str, Any]], str]) -> None:
    table = grown(case, 4)
    text = spoil(version_checksum_document(table.states[3]))
    (table.root / LOG_DIRECTORY / checksum_name(3)).write_text(text, encoding="utf-8")
    describe(case, table, log_info={"lastCrcVersion": 3})
    case.contest_read(
        "The rows are given, or the discrepancy is reported",
        PAIR,
        Accepted("rows", "validating is a choice of the reader", rows=table.rows()),
        Accepted(
            "refused",
            "a version that fails validation is possibly corrupt, and users should hear of it",
            refusal=Refusal("invalid_table", "read", "CRC-035"),
        ),
        hazard="silent wrong data",
    )
    read_spec(case, table, 2)
    _ask(case, 3, valid=False)


for _name, (_title, _requirement, _spoil) in _BAD_CHECKSUMS.items():
    CHECKSUM.define(
        _name,
        _title,
        [_requirement, "CRC-035", "CRC-034"],
        partial(_bad_checksum, spoil=_spoil),
        since="2025",
    )


@CHECKSUM.case("older-than-checkpoint", "CRC-042 CRC-002", since="2025")
def _older(case: CaseWriter) -> None:
    """A checksum older than the checkpoint changes nothing."""
    table = grown(case, 7)
    table.checksum(2)
    table.checkpoint(version=4)
    publish(case, table, log_info={"lastCrcVersion": 2, "lastCheckpointVersion": 4})


@CHECKSUM.case("missing-within", "CRC-042 CRC-002", since="2025")
def _hole(case: CaseWriter) -> None:
    """Versions without a checksum among others change nothing."""
    table = grown(case, 8)
    for version in (0, 1, 3, 6, 7):
        table.checksum(version)
    table.checkpoint(version=4)
    publish(case, table, log_info={"lastCrcVersion": 7, "lastCheckpointVersion": 4})


@CHECKSUM.case("none-at-all", "CRC-042 CRC-002", since="2025")
def _none(case: CaseWriter) -> None:
    """A table without any checksum can be read."""
    publish(case, grown(case, 3))


@CHECKSUM.case("masks-no-corrupt-commit", "CRC-035 LOG-004", since="2025")
def _masking(case: CaseWriter) -> None:
    """A checksum does not hide a commit that is damaged."""
    table = _summed_table(case, 4)
    describe(case, table, log_info={"lastCrcVersion": 3})
    path = table.root / LOG_DIRECTORY / f"{3:020d}.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    refusal = Refusal("invalid_table", "read", "LOG-006", code="DELTA_COMMIT_MALFORMED")
    case.refuse("read", "read-latest", refusal, title="The damaged version is refused")
    earlier_spec(case, table, 2)


@CHECKSUM.case("does-not-replace-log", "CRC-002 SNAP-001", since="2025")
def _no_start(case: CaseWriter) -> None:
    """A checksum is no state to start a cut log from."""
    table = _summed_table(case, 6)
    describe(case, table, log_info={"lastCrcVersion": 5})
    drop_commits(table.root, 3)
    refusal = Refusal("invalid_table", "load", "SNAP-001", code="DELTA_TRUNCATED_TRANSACTION_LOG")
    case.refuse("read", "read-latest", refusal, title="The live files cannot be told")
    state = table.states[5]
    stated = {"protocol": state.protocol, "metadata": state.metadata}
    accepted = [
        Accepted("refused", "the log begins in the middle", refusal=refusal),
        Accepted("stated", "the checksum holds the metadata of its version", expected=stated),
    ]
    title = "The metadata is that of the checksum, or refused with the rest"
    case.contest("snapshot", "snapshot-latest", accepted, title=title)
