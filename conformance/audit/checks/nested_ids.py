"""Ids of array elements, map keys and map values (section Iceberg Compatibility V2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from conformance.audit.findings import Findings, check, finding
from conformance.audit.read.layout import PHYSICAL_NAME, Column, parts_of
from conformance.audit.read.raw import mapping_in
from conformance.audit.subjects import Step

_KEY: Final = "delta.columnMapping.nested.ids"
_OLDER: Final = "parquet.field.nested.ids"
_LARGEST: Final = 1 << 31


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
            for key in (_OLDER, _KEY)
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
    found = (_by_place(column, key).values() for column in columns for key in (_KEY, _OLDER))
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
    held, older = mapping_in(metadata, _KEY), mapping_in(metadata, _OLDER)
    for place, number in _by_place(column, _KEY if held else _OLDER).items():
        if type(number) is int and not -_LARGEST <= number < _LARGEST:
            yield finding("ICE2-006", at, f"the id of {name}{place}, {number}, has not 32 bits")
    for place in places:
        if type(held.get(physical + place)) is int:
            continue
        if type(held.get(name + place)) is int:
            message = f"the id of {name}{place} is kept by the logical name"
            yield finding("ICE2-022", at, message, severity="warning")
        elif type(older.get(name + place)) is int:
            message = f"the id of {name}{place} is kept under {_OLDER}"
            yield finding("ICE2-021", at, message, severity="warning")
        else:
            yield finding("ICE2-006", at, f"{name}{place} has no id")
    if _OLDER in metadata and not isinstance(metadata[_OLDER], Mapping):
        yield finding("ICE2-009", at, f"{_OLDER} of column {name} is no map")
    known = {prefix + place for place in places for prefix in (name, physical)}
    for key in sorted(older.keys() - known):
        message = f"column {name} keeps an id of {key} under {_OLDER}, which is no path of its own"
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
            found |= {_OLDER, _KEY} & node.keys()
            left += [node[key] for key in node if key != "metadata" or "name" not in node]
        elif isinstance(node, list):
            left += node
    return found


def _places(of: Any, prefix: str = "") -> Iterator[str]:
    """Yield the parts of a type down to the next struct, as ids name them."""
    for part, inner in parts_of(of):
        yield f"{prefix}.{part}"
        yield from _places(inner, f"{prefix}.{part}")
