"""Cases of writing: vacuum deletes no file that is needed, and refuses what it does not know."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS
from generators.golden.chapters.writing.given import (
    aged,
    go_over,
    old_files,
    removed_files,
    vector_files,
)
from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import read_commit, write_commit
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import struct

FILES: Final = Chapter("add-file-and-remove-file")
DESIGN: Final = Chapter("deletion-vectors-design", since="2025")
VACUUM: Final = Chapter("vacuum-protocol-check", since="2025")
FEED: Final = Chapter("change-data-files", since="2025")


@FILES.case("write-vacuum", "FA-008")
def _vacuum(case: CaseWriter) -> None:
    """A vacuum deletes what has expired, and nothing that is live."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4)).append(pairs(5))
    recipe.delete(is_in("id", [2, 4], "long")).given()
    recipe.run("vacuum", kept=old_files(case), gone=removed_files).publish(case)


@FILES.case("write-vacuum-fresh", "FA-008")
def _vacuum_fresh(case: CaseWriter) -> None:
    """A vacuum keeps the files of every version that is not old."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).delete(compare("id", "=", 2, "long"))
    recipe.overwrite(pairs(7)).run("vacuum").publish(case)


@DESIGN.case("write-vacuum", "DVD-001 DVD-003 DVD-004")
def _vacuum_vectors(case: CaseWriter) -> None:
    """A vacuum keeps the data files and the vectors of live files."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(1, 2, 3, 4))
    recipe.append(pairs(5)).delete_by_vectors(is_in("id", [2, 3], "long"))
    recipe.delete(compare("id", "=", 5, "long")).given()
    recipe.run("vacuum", kept=old_files(case), gone=removed_files).publish(case)


@DESIGN.case("write-vacuum-partitioned-vectors", "DVD-004 DVD-001 DVD-003")
def _vacuum_partitioned_vectors(case: CaseWriter) -> None:
    """A vacuum after a checkpoint keeps live files with escaped paths."""
    schema = struct(id="long", p="string")
    rows = [{"id": n, "p": "a b/100%" if n % 2 else "plain"} for n in range(8)]
    # Who vacuums may clean the log up as well, where that has expired.
    recipe = Recipe.active(
        schema,
        "deletionVectors",
        partition_columns=("p",),
        properties={"delta.logRetentionDuration": "interval 5000 weeks"},
    ).append(rows)
    recipe.append([{"id": 9, "p": "a b/100%"}]).delete_by_vectors(is_in("id", [1, 2], "long"))
    recipe.delete(compare("id", "=", 9, "long")).checkpoint().given()
    recipe.run("vacuum", kept=old_files(case), gone=removed_files).publish(case)


def _removed_vectors(builder: TableBuilder) -> list[str]:
    """Return the vector files that the last version does not need any more."""
    ever = {name for version in range(builder.version) for name in vector_files(builder, version)}
    return sorted(ever - vector_files(builder, builder.version))


@DESIGN.case("write-vacuum-old-vectors", "DVD-002")
def _vacuum_old_vectors(case: CaseWriter) -> None:
    """A vacuum deletes the vector files that no version needs any more."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(1, 2, 3, 4))
    recipe.delete_by_vectors(compare("id", "=", 2, "long"))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).given()
    recipe.run("vacuum", kept=old_files(case), gone=_removed_vectors).publish(case)


@VACUUM.case("write-unknown-feature", "VPC-002")
def _vacuum_unknown(case: CaseWriter) -> None:
    """A vacuum of a table with an unknown writer feature is refused."""
    protocol = Protocol(3, 7, ("vacuumProtocolCheck",), ("fromAnotherWorld", "vacuumProtocolCheck"))
    recipe = Recipe(PAIR, protocol=protocol).append(pairs(1)).append(pairs(2))
    recipe.delete(compare("id", "=", 1, "long")).given()
    recipe.run("vacuum", kept=lambda b: [*old_files(case)(b), *removed_files(b)])
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "VPC-002"))


_GUARDED: Final = ("deletionVectors", "vacuumProtocolCheck")


@VACUUM.case("write-unknown-feature-vectors", "VPC-002", features=_GUARDED)
def _vacuum_unknown_vectors(case: CaseWriter) -> None:
    """A vacuum that is refused deletes no vector file either."""
    protocol = Protocol(3, 7, _GUARDED, (*_GUARDED, "fromAnotherWorld"))
    recipe = Recipe(PAIR, (), WITH_VECTORS, protocol=protocol).append(pairs(1, 2, 3, 4))
    recipe.append(pairs(9)).delete(compare("id", "=", 9, "long"))
    recipe.delete_by_vectors(compare("id", "=", 2, "long"))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).given()

    def kept(builder: TableBuilder) -> list[str]:
        return [*old_files(case)(builder), *removed_files(builder), *_removed_vectors(builder)]

    recipe.run("vacuum", kept=kept)
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "VPC-002"))


@VACUUM.case("write-unknown-feature-later", "VPC-002")
def _vacuum_unknown_later(case: CaseWriter) -> None:
    """A vacuum goes by the latest protocol, not by that of a checkpoint."""
    known = ("vacuumProtocolCheck",)
    recipe = Recipe(PAIR, protocol=Protocol(3, 7, known, known)).append(pairs(1)).append(pairs(2))
    recipe.checkpoint().delete(compare("id", "=", 1, "long")).given()
    recipe.run("vacuum", kept=lambda b: [*old_files(case)(b), *removed_files(b)])
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "VPC-002"))
    go_over(case, Protocol(3, 7, known, (*known, "fromAnotherWorld")))


@FEED.case("write-vacuum", "FA-008")
def _vacuum_changes(case: CaseWriter) -> None:
    """A vacuum keeps versions that are not old, changes and all."""
    recipe = Recipe(PAIR, (), {"delta.enableChangeDataFeed": "true"}).append(pairs(1, 2, 3))
    recipe.update({"name": "x"}, compare("id", "=", 2, "long"))
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.run("vacuum").append(pairs(4)).publish(case)


@FILES.case("write-vacuum-retained", "FA-008")
def _retained(case: CaseWriter) -> None:
    """A vacuum keeps an old file that went a moment ago."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4)).given()
    recipe.delete(is_in("id", [2, 4], "long"))
    recipe.run("vacuum", kept=aged(case)).append(pairs(5)).publish(case)


