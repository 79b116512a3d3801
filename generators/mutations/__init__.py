"""Ways to change a valid table, each with the requirement it breaks and who must notice.

``MUTATIONS`` is every mutation of every chapter; ``mutation.build(root)`` makes the base table
below ``root``, changes it and gives the builder, which has the rows from before the change.
"""

from __future__ import annotations

from typing import Final

from generators.mutations.bases import BASES, Base
from generators.mutations.catalog import read_mutations
from generators.mutations.mutation import Mutation

__all__ = ["BASES", "MUTATIONS", "Base", "Mutation", "by_id"]

MUTATIONS: Final[tuple[Mutation, ...]] = read_mutations()


def by_id(slug: str) -> Mutation:
    """Return the mutation of an id; raises :class:`KeyError` when there is none."""
    for each in MUTATIONS:
        if each.id == slug:
            return each
    raise KeyError(slug)
