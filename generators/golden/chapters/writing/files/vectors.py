"""Cases of writing: deletion vectors, their counts and statistics."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS
from generators.golden.chapters.writing.starts import TRIPLE, triples
from generators.materialise.data.deletion_vectors import z85_encode
from generators.materialise.log.files import read_commit, write_commit
from generators.oracle.delta_schema import struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import MergeClause

VECTORS: Final = Chapter("deletion-vectors", since="2025")
DESIGN: Final = Chapter("deletion-vectors-design", since="2025")


@VECTORS.case("write-not-enabled", "DV-002")
def _vectors_not_enabled(case: CaseWriter) -> None:
    """No vector is written where they are supported and not enabled."""
    recipe = Recipe(PAIR, (), {}, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete(is_in("id", [1, 3], "long")).update({"name": "x"}, compare("id", "=", 2, "long"))
    recipe.set_properties(WITH_VECTORS).delete(compare("id", "=", 4, "long"))
    recipe.set_properties({"delta.enableDeletionVectors": "false"})
    recipe.delete(compare("id", "=", 5, "long")).append(pairs(7)).publish(case)


@VECTORS.case("write-not-enabled-merged", "DV-002")
def _vectors_not_enabled_merged(case: CaseWriter) -> None:
    """No merge and no overwrite writes vectors that are not enabled."""
    recipe = Recipe(PAIR, (), {}, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.merge([{"id": 2, "name": "x"}, *pairs(6)], SAME_ID, *UPSERT)
    recipe.overwrite(pairs(7), compare("id", ">=", 5, "long")).set_properties(WITH_VECTORS)
    recipe.delete(compare("id", "=", 4, "long"))
    recipe.set_properties({"delta.enableDeletionVectors": "false"})
    recipe.merge([{"id": 3, "name": "y"}, *pairs(8)], SAME_ID, *UPSERT)
    recipe.overwrite(pairs(9), compare("id", ">=", 7, "long")).run("optimize").publish(case)


@VECTORS.case("write-not-enabled-rearranged", "DV-002 DVD-005")
def _vectors_not_enabled_rearranged(case: CaseWriter) -> None:
    """Files are rearranged without new vectors once these are off."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6)))
    recipe.append(pairs(10, 11)).delete(compare("id", "=", 4, "long"))
    recipe.set_properties({"delta.enableDeletionVectors": "false"}).run("optimize")
    recipe.append(pairs(20, 21)).delete(compare("id", "=", 20, "long"))
    recipe.run("optimize").publish(case)


@VECTORS.case("write-not-null-after-delete", "DVDESC-020 SCH-025 DVD-017")
def _not_null_after_delete(case: CaseWriter) -> None:
    """A column may have no nulls once the rows with nulls are deleted."""
    recipe = Recipe.active(PAIR, "deletionVectors")
    recipe.append([{"id": n, "name": None if n == 2 else f"n{n}"} for n in range(4)])
    recipe.delete(compare("id", "=", 2, "long")).set_nullable("name", nullable=False)
    recipe.append([{"id": 9, "name": "n9"}]).update({"name": "x"}, compare("id", "=", 3, "long"))
    recipe.delete(compare("id", "=", 0, "long")).run("optimize").checkpoint().publish(case)


