"""Cases of tables that no reader reads, asked in every way.

Covers the sections whose rules are asked about. A reader that refuses a plain read may have a way
of its own to each other question, which answers it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import describe
from generators.golden.cases.table import add, feature_protocol, legacy_protocol
from generators.golden.chapters.crossed.every_question import Asked
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS, store, with_vector
from generators.materialise.log.files import LOG_DIRECTORY, commit_name
from generators.oracle.delta_schema import struct

FEATURES: Final = Chapter("table-features", since="2025")
EVOLUTION: Final = Chapter("protocol-evolution", since="2025")
LOG: Final = Chapter("delta-log-entries", since="2025")
TABLE: Final = Chapter("table-specification", since="2025")
VECTORS: Final = Chapter("deletion-vectors", since="2025")

_NUMBERS: Final = struct(id="long", v="long")
_KEPT: Final = compare("id", ">=", 0, "long")
_NEWEST: Final = 2
_WAYS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "columns": ("read", {"parameters": {"columns": ["v"]}}),
    "filter": ("read", {"parameters": {"filter": _KEPT.tree, "predicate": _KEPT.sql}}),
    "row-ids": ("row_ids", {}),
    "extremes": ("aggregate", {"parameters": {"extremes": ["id"]}}),
    "files": ("files", {}),
    "changes": ("changes", {"parameters": {"start": 1, "end": _NEWEST}}),
}
"""Ways of asking: the type of the question, and what it asks with."""


def _refused(case: CaseWriter, refusal: Refusal, ways: Sequence[str]) -> None:
    for way in ways:
        kind, options = _WAYS[way]
        title = "The table is refused whatever is asked"
        case.refuse(kind, way, refusal, title=title, **options)


def _filled(asked: Asked, protocol: Mapping[str, Any] | None = None) -> None:
    """Commit three versions, the second with another protocol where one is given."""
    table = asked.table
    rows = [[{"id": n, "v": -n} for n in range(start, start + 2)] for start in (0, 10, 20)]
    asked.commit(add(asked.file(*rows[0])))
    table.protocol = dict(protocol or table.protocol)
    asked.commit(add(asked.file(*rows[1])), *([table.protocol_action()] if protocol else []))
    asked.commit(add(asked.file(*rows[2])))


def _unknown(case: CaseWriter, protocol: Mapping[str, Any], judged: str) -> None:
    asked = Asked(case, _NUMBERS)
    _filled(asked, protocol)
    describe(case, asked.table)
    _refused(case, Refusal("unsupported", "load", judged), [*_WAYS])


FEATURES.define(
    "every-question-of-unknown-feature",
    "An unknown reader feature is refused whatever is asked",
    "TF-001",
    partial(
        _unknown,
        protocol=feature_protocol(
            ["somethingNobodyKnows"], ["changeDataFeed", "domainMetadata", "rowTracking"]
        ),
        judged="TF-001",
    ),
)
EVOLUTION.define(
    "every-question-of-unknown-version",
    "An unknown reader version is refused whatever is asked",
    "PROTO-005 PROTO-007",
    partial(_unknown, protocol=legacy_protocol(4, 6), judged="PROTO-005"),
)


@LOG.case("every-question-of-broken-line", "LOG-004 LOG-006")
def _broken_line(case: CaseWriter) -> None:
    """A line cut short is refused whatever is asked."""
    asked = Asked(case, _NUMBERS)
    _filled(asked)
    describe(case, asked.table)
    path = asked.table.root / LOG_DIRECTORY / commit_name(_NEWEST)
    path.write_text(path.read_text(encoding="utf-8") + '{"add":{"path":"part', encoding="utf-8")
    _refused(case, Refusal("invalid_table", "read", "LOG-006"), [*_WAYS])


@TABLE.case("every-question-of-gap", "SNAP-001")
def _gap(case: CaseWriter) -> None:
    """A version without its commit is refused whatever is asked."""
    asked = Asked(case, _NUMBERS)
    _filled(asked)
    describe(case, asked.table)
    (asked.table.root / LOG_DIRECTORY / commit_name(1)).unlink()
    ways = [way for way in _WAYS if way != "changes"]
    _refused(case, Refusal("invalid_table", "load", "SNAP-001"), ways)


@VECTORS.case("every-question-of-missing-vector", "DVDESC-020")
def _missing_vector(case: CaseWriter) -> None:
    """A vector whose file is gone is refused whatever is asked for rows."""
    asked = Asked(case, _NUMBERS, ["deletionVectors"], WITH_VECTORS)
    file = asked.file(*({"id": n, "v": -n} for n in range(4)))
    asked.commit(add(file))
    asked.commit(add(asked.file({"id": 10, "v": 0})))
    (vector,) = store(asked.table, [1])
    asked.commit(*with_vector(file, vector), operation="DELETE")
    describe(case, asked.table)
    (stored,) = asked.table.root.glob("*.bin")
    stored.unlink()
    refusal = Refusal("not_found", "read", "DVDESC-020")
    _refused(case, refusal, ["columns", "filter", "row-ids"])
