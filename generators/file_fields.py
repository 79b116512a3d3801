"""The members of an add action that a ``files`` spec compares.

Serves the section "Case" of ``docs/formats.md``: statistics, the flag of a change and the vector
itself are left out, since equal tables may spell them in more than one way.
"""

from __future__ import annotations

from typing import Final

FILE_FIELDS: Final = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "baseRowId",
    "defaultRowCommitVersion",
    "clusteringProvider",
    "tags",
)
"""Wire names, in the order of the action."""
