"""The types of questions: how each is asked, compared and judged.

See the sections "Case" and "Adapter messages" of ``docs/formats.md``. The judge, the claims,
the schema of specs and the documentation read the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

import pyarrow as pa

from conformance.adapter import (
    FILE_KEYS,
    METADATA_KEYS,
    Aggregate,
    Changes,
    DomainMetadata,
    Files,
    History,
    Request,
    Scan,
    Snapshot,
    Txn,
    operation_of,
)
from conformance.base.faults import AdapterError
from conformance.base.outcomes import Hazard
from conformance.judging.compare import (
    Difference,
    compare_files,
    compare_history,
    compare_rows,
    compare_snapshot,
)

Asked: TypeAlias = Literal["reader", "writer", "audit"]
"""Who is asked. Checkpoints, vacuum and cleanup belong to the writer; the audit of the kit has to
find what breaks any requirement."""

CAPABILITY_PARAMETERS: Final = ("version", "timestamp", "columns", "filter")
"""Parameters that an implementation may lack, each named ``<operation>.<parameter>``."""

_TIMESTAMP_COLUMN: Final = "_commit_timestamp"


class _Wanted(Protocol):
    """The answer that has to be given."""

    @property
    def document(self) -> Mapping[str, Any]: ...

    def rows(self) -> pa.Table: ...


_Comparison: TypeAlias = Callable[[Any, Any], Difference | None]


@dataclass(frozen=True, slots=True)
class Question:
    """What the kit knows of the questions of one type.

    Attributes:
        request: the request that asks it; ``None`` for what no single request asks.
        parameters: of specs, each with the field of the request that it becomes.
        constants: of the request.
        comparison: of the payload of an answer with the answer that has to be given.
        rows: the expected answer has rows.
        expects: the ``expected`` of a spec, for the documentation.
        documented: its parameters for the documentation, where they are of no request.
        called: what has to be answered, in words; by default its type.
        hazard: what a wrong answer means.
        capabilities: needed of an adapter, whatever the parameters.
        needs: capabilities that specs of it may need, by their table: who does not claim one is
            asked all the same, and may refuse.
        keys: capability to the key of a file, or of the metadata, in the answer: who claims it
            leaves the key out of none that has a value.
        default: the requirement that an answer is held to where the case names none that it shows;
            the first that is in force.
        shown: patterns of requirements that it shows; the first group that has one counts.
        unshown: patterns of requirements that it does not show.
        asked: who is asked.
    """

    request: type[Request] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    comparison: _Comparison | None = None
    rows: bool = False
    expects: str = ""
    documented: str = ""
    called: str = ""
    hazard: Hazard = Hazard.SILENT_WRONG_DATA
    capabilities: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    default: tuple[str, ...] = ()
    shown: tuple[tuple[str, ...], ...] = (("*",),)
    unshown: tuple[str, ...] = ()
    asked: Asked = "reader"

    @property
    def operation(self) -> str | None:
        """The word of its request, which adapters claim."""
        return None if self.request is None else operation_of(self.request)

    def build(self, table: Path, given: Mapping[str, Any]) -> Request:
        """Return the request about a table, by the parameters of a spec."""
        assert self.request is not None
        values: dict[str, Any] = {
            of: milliseconds(given[name]) if name == "timestamp" else given[name]
            for name, of in {**self.parameters, "ratified": "ratified"}.items()
            if given.get(name) is not None
        }
        return self.request(str(table), **values, **self.constants)

    def completed(self, payload: Any, capabilities: Collection[str]) -> Any:
        """Return a payload with null for each key that is claimed and not there.

        Without that, what an encoder leaves out of every file, or of the metadata, would be
        compared with nothing.
        """
        nulls = dict.fromkeys(key for word, key in self.keys.items() if word in capabilities)
        if isinstance(payload, Mapping) and isinstance(payload.get("metadata"), Mapping):
            return {**payload, "metadata": {**nulls, **payload["metadata"]}}
        if not nulls or not isinstance(payload, list):
            return payload
        if any(isinstance(each, Mapping) and "dvId" in each for each in payload):
            nulls.pop("deletionVector", None)  # it says the same
        return [{**nulls, **each} if isinstance(each, Mapping) else each for each in payload]

    def compare(self, expected: _Wanted, payload: Any) -> Difference | None:
        """Compare the payload of an answer with the answer that has to be given.

        Raises:
            AdapterError: the payload is not of the shape that the request documents.
        """
        assert self.comparison is not None
        return self.comparison(expected, payload)


def milliseconds(text: str) -> int:
    """Read a spec's ``yyyy-MM-dd HH:mm:ss.SSS`` in UTC as ms since the epoch."""
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    seconds, micros = divmod((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), 1)
    return int(seconds) * 1000 + round(micros * 1000)


