"""Table properties that are numbers, for writers.

Serves upstream's ``delta.checkpointInterval`` and ``delta.dataSkippingNumIndexedCols``. A malformed
value is refused when it is set; one that a table already has is replaced by the default, with a
warning, because no reader depends on it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reference_impl.errors import InvalidMetadata
from reference_impl.model.ranges import INT32

CHECKPOINT_INTERVAL: Final = "delta.checkpointInterval"
INDEXED_COLUMNS: Final = "delta.dataSkippingNumIndexedCols"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Number:
    """A table property whose value is an integer of 32 bits.

    Attributes:
        default: the value where the property is not set or malformed.
        least: the smallest value allowed.

    """

    default: int
    least: int


_NUMBERS: Final[Mapping[str, _Number]] = {
    CHECKPOINT_INTERVAL: _Number(10, 1),
    INDEXED_COLUMNS: _Number(32, -1),
}


def lenient(configuration: Mapping[str, str], name: str) -> int:
    """Return a property of a table, its default where it is not set or malformed."""
    number = _NUMBERS[name]
    text = configuration.get(name)
    if text is None:
        return number.default
    value = _parsed(name, text)
    if value is None:
        _log.warning("%s is %.80r: %d is assumed", name, text, number.default)
        return number.default
    return value


def validate_number(name: str, text: str) -> None:
    """Refuse a malformed value of an integer property; other properties are not checked.

    Raises:
        InvalidMetadata: the property cannot have the value.

    """
    if name in _NUMBERS and _parsed(name, text) is None:
        raise InvalidMetadata(
            f"{name} is {text[:80]!r}, not an integer from {_NUMBERS[name].least} to {INT32.most}",
            action="metaData",
            stage="commit",
            requirement="META-011",
        )


def _parsed(name: str, text: str) -> int | None:
    value = INT32.parse(text)
    return value if value is not None and _NUMBERS[name].least <= value else None
