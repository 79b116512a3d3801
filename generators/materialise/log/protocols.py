"""Which protocol action a table needs for its schema, properties and features.

Covers "Protocol Evolution", "Table Features" and "Valid Feature Names in Table Features".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from generators.oracle.delta_schema import Array, DataType, Map, Primitive, Struct
from schemas.features import FEATURES


@dataclass(frozen=True, slots=True)
class Protocol:
    """The body of a protocol action; feature lists are sorted, ``None`` where absent."""

    reader: int = 1
    writer: int = 2
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None

    def body(self) -> dict[str, Any]:
        """Return the body as the log writes it."""
        document: dict[str, Any] = {
            "minReaderVersion": self.reader,
            "minWriterVersion": self.writer,
        }
        if self.reader_features is not None:
            document["readerFeatures"] = list(self.reader_features)
        if self.writer_features is not None:
            document["writerFeatures"] = list(self.writer_features)
        return document

    def supports(self, feature: str) -> bool:
        """Return whether the feature is listed for writers."""
        return feature in (self.writer_features or ())


def _primitives(data_type: DataType) -> Iterable[str]:
    match data_type:
        case Primitive(name):
            yield name
        case Struct(fields):
            for each in fields:
                yield from _primitives(each.type)
        case Array(element):
            yield from _primitives(element)
        case Map(key, value):
            yield from _primitives(key)
            yield from _primitives(value)
        case _:
            return


def _has_required(data_type: DataType) -> bool:
    match data_type:
        case Struct(fields):
            return any(not each.nullable or _has_required(each.type) for each in fields)
        case Array(element):
            return _has_required(element)
        case Map(key, value):
            return _has_required(key) or _has_required(value)
        case _:
            return False


def protocol_for(
    schema: Struct, properties: Mapping[str, str], features: Iterable[str] = ()
) -> Protocol:
    """Return the least protocol for a table: versions 1 and 2, or table features where asked for.

    With table features, a required column anywhere also lists ``invariants``.

    Args:
        schema: the table schema.
        properties: the table properties.
        features: features to support beyond those that schema and properties need.
    """
    types = set(_primitives(schema))
    wanted = set(features)
    for name, feature in FEATURES.items():
        if feature.is_asked_by(properties) or types & set(feature.types):
            wanted.add(name)
    for name in tuple(wanted):
        wanted.update(FEATURES[name].requires if name in FEATURES else ())
    if not wanted:
        return Protocol()
    if _has_required(schema):
        # Writer versions 2 to 6 bring invariants; some writers count required columns as such.
        wanted.add("invariants")
    readers = sorted(name for name in wanted if _for_readers(name))
    if not readers:
        return Protocol(1, 7, None, tuple(sorted(wanted)))
    return Protocol(3, 7, tuple(readers), tuple(sorted(wanted)))


def _for_readers(name: str) -> bool:
    return name in FEATURES and FEATURES[name].kind == "reader_writer"
