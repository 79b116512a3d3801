"""Cases of writing: clustered tables have statistics of their columns."""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Computed, Recipe, pairs, unasked
from generators.golden.chapters.writing.given import by_another
from generators.golden.chapters.writing.starts import CLUSTERING, MAPPED
from generators.oracle.delta_schema import Struct, field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal

CLUSTERED: Final = Chapter("clustered-table", since="2025")


@CLUSTERED.case("write-append", "CLUS-006 CLUS-009")
def _append_clustered(case: CaseWriter) -> None:
    """Rows that are appended have statistics of the clustering columns."""
    properties = {"delta.dataSkippingNumIndexedCols": "1"}
    recipe = Recipe(PAIR, (), properties, clustering_columns=("name",)).append(pairs(1, 2))
    recipe.append([{"id": 3, "name": None}])
    recipe.publish(
        case,
        contested=[
            ("carried-out", "whatever the property says, the columns have statistics", None),
            (
                "refused",
                "the property, of no text of the protocol, leaves them without statistics",
                Refusal("invalid_table", "commit", "CLUS-009", of=("create", "append")),
            ),
        ],
    )


@CLUSTERED.case("write-cluster-run", "CLUS-011 CLUS-012 CLUS-009")
def _cluster_run(case: CaseWriter) -> None:
    """A run clusters what nobody has, tells who did, and leaves others alone."""
    recipe = Recipe(PAIR, (), {}, ("clustering", "domainMetadata"))
    recipe.set_domain("delta.clustering", CLUSTERING).append(pairs(7, 3, 5))
    recipe.append(pairs(9, 1)).append(pairs(8, 2)).given()
    recipe.run("optimize", cluster=by_another(case, 2)).append(pairs(4)).publish(case)


@CLUSTERED.case("write-nested", "CLUS-009 CLUS-006")
def _nested(case: CaseWriter) -> None:
    """Every change counts a clustering column that is within a struct."""
    within = struct(field("a", "integer"), field("b", "string"))
    schema = struct(field("id", "long"), field("name", "string"), field("s", within))
    rows = [{"id": n, "name": f"n{n}", "s": {"a": n % 3, "b": "x"}} for n in range(8)]
    recipe = Recipe(schema, (), {}, ("clustering", "domainMetadata"))
    recipe.set_domain("delta.clustering", '{"clusteringColumns":[["s","a"]]}')
    recipe.append(rows[:4]).given().append(rows[4:6]).update(
        {"name": "x"}, is_in("id", [1, 5], "long")
    )
    recipe.merge([{**rows[2], "name": "y"}, rows[6]], SAME_ID, *UPSERT).run("optimize")
    recipe.append(rows[7:]).publish(case)


@CLUSTERED.case("write-cluster-run-vectors", "CLUS-012", features=("deletionVectors",))
def _cluster_run_vectors(case: CaseWriter) -> None:
    """A run leaves a file of another alone though rows of it are deleted."""
    recipe = Recipe.active(PAIR, "clustering", "domainMetadata", "deletionVectors")
    recipe.set_domain("delta.clustering", CLUSTERING).append(pairs(7, 3, 5)).append(pairs(9, 1))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).append(pairs(8, 2)).given()
    recipe.run("optimize", cluster=by_another(case, 2, 4)).append(pairs(4)).publish(case)


_NO_STATISTICS: Final = {"delta.dataSkippingNumIndexedCols": "0"}


def _indexed(*steps: str) -> list[tuple[str, str, Refusal | None]]:
    """Return what becomes of a clustered table whose property asks for statistics of no column.

    Args:
        steps: operations that may be refused.
    """
    return [
        ("carried-out", "whatever the property says, clustering columns have statistics", None),
        (
            "refused",
            "the property, of no text of the protocol, leaves the columns without statistics",
            Refusal("invalid_table", "commit", "CLUS-009", of=steps),
        ),
    ]


def _clustered(properties: dict[str, str], features: tuple[str, ...], case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), properties, features, clustering_columns=("name",))
    recipe.append(pairs(1, 5, 3)).append(pairs(4, 2)).run("optimize")
    recipe.update({"id": Computed(node("+", column("id"), literal("long", 10)))})
    recipe.delete(compare("id", "=", 13, "long"))
    recipe.publish(case, contested=_indexed("create", "append"))


CLUSTERED.define(
    "write-changes",
    "Every file of a clustered table has statistics of its columns",
    "CLUS-006 CLUS-009",
    partial(_clustered, _NO_STATISTICS, ()),
)

CLUSTERED.define(
    "write-changes-mapped",
    "The columns of a clustered table are kept by physical name",
    "CLUS-006 CLUS-009 CM-035",
    partial(_clustered, {**_NO_STATISTICS, **MAPPED}, ("columnMapping",)),
    since="upstream",
)


@CLUSTERED.case("write-cluster-later", "CLUS-009 CLUS-010")
def _cluster_later(case: CaseWriter) -> None:
    """Files that are there get statistics of a clustering column."""
    recipe = Recipe(PAIR, (), _NO_STATISTICS).append(pairs(1, 2)).append(pairs(3))
    recipe.run("cluster_by", columns=["id"]).append(pairs(4))
    recipe.run("cluster_by", columns=["name", "id"]).append(pairs(5))
    recipe.publish(case, contested=_indexed("cluster_by"))


