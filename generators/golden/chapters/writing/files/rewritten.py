"""Cases of writing: changes of rows rewrite, remove and restore files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import all_of, any_of, compare, is_in, is_null, negate
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Computed, Recipe, pairs
from generators.golden.chapters.writing.starts import KEYED, TRIPLE, plus, triples
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import MergeClause

FILES: Final = Chapter("add-file-and-remove-file")


@FILES.case("write-delete-some", "DATA-004 DATA-005 FA-005 FA-021")
def _delete_some(case: CaseWriter) -> None:
    """A delete keeps the other rows of its files."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4, 5, 6))
    recipe.delete(is_in("id", [2, 6], "long")).append(pairs(7)).publish(case)


@FILES.case("write-delete-all", "DATA-005 FA-005 FA-021")
def _delete_all(case: CaseWriter) -> None:
    """A delete without a filter leaves no rows."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).delete()
    recipe.append(pairs(9)).publish(case)


@FILES.case("write-delete-unknown", "DATA-005 FA-021")
def _delete_unknown(case: CaseWriter) -> None:
    """Rows for which a filter is null are kept."""
    rows: list[dict[str, Any]] = [
        {"id": None, "name": "x"},
        {"id": 1, "name": None},
        {"id": 2, "name": "y"},
    ]
    recipe = Recipe(PAIR).append(rows).delete(compare("id", "<>", 1, "long"))
    recipe.delete(negate(is_null("name"))).publish(case)


@FILES.case("write-delete-null-constant", "DATA-005 FA-021")
def _delete_null_constant(case: CaseWriter) -> None:
    """A filter that is null whatever the row deletes and changes nothing."""
    never = compare("id", ">", None, "long")
    recipe = Recipe(PAIR).append(pairs(1, 2)).delete(never).update({"name": "x"}, never)
    recipe.delete(negate(never)).append(pairs(3)).publish(case)


@FILES.case("write-delete-combined", "DATA-005 FA-021")
def _delete_combined(case: CaseWriter) -> None:
    """A delete follows AND, OR and NOT."""
    low, high = compare("id", "<", 3, "long"), compare("id", ">=", 8, "long")
    named = compare("name", "=", "n4", "string")
    recipe = Recipe(PAIR).append(pairs(*range(5))).append(pairs(*range(5, 10)))
    recipe.delete(any_of(all_of(low, negate(compare("id", "=", 0, "long"))), high, named))
    recipe.publish(case)


@FILES.case("write-overwrite", "DATA-004 DATA-005 FA-021")
def _overwrite(case: CaseWriter) -> None:
    """An overwrite leaves only the new rows."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).overwrite(pairs(3)).overwrite([])
    recipe.append(pairs(4)).publish(case)


@FILES.case("write-overwrite-filter", "DATA-005 FA-021")
def _overwrite_filter(case: CaseWriter) -> None:
    """An overwrite by filter keeps the other rows."""
    rows = [{"id": number, "part": "ab"[number % 2]} for number in range(6)]
    recipe = Recipe(KEYED, ("part",)).append(rows)
    recipe.overwrite([{"id": 100, "part": "a"}], compare("part", "=", "a", "string")).publish(case)


