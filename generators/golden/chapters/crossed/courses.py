"""Cases of writing: every kind of table through courses of operations, one after the other.

Covers the sections that :mod:`generators.golden.chapters.crossed.tables` names. A course asks for
what follows on what: a change after a change, after a checkpoint, after a restore, of all rows and
of none. What each step leaves is compared as after every recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import Filter, compare, is_in
from generators.golden.cases.recipes import SAME_ID, UPSERT, Recipe
from generators.golden.chapters.crossed.tables import KINDS, Kind
from generators.oracle.delta_schema import field
from generators.oracle.operations import SetComment


def _ids(*numbers: int) -> Filter:
    return is_in("id", list(numbers), "long")


def _upsert(kind: Kind, recipe: Recipe, *numbers: int) -> Recipe:
    # A row that is as it was need not be written again.
    rows = [{**row, "name": f"m{row['id']}"} for row in kind.rows(recipe, *numbers)]
    if kind.numbered:
        # Rows that match would keep their number.
        return recipe.merge_numbered(kind.numbered, rows, SAME_ID, *UPSERT)
    return recipe.merge(rows, SAME_ID, *UPSERT)


def _changes(kind: Kind, recipe: Recipe) -> None:
    """Change rows again and again: some of a file, the rest of it, none, and all."""
    kind.append(kind.append(recipe, *range(8)), 20, 21, 22)
    recipe.delete(_ids(1, 20)).delete(_ids(2, 21)).update({"name": "x"}, _ids(3, 22))
    recipe.update({"name": "y"}, _ids(3, 4)).delete(compare("id", "=", 22, "long"))
    recipe.update({"name": "z"}, _ids(900)).delete(_ids(901))
    if kind.numbered:
        _upsert(kind, recipe, 30, 31)
    else:
        _upsert(kind, recipe, 3, 5, 30)
    kind.overwrite(recipe, 40, 41, where=compare("id", ">=", 6, "long"))
    kind.append(recipe, 50).delete(_ids(40)).update({"name": "w"})


def _moves(kind: Kind, recipe: Recipe) -> None:
    """Rearrange and restore, with changes between, and once more."""
    kind.append(kind.append(recipe, *range(6)), 20, 21)
    recipe.delete(_ids(1, 20)).run("optimize").delete(_ids(2))
    kind.append(recipe.update({"name": "x"}, _ids(3)), 22, 26).run("optimize").run("optimize")
    kind.append(recipe.restore(3), 23).delete(_ids(0, 21)).run("optimize").restore(6)
    kind.append(recipe.restore(2), 24).run("vacuum")


def _states(kind: Kind, recipe: Recipe) -> None:
    """Change what a checkpoint holds, and write checkpoints of it again."""
    kind.append(kind.append(recipe, *range(6)), 20, 21).set_transaction("app", 7)
    recipe.delete(_ids(1, 20)).checkpoint().delete(_ids(2, 21)).set_transaction("app", 9)
    kind.append(recipe.update({"name": "x"}, _ids(3)).checkpoint(), 22)
    recipe.set_transaction("other", 1).set_properties({"team": "a"}).run("optimize")
    kind.append(recipe.checkpoint().restore(4), 23).checkpoint().delete(_ids(0))
    kind.append(recipe.checkpoint(), 24)


def _columns(kind: Kind, recipe: Recipe) -> None:
    """Change columns between appends, and change rows that were there and that came."""
    kind.append(recipe, *range(5)).add_column(field("later", "string"))
    kind.append(recipe, 20, 21).do(SetComment("later", "of a customer"))
    recipe.checkpoint().delete(_ids(1, 20)).update({"later": "x"}, _ids(2))
    if kind.mapped:
        recipe.rename_column("later", "last")
        kind.append(recipe, 22).update({"last": "y"}, _ids(3, 22)).drop_column("last")
        kind.append(recipe, 23).add_column(field("later", "long"))
        kind.append(recipe, 24).checkpoint()
    if not recipe.now["name"].nullable:
        recipe.set_nullable("name", nullable=True)
    if "typeWidening" in kind.features:
        recipe.change_type("v", "short").update({"v": 300}, _ids(3)).checkpoint()
        recipe.change_type("v", "long")
    kind.append(recipe.run("optimize"), 25)
    if "typeWidening" not in kind.features:
        recipe.restore(3)  # which may refuse to make a type narrow again
    kind.append(recipe, 26).add_column(field("again", "double"))
    kind.append(recipe, 27)
    if not kind.numbered:
        _upsert(kind, recipe, 0, 28)
    recipe.checkpoint().delete(_ids(27))


def _settings(kind: Kind, recipe: Recipe) -> None:
    """Change settings between changes of rows; what they say nothing of stays as it was."""
    kind.append(recipe, *range(5)).set_properties({"team": "a", "kept": "1"})
    recipe.set_transaction("app", 3).delete(_ids(1)).unset_properties("team")
    recipe.run("enable_feature", feature="checkConstraints")
    recipe.run("add_constraint", name="high", expression="id < 1000000").delete(_ids(2))
    recipe.run("enable_feature", feature="domainMetadata").set_domain("mine", "{}")
    kind.append(recipe.checkpoint(), 20).set_domain("mine", None).set_transaction("app", 2)
    if kind.clustering:
        recipe.run("cluster_by", columns=["id"])
    recipe.run("drop_constraint", name="high").update({"name": "x"}, _ids(3, 20))
    kind.append(recipe.set_domain("mine", "again").checkpoint(), 21).run("optimize")


def _emptied(kind: Kind, recipe: Recipe) -> None:
    """Do everything to a table without rows, and go on."""
    kind.append(recipe.delete(_ids(0)).run("optimize"), *range(4)).delete(_ids(0, 1))
    recipe.delete().checkpoint().run("optimize").update({"name": "x"}).delete()
    _upsert(kind, recipe, 30, 31)
    kind.overwrite(recipe.delete(_ids(30)), where=_ids(31)).checkpoint()
    kind.overwrite(kind.append(recipe, 32, 33)).checkpoint()
    kind.append(recipe.restore(6), 34).delete(_ids(30))


def _summed(kind: Kind, recipe: Recipe) -> None:
    """Compact the log and clean it up, and change what it held."""
    kind.append(kind.append(recipe, *range(6)), 20, 21).delete(_ids(1, 20))
    recipe.set_transaction("app", 7).update({"name": "x"}, _ids(2))
    recipe.run("compact_log", start=1, end=5).delete(_ids(3, 21))
    kind.append(recipe, 22).set_properties({"team": "a"})
    recipe.run("compact_log", start=6, end=8).checkpoint()
    kind.append(recipe.run("cleanup"), 23).delete(_ids(4)).restore(8)
    recipe.run("compact_log", start=9, end=11).run("optimize")
    kind.append(recipe, 24)


def _cut(kind: Kind, recipe: Recipe) -> None:
    """Change a table of which a checkpoint alone holds what came before."""
    kind.append(kind.append(recipe, *range(8)), 20, 21)
    if "deletionVectors" in kind.features:
        recipe.delete_by_vectors(_ids(1, 20))
    else:
        recipe.delete(_ids(1, 20))
    recipe.set_transaction("app", 7).set_transaction("other", 1).checkpoint().given(cut=True)
    kind.append(recipe, 22).delete(_ids(2, 21)).update({"name": "x"}, _ids(3))
    kind.append(recipe, 23).delete(_ids(4))
    if "changeDataFeed" in kind.features:
        # The others are asked of writers that know neither compactions nor transactions.
        recipe.run("compact_log", start=6, end=9).set_transaction("app", 9)
    kind.append(recipe.run("optimize").restore(9).checkpoint(), 24).delete(_ids(5, 22))


def _whole(kind: Kind, recipe: Recipe) -> None:
    """Do every operation on what the others left."""
    kind.append(recipe, *range(6))
    if "typeWidening" in kind.features:
        recipe.change_type("v", "short")
    kind.append(recipe, 20, 21).delete(_ids(1, 20)).update({"name": "x"}, _ids(2))
    _upsert(kind, recipe, 31 if kind.numbered else 3, 30)
    kind.overwrite(recipe.run("optimize"), 40, where=compare("id", ">=", 21, "long"))
    kind.append(recipe.checkpoint().delete(_ids(40)).restore(4), 50).delete(_ids(0))


_COURSES: Final[Mapping[str, tuple[str, Callable[[Kind, Recipe], None]]]] = {
    "changes": ("Rows of {} are changed again", _changes),
    "moves": ("{} is rearranged and restored", _moves),
    "states": ("{} is checkpointed and changed", _states),
    "columns": ("Columns of {} change", _columns),
    "settings": ("Settings of {} change", _settings),
    "emptied": ("{} is emptied and filled", _emptied),
    "whole": ("{} goes through every operation", _whole),
    "cut": ("{} is changed behind a cut log", _cut),
    "compactions": ("{} has its log compacted", _summed),
}


def _build(course: Callable[[Kind, Recipe], None], kind: Kind, case: CaseWriter) -> None:
    recipe = kind.recipe()
    course(kind, recipe)
    recipe.publish(case)


def _chapter(kind: Kind) -> Chapter:
    chapter = Chapter(kind.chapter, since=kind.since)
    for name in kind.courses.split():
        title, course = _COURSES[name]
        said = title.format(kind.title)
        chapter.define(
            f"write-{name}-course{kind.slug}",
            said[0].upper() + said[1:],
            kind.requirements,
            partial(_build, course, kind),
        )
    return chapter


CROSSED: Final = tuple(map(_chapter, KINDS))