@VECTORS.case("write-bounds-of-deleted", "STAT-012 STAT-002 STAT-005 DVD-017")
def _bounds_of_deleted(case: CaseWriter) -> None:
    """Bounds are loose once vectors delete rows, and tight after optimize."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(2, 9, 10, 100))
    recipe.append(pairs(3, 20, 7)).delete(is_in("id", [2, 100], "long"))
    recipe.update({"name": "x"}, compare("id", "=", 3, "long"))
    recipe.merge(pairs(20, 11), SAME_ID, *UPSERT).run("optimize").append(pairs(5)).publish(case)


def _merged_under_vectors(
    parts: tuple[str, ...],
    properties: Mapping[str, str],
    features: tuple[str, ...],
    case: CaseWriter,
) -> None:
    """Delete rows of each file, and merge into the same files by one clause and by several."""
    features = ("deletionVectors", *features)
    recipe = Recipe.active(TRIPLE, *features, partition_columns=parts, properties=properties)
    first, second = triples(*range(1, 9)), triples(*range(11, 15))
    named = "part" if parts else None
    recipe.append([{**row, "name": named or row["name"]} for row in first])
    recipe.append([{**row, "name": named or row["name"]} for row in second])
    recipe.delete(is_in("id", [2, 5, 12], "long"))
    null = node("is_null", column("source", "n"))
    # What is deleted matches nothing, and is inserted.
    recipe.merge(
        triples(1, 3, 5, 13, 20),
        SAME_ID,
        MergeClause("matched", "delete", null),
        MergeClause("matched", "update", None, {"n": column("source", "n")}),
        MergeClause("not_matched", "insert"),
    )
    recipe.merge(triples(4, 11), SAME_ID, MergeClause("matched", "delete"))
    update = MergeClause("matched", "update", None, {"n": literal("integer", 7)})
    recipe.merge(triples(6, 14), SAME_ID, update).append(triples(30)).publish(case)


for _slug, _words, _parts, _properties, _asked in (
    ("", "", (), {}, ()),
    ("-partitions", " in partitions", ("name",), {}, ()),
    ("-mapped", " under mapping", (), {"delta.columnMapping.mode": "name"}, ("columnMapping",)),
):
    VECTORS.define(
        f"write-merge-after-delete{_slug}",
        f"A merge keeps the rows deleted that a vector had{_words}",
        "DVD-017 DVD-018 DV-002 DVDESC-022",
        partial(_merged_under_vectors, _parts, _properties, _asked),
    )


@VECTORS.case("write-replaced", "REM-014 DVD-018")
def _replaced(case: CaseWriter) -> None:
    """A replace removes files with the vectors that they have."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(1, 2, 3, 4))
    recipe.append(pairs(5, 6)).delete_by_vectors(is_in("id", [2, 5], "long")).given()
    recipe.replace(PAIR, (), pairs(7, 8)).append(pairs(9)).publish(case)


@DESIGN.case("write-purge", "DVD-005 DVD-006 FA-017")
def _purge(case: CaseWriter) -> None:
    """A purge rewrites files with vectors into files without."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6)))
    recipe.append(pairs(*range(10, 13))).delete(is_in("id", [1, 2, 11], "long"))
    recipe.run("optimize", purge=True).delete(compare("id", "=", 3, "long"))
    recipe.run("optimize", purge=True).publish(case)


@DESIGN.case("write-restore-before-vectors", "DVD-013 DVD-014")
def _restore_across(case: CaseWriter) -> None:
    """A restore to before vectors keeps the protocol."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).run("enable_feature", feature="deletionVectors")
    recipe.set_properties(WITH_VECTORS).delete(compare("id", "=", 2, "long"))
    recipe.restore(1).append(pairs(4)).restore(4).publish(case)


@DESIGN.case("write-restore-across-upgrade", "DVD-013")
def _restore_back_again(case: CaseWriter) -> None:
    """A restore goes to before vectors and back again."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).run("enable_feature", feature="deletionVectors")
    recipe.set_properties(WITH_VECTORS).delete(compare("id", "=", 2, "long")).append(pairs(4))
    recipe.restore(1).delete(compare("id", "=", 3, "long")).restore(5).publish(case)


@DESIGN.case("write-restore-vectors", "SNAP-008 DVD-014 DVD-017")
def _restore(case: CaseWriter) -> None:
    """A restore brings the vectors of then back."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6)))
    recipe.delete(compare("id", "=", 1, "long")).delete(is_in("id", [2, 4], "long"))
    recipe.restore(2).delete(compare("id", "=", 3, "long")).restore(3).publish(case)


def _in_one_file(root: Path, version: int) -> None:
    """Store the vector that a version brings in the file of the one that it replaces."""
    lines = read_commit(root, version)
    old = next(line["remove"]["deletionVector"] for line in lines if "remove" in line)
    new = next(line["add"]["deletionVector"] for line in lines if "add" in line)
    files = {
        z85_encode(UUID(path.stem.removeprefix("deletion_vector_")).bytes): path
        for path in root.glob("deletion_vector_*.bin")
    }
    first, second = (files[each["pathOrInlineDv"]] for each in (old, new))
    new |= {"pathOrInlineDv": old["pathOrInlineDv"], "offset": first.stat().st_size}
    # The byte that both begin with is the version of the format.
    first.write_bytes(first.read_bytes() + second.read_bytes()[1:])
    second.unlink()
    write_commit(root, version, lines)


