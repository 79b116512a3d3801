"""Wrong writers of metadata domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from breaches.edits import CHECKPOINT, COMMIT, Action, Lines, dropping, lines, setting, without
from breaches.model import How, writer
from breaches.seams import carrying_out, during, leaving

_OWN = {"domain": "delta.myEngine.stats", "configuration": "{}", "removed": False}


_GONE = {"domain": "theirs", "configuration": "", "removed": True}


def _adding_domain(body: Action, when: Callable[[Lines], bool]) -> Any:
    """Write a domain into the commits of which something holds."""
    domain = {"domainMetadata": body}
    return leaving(lines(lambda found: [*found, domain] if when(found) else found, COMMIT))


def _gone_with(operation: str) -> How:
    """Remove a domain of others in what an operation commits."""
    gone = {"domainMetadata": {"domain": "theirs", "configuration": "{}", "removed": True}}
    return during(operation, lines(lambda found: [*found, gone], COMMIT))


ROWS = (
    writer("carries-out-dom-015", "DOM-015", carrying_out(), "domain-metadata/write-system-set*"),
    writer(
        "carries-out-dom-016", "DOM-016", carrying_out(), "domain-metadata/write-system-remove*"
    ),
    writer(
        "drops-domains-when-altering",
        "DOM-014",
        _adding_domain(
            _GONE,
            lambda found: (
                any("metaData" in a for a in found) and not any("add" in a for a in found)
            ),
        ),
        "domain-metadata/write-kept-when-altered*",
    ),
    writer(
        "keeps-a-domain-of-its-own",
        "DOM-007",
        _adding_domain(_OWN, lambda found: any("add" in a for a in found)),
        "domain-metadata/write-kept-when-rearranged*",
    ),
    writer(
        "keeps-properties-in-a-domain-of-its-own",
        "DOM-007",
        during("set_properties", lines(lambda found: [*found, {"domainMetadata": _OWN}], COMMIT)),
        "domain-metadata/write-kept-when-altered/*",
    ),
    writer(
        "drops-domains-when-rearranging",
        "DOM-014",
        _adding_domain(_GONE, lambda found: {"add", "remove"} <= {key for a in found for key in a}),
        "domain-metadata/write-kept-when-rearranged*",
    ),
    writer(
        "drops-domains-when-overwriting",
        "DOM-014",
        _adding_domain(_GONE, lambda found: {"add", "remove"} <= {key for a in found for key in a}),
        "domain-metadata/write-kept-when-overwritten*",
    ),
    writer(
        "removes-domains-of-systems-it-does-not-know",
        "DOM-016",
        _adding_domain(
            {**_OWN, "domain": "delta.fromAnotherWorld", "removed": True},
            lambda found: any("add" in a for a in found),
        ),
        "domain-metadata/write-kept-*",
    ),
    writer(
        "names-no-domain",
        "DOM-001",
        leaving(dropping("domainMetadata", "domain", where=COMMIT)),
        "domain-metadata/write-domains*",
    ),
    writer(
        "configures-domains-by-objects",
        "DOM-002",
        leaving(setting("domainMetadata", "configuration", {"a": 1}, COMMIT)),
        "domain-metadata/write-domains*",
    ),
    writer(
        "tells-removed-as-text",
        "DOM-003",
        leaving(setting("domainMetadata", "removed", "false", COMMIT)),
        "domain-metadata/write-domains*",
    ),
    writer(
        "loses-domains",
        "DOM-001",
        leaving(without("domainMetadata")),
        "domain-metadata/write-domains*",
    ),
    writer(
        "loses-unknown-domains-at-checkpoints",
        "DOM-014",
        leaving(without("domainMetadata", where=r"_delta_log/\d{20}\.checkpoint.*")),
        "domain-metadata/write-unknown-kept*",
    ),
    writer(
        "removes-known-domains-for-users",
        "DOM-015",
        carrying_out(),
        "*/write-system-remove-known/*",
    ),
    writer(
        "sets-a-domain-that-stays-removed",
        "DOM-001",
        during(
            "set_domain_metadata", setting("domainMetadata", "removed", value=True, where=COMMIT)
        ),
        "table-features/write-settings-course/*",
    ),
    writer(
        "checkpoints-parts-without-domains",
        "DOM-014",
        during("checkpoint", without("domainMetadata", where=CHECKPOINT)),
        "domain-metadata/write-multi-part/*",
    ),
    *(
        writer(
            f"drops-domains-with-{operation.replace('_', '-')}",
            "DOM-014",
            _gone_with(operation),
            f"domain-metadata/write-kept-when-{case}/*",
        )
        for operation, case in (
            ("rename_column", "columns-change"),
            ("drop_column", "columns-change"),
            ("set_comment", "columns-change"),
            ("set_nullable", "columns-change"),
            ("reorder_columns", "columns-change"),
            ("add_constraint", "restored"),
            ("drop_constraint", "restored"),
            ("restore", "restored"),
            ("replace", "overwritten"),
        )
    ),
    writer(
        "restores-with-a-domain-of-its-own",
        "DOM-007",
        during("restore", lines(lambda found: [*found, {"domainMetadata": _OWN}], COMMIT)),
        "domain-metadata/write-kept-when-restored/*",
    ),
)
