"""Where the names in a document of a corpus lead: below its table, or nowhere.

Serves the section "Case" of ``docs/formats.md``. Names of a corpus are not URIs and are narrower
than paths of a log; what they lead to is resolved by :mod:`reference_impl.places`, as every path
of a table is.
"""

from __future__ import annotations

from pathlib import Path

from conformance.base.faults import CorpusError
from conformance.base.untrusted import inside
from reference_impl.errors import PlaceRefused
from reference_impl.places import LocalRoot, Policy


def below(table: Path, name: str, document: Path, pointer: str = "") -> Path:
    """Return the file of a table that a document names, which need not exist.

    Args:
        table: the table root.
        name: as the document has it.
        document: which has it, for messages.
        pointer: its place there.

    Raises:
        CorpusError: it is no path below the table, or a symlink leads it out of there.

    """
    fault = inside(name)
    if fault:
        raise CorpusError(document, fault, pointer)
    root = LocalRoot(str(table.absolute()), Policy("refuse"))
    try:
        place = root.follow(name)
    except PlaceRefused as error:
        raise CorpusError(document, str(error), pointer) from error
    if place.within != name:
        raise CorpusError(document, f"{name!r} is not the plain path of a file", pointer)
    return Path(place.address)
