"""Cases of writing: the columns of checkpoints, statistics and lists among them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in, is_null
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.starts import KEYED, keyed
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import struct
from generators.oracle.operations import CheckpointKind

STRUCTS: Final = Chapter("checkpoint-schema", since="2025")


@STRUCTS.case("write-parsed-statistics", "CKC-021 CKC-015 CKC-018 CKC-020", since="2021")
def _parsed(case: CaseWriter) -> None:
    """A checkpoint has statistics as structs where they are asked for."""
    properties = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    recipe = Recipe(KEYED, ("part",), properties).append(keyed(1, 2, 3))
    recipe.append([{"id": None, "part": None}]).checkpoint().delete(is_null("id"))
    recipe.checkpoint().publish(case)


@STRUCTS.case("write-parsed-vectors", "CKC-021 CKSCH-004 STAT-003", since="2025")
def _parsed_vectors(case: CaseWriter) -> None:
    """A checkpoint says in structs that the bounds of a file are wide."""
    recipe = Recipe.active(
        PAIR,
        "deletionVectors",
        properties={
            "delta.checkpoint.writeStatsAsStruct": "true",
            "delta.checkpoint.writeStatsAsJson": "false",
        },
    ).append(pairs(1, 2, 3, 4))
    recipe.delete_by_vectors(compare("id", "=", 1, "long")).checkpoint().append(pairs(5))
    recipe.publish(case)


def _statistics(as_struct: str, as_json: str, case: CaseWriter) -> None:
    properties = {
        "delta.checkpoint.writeStatsAsStruct": as_struct,
        "delta.checkpoint.writeStatsAsJson": as_json,
    }
    # The properties bind from writer version 3 on.
    recipe = (
        Recipe(KEYED, ("part",), properties, ("checkConstraints",))
        .append(keyed(1, 2, 3))
        .checkpoint()
    )
    recipe.append([{"id": None, "part": None}]).checkpoint()
    recipe.delete(compare("id", "=", 3, "long")).checkpoint().publish(case)


for _name, _title, _struct, _json, _ids in (
    (
        "both-statistics",
        "A checkpoint has statistics in both forms where both are asked for",
        "true",
        "true",
        "CKC-015 CKC-018 CKC-021",
    ),
    (
        "json-statistics",
        "A checkpoint has statistics as text where that is asked for alone",
        "false",
        "true",
        "CKC-018 CKC-023",
    ),
    (
        "no-statistics",
        "A checkpoint that is asked for no statistics keeps the files",
        "false",
        "false",
        "CKC-004 CKC-020 CKC-023",
    ),
):
    STRUCTS.define(f"write-{_name}", _title, _ids, partial(_statistics, _struct, _json))


@STRUCTS.case("write-exact-statistics", "CKPT-005 CKC-020 CKC-021 STAT-012")
def _exact(case: CaseWriter) -> None:
    """Bounds of decimals and longs keep all their digits in a checkpoint."""
    properties = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    schema = struct(id="long", d="decimal(38,2)", n="long")
    values = ("123456789012345678901234567890123456.78", "-98765432109876543210.01", "0.01")
    longs = (2**63 - 1, -(2**53) - 1, 2**53 + 1)
    recipe = Recipe(schema, (), properties, ("checkConstraints",))
    for number, value in enumerate(values):
        recipe.append([{"id": number, "d": Decimal(value), "n": longs[number]}])
    recipe.checkpoint().delete(compare("id", "=", 1, "long")).checkpoint().publish(case)


@STRUCTS.case("write-lists-of-lower-versions", "CKSCH-011")
def _lower_lists(case: CaseWriter) -> None:
    """Feature lists are null in a checkpoint of lower versions."""
    recipe = Recipe(PAIR, (), {"delta.columnMapping.mode": "name"}, protocol=Protocol(2, 5))
    recipe.append(pairs(1)).given().append(pairs(2)).checkpoint().append(pairs(3)).publish(case)


@STRUCTS.case("write-empty-lists", "CKSCH-008", since="2025")
def _empty_lists(case: CaseWriter) -> None:
    """Feature lists without features are in a checkpoint, and are empty."""
    recipe = Recipe(PAIR, protocol=Protocol(3, 7, (), ())).append(pairs(1)).given()
    recipe.append(pairs(2)).checkpoint().append(pairs(3)).publish(case)


@STRUCTS.case("write-mapped-statistics", "CKSCH-012 CKSCH-013 CKC-015 CKC-016 CKC-021")
def _mapped_statistics(case: CaseWriter) -> None:
    """Parsed values have physical names and the types of columns."""
    properties = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.columnMapping.mode": "name"}
    schema = struct(id="long", s=struct(a="integer"), p="integer")
    rows = [{"id": n, "s": {"a": -n}, "p": n % 2} for n in range(4)]
    recipe = Recipe(schema, ("p",), properties, ("columnMapping", "checkConstraints"))
    recipe.append(rows).append([{"id": None, "s": None, "p": None}]).checkpoint()
    recipe.rename_column("id", "key").rename_column("p", "part")
    recipe.append([{"key": 9, "s": {"a": 9}, "part": 9}]).checkpoint().publish(case)


def _mapped_in_files(
    kind: CheckpointKind, sidecars: int, parts: int, features: tuple[str, ...], case: CaseWriter
) -> None:
    properties = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.columnMapping.mode": "name",
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.deletedFileRetentionDuration": "interval 7 days",
    }
    mapped = ("columnMapping", "deletionVectors", "rowTracking", "domainMetadata", *features)
    schema = struct(id="long", s=struct(a="integer"), p="integer", d="date")
    rows = [{"id": n, "s": {"a": -n}, "p": n % 2, "d": date(2024, 2, 28 + n % 2)} for n in range(6)]
    recipe = Recipe(schema, ("p", "d"), properties, mapped).append(rows)
    recipe.rename_column("id", "key").set_domain("mine", "{}").set_transaction("app", 1)
    recipe.delete(is_in("key", [0, 1, 2], "long")).checkpoint(kind, sidecars, parts)
    recipe.append([{"key": 9, "s": None, "p": None, "d": date(2024, 3, 1)}])
    recipe.delete(compare("key", "=", 9, "long")).checkpoint(kind, sidecars, parts)
    recipe.append([{"key": 10, "s": {"a": 1}, "p": 1, "d": date(2024, 3, 2)}]).publish(
        case, needs=("checkpoint.kind",)
    )


_OF_FILES: Final[tuple[tuple[str, str, CheckpointKind, int, int, tuple[str, ...]], ...]] = (
    (
        "sidecars",
        "Sidecars of a mapped table have its parsed values and tombstones",
        "v2-parquet",
        2,
        0,
        ("v2Checkpoint",),
    ),
    (
        "parts",
        "Parts of a mapped table have its parsed values and tombstones",
        "multi-part",
        0,
        2,
        (),
    ),
)

for _name, _title, _kind, _sidecars, _parts, _features in _OF_FILES:
    STRUCTS.define(
        f"write-mapped-{_name}",
        _title,
        "CKSCH-012 CKSCH-013 CKC-005 CKC-007 CKC-015 CKC-016 CKC-021 RT-031",
        partial(_mapped_in_files, _kind, _sidecars, _parts, _features),
    )