@DESIGN.case("write-restore-one-vector-file", "REM-014 DVD-013 DVDESC-014")
def _restore_by_offset(case: CaseWriter) -> None:
    """A restore distinguishes two vectors of one file by their offsets."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6)))
    recipe.delete_by_vectors(compare("id", "=", 1, "long"))
    recipe.delete_by_vectors(is_in("id", [2, 4], "long")).given()
    recipe.restore(2).append(pairs(8)).publish(case)
    _in_one_file(case.delta, 3)


@DESIGN.case("write-restore-inline", "REM-014 DVD-013 DVD-014 DVDESC-017")
def _restore_inline(case: CaseWriter) -> None:
    """A restore brings a vector inside the log back."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6)))
    recipe.delete_by_vectors(compare("id", "=", 1, "long"), "inline").append(pairs(7)).given()
    recipe.delete(is_in("id", [0, 4], "long")).restore(2).append(pairs(8)).publish(case)


@DESIGN.case("write-restore-uncounted", "DVDESC-022 DVD-013 DVD-017")
def _restore_uncounted(case: CaseWriter) -> None:
    """A file restored with its vector tells its rows."""
    recipe = Recipe.active(
        PAIR, "deletionVectors", properties={"delta.checkpoint.writeStatsAsJson": "false"}
    ).append(pairs(*range(6)))
    recipe.delete(is_in("id", [2, 4], "long")).checkpoint().delete(is_in("id", [0, 5], "long"))
    recipe.restore(2).delete(compare("id", "=", 3, "long")).publish(case)


@DESIGN.case("write-without-bounds", "DVDESC-022 STAT-002")
def _unbounded(case: CaseWriter) -> None:
    """Files are counted where the table has statistics of no column."""
    recipe = Recipe.active(
        PAIR, "deletionVectors", properties={"delta.dataSkippingNumIndexedCols": "0"}
    ).append(pairs(*range(6)))
    recipe.delete(compare("id", "=", 1, "long")).delete(is_in("id", [2, 4], "long")).publish(case)


@DESIGN.case("write-uncounted", "DVDESC-022 STAT-002")
def _uncounted(case: CaseWriter) -> None:
    """A file without statistics is counted once rows of it are deleted."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6))).given()
    recipe.delete(compare("id", "=", 1, "long")).update(
        {"name": "x"}, compare("id", "=", 3, "long")
    )
    recipe.publish(case)
    lines = read_commit(case.delta, 1)
    for line in lines:
        line.get("add", {}).pop("stats", None)
    write_commit(case.delta, 1, lines)


_DATED: Final = struct(
    id="long", at="timestamp", local="timestamp_ntz", day="date", price="decimal(9,2)"
)


@DESIGN.case("write-restore-parsed", "DVDESC-022 DVD-013 DVD-017 STAT-013")
def _restore_parsed(case: CaseWriter) -> None:
    """A file restored from a checkpoint keeps its bounds of times."""
    moment = datetime(2024, 2, 29, 23, 59, 58, 123_000, UTC)
    rows = [
        {
            "id": number,
            "at": moment + timedelta(hours=number),
            "local": moment.replace(tzinfo=None) - timedelta(days=number),
            "day": moment.date() + timedelta(days=number),
            "price": Decimal("-1.25") * number,
        }
        for number in range(6)
    ]
    recipe = Recipe.active(
        _DATED,
        "deletionVectors",
        "timestampNtz",
        properties={
            "delta.checkpoint.writeStatsAsJson": "false",
            "delta.checkpoint.writeStatsAsStruct": "true",
        },
    ).append(rows)
    recipe.delete(is_in("id", [2, 4], "long")).checkpoint().delete(is_in("id", [0, 5], "long"))
    recipe.restore(2).delete(compare("id", "=", 3, "long")).publish(case)


@DESIGN.case("write-manifest", "DVD-010")
def _manifest(case: CaseWriter) -> None:
    """A manifest of a table with vectors is refused."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(1, 2, 3))
    recipe.delete_by_vectors(compare("id", "=", 2, "long")).given()
    recipe.run("generate_manifest")
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "DVD-010"))
