"""Cases of writing: commits, and what they say of the table and of its applications."""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.writing.starts import KEYED, keyed
from generators.oracle.delta_schema import struct

LOG: Final = Chapter("delta-log-entries")
TRANSACTIONS: Final = Chapter("transaction-identifiers")
METADATA: Final = Chapter("change-metadata")
PROPERTIES: Final = Chapter("table-properties", since="upstream")


@LOG.case("write-linear", "LOG-003 WNEW-001 DATA-004 DATA-006 CRC-001 CRC-039")
def _linear(case: CaseWriter) -> None:
    """Create and appends leave one new version each."""
    recipe = Recipe(PAIR)
    for number in range(4):
        recipe.append(pairs(number, number + 10))
    recipe.publish(case)


@LOG.case("write-past-ten", "LOG-003 WNEW-001 CKPT-005 CKPT-031 CRC-001 CRC-037 CRC-038 CRC-039")
def _past_ten(case: CaseWriter) -> None:
    """Twelve appends are all there."""
    recipe = Recipe(PAIR)
    for number in range(12):
        recipe.append(pairs(number))
    recipe.publish(case)


@LOG.case("write-create-with-rows", "LOG-003 META-014 DATA-004")
def _create_with_rows(case: CaseWriter) -> None:
    """A table is created with its first rows."""
    Recipe(PAIR, rows=pairs(1, 2, 3)).publish(case)


@LOG.case("write-empty-append", "LOG-003 WNEW-001")
def _empty_append(case: CaseWriter) -> None:
    """Appending no rows changes no rows."""
    Recipe(PAIR).append(pairs(1)).append([]).append(pairs(2)).publish(case)


@TRANSACTIONS.case("write-progress", "CKC-006 TXN-004 REC-004")
def _progress(case: CaseWriter) -> None:
    """Progress of applications survives a checkpoint."""
    recipe = Recipe(PAIR).set_transaction("app", 1).append(pairs(1)).set_transaction("other", 7)
    recipe.set_transaction("app", 2).checkpoint().append(pairs(2)).publish(case)


@TRANSACTIONS.case("write-with-rows", "TXN-004 TXN-002")
def _progress_with_rows(case: CaseWriter) -> None:
    """Progress, however large its number, is committed with its rows."""
    recipe = Recipe(PAIR).append_once(pairs(1), "app", 1).append(pairs(2))
    recipe.append_once(pairs(3), "other", 2**53 + 1).append_once(pairs(4), "app", 2**31)
    recipe.publish(case)


@TRANSACTIONS.case("write-with-partitions", "TXN-004")
def _progress_with_partitions(case: CaseWriter) -> None:
    """Progress is committed together with the rows of every partition."""
    rows = [{"id": number, "part": "abc"[number]} for number in range(3)]
    recipe = Recipe(KEYED, ("part",)).append_once(rows, "app", 1)
    recipe.append_once(rows[:2], "app", 2).publish(case)


@TRANSACTIONS.case("write-with-overwrites", "TXN-004")
def _progress_with_overwrites(case: CaseWriter) -> None:
    """Progress is committed together with the rows of an overwrite."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).overwrite(pairs(4, 5)).by_application("app", 1)
    recipe.overwrite(pairs(6), compare("id", ">=", 5, "long")).by_application("other", 7)
    recipe.overwrite(pairs(8)).by_application("app", 2).publish(case)


@TRANSACTIONS.case("write-with-changes", "TXN-004")
def _progress_with_changes(case: CaseWriter) -> None:
    """Progress is committed together with the rows that change."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).append(pairs(4, 5))
    recipe.delete(compare("id", "=", 1, "long")).by_application("app", 1)
    recipe.delete(compare("id", "=", 3, "long")).by_application("other", 7)
    recipe.update({"name": "later"}, compare("id", "=", 4, "long")).by_application("app", 2)
    recipe.merge(pairs(5, 6), SAME_ID, *UPSERT).by_application("app", 3)
    recipe.delete().by_application("other", 8).publish(case)


@METADATA.case("write-properties", "META-011 LOG-003")
def _properties(case: CaseWriter) -> None:
    """Properties are set beside those that are set."""
    recipe = Recipe(PAIR, properties={"team": "a"}).append(pairs(1))
    recipe.set_properties({"purpose": "b"}).append(pairs(2)).publish(case)


@LOG.case("write-append-given", "LOG-003 WNEW-001 DATA-004")
def _append_given(case: CaseWriter) -> None:
    """An append goes on top of another writer's log."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.append(pairs(4)).append(pairs(5, 6)).publish(case)


@LOG.case("write-append-checkpointed", "LOG-003 WNEW-001 DATA-004")
def _append_checkpointed(case: CaseWriter) -> None:
    """An append goes on top of a checkpoint."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).delete(compare("id", "=", 1, "long")).checkpoint()
    recipe.given().append(pairs(4)).publish(case)


@METADATA.case("write-unset", "META-011")
def _unset(case: CaseWriter) -> None:
    """A property that is unset is gone, and others stay."""
    recipe = Recipe(PAIR, (), {"team": "a", "purpose": "b"}).append(pairs(1))
    recipe.unset_properties("team").append(pairs(2)).set_properties({"team": "c"}).publish(case)


@METADATA.case("write-replace", "META-011 DATA-004 FA-021")
def _replace(case: CaseWriter) -> None:
    """A table that is replaced has new columns and rows, and its properties."""
    recipe = Recipe(KEYED, ("part",), {"custom.team": "a"}).append(keyed(1, 2, 3))
    recipe.replace(PAIR, [], pairs(7, 8)).append(pairs(9)).checkpoint()
    recipe.replace(struct(part="string", x="double"), ["part"], [])
    recipe.append([{"part": None, "x": 1.5}]).publish(case)


def _codec(codec: str, case: CaseWriter) -> None:
    # The table is given: a writer may refuse to name a property that it does not know.
    recipe = Recipe(PAIR, (), {"delta.parquet.compression.codec": codec}).append(pairs(1, 2))
    recipe.given().append(pairs(3)).overwrite(pairs(4)).publish(case)


for _slug, _codec_name in (
    ("gzip", "gzip"),
    ("snappy", "snappy"),
    ("uncompressed", "uncompressed"),
    ("lz4", "lz4_raw"),
    ("mixed", "Gzip"),
):
    PROPERTIES.define(
        f"write-codec-{_slug}",
        f"New files have the codec that a table names, {_codec_name}",
        "PROP-003 PROP-001 PROP-005" if _slug == "mixed" else "PROP-001 PROP-005",
        partial(_codec, _codec_name),
    )


@PROPERTIES.case("write-page-version", "PROP-006 PROP-008")
def _page_version(case: CaseWriter) -> None:
    """A table that asks for data pages of version 2 is written."""
    recipe = Recipe(PAIR, (), {"delta.parquet.format.version": "2.12.0"}).append(pairs(1, 2))
    recipe.given().append(pairs(3)).overwrite(pairs(4)).publish(case)


@TRANSACTIONS.case("write-progress-by-case", "TXN-004 CKC-006")
def _progress_by_case(case: CaseWriter) -> None:
    """Applications whose names differ by case are two."""
    recipe = Recipe(PAIR).set_transaction("app", 5).set_transaction("App", 2).append(pairs(1))
    recipe.checkpoint().set_transaction("APP", 1).append(pairs(2)).checkpoint().publish(case)
