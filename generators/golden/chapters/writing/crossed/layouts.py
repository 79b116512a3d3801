"""Cases of writing: corners of one operation that no course comes to.

Covers "CHECK Constraints", "Row Tracking", "Deletion Vectors", "Clustered Table" and "Domain
Metadata": tables whose files have several groups of rows or lie in folders, and what lies in
checkpoints alone.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS
from generators.golden.chapters.writing.given import by_another, old_files
from generators.golden.chapters.writing.starts import CLUSTERING, TRACKED
from generators.materialise.builder import TableBuilder
from generators.materialise.data.data_files import FileLayout
from generators.materialise.log.files import read_commit, write_commit
from generators.oracle.operations import SetComment

APPEND_ONLY: Final = Chapter("append-only-tables")
CHECKS: Final = Chapter("check-constraints", since="2025")
ROWS: Final = Chapter("row-tracking", since="2025")
DELETED: Final = Chapter("deletion-vectors", since="2025")
DESIGN: Final = Chapter("deletion-vectors-design", since="2025")
CLUSTERED: Final = Chapter("clustered-table", since="2025")
DOMAINS: Final = Chapter("domain-metadata", since="2025")

_GROUPS: Final = FileLayout(row_group_rows=3)


@APPEND_ONLY.case("write-settings", "APP-002 APP-003")
def _still_locked(case: CaseWriter) -> None:
    """A table stays append-only whatever else is set."""
    recipe = Recipe.active(PAIR, "appendOnly", "checkConstraints").append(pairs(1, 2))
    recipe.run("add_constraint", name="positive", expression="id > 0").append(pairs(3))
    recipe.set_properties({"team": "a"}).run("drop_constraint", name="positive")
    recipe.do(SetComment("name", "of a customer")).append(pairs(4)).delete(
        compare("id", "=", 1, "long")
    )
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


_LOCKED: Final = {
    **WITH_VECTORS,
    "delta.appendOnly": "true",
    "delta.columnMapping.mode": "name",
    "delta.enableChangeDataFeed": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableRowTracking": "true",
}
_LISTED: Final = (
    "appendOnly", "changeDataFeed", "columnMapping", "deletionVectors", "domainMetadata",
    "inCommitTimestamp", "rowTracking", "v2Checkpoint",
)  # fmt: skip


@APPEND_ONLY.case(
    "write-update-with-features", "APP-002", since="2025", features=("columnMapping",)
)
def _locked_among_features(case: CaseWriter) -> None:
    """An append-only table of many features has an update refused."""
    recipe = Recipe(PAIR, ("name",), _LOCKED, _LISTED).append(pairs(1, 2))
    recipe.append(pairs(3)).checkpoint().update({"id": 7}, compare("id", "=", 1, "long"))
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


_MERGED = [{"id": n, "name": f"m{n}"} for n in (5, 30)]
"""Rows that differ from those with the same id."""


@CHECKS.case("write-add-broken-group", "CHK-009 CHK-010")
def _broken_group(case: CaseWriter) -> None:
    """A constraint that a late row of a file breaks is not added."""
    recipe = Recipe(PAIR, layout=_GROUPS).append(pairs(*range(1, 9), -1)).given()
    recipe.run("add_constraint", name="positive", expression="id > 0")
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-009"))


@ROWS.case("write-groups", "RT-029 RT-045 RT-049")
def _tracked_groups(case: CaseWriter) -> None:
    """Rows of every group of a file keep their ids."""
    recipe = Recipe.active(PAIR, *TRACKED, layout=_GROUPS).append(pairs(*range(10)))
    recipe.append(pairs(20, 21)).given().update({"name": "x"}, is_in("id", [1, 7, 9], "long"))
    recipe.delete(compare("id", "=", 4, "long")).run("optimize")
    recipe.merge(_MERGED, SAME_ID, *UPSERT).publish(case)


@DELETED.case("write-groups", "DVD-017 DVDESC-020")
def _deleted_groups(case: CaseWriter) -> None:
    """Vectors count the rows of a file over all its groups."""
    recipe = Recipe.active(PAIR, "deletionVectors", layout=_GROUPS)
    recipe.append(pairs(*range(10))).given().delete(is_in("id", [1, 7], "long"))
    recipe.delete(is_in("id", [4, 9], "long")).update({"name": "x"}, compare("id", "=", 8, "long"))
    recipe.merge(_MERGED, SAME_ID, *UPSERT).run("optimize").append(pairs(40)).publish(case)


@DELETED.case("write-convert", "TF-008 DVD-017")
def _converted(case: CaseWriter) -> None:
    """A table converted with vectors lists them for readers and writers."""
    recipe = Recipe(PAIR).append(pairs(*range(6))).given().convert(WITH_VECTORS)
    recipe.delete(is_in("id", [1, 3], "long")).append(pairs(9)).publish(case)


@DESIGN.case("write-vacuum-folders", "DVD-003 DVD-004 DVD-001")
def _folders(case: CaseWriter) -> None:
    """A vacuum keeps vectors of live files in folders of their own."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6)))
    recipe.append(pairs(20, 21)).delete_by_vectors(is_in("id", [1, 20], "long")).given()

    def kept(builder: TableBuilder) -> list[str]:
        _into_folder(case.delta, builder.version)
        return [f"ab/{n}" if n.endswith(".bin") else n for n in old_files(case)(builder)]

    recipe.run("vacuum", kept=kept)
    recipe.delete(compare("id", "=", 2, "long")).append(pairs(30)).publish(case)


def _into_folder(root: Path, version: int) -> None:
    """Move the vector files of the last commit into a folder, as a writer at random does."""
    (root / "ab").mkdir()
    for path in root.glob("*.bin"):
        shutil.move(path, root / "ab" / path.name)
    lines: list[dict[str, Any]] = read_commit(root, version)
    for vector in (line["add"].get("deletionVector") for line in lines if "add" in line):
        if vector is not None:
            vector["pathOrInlineDv"] = f"ab{vector['pathOrInlineDv']}"
    write_commit(root, version, lines)


@CLUSTERED.case("write-cluster-run-checkpointed", "CLUS-009 CLUS-012")
def _clustered(case: CaseWriter) -> None:
    """A run behind a checkpoint leaves the files of another alone."""
    recipe = Recipe(PAIR, (), {}, ("clustering", "domainMetadata"))
    recipe.set_domain("delta.clustering", CLUSTERING).append(pairs(7, 3, 5))
    recipe.append(pairs(9, 1)).append(pairs(8, 2)).given().checkpoint()
    recipe.run("optimize", cluster=by_another(case, 2)).append(pairs(4)).checkpoint()
    recipe.run("optimize", cluster=True).publish(case)


@DOMAINS.case("write-multi-part", "DOM-014 CKPT-021")
def _parts(case: CaseWriter) -> None:
    """A checkpoint of several parts keeps the domains."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).set_domain("mine", "{}")
    recipe.set_domain("gone", "x").append(pairs(1, 2)).append(pairs(3)).set_domain("gone", None)
    recipe.checkpoint("multi-part", parts=2).append(pairs(4)).set_domain("other", "1")
    recipe.checkpoint("multi-part", parts=3).append(pairs(5))
    recipe.publish(case, needs=("checkpoint.kind",))