def _rows(expected: _Wanted, payload: Any) -> Difference | None:
    if not isinstance(payload, pa.Table):
        raise AdapterError("garbage", f"rows are answered as {type(payload).__name__}")
    return compare_rows(expected.rows(), payload)


def _changes(expected: _Wanted, payload: Any) -> Difference | None:
    # The time of a commit without a recorded time is the file's own, which a case may leave open.
    if isinstance(payload, pa.Table) and _TIMESTAMP_COLUMN not in expected.rows().column_names:
        kept = [name for name in payload.column_names if name != _TIMESTAMP_COLUMN]
        payload = payload.select(kept)
    return _rows(expected, payload)


def _scalar(key: str, shape: type) -> _Comparison:
    def compare(expected: _Wanted, payload: Any) -> Difference | None:
        if payload is not None and (not isinstance(payload, shape) or isinstance(payload, bool)):
            raise AdapterError("garbage", f"{key} is answered as {type(payload).__name__}")
        wanted = expected.document[key]
        if wanted == payload:
            return None
        return Difference("document", f"{key} is {payload!r}, expected {wanted!r}")

    return compare


_STATE: Final = (
    "SNAP-00[1-3]", "LOG-*", "CKPT*", "CKC-*", "SIDE-*", "SCA-*", "CKM-*", "COMP-*", "LAST*",
    "PROTO-*", "TF-*", "FEAT-*", "RVER-*", "CAT-*", "CRC-*", "CINFO-*", "META-*", "SCH-*",
    "FA-015", "VPC-*", "REC-001", "CM-005",
)  # fmt: skip
"""What any question about a version shows: how its state is found in the log."""

_FILE_REQUIREMENTS: Final = ("CKC-027", "SCA-*", "SIDE-*", "SNAP-003")
"""Requirements about file actions, of which the others show nothing: sidecars hold nothing else."""

_NO_ROWS: Final = (
    "CDC-00[346]", "CDC-01[4-7]", "CDFF-*", "DVD-008", "RT-02[3-7]", "TXN-*", "DOM-01[23]",
    "REC-00[457]", "REC-009", "REC-01[4-7]", "REC-02[23]", "ICT-*",
)  # fmt: skip
"""Requirements of which a read of rows shows nothing."""

_FILES: Final = (
    "REC-00[6-9]", "REC-01[018]", "REC-02[01]", "FA-*", "ADD-*", "REM-*", "DVDESC-01*", "DV-*",
)  # fmt: skip
"""What a question about live files shows beside."""

_VERSION: Final = {"version": "version", "timestamp": "timestamp"}
_ROW_COUNT: Final = '`{"rowCount": n}`, rows in `expected_data`'

