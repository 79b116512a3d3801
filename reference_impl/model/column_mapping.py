"""Physical names and ids of columns (section Column Mapping).

The log and the data files of a mapped table refer to columns by physical name or id. Everything
here is for readers: which mode holds, what a column is called in the files, and whether the
annotations of a schema can be trusted.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

from reference_impl.errors import InvalidColumnMapping
from reference_impl.model.actions import Metadata, Protocol
from reference_impl.model.features import supported
from reference_impl.model.ranges import INT31
from reference_impl.types.model import Field, Struct, walk

Mode: TypeAlias = Literal["none", "name", "id"]
"""How columns are found in data files; the values of ``delta.columnMapping.mode``."""

MODE_PROPERTY = "delta.columnMapping.mode"
ID_KEY = "delta.columnMapping.id"
NAME_KEY = "delta.columnMapping.physicalName"


def column_mapping_mode(protocol: Protocol, metadata: Metadata) -> Mode:
    """Return the mode in force.

    The property counts only where the protocol supports the feature: reader version 2, or 3
    with the feature listed. A listing for writers alone is honoured under version 3, as Spark
    does, since ignoring it would give nulls for every column.

    Raises:
        InvalidColumnMapping: the property has a value that is no mode.
    """
    # Obeys CM-007 CM-023 RVER-001.
    if "columnMapping" not in supported(protocol):
        return "none"
    mode = metadata.configuration.get(MODE_PROPERTY, "none")
    if mode not in ("none", "name", "id"):
        raise InvalidColumnMapping(
            f"{MODE_PROPERTY} is {mode[:40]!r}, not none, id or name", requirement="CM-005"
        )
    return cast("Mode", mode)


def physical_name(column: Field, mode: Mode) -> str:
    """Return the name that data files, partition values and statistics use for a column."""
    # Obeys CM-026 CM-030.
    return column.name if mode == "none" else str(column.metadata[NAME_KEY])


def lasting_name(column: Field) -> str:
    """Return the name that a column of a mapped table keeps when it is renamed."""
    # A table that was upgraded to column mapping keeps its names as physical names.
    return str(column.metadata.get(NAME_KEY) or column.name)


def field_id(column: Field) -> int:
    """Return the ``field_id`` that data files use for a column of a mapped table."""
    return int(column.metadata[ID_KEY])


def check_annotations(schema: Struct, mode: Mode) -> None:
    """Check that every column of a mapped table has a usable name and id.

    Raises:
        InvalidColumnMapping: a column lacks its physical name or id, has one of the wrong
            type, or shares it: ids are unique in the table, names among siblings.
    """
    if mode == "none":
        return
    ids: dict[object, str] = {}
    for place, of in walk(schema):
        names: dict[str, str] = {}
        for one in of.fields if isinstance(of, Struct) else ():
            label = f"{place}.{one.name}" if place else one.name
            name, number = one.metadata.get(NAME_KEY), one.metadata.get(ID_KEY)
            if not isinstance(name, str) or name == "":
                raise InvalidColumnMapping(f"column {label} has no {NAME_KEY}")
            if number not in INT31:
                raise InvalidColumnMapping(
                    f"column {label} has no 32-bit integer {ID_KEY}", requirement="CM-002"
                )
            if name in names:
                raise InvalidColumnMapping(
                    f"columns {names[name]} and {label} share physical name {name!r}",
                    requirement="CM-003",
                )
            if number in ids:
                raise InvalidColumnMapping(
                    f"columns {ids[number]} and {label} share id {number}", requirement="CM-004"
                )
            names[name] = ids[number] = label
