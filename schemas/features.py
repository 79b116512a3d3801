"""Table features as the protocol has them: the one list of their names.

Serves "Table Features" and "Valid Feature Names in Table Features". The list is data,
``features.json``; which of them an implementation reads and writes stands with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

__all__ = ["FEATURES", "Feature", "features", "find"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A table feature.

    Attributes:
        name: as in ``readerFeatures`` and ``writerFeatures``.
        kind: ``writer`` features concern writers alone; ``reader_writer`` features both.
        since: the first revision that has it.
        aliases: other spellings of the same feature.
        legacy_reader: the reader version that implies the feature; 0 for none.
        legacy_writer: the writer version that implies the feature; 0 for none.
        requires: features that must be supported along with it.
        activation: table property that must be ``true`` for the feature to be active; ``""``
            where other metadata decides or where being supported is enough.
        asked_by: values of other properties that ask for it.
        types: primitive types that need it.

    """

    name: str
    kind: Literal["writer", "reader_writer"]
    since: str
    aliases: tuple[str, ...] = ()
    legacy_reader: int = 0
    legacy_writer: int = 0
    requires: tuple[str, ...] = ()
    activation: str = ""
    asked_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    types: tuple[str, ...] = ()

    def is_asked_by(self, properties: Mapping[str, str]) -> bool:
        """Return whether properties of a table ask for the feature."""
        values = {**self.asked_by, **({self.activation: ("true",)} if self.activation else {})}
        return any(properties.get(key) in each for key, each in values.items())


_Feature = TypeVar("_Feature", bound=Feature)


def features(make: type[_Feature], **more: Mapping[str, Any]) -> dict[str, _Feature]:
    """Give every feature by its name, as values of a class.

    Args:
        make: the class.
        more: further fields of it, each by the name of a feature.

    """
    rows = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    lists = {each.name for each in fields(Feature) if each.default == ()}
    found = {}
    for row in rows:
        own: dict[str, Any] = {
            key: tuple(value) if key in lists else value for key, value in row.items()
        }
        others = {key: named[row["name"]] for key, named in more.items() if row["name"] in named}
        found[row["name"]] = make(**own, **others)
    return found


FEATURES: Final[Mapping[str, Feature]] = features(Feature)
"""Every feature of the protocol by its name."""

_BY_SPELLING: Final = {
    spelling: name for name, each in FEATURES.items() for spelling in (name, *each.aliases)
}


def find(spelling: str) -> Feature | None:
    """Return the feature of a name or alias; ``None`` for an unknown one. Letter case counts."""
    return FEATURES.get(_BY_SPELLING.get(spelling, ""))