@CLUSTERED.case("write-cluster-later-mapped", "CLUS-009 CLUS-010")
def _cluster_later_mapped(case: CaseWriter) -> None:
    """Files of a checkpoint get statistics by the names that files have."""
    properties = {**_NO_STATISTICS, **MAPPED}
    recipe = Recipe(PAIR, (), properties, ("columnMapping",)).append(pairs(1, 2))
    recipe.rename_column("name", "label").append([{"id": 3, "label": None}]).run("checkpoint")
    recipe.append([{"id": 4, "label": "d"}]).run("cluster_by", columns=["label"])
    recipe.append([{"id": 5, "label": "e"}]).run("cluster_by", columns=["label", "id"])
    recipe.publish(case, contested=_indexed("cluster_by"))


@CLUSTERED.case("write-far-column", "CLUS-009")
def _far_clusters(case: CaseWriter) -> None:
    """A clustering column has statistics, wherever it stands among others."""
    fillers = (field(f"c{number}", "integer") for number in range(1, 33))
    schema = Struct((field("id", "long"), *fillers, field("name", "string")))
    recipe = Recipe(schema, clustering_columns=("name",)).append(pairs(1, 2))
    recipe.delete(compare("id", "=", 1, "long")).append(pairs(3))
    recipe.publish(case, contested=_indexed("create"))


@CLUSTERED.case("write-cluster-empty", "CLUS-003 CLUS-006 CLUS-009")
def _cluster_empty(case: CaseWriter) -> None:
    """A table without files is clustered, and again once it has none left."""
    recipe = Recipe(PAIR).run("cluster_by", columns=["name"]).append(pairs(1, 2)).delete()
    recipe.run("cluster_by", columns=["id"]).append(pairs(3))
    recipe.publish(case, contested=unasked("CLUS-002", "cluster_by"))


@CLUSTERED.case("write-cluster-vectors", "CLUS-009 CLUS-010 STAT-005")
def _clustered_vectors(case: CaseWriter) -> None:
    """Statistics that a file with a vector gets are no tight ones."""
    properties = {**_NO_STATISTICS, "delta.enableDeletionVectors": "true"}
    recipe = Recipe(PAIR, (), properties, ("deletionVectors",)).append(pairs(*range(9)))
    recipe.append([*pairs(20, 21), {"id": None, "name": "null"}])
    recipe.delete(is_in("id", [0, 8, 21], "long")).run("cluster_by", columns=["id"])
    recipe.append(pairs(31, 30)).delete(is_in("id", [20, 31], "long"))
    recipe.run("optimize", cluster=True).publish(case, contested=_indexed("cluster_by"))


@CLUSTERED.case("write-restore-before-column", "CLUS-006 CLUS-009")
def _restored_clusters(case: CaseWriter) -> None:
    """After a restore the clustering columns are columns of the table."""
    recipe = Recipe(PAIR, clustering_columns=("id",)).append(pairs(1, 2))
    recipe.add_column(field("later", "string")).append([{"id": 3, "name": "c", "later": "x"}])
    recipe.run("cluster_by", columns=["later"])
    recipe.restore(1).append(pairs(4)).publish(case)


@CLUSTERED.case("write-restore-before-clustered", "CLUS-006")
def _restored_unclustered(case: CaseWriter) -> None:
    """A table is restored to a version before it was clustered."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).run("cluster_by", columns=["name"])
    recipe.append(pairs(3)).restore(1).append(pairs(4))
    recipe.publish(case, contested=unasked("CLUS-002", "cluster_by"))


@CLUSTERED.case("write-merge", "CLUS-009 CLUS-006")
def _merged_clusters(case: CaseWriter) -> None:
    """A merge and an overwrite write statistics of clustering columns."""
    recipe = Recipe(PAIR, clustering_columns=("name",)).append(pairs(1, 5, 3))
    recipe.merge(pairs(5, 9), SAME_ID, *UPSERT)
    recipe.overwrite(pairs(7), compare("id", ">", 5, "long")).append(pairs(8)).publish(case)


@CLUSTERED.case("write-partitioned", "CLUS-004")
def _partitioned(case: CaseWriter) -> None:
    """A partitioned table is not clustered."""
    recipe = Recipe(PAIR, ("name",)).append(pairs(1)).run("cluster_by", columns=["id"])
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "CLUS-004"))


_DROPPED: Final = (
    ("carried-out", "a table may be clustered by no column any more", None),
    (
        "refused",
        "the column clusters the table, and no clause has a writer drop it",
        Refusal("constraint", "commit", "CLUS-006"),
    ),
)


@CLUSTERED.case("write-drop-column", "CLUS-006 CLUS-007")
def _drop_clustering(case: CaseWriter) -> None:
    """A column that is dropped clusters nothing any more."""
    recipe = Recipe.active(
        PAIR, "clustering", "domainMetadata", "columnMapping", clustering_columns=("name",)
    )
    recipe.append(pairs(1, 5, 3)).drop_column("name").publish(case, contested=_DROPPED)


@CLUSTERED.case("write-replace-without-column", "CLUS-006")
def _replaced_clusters(case: CaseWriter) -> None:
    """A table that is replaced is not clustered by a column that it lacks."""
    recipe = Recipe(PAIR, clustering_columns=("name",)).append(pairs(1, 2))
    other = struct(id="long", x="double")
    recipe.replace(other, [], [{"id": 7, "x": 0.5}]).append([{"id": 8, "x": None}]).publish(case)


@CLUSTERED.case("write-mapped", "CLUS-006 CM-035", since="upstream")
def _clustered_mapped(case: CaseWriter) -> None:
    """Clustering columns are named by what files call them."""
    recipe = Recipe.active(PAIR, "columnMapping", clustering_columns=("name",))
    recipe.append(pairs(1, 5, 3)).rename_column("name", "label")
    recipe.append([{"id": 7, "label": "x"}]).run("cluster_by", columns=["id", "label"])
    recipe.append([{"id": 8, "label": None}]).publish(case)
