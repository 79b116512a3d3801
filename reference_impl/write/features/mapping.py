"""Assign column ids and physical names (section Column Mapping, writer requirements)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from reference_impl.errors import InvalidColumnMapping
from reference_impl.model.column_mapping import ID_KEY, MODE_PROPERTY, NAME_KEY
from reference_impl.model.ranges import INT31
from reference_impl.types.model import Field, Struct, every_field, map_fields

MAX_ID_PROPERTY: Final = "delta.columnMapping.maxColumnId"


def mode_of(configuration: Mapping[str, str]) -> str:
    """Return the mode that properties ask for."""
    return configuration.get(MODE_PROPERTY, "none")


def highest_id(configuration: Mapping[str, str], schema: Struct) -> int:
    """Return the highest column id that was ever assigned, by schema and properties.

    Raises:
        InvalidColumnMapping: the property is no 32-bit integer.
    """
    text = configuration.get(MAX_ID_PROPERTY, "0")
    held = INT31.parse(text)
    if held is None:
        raise InvalidColumnMapping(
            f"{MAX_ID_PROPERTY} is {text[:80]!r}, not the highest 32-bit id of a column",
            stage="commit",
            requirement="CM-021",
        )
    return max(held, _highest(schema))


def fresh_name(_: Field) -> str:
    """Return a unique physical name, so that a dropped column is never read again."""
    # Obeys CM-018 CM-034.
    return f"col-{uuid.uuid4()}"


@dataclass(slots=True)
class Numbering:
    """Gives ids and physical names to columns that have none.

    Attributes:
        highest: the highest id that was ever given.
        name: gives the physical name of a column.
    """

    highest: int
    name: Callable[[Field], str] = fresh_name

    def following(self) -> int:
        """Return an unused id.

        Raises:
            RangeExhausted: there is none left.
        """
        INT31.require(
            self.highest + 1, "the id of a new column", action="metaData", requirement="CM-002"
        )
        self.highest += 1
        return self.highest

    def annotate(self, column: Field) -> Field:
        """Return a column with id and physical name, and the fields in it as well."""
        # Obeys CM-014 CM-018 CM-019 CM-022.
        metadata = dict(column.metadata)
        if type(metadata.get(ID_KEY)) is not int:
            metadata[ID_KEY] = self.following()
        metadata.setdefault(NAME_KEY, self.name(column))
        return replace(column, type=map_fields(column.type, self.annotate), metadata=metadata)


def map_columns(
    schema: Struct, before: Mapping[str, str], after: Mapping[str, str], *, new: bool
) -> tuple[Struct, dict[str, str]]:
    """Return the schema and the properties of a table whose mode may change.

    Args:
        schema: the schema.
        before: the properties so far; empty for a new table.
        after: the properties that are asked for.
        new: whether the table has no files yet.

    Raises:
        InvalidColumnMapping: the mode cannot change so.
    """
    # Obeys CM-020.
    was, now = mode_of(before), mode_of(after)
    if now not in ("none", "name", "id"):
        raise InvalidColumnMapping(
            f"{MODE_PROPERTY} is {now[:40]!r}, not none, id or name",
            stage="commit",
            requirement="CM-005",
        )
    changes = was != now
    if not new and changes and (was, now) != ("none", "name"):
        raise InvalidColumnMapping(
            f"{MODE_PROPERTY} cannot change from {was} to {now}",
            stage="commit",
            hint="a table can be mapped by name later on, and by id from the start only",
        )
    if now == "none" or not (changes or new):
        return schema, dict(after)
    # In existing files columns have their logical names.
    numbering = Numbering(_highest(schema), fresh_name if new else lambda column: column.name)
    return map_fields(schema, numbering.annotate), {
        **after,
        MAX_ID_PROPERTY: str(numbering.highest),
    }


def _highest(schema: Struct) -> int:
    numbers: Iterator[Any] = (column.metadata.get(ID_KEY) for _, column in every_field(schema))
    return max((number for number in numbers if number in INT31), default=0)
