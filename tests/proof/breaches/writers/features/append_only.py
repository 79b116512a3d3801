"""Wrong writers of append-only tables."""

from __future__ import annotations

from breaches.edits import COMMIT, properties, unlisted
from breaches.model import writer
from breaches.seams import carrying_out, doing_nothing, during, leaving

ROWS = (
    writer("carries-out-app-002", "APP-002", carrying_out(), "append-only-tables/write-delete*"),
    writer(
        "keeps-the-lock",
        "APP-004",
        doing_nothing("delete"),
        "append-only-tables/write-after-unlocking*",
    ),
    *(
        writer(
            f"keeps-the-lock-of-{operation}",
            "APP-004",
            doing_nothing(operation),
            "append-only-tables/write-after-un*",
        )
        for operation in ("update", "merge", "overwrite")
    ),
    *(
        writer(
            f"keeps-the-lock-of-{operation}",
            "APP-004",
            doing_nothing(operation),
            "append-only-tables/write-unlocked-replaced/*",
        )
        for operation in ("restore", "replace")
    ),
    writer(
        "locks-without-the-feature",
        "APP-001",
        leaving(unlisted("appendOnly")),
        "table-features/write-created-for-writers*",
    ),
    writer(
        "updates-append-only-tables-of-features",
        "APP-002",
        carrying_out(),
        "append-only-tables/write-update-with-features/*",
    ),
    writer(
        "lets-rows-go-with-a-constraint",
        "SNAP-008",
        during(
            "drop_constraint",
            properties(lambda found: found.pop("delta.appendOnly", None) and None, COMMIT),
        ),
        "append-only-tables/write-settings/*",
    ),
)
