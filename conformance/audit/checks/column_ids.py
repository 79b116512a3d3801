"""Ids and physical names of columns, and ids of what is in arrays and maps.

Covers "Column Mapping" and "Iceberg Compatibility V2".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from conformance.audit.findings import Findings, check, finding
from conformance.audit.read.layout import PHYSICAL_NAME, Column, Layout, parts_of
from conformance.audit.read.raw import mapping_in
from conformance.audit.subjects import Step

_KEY: Final = "delta.columnMapping.nested.ids"
_OLDER_KEY: Final = "parquet.field.nested.ids"
_INT32_BOUND: Final = 1 << 31
"""The first number above the range of 32-bit integers."""


@check("definition", "ICE2-006 ICE2-007 ICE2-008 ICE2-009 ICE2-010 ICE2-021 ICE2-022")
def nested_ids(step: Step) -> Findings:
    """Report what is in arrays and maps without an id of its own."""
    if not (step.sets_metadata or step.sets_protocol) or not step.new.active("icebergCompatV2"):
        return
    given: Counter[int] = Counter()
    for column in step.new.columns:
        # What has one id under both keys has one.
        held = {
            (place, number)
            for key in (_OLDER_KEY, _KEY)
            for place, number in _by_place(column, key).items()
            if type(number) is int
        }
        given.update(number for _, number in held)
        given.update([] if column.field_id is None else [column.field_id])
        yield from _column(column, step.place)
    yield from _taken(step)
    for key in sorted(_elsewhere(step.new.schema)):
        message = f"{key} is no metadata of a field, where nested ids are to be"
        yield finding("ICE2-008", step.place, message)
    for number, count in given.items():
        if count > 1:
            message = f"{count} columns or parts of them have id {number}"
            yield finding("ICE2-007", step.place, message)


def _taken(step: Step) -> Findings:
    """Report new ids in arrays and maps that a column has had which is dropped."""
    held = {column.field_id for column in step.new.columns} | _given(step.old.columns)
    former = set().union(*step.before.paths.values()) - held
    for number in sorted(_given(step.new.columns) & former):
        message = f"the id {number} of a part of a column was that of a column that is dropped"
        yield finding("ICE2-007", step.place, message, "old files have its values under the id")


def _given(columns: Iterable[Column]) -> set[int]:
    """Return the ids of what is in arrays and maps."""
    found = (_by_place(column, key).values() for column in columns for key in (_KEY, _OLDER_KEY))
    return {number for numbers in found for number in numbers if type(number) is int}


def _by_place(column: Column, key: str) -> Mapping[str, Any]:
    """Return the ids under a key by their paths without the name of the column."""
    names = (str(column.metadata.get(PHYSICAL_NAME)), column.path[-1])
    return {
        next((path.removeprefix(n) for n in names if path.startswith(f"{n}.")), path): number
        for path, number in mapping_in(column.metadata, key).items()
    }


def _column(column: Column, at: str) -> Findings:
    """Look for the ids that belong to one field."""
    metadata = column.metadata
    name, physical = column.path[-1], str(metadata.get(PHYSICAL_NAME))
    places = list(_places(column.type))
    held, older = mapping_in(metadata, _KEY), mapping_in(metadata, _OLDER_KEY)
    for place, number in _by_place(column, _KEY if held else _OLDER_KEY).items():
        if type(number) is int and not -_INT32_BOUND <= number < _INT32_BOUND:
            yield finding("ICE2-006", at, f"the id of {name}{place}, {number}, has not 32 bits")
    for place in places:
        if type(held.get(physical + place)) is int:
            continue
        if type(held.get(name + place)) is int:
            message = f"the id of {name}{place} is kept by the logical name"
            yield finding("ICE2-022", at, message, severity="warning")
        elif type(older.get(name + place)) is int:
            message = f"the id of {name}{place} is kept under {_OLDER_KEY}"
            yield finding("ICE2-021", at, message, severity="warning")
        else:
            yield finding("ICE2-006", at, f"{name}{place} has no id")
    if _OLDER_KEY in metadata and not isinstance(metadata[_OLDER_KEY], Mapping):
        yield finding("ICE2-009", at, f"{_OLDER_KEY} of column {name} is no map")
    known = {prefix + place for place in places for prefix in (name, physical)}
    for key in sorted(older.keys() - known):
        message = (
            f"column {name} keeps an id of {key} under {_OLDER_KEY}, which is no path of its own"
        )
        yield finding("ICE2-010", at, message)
    for key in sorted(held.keys() - known):
        message = f"column {name} keeps an id of {key}, which is not its own"
        yield finding("ICE2-008", at, message)


def _elsewhere(schema: Any) -> set[str]:
    """Return the keys of nested ids that stand in a type, or beside the metadata of a field."""
    found: set[str] = set()
    left = [schema]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            found |= {_OLDER_KEY, _KEY} & node.keys()
            left += [node[key] for key in node if key != "metadata" or "name" not in node]
        elif isinstance(node, list):
            left += node
    return found


def _places(of: Any, prefix: str = "") -> Iterator[str]:
    """Yield the parts of a type down to the next struct, as ids name them."""
    for part, inner in parts_of(of):
        yield f"{prefix}.{part}"
        yield from _places(inner, f"{prefix}.{part}")


@check("commit", "CM-014 CM-018 CM-019 CM-022")
def column_ids_are_permanent(step: Step) -> Findings:
    """Report a physical name that changes, and one of a new column that may not be unique."""
    modes = step.old.mode, step.new.mode
    if not step.sets_metadata or modes == ("none", "none"):
        return
    place = next(step.of("metaData")).place
    if "none" in modes:
        yield from _stored_names(step, place)
        return
    shared = Counter(column.field_id for column in step.new.columns)
    known = {column.path for column in step.old.columns}
    names = {c.field_id: c.physical[-1] for c in step.old.columns if c.field_id is not None}
    for column in step.new.columns:
        was = None if column.field_id is None else names.get(column.field_id)
        if column.field_id is None and column.path not in known:
            yield finding("CM-019", place, f"the new column {column.name} has no column id")
        if column.field_id is not None and shared[column.field_id] > 1:
            continue
        if was is not None and was != column.physical[-1]:
            message = f"the physical name of {column.name} changes from {was}"
            yield finding("CM-014", place, message, sure=not step.replaces_files)
        elif was is None and column.field_id is not None:
            yield from _new_column(step, column, column.field_id, place)


def _stored_names(step: Step, place: str) -> Findings:
    """Report columns that files have under another name once mapping is turned on or off."""
    if not step.keeps_files:
        return
    known = {column.path: column.physical[-1] for column in step.old.columns}
    names = step.before.names or ()
    for column in step.new.columns:
        name, was = column.physical[-1], known.get(column.path)
        # A restore may bring back a column that was dropped, or had another name meanwhile.
        former = column.physical in step.before.paths or (len(column.path) == 1 and name in names)
        if was is not None and was != name and not former:
            message = f"files have the column {column.name} as {was}, and it is {name} from now"
            yield finding("CM-014", place, message, sure=step.before.whole)


def _new_column(step: Step, column: Column, number: int, place: str) -> Findings:
    """Report a new column whose physical name is no unique one, or whose id was another's."""
    former = step.before.paths.get(column.physical, ())
    if number in former:
        return  # a restore brings back a column that was dropped
    if _is_no_unique_name(column.physical[-1], column.path[-1]):
        message = f"the new column {column.name} has the physical name {column.physical[-1]}"
        # Where the log has not every version, the column may be an older one; in a table that is
        # replaced by a clone, one that is older than the mapping of the other table. An id is
        # given once in a table, though not in all tables.
        numbered = _is_numbered(column.physical[-1], number)
        sure = step.before.whole and not step.replaces_files and not numbered
        hint = "the name may come again, and files keep it"
        yield finding("CM-018", place, message, hint, sure=sure)
    # A table that is replaced as a whole, as by a clone, may have the columns of another.
    if step.keeps_files and any(number in ids for ids in step.before.paths.values()):
        message = f"the new column {column.name} has id {number}, which another column had"
        yield finding("CM-022", place, message, "a new id lies above the mark")


def named_alike(layout: Layout) -> Iterator[Column]:
    """Yield the columns whose physical names are no unique ones; a name may have the id."""
    for column in layout.columns if layout.mode != "none" else ():
        name, number = column.physical[-1], column.field_id
        if not _is_numbered(name, number) and _is_no_unique_name(name, column.path[-1]):
            yield column


def _is_numbered(physical: str, number: int | None) -> bool:
    """Return whether a physical name ends with the id of its column."""
    digits = physical[len(physical.rstrip("0123456789")) :]
    return number is not None and digits == str(number)


def _is_no_unique_name(physical: str, own: str) -> bool:
    """Return whether a physical name is the column's own, or a number alone."""
    name, own = physical.casefold(), own.casefold()
    rest = name.removeprefix(own) if name.startswith(own) else name
    return rest == "" or _COUNTER_NAME.fullmatch(rest) is not None


_COUNTER_NAME: Final = re.compile(r"(?:col|column|field|c|f)?[-_]?[0-9]{1,10}")
"""Names that a counter gives, in one table unlike another, and not in all of them."""
