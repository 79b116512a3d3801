"""Table features as the protocol has them: the one list of their names.

Covers "Table Features", "Valid Feature Names in Table Features" and the legacy version
requirements. The list is data, ``features.json``; which of them an implementation reads and writes
stands with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True)
class Feature:
    """A table feature.

    Attributes:
        name: as in ``readerFeatures`` and ``writerFeatures``.
        kind: ``writer`` features concern writers alone; ``reader_writer`` features both.
        since: the first revision that has it.
        aliases: other names of the same feature.
        legacy_reader: the reader version that implies the feature; 0 for none.
        legacy_writer: the writer version that implies the feature; 0 for none.
        requires: features that must be supported along with it.
        activation: table property that must be ``true`` for the feature to be active; ``""``
            where other metadata decides or where being supported is enough.
        asked_by: values of other properties that ask for it.
        types: primitive types that need it.
        column_keys: keys of column metadata that need it.
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
    column_keys: tuple[str, ...] = ()

    def is_asked_by(self, properties: Mapping[str, str]) -> bool:
        """Return whether properties of a table ask for the feature."""
        if self.activation and str(properties.get(self.activation)).lower() == "true":
            return True
        return any(properties.get(key) in each for key, each in self.asked_by.items())


def _read() -> Mapping[str, Feature]:
    rows: list[dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    lists = {each.name for each in fields(Feature) if each.default == ()}
    for row in rows:
        row.update({key: tuple(row[key]) for key in lists & row.keys()})
    return {row["name"]: Feature(**row) for row in rows}


FEATURES: Final = _read()
"""Every feature of the protocol by its name."""

_BY_NAME: Final[Mapping[str, Feature]] = {
    name: each for each in FEATURES.values() for name in (each.name, *each.aliases)
}


def asking(names: Iterable[str]) -> dict[str, str]:
    """Return properties of a table that ask for features, as far as properties do."""
    found: dict[str, str] = {}
    for each in map(FEATURES.__getitem__, names):
        found |= {each.activation: "true"} if each.activation else {}
        found |= {key: values[0] for key, values in each.asked_by.items()}
    return found


def find(name: str) -> Feature | None:
    """Return the feature of a name or alias; ``None`` for an unknown one. Letter case counts."""
    return _BY_NAME.get(name)
