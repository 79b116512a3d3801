"""Cases of writing: compactions and checksums say what the commits say."""

from __future__ import annotations

from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.given import described_files, old_files
from generators.golden.chapters.writing.starts import TRACKED
from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import LOG_DIRECTORY, commit_name
from generators.oracle.delta_schema import field

COMPACTION: Final = Chapter("log-compaction-files", since="2025")
CHECKSUMS: Final = Chapter("version-checksum-file", since="2025")


@COMPACTION.case("write-compaction", "COMP-002 COMP-004")
def _compaction(case: CaseWriter) -> None:
    """A log compaction changes no version."""
    recipe = Recipe(PAIR)
    for number in range(4):
        recipe.append(pairs(number, number + 10))
    recipe.delete(compare("id", "=", 2, "long"))
    recipe.run("compact_log", start=1, end=4).append(pairs(50)).publish(case)


@COMPACTION.case("write-compaction-of-a-cut-log", "COMP-002 COMP-004")
def _compaction_cut(case: CaseWriter) -> None:
    """A log compaction needs the commits of its range, and none before them."""
    recipe = Recipe(PAIR).append(pairs(1)).append(pairs(2)).checkpoint().append(pairs(3))
    recipe.append(pairs(4)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        return [f"{LOG_DIRECTORY}/{commit_name(version)}" for version in (2, 3, 4)]

    recipe.run("cleanup", kept=kept, gone=[])
    recipe.run("compact_log", start=3, end=4).append(pairs(50)).publish(case)


@COMPACTION.case("write-compaction-removes", "COMP-007 COMP-006 COMP-008 COMP-004 COMP-002")
def _compaction_of_removes(case: CaseWriter) -> None:
    """A log compaction keeps tombstones, progress and domains."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1, 2)).append(pairs(3))
    recipe.delete(is_in("id", [1, 3], "long")).set_transaction("app", 1).set_transaction("app", 2)
    recipe.set_domain("mine", "a").set_domain("mine", "b")
    recipe.run("compact_log", start=2, end=7).append(pairs(9)).publish(case)


@COMPACTION.case("write-compaction-rearranged", "COMP-006 COMP-004")
def _compacted_rearranged(case: CaseWriter) -> None:
    """A log compaction keeps no file that its range moved or removed last."""
    recipe = Recipe(PAIR).append(pairs(1)).append(pairs(2)).run("optimize").append(pairs(3))
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.run("compact_log", start=1, end=5).append(pairs(9)).publish(case)


@COMPACTION.case("write-compaction-domain-removed", "COMP-004 COMP-002")
def _compacted_removal(case: CaseWriter) -> None:
    """A log compaction keeps the removal of a domain of before its range."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).set_domain("mine", "a").append(pairs(1))
    recipe.set_domain("mine", None).append(pairs(2))
    recipe.run("compact_log", start=2, end=4).append(pairs(9)).publish(case)


@COMPACTION.case("write-compaction-of-everything", "COMP-004 COMP-007 COMP-008 COMP-002")
def _compacted(case: CaseWriter) -> None:
    """A log compaction keeps every kind of action of its range."""
    recipe = (
        Recipe.active(PAIR, "deletionVectors", "domainMetadata")
        .append(pairs(*range(8)))
        .append(pairs(20, 21))
    )
    recipe.set_transaction("app", 9).set_domain("mine", "before").set_domain("gone", "x")
    recipe.delete(is_in("id", [1, 3], "long")).set_transaction("app", 3)
    recipe.set_properties({"team": "a", "kept": "1"}).add_column(field("later", "string"))
    recipe.set_domain("mine", "after").set_domain("gone", None)
    recipe.delete(is_in("id", [5, 20, 21], "long")).unset_properties("team")
    recipe.append([{**pairs(30)[0], "later": "x"}])
    recipe.run("compact_log", start=2, end=10)
    recipe.delete(compare("id", "=", 6, "long")).publish(case)


@COMPACTION.case("write-compaction-of-features", "COMP-004", features=("vacuumProtocolCheck",))
def _compacted_features(case: CaseWriter) -> None:
    """A log compaction keeps the protocol that its range brings."""
    recipe = Recipe(PAIR, features=("appendOnly",)).append(pairs(1)).append(pairs(2))
    recipe.run("enable_feature", feature="vacuumProtocolCheck").append(pairs(3))
    recipe.run("compact_log", start=1, end=4).append(pairs(4)).publish(case)


@COMPACTION.case("write-compaction-of-vectors", "COMP-004 COMP-006 COMP-007")
def _compacted_vectors(case: CaseWriter) -> None:
    """A log compaction keeps vectors, row ids and tombstones with theirs."""
    recipe = Recipe.active(PAIR, "deletionVectors", *TRACKED)
    recipe.append(pairs(*range(6))).append(pairs(20, 21, 22))
    recipe.delete(is_in("id", [1, 20], "long")).delete(is_in("id", [3, 21], "long"))
    recipe.delete(is_in("id", [4, 22], "long")).append(pairs(30))
    recipe.run("compact_log", start=3, end=6)
    recipe.delete(compare("id", "=", 5, "long")).publish(case)


@COMPACTION.case("write-compaction-given", "COMP-004 COMP-007")
def _compacted_given(case: CaseWriter) -> None:
    """A log compaction repeats what another writer said of files."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).append(pairs(4))
    recipe.delete(compare("id", "=", 3, "long")).given()
    recipe.run("compact_log", start=1, end=3)
    recipe.run("compact_log", start=3, end=4).append(pairs(5))
    # A tombstone of no time has no place in a checkpoint, or keeps having none.
    recipe.checkpoint().publish(case)
    described_files(case)


@CHECKSUMS.case(
    "write-each", "CRC-036 CRC-037 CRC-004 CRC-009 CRC-010 CRC-011 CRC-014 CRC-015 CRC-016"
)
def _summed(case: CaseWriter) -> None:
    """Every version of a writer has a checksum of its own."""
    recipe = (
        Recipe.active(PAIR, "deletionVectors", "domainMetadata", "inCommitTimestamp")
        .append(pairs(*range(6)))
        .append(pairs(6, 7))
    )
    recipe.set_transaction("app", 1).set_domain("mine", "{}").delete(is_in("id", [1, 6], "long"))
    recipe.set_transaction("app", 2).delete(compare("id", "=", 2, "long")).set_domain("mine", None)
    recipe.set_properties({"team": "tables"}).run("optimize").append(pairs(8)).restore(2)
    recipe.set_domain("other", "1").add_column(field("later", "string"))
    recipe.overwrite([{"id": 9, "name": "n9", "later": None}]).publish(case)


@CHECKSUMS.case("write-others-kept", "CRC-039 CRC-001")
def _sums_of_others(case: CaseWriter) -> None:
    """Checksums that another writer left stay as they are."""
    recipe = Recipe(PAIR, summed=True).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.append(pairs(4)).delete(compare("id", "=", 1, "long")).checkpoint().run("optimize")
    recipe.append(pairs(5)).publish(case)
