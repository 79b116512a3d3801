"""Wrong writers of catalog-managed tables."""

from __future__ import annotations

from breaches.model import writer
from breaches.seams import carrying_out

ROWS = (
    writer(
        "carries-out-cat-011", "CAT-011", carrying_out(), "catalog-managed-tables/write-append*"
    ),
    writer(
        "carries-out-cat-016", "CAT-016", carrying_out(), "catalog-managed-tables/write-delete*"
    ),
    writer(
        "carries-out-cat-019", "CAT-019", carrying_out(), "catalog-managed-tables/write-cleanup*"
    ),
    writer(
        "carries-out-cat-020", "CAT-020", carrying_out(), "catalog-managed-tables/write-vacuum*"
    ),
    writer(
        "carries-out-cat-021", "CAT-021", carrying_out(), "catalog-managed-tables/write-optimize*"
    ),
)
