"""A mistake that the reference implementation makes both ways is noticed all the same.

What it writes wrongly it reads back as if it were right, wherever it is used, the judge of
recipes included: each mistake here is in force while the implementation works and while it is
judged. What judges has parsers and arithmetic of its own (docs/decisions/0005), so that a recipe,
read by the audit, or a golden table, whose rows the oracle knows, has to fail by its requirement.
"""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from test_writer_mutants import recipe
from wrong_writers import Wrap, afterwards, owner_of, replacing

from conformance.adapters.ours import create
from conformance.base.outcomes import Outcome
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore

HOUR = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake that is the same in reading and in writing.

    Attributes:
        seen_by: the recipe or golden spec that has to fail.
        requirement: what has to be named.
        pieces: module and name below ``reference_impl.``, to the wrong piece for the right one.
    """

    seen_by: str
    requirement: str
    pieces: tuple[tuple[str, Wrap], ...]


@contextmanager
def everywhere(mistake: Mistake | None) -> Iterator[None]:
    """Make a mistake in every module of the reference implementation that uses the piece."""
    with pytest.MonkeyPatch.context() as patch:
        for name, wrap in mistake.pieces if mistake is not None else ():
            owner, last = owner_of(name)
            right = getattr(owner, last)
            wrong = wrap(right)
            patch.setattr(owner, last, wrong)
            for other, found in list(sys.modules.items()):
                if other.startswith("reference_impl") and vars(found).get(last) is right:
                    patch.setattr(found, last, wrong)
        yield


def given(change: Callable[[Any], Any]) -> Wrap:
    """Change the first argument of a function."""
    return lambda right: lambda first, *args, **named: right(change(first), *args, **named)


@replacing
def _decimals_by_comma(right: Any, value: Any, of: Any) -> Any:
    text = right(value, of)
    return text.replace(".", ",") if isinstance(value, Decimal) else text


def _read_by_comma(right: Any) -> Any:
    return lambda of: lambda text: right(of)(text.replace(",", "."))


def _booleans_as_python_has_them(right: Any) -> Any:
    return lambda value, of: str(value) if isinstance(value, bool) else right(value, of)


def _read_in_any_case(right: Any) -> Any:
    return lambda of: lambda text: right(of)(text.lower())


def _an_hour_late(right: Any) -> Any:
    return lambda value, **zone: right(value + timedelta(hours=1), **zone)


def _an_hour_early(right: Any) -> Any:
    return lambda text, **zone: right(text, **zone) - HOUR


@replacing
def _null_is_true(right: Any, self: Any, *args: Any) -> Any:
    found = right(self, *args)
    return found.fill_null(fill_value=True) if pa.types.is_boolean(found.type) else found


@replacing
def _lowest_for_highest(right: Any, values: Any, leaf: Any) -> Any:
    low, _ = right(values, leaf)
    return low, low


def _other_crc(_: Any) -> Any:
    return SimpleNamespace(crc32=zlib.adler32)


@replacing
def _other_digest(_right: Any, document: Any) -> str:
    held = sorted((k, str(v)) for k, v in document.items() if k != "checksum")
    return hashlib.md5(str(held).encode(), usedforsecurity=False).hexdigest()


def _ids_from_one(right: Any) -> Any:
    """Count on from one number further than the mark says."""
    return lambda domains: right(domains) - 1 if domains else right(domains)


def _stamped(name: str) -> Wrap:
    @replacing
    def wrap(right: Any, self: Any, version: int) -> Any:
        return [
            {"commitInfo": {name if k == "inCommitTimestamp" else k: v for k, v in b.items()}}
            if (b := line.get("commitInfo")) is not None
            else line
            for line in right(self, version)
        ]

    return wrap


def _types(before: str, after: str) -> tuple[tuple[str, Wrap], ...]:
    """Spell a type otherwise in schemas, and read that spelling alone."""
    return (
        ("types.schema:format_schema", afterwards(lambda text: text.replace(before, after))),
        ("types.schema:parse_schema", given(lambda text: text.replace(after, before))),
    )


MISTAKES: dict[str, Mistake] = {
    "schema types": Mistake(
        "change-metadata/write-replace/write", "SCH-024", _types('"long"', '"bigint"')
    ),
    "schema types, decimals": Mistake(
        "data-files/write-every-type/write", "SCH-024", _types('"decimal(', '"numeric(')
    ),
    "decimals": Mistake(
        "partition-value-serialization/write-decimal/write",
        "PART-004",
        (
            ("model.partition_values:format_value", _decimals_by_comma),
            ("model.partition_values:_parser", _read_by_comma),
        ),
    ),
    "partition values": Mistake(
        "partition-value-serialization/write-boolean/write",
        "PART-013",
        (
            ("model.partition_values:format_value", _booleans_as_python_has_them),
            ("model.partition_values:_parser", _read_in_any_case),
        ),
    ),
    "timestamps, their form": Mistake(
        "partition-value-serialization/write-timestamp/write",
        "PART-006",
        (
            ("types.temporal:format_timestamp", afterwards(lambda text: text.replace("-", "/"))),
            ("types.temporal:parse_timestamp", given(lambda text: text.replace("/", "-"))),
        ),
    ),
    "timestamps, their value": Mistake(
        "partition-value-serialization/timestamp-iso-column/read-latest",
        "PART-008",
        (
            ("types.temporal:format_timestamp", _an_hour_late),
            ("types.temporal:parse_timestamp", _an_hour_early),
        ),
    ),
    "statistics bounds": Mistake(
        "data-files/write-append-types/write",
        "STAT-012",
        (("write.statistics:bounds_of", _lowest_for_highest),),
    ),
    "magic of vectors": Mistake(
        "deletion-vectors/write-changes/write",
        "DVFMT-008",
        (("deletion_vectors.payload:MAGIC", lambda right: right + 5),),
    ),
    "roaring bitmaps": Mistake(
        "deletion-vectors/write-changes/write",
        "DVFMT-011",
        (
            ("deletion_vectors.payload:encode", afterwards(lambda data: data + b"\0")),
            ("deletion_vectors.payload:decode", given(lambda data: data[:-1])),
        ),
    ),
    "base85": Mistake(
        "deletion-vectors/write-changes/write",
        "DVD-003",
        (
            ("deletion_vectors.descriptor:encode_z85", afterwards(str.swapcase)),
            ("deletion_vectors.descriptor:decode_z85", given(str.swapcase)),
        ),
    ),
    "checksums of vectors": Mistake(
        "deletion-vectors/write-changes/write",
        "DVSTO-007",
        (("deletion_vectors.store:zlib", _other_crc),),
    ),
    "percent decoding": Mistake(
        "add-file-and-remove-file/write-append-partitions/write",
        "ADD-004",
        (("places.uris:encode_path", lambda _: lambda path: path.replace("%", "!")),),
    ),
    "checksum of the hint": Mistake(
        "checkpoints/write-checkpoint/write",
        "SUM-001",
        (("log.last_checkpoint:json_checksum", _other_digest),),
    ),
    "in-commit timestamps": Mistake(
        "in-commit-timestamps/write-changes/write",
        "ICT-007",
        (("write.commit.transaction:Transaction._commit_actions", _stamped("commitTimestamp")),),
    ),
    "row ids": Mistake(
        "row-tracking/write-changes/write",
        "RT-029",
        (("write.features.row_ids:high_water_mark", _ids_from_one),),
    ),
    "column mapping": Mistake(
        "column-mapping/write-changes-by-name/write",
        "CM-013",
        (("model.column_mapping:physical_name", lambda _: lambda column, _mode: column.name),),
    ),
    "three values of logic": Mistake(
        "check-constraints/write-null/write",
        "CHK-006",
        (("expressions.sql:Expression.evaluate", _null_is_true),),
    ),
}


def noticed(name: str, mistake: Mistake | None) -> set[str]:
    """Judge a spec while the mistake is in force; give the requirements that are named."""
    case, spec = recipe(name)
    store = TableStore()
    try:
        with everywhere(mistake):
            ours = create()
            verdict = Judge(ours, ours.describe().claims, store).judge_once(case, spec)
    finally:
        store.close()
    if verdict.outcome is not Outcome.FAIL:
        return set()
    read = () if spec.type == "write" else spec.requirements
    return {verdict.requirement or "", *read, *(each.partition(" ")[0] for each in verdict.details)}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_made_both_ways_is_noticed(name: str) -> None:
    mistake = MISTAKES[name]
    assert mistake.requirement in noticed(mistake.seen_by, mistake)


@pytest.mark.parametrize("name", sorted({each.seen_by for each in MISTAKES.values()}))
def test_without_a_mistake_nothing_is_noticed(name: str) -> None:
    assert noticed(name, None) == set()