@FILES.case("write-update", "DATA-004 DATA-005 FA-021")
def _update(case: CaseWriter) -> None:
    """An update changes the rows of its filter only."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.update({"name": "changed"}, compare("id", "<=", 2, "long"))
    recipe.update({"name": None}, compare("id", "=", 4, "long")).publish(case)


@FILES.case("write-update-partition", "DATA-004 FA-021 ADD-004")
def _update_partition(case: CaseWriter) -> None:
    """An update moves rows between partitions."""
    rows = [{"id": number, "part": "ab"[number % 2]} for number in range(4)]
    recipe = Recipe(KEYED, ("part",)).append(rows)
    recipe.update({"part": "c"}, compare("id", "=", 1, "long"))
    recipe.update({"part": None}, compare("part", "=", "a", "string")).publish(case)


_ODD: Final[Mapping[str, str]] = {
    "percent": "100%",
    "escape": "a%20b",
    "space": "two words",
    "slash": "a/b",
    "equals": "k=v",
    "colon": "12:30",
    "unicode": "\u00e9\u6f22\U0001f600",
    "plus": "a+b",
    "hash": "#1?x",
    "quotes": 'it\'s "so"',
    "dots": "..",
    "null-word": "null",
    "outer-spaces": " x ",
    "number": "007",
    "backslash": "a\\b",
    "decomposed": "e\u0301",
}


def _odd_value(value: str, case: CaseWriter) -> None:
    rows = [{"id": 1, "part": value}, {"id": 2, "part": "plain"}, {"id": 3, "part": value}]
    Recipe(KEYED, ("part",)).append(rows).delete(compare("id", "=", 3, "long")).publish(case)


for _name, _value in _ODD.items():
    FILES.define(
        f"write-odd-value-{_name}",
        "A partition value of special characters is written and read back",
        "ADD-004 DATA-002 PART-003",
        partial(_odd_value, _value),
    )


@FILES.case("write-odd-changes", "ADD-004 CDC-006 CDFF-001", since="2025")
def _odd_changes(case: CaseWriter) -> None:
    """Change files of an odd partition are found by their paths."""
    rows = [{"id": 1, "part": "a b%#"}, {"id": 2, "part": "plain"}, {"id": 3, "part": "a b%#"}]
    recipe = Recipe(KEYED, ("part",), {"delta.enableChangeDataFeed": "true"}).append(rows)
    recipe.update({"id": 9}, compare("id", "=", 3, "long")).publish(case)


@FILES.case("write-odd-columns", "ADD-004 DATA-002")
def _odd_columns(case: CaseWriter) -> None:
    """Column names with special characters partition a table."""
    schema = struct(field("id", "long"), field("p\u00e9#:%20", "string"))
    name = schema.fields[1].name
    recipe = Recipe(schema, (name,)).append([{"id": 1, name: "x"}, {"id": 2, name: None}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@FILES.case("write-append-partitions", "ADD-004 DATA-004 PART-003")
def _append_partitions(case: CaseWriter) -> None:
    """An append to a partitioned table says each value."""
    recipe = Recipe(KEYED, ("part",)).append([{"id": 1, "part": "a"}]).given()
    values = ("b c", None, '<d>|`e}^[f]&"g"')
    recipe.append([{"id": n, "part": value} for n, value in enumerate(values, 2)]).publish(case)


@FILES.case("write-delete-given", "DATA-005 FA-005 FA-021")
def _delete_given(case: CaseWriter) -> None:
    """A delete goes on top of another writer's files."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.delete(is_in("id", [2, 3], "long")).publish(case)


@FILES.case("write-update-computed", "DATA-004 DATA-005 FA-021")
def _update_computed(case: CaseWriter) -> None:
    """An update computes from the row as it was."""
    recipe = Recipe(TRIPLE).append(triples(1, 2, 3)).append(triples(4, 5))
    recipe.update({"n": plus("n", 1)}, compare("id", "<=", 4, "long"))
    recipe.update({"n": Computed(node("*", column("n"), column("n"))), "name": "squared"})
    recipe.update({"id": plus("id", 100, "long"), "n": 7}, is_null("n")).publish(case)


@FILES.case("write-update-computed-types", "DATA-004 FA-021")
def _update_computed_types(case: CaseWriter) -> None:
    """An update computes values of every numeric type."""
    kinds = ("byte", "short", "integer", "long", "float", "double")
    schema = struct(*(field(kind, kind) for kind in kinds))
    rows: list[dict[str, Any]] = [dict.fromkeys(kinds, number) for number in (1, 2, None)]
    for row in rows[:2]:
        row |= {kind: row[kind] + 0.5 for kind in ("float", "double")}
    recipe = Recipe(schema).append(rows)
    recipe.update({kind: plus(kind, 3, kind) for kind in kinds[:4]})
    recipe.update({k: Computed(node("*", column(k), column(k))) for k in kinds[4:]})
    recipe.publish(case)


@FILES.case("write-merge-partitions", "DATA-004 FA-021 ADD-004")
def _merge_partitions(case: CaseWriter) -> None:
    """A merge moves rows between partitions."""
    rows = [{"id": number, "part": "ab"[number % 2]} for number in range(4)]
    recipe = Recipe(struct(id="long", part="string"), ("part",)).append(rows)
    moved: list[dict[str, Any]] = [
        {"id": 1, "part": "c"},
        {"id": 2, "part": None},
        {"id": 9, "part": "b"},
    ]
    recipe.merge(moved, SAME_ID, *UPSERT).publish(case)