QUESTIONS: Final[Mapping[str, Question]] = {
    "read": Question(
        Scan,
        {**_VERSION, "columns": "columns", "filter": "filter", "predicate": "predicate"},
        comparison=_rows,
        rows=True,
        expects=_ROW_COUNT,
        default=("SNAP-007",),
        unshown=_NO_ROWS,
    ),
    "snapshot": Question(
        Snapshot,
        _VERSION,
        comparison=lambda expected, payload: compare_snapshot(expected.document, payload),
        expects='`{"protocol": {...}, "metadata": {...}}`',
        keys=METADATA_KEYS,
        default=("REC-013", "REC-003"),
        shown=((*_STATE, "REC-00[23]", "REC-01[239]", "TW-013"),),
        unshown=_FILE_REQUIREMENTS,
    ),
    "files": Question(
        Files,
        _VERSION,
        comparison=lambda expected, payload: compare_files(expected.document["files"], payload),
        expects='`{"files": [{"path", "partitionValues", "dvId", ...}]}`',
        called="the live files",
        keys=FILE_KEYS,
        default=("REC-020", "REC-018", "SNAP-003"),
        shown=((*_STATE, *_FILES),),
        unshown=("META-002",),
    ),
    "history": Question(
        History,
        {"limit": "limit"},
        comparison=lambda expected, payload: compare_history(expected.document["commits"], payload),
        expects='`{"commits": [{"version", "timestamp", "operation"}]}`, newest first',
        called="the commits",
        hazard=Hazard.COSMETIC,
        default=("ICT-013",),
        shown=(("ICT-*",),),
    ),
    "aggregate": Question(
        Aggregate,
        {"version": "version", "extremes": "columns"},
        comparison=_rows,
        rows=True,
        expects='`{"rowCount": 1}`, one row with `count`, and `min(c)` and `max(c)` of each column',
        default=("SNAP-007",),
        unshown=_NO_ROWS,
    ),
    "changes": Question(
        Changes,
        {"start": "start", "end": "end"},
        comparison=_changes,
        rows=True,
        expects=_ROW_COUNT,
        needs=("changes.column_mapping",),
        default=("CDC-004",),
        shown=(("CDC-*", "CDFF-*", "DVD-008"),),
    ),
    "row_ids": Question(
        Scan,
        {"version": "version", "filter": "filter", "predicate": "predicate"},
        {"row_ids": True},
        comparison=_rows,
        rows=True,
        expects=f"{_ROW_COUNT} with `_row_id`, `_row_commit_version`",
        capabilities=("scan.row_ids",),
        default=("RT-024",),
        shown=(("RT-*",),),
        unshown=("RT-017",),
    ),
    "txn": Question(
        Txn,
        {"appId": "app_id", "version": "version"},
        comparison=_scalar("txnVersion", int),
        expects='`{"txnVersion": n or null}`',
        default=("TXN-005",),
        shown=(("TXN-*",), ("REC-004",), _STATE),
        unshown=_FILE_REQUIREMENTS,
    ),
    "domain_metadata": Question(
        DomainMetadata,
        {"domain": "domain", "version": "version"},
        comparison=_scalar("configuration", str),
        expects='`{"configuration": "..." or null}`',
        default=("DOM-012",),
        shown=(("DOM-01[23]", "REC-005", "REC-01[4-7]"), _STATE),
        unshown=_FILE_REQUIREMENTS,
    ),
    "checksum": Question(
        parameters={"version": "version"},
        expects='`{"valid": true or false}`',
        default=("CRC-037",),
        asked="audit",
    ),
    "write": Question(
        rows=True,
        documented="`operations` (array of recipe steps), optional `given` (case id of a table to "
        "start from) and `before` (the steps that made it)",
        expects='`{"versions": n}`, rows in `expected_data` of the last version',
        needs=("append.invariants",),
        default=("SNAP-008",),
        asked="writer",
    ),
}
"""Type of a spec to what the kit knows of it; what says most of an adapter comes first."""

TIMED: Final = QUESTIONS["history"]
"""What any question shows that asks for a version by a time."""

AUDITED: Final = Question(asked="audit")
"""What the kit asks of its own audit."""
