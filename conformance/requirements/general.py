"""Requirements that say in general what others say one by one.

A breach of a part is a breach of the whole: a verdict that names the part names the general
requirement, too, among its details. A version of the protocol brings features: a breach of one of
their clauses, on a table of that version, breaks the requirement of the version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from conformance.requirements.registry import Registry
from schemas.features import FEATURES

_PARTS: Final[Mapping[str, str]] = {
    "CKPT-005": (
        "CKC-002 CKC-003 CKC-004 CKC-005 CKC-006 CKC-007 CKC-008 CKPT-006 CKPT-007 RT-031"
    ),
    "COMP-004": "COMP-006 COMP-007 COMP-008",
    "CRC-037": (
        "CRC-007 CRC-008 CRC-011 CRC-012 CRC-013 CRC-014 CRC-015 CRC-016 CRC-018 CRC-019 CRC-020 "
        "CRC-028 CRC-030"
    ),
    "CRC-001": "WNEW-001",
    "DVD-001": "DVD-002 DVD-003 DVD-004",
    "DVFMT-002": "DVFMT-003 DVFMT-004 DVFMT-005 DVFMT-011",
    "FA-011": "WLOG-001",
    "FA-017": "ADD-009 REM-005",
    "ICT-008": "ICT-009",
    "META-003": "META-004 META-007 META-008 META-009 META-011",
    "RT-002": "RT-028 RT-040",
    "RT-032": "RT-033 RT-036 RT-037",
    "RT-047": "RT-045 RT-046",
}
"""General requirement to the requirements that are its parts, separated by spaces."""

_BRINGS: Final = {2: "WVER-001", 3: "WVER-002", 4: "WVER-003", 5: "WVER-004", 6: "WVER-005"}
"""Writer version to the requirement of the features that it brings."""

_STATISTICS: Final = frozenset({"CKC-015", "CKC-018", "CKC-021"})
"""Requirements of the properties of statistics in checkpoints, which are no feature of a list."""

_METADATA_KEPT: Final = "SCH-037"
"""Metadata of columns is kept: which feature its key is of, the verdict says."""

_LOWER: Final = "WVER-007"
"""Each version has the duties of the lower ones."""


def general_of(broken: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the general requirements of what is broken, each with the first part that is.

    Args:
        broken: ids; requirements among them are not named again.
    """
    names = {*broken}
    for row, parts in _PARTS.items():
        part = next((name for name in parts.split() if name in names), None)
        if part is not None and row not in names:
            yield row, part


def general_requirements(
    broken: Iterable[str], writer: int | None, registry: Registry, revision: str, message: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the general requirements that are broken as well, each with the part that is.

    Args:
        broken: ids that a verdict names.
        writer: minWriterVersion of the table; ``None`` where it has none.
        registry: has the requirements.
        revision: the protocol revision; requirements that are not in force in it are left out.
        message: of the verdict; names the keys of column metadata that are lost.
    """
    names = [name for name in dict.fromkeys(broken) if name in registry]
    for name in names:
        general = [row for row, parts in _PARTS.items() if name in parts.split()]
        feature = FEATURES.get(registry[name].feature)
        if name == _METADATA_KEPT:
            keys = ((each, key) for each in FEATURES.values() for key in each.column_keys)
            feature = next((each for each, key in keys if key in message), None)
        since = 3 if name in _STATISTICS else 0 if feature is None else feature.legacy_writer
        legacy = writer if writer in _BRINGS and registry[name].level == "MUST" else None
        if legacy is not None and 0 < since <= legacy:
            general += [_BRINGS[since], *([_LOWER] if since < legacy else [])]
        for row in general:
            if row not in names and registry[row].holds_in(revision):
                yield row, name
