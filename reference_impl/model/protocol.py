"""Validate protocol actions, and refuse what this implementation does not honour.

Implements "Protocol Evolution", "Table Features" and "Requirements for Readers".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from reference_impl.errors import InvalidProtocol, UnsupportedFeatures, UnsupportedProtocolVersion
from reference_impl.model.actions import Protocol
from reference_impl.model.features import WRITABLE_FEATURES, supported
from reference_impl.model.wire import LogPlace
from schemas.features import find

MAX_READER_VERSION: Final = 3
MAX_WRITER_VERSION: Final = 7

_CATALOG_REASON: Final = (
    "a catalog-managed table cannot be read from its files alone, because its catalog decides "
    "which commits count: hand in the commits that it ratified"
)
_CATALOG_WRITES: Final = "commits and upkeep of a catalog-managed table are its catalog's to make"
_UPGRADE: Final = "use a newer client for this table"


def validate_protocol(protocol: Protocol, place: LogPlace) -> Protocol:
    """Check that versions and feature lists fit together, and return the normalised protocol.

    An empty list where a version has none is read as absent: it asks for nothing, writers of
    Parquet cannot always distinguish it from null, and such tables exist.
    Versions beyond the protocol's are not judged here: a newer protocol may have other rules.

    Raises:
        InvalidProtocol: they do not fit.
    """
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader < 1 or writer < 1:
        message = f"protocol versions ({reader}, {writer}) begin at 1"
        raise place.error(InvalidProtocol, message, requirement="PROTO-001")
    if reader > MAX_READER_VERSION or writer > MAX_WRITER_VERSION:
        return protocol
    if reader == 3 and writer != 7:
        message = f"minReaderVersion 3 needs minWriterVersion 7, not {writer}"
        raise place.error(InvalidProtocol, message, requirement="RVER-003")
    valid = _without_empty_lists(protocol)
    for message, requirement in _list_faults(valid):
        raise place.error(InvalidProtocol, message, requirement=requirement)
    return valid


def _without_empty_lists(protocol: Protocol) -> Protocol:
    readers, writers = protocol.reader_features, protocol.writer_features
    return replace(
        protocol,
        reader_features=None if readers == () and protocol.min_reader_version < 3 else readers,
        writer_features=None if writers == () and protocol.min_writer_version < 7 else writers,
    )


def _list_faults(protocol: Protocol) -> Iterator[tuple[str, str]]:
    """Return what is wrong with the feature lists, each with its requirement."""
    reader = protocol.min_reader_version
    for listed, version, at, name, requirement in (
        (protocol.reader_features, reader, 3, "readerFeatures", "PROTO-003"),
        (protocol.writer_features, protocol.min_writer_version, 7, "writerFeatures", "PROTO-004"),
    ):
        if (listed is not None) != (version == at):
            state = "absent" if listed is None else "present"
            yield f"{name} is {state} at version {version}", requirement
    readers, writers = set(protocol.reader_features or ()), set(protocol.writer_features or ())
    alone = sorted(readers - writers)
    if alone:
        yield f"features listed for readers only: {', '.join(alone)}", "TF-020"
    for name in sorted(writers):
        feature = find(name)
        if feature is not None and feature.kind == "reader_writer":
            needed = feature.legacy_reader or 3
            if reader < needed:
                yield f"feature {name} needs minReaderVersion {needed}, not {reader}", "TF-018"


def check_readable(protocol: Protocol, *, ratified: bool) -> None:
    """Refuse a table that this implementation does not read.

    Args:
        protocol: the protocol in force.
        ratified: the caller handed in what the table's catalog ratified.

    Raises:
        UnsupportedProtocolVersion: the reader version is beyond this implementation.
        UnsupportedFeatures: reader features that it does not honour, all named at once.
    """
    # Obeys TF-002 VPC-003 RVER-002 PROTO-007.
    version = protocol.min_reader_version
    if version > MAX_READER_VERSION:
        raise UnsupportedProtocolVersion(
            f"the table needs reader version {version}; this client reads up to "
            f"{MAX_READER_VERSION}",
            hint=_UPGRADE,
        )
    # A reader-writer feature that only writers list still changes what readers see.
    names = {
        name
        for name in (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
        if (feature := find(name)) is not None and feature.name == "catalogManaged" and not ratified
    }
    names |= {name for name in protocol.reader_features or () if find(name) is None}
    if names:
        raise _unsupported(names, "read", _CATALOG_REASON)


def check_writable(protocol: Protocol) -> None:
    """Refuse a table that this implementation does not write, or does not read.

    Raises:
        UnsupportedProtocolVersion: the writer version is beyond this implementation.
        UnsupportedFeatures: features that it does not write, all named at once.
    """
    # Obeys TF-003 TF-004 TF-015 WVER-007 CAT-011 CAT-016 CAT-021.
    check_readable(protocol, ratified=True)
    version = protocol.min_writer_version
    if version > MAX_WRITER_VERSION:
        raise UnsupportedProtocolVersion(
            f"the table needs writer version {version}; this client writes up to "
            f"{MAX_WRITER_VERSION}",
            hint=_UPGRADE,
            stage="commit",
            requirement="PROTO-006",
        )
    names = supported(protocol) - WRITABLE_FEATURES
    if names:
        raise _unsupported(names, "write", _CATALOG_WRITES)


def _unsupported(names: Iterable[str], verb: str, managed_hint: str) -> UnsupportedFeatures:
    ordered = tuple(sorted(names))
    managed = any((f := find(name)) is not None and f.name == "catalogManaged" for name in ordered)
    return UnsupportedFeatures(
        ordered,
        f"the table needs features that this client does not {verb}: {', '.join(ordered)}",
        hint=managed_hint if managed else _UPGRADE,
    )