@FILES.case("write-merge-many", "DATA-004 FA-021")
def _merge_many(case: CaseWriter) -> None:
    """A merge changes many rows of a file by several clauses."""
    recipe = Recipe(TRIPLE).append(triples(*range(1, 13))).append(triples(20, 21))
    recipe.merge(
        [{"id": number, "n": number * 1000, "name": "new"} for number in (11, 2, 7, 5, 30, 4, 20)],
        SAME_ID,
        MergeClause("matched", "update", node("=", column("target", "id"), literal("long", 7))),
        MergeClause("matched", "update", None, {"n": column("source", "n")}),
        MergeClause("not_matched", "insert"),
        MergeClause("not_matched_by_source", "update", None, {"name": literal("string", "left")}),
    )
    recipe.delete(compare("id", "=", 12, "long")).publish(case)


@FILES.case("write-merge-nothing", "DATA-004 FA-021")
def _merge_nothing(case: CaseWriter) -> None:
    """A merge that matches nothing changes no rows."""
    recipe = Recipe(PAIR).append([*pairs(1, 2), {"id": None, "name": "null"}])
    source: list[dict[str, Any]] = [{"id": 7, "name": "x"}, {"id": None, "name": "y"}]
    recipe.merge(source, SAME_ID, MergeClause("matched", "delete")).publish(case)


@FILES.case("write-merge-null-parents", "DATA-004 FA-021")
def _merge_null_parents(case: CaseWriter) -> None:
    """A condition over a field of a struct that is null holds for no row."""
    schema = struct(field("id", "long"), field("s", struct(x="long")))
    recipe = Recipe(schema).append([{"id": 1, "s": None}, {"id": 2, "s": {"x": 5}}])

    def other(side: str) -> dict[str, Any]:
        return node("not", node("=", column(side, "s", "x"), literal("long", 7)))

    recipe.merge(
        [{"id": 1, "s": {"x": 1}}, {"id": 2, "s": {"x": 2}}, {"id": 3, "s": None}],
        SAME_ID,
        MergeClause("matched", "update", other("target")),
        MergeClause("not_matched", "insert", other("source")),
    )
    recipe.merge([], SAME_ID, MergeClause("not_matched_by_source", "delete", other("target")))
    recipe.publish(case)


@FILES.case("write-optimize-partitions", "DATA-004 FA-017 FA-021 ADD-004")
def _optimize_partitions(case: CaseWriter) -> None:
    """An optimize moves rows within their partition."""
    recipe = Recipe(struct(id="long", part="string"), ("part",))
    for start in (0, 10, 20):
        recipe.append(
            [{"id": start + at, "part": part} for at, part in enumerate(("a", "b", None))]
        )
    recipe.run("optimize").delete(compare("id", "=", 10, "long")).publish(case)


@FILES.case("write-restore", "DATA-004 FA-021 META-011")
def _restore(case: CaseWriter) -> None:
    """A restore brings rows and properties of then back."""
    recipe = Recipe(PAIR, (), {"team": "a"}).append(pairs(1, 2)).append(pairs(3))
    recipe.set_properties({"team": "b"}).delete(compare("id", "=", 2, "long"))
    recipe.restore(2).append(pairs(4)).restore(1).publish(case)


@FILES.case("write-empty-append", "WCON-002 ADD-005")
def _empty_partitioned(case: CaseWriter) -> None:
    """Appending no rows leaves no file without values of partitions."""
    recipe = Recipe(struct(id="long", part="string"), ("part",)).append([{"id": 1, "part": "a"}])
    recipe.append([]).append([{"id": 2, "part": None}]).publish(case)


@FILES.case("write-unknown-beside", "DATA-005 FA-021")
def _unknown_beside(case: CaseWriter) -> None:
    """A row for which a filter is null stays where the others match."""
    known = compare("id", ">=", 1, "long")
    recipe = Recipe(PAIR).append([*pairs(1, 2), {"id": None, "name": "unknown"}])
    recipe.update({"name": "changed"}, known).overwrite(pairs(5, 6), known)
    recipe.append([{"id": None, "name": "too"}, *pairs(7)]).delete(known).publish(case)