@DESIGN.case("write-vacuum-retained-vectors", "DVD-003")
def _retained_vectors(case: CaseWriter) -> None:
    """A vacuum keeps a vector that was replaced a moment ago."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(1, 2, 3, 4))
    recipe.delete_by_vectors(compare("id", "=", 2, "long")).given()
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.run("vacuum", kept=old_files(case)).append(pairs(5)).publish(case)


@FILES.case("write-vacuum-before", "DATA-004")
def _vacuum_before(case: CaseWriter) -> None:
    """No file after a vacuum has a name that one had before."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4)).append(pairs(5))
    recipe.delete(is_in("id", [2, 4], "long")).given()
    recipe.run("vacuum", kept=old_files(case), gone=removed_files)
    recipe.append(pairs(6)).update({"name": "x"}, compare("id", "=", 1, "long"))
    recipe.run("optimize").overwrite(pairs(7)).publish(case)


@FILES.case("write-vacuum-encoded-paths", "FA-008 SNAP-005 ADD-003")
def _encoded_paths(case: CaseWriter) -> None:
    """A vacuum knows live files whose paths have escapes in the log."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).append(pairs(4))
    recipe.delete(compare("id", "=", 3, "long")).given()

    def kept(builder: TableBuilder) -> list[str]:
        for version, name in ((1, "a b.parquet"), (3, "p=x%20y/ä#1.parquet")):
            lines = read_commit(case.delta, version)
            body = next(line["add"] for line in lines if "add" in line)
            place = case.delta / name
            place.parent.mkdir(exist_ok=True)
            (case.delta / body["path"]).rename(place)
            body["path"] = quote(name)
            write_commit(case.delta, version, lines)
        old_files(case)(builder)
        return ["a b.parquet", "p=x%20y/ä#1.parquet"]

    recipe.run("vacuum", kept=kept, gone=removed_files).publish(case)


@FILES.case("write-vacuum-odd-names", "FA-008 ADD-003")
def _vacuum_odd_names(case: CaseWriter) -> None:
    """A vacuum keeps live files in folders whose names are escaped."""
    schema = struct(id="long", part="string")
    parts = ("a b", "50%", "x/y", "é", "c:d", "q?r", "s#t", "u=v")
    rows = [{"id": number, "part": part} for number, part in enumerate(parts)]
    recipe = Recipe(schema, ("part",)).append(rows).append([{"id": 90, "part": "50%"}])
    recipe.delete(compare("id", "=", 90, "long")).given()
    recipe.run("vacuum", kept=old_files(case), gone=removed_files).publish(case)


@FILES.case("write-vacuum-long-retention", "FA-008 SNAP-005")
def _long_retention(case: CaseWriter) -> None:
    """A vacuum keeps what the table promises to keep for longer."""
    properties = {"delta.deletedFileRetentionDuration": "interval 100000 days"}
    recipe = Recipe(PAIR, (), properties).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.delete(is_in("id", [2, 4], "long")).given()

    def kept(builder: Any) -> list[str]:
        return sorted({*old_files(case)(builder), *removed_files(builder)})

    recipe.run("vacuum", kept=kept).publish(case)
