"""Wrong readers of metadata domains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from breaches.edits import CHECKPOINTS, COMPACTION, Lines, each, without
from breaches.model import reader
from breaches.seams import documents, viewing
from breaches.views import log_of, replaying
from conformance.adapter import DomainMetadata


def _hidden_domain(request: Any, payload: Any) -> Any:
    if isinstance(request, DomainMetadata) and not request.domain.startswith("delta."):
        return None
    return payload


def _respelt(request: Any, payload: Any) -> Any:
    """Parse a configuration that is JSON, and write it in another spelling."""
    if not isinstance(request, DomainMetadata) or payload is None:
        return payload
    try:
        return json.dumps(json.loads(payload), separators=(",", ":"), sort_keys=True)
    except ValueError:
        return payload


def _absent_is_empty(request: Any, payload: Any) -> Any:
    """Take the list that a checksum lacks for an empty one."""
    newest = max(log_of(Path(request.table)).glob("*.crc"), default=None)
    if not isinstance(request, DomainMetadata) or newest is None:
        return payload
    return payload if "domainMetadata" in json.loads(newest.read_bytes()) else None


def _same_value_again(found: Lines, gone: dict[Any, Any]) -> Lines:
    """Take a domain that is set to what it was before its removal for removed."""
    kept = []
    for action in found:
        body = action.get("domainMetadata")
        if body and body.get("removed"):
            gone[body["domain"]] = body["configuration"]
        elif body and gone.get(body["domain"]) == body["configuration"]:
            continue
        kept.append(action)
    return kept


def _removed_as_it_was(found: Lines, held: dict[Any, Any]) -> Lines:
    """Let a removal hide nothing but what it repeats."""
    bodies = [action.get("domainMetadata") for action in found]
    held |= {b["domain"]: b["configuration"] for b in bodies if b and not b.get("removed")}
    return [
        action
        for action, b in zip(found, bodies, strict=True)
        if not (b and b.get("removed") and held.get(b["domain"]) != b["configuration"])
    ]


ROWS = (
    reader(
        "loses-domains-of-checkpoints",
        "DOM-012",
        viewing(without("domainMetadata", where=CHECKPOINTS)),
    ),
    reader("hides-domains-it-does-not-know", "DOM-013", documents(_hidden_domain)),
    reader(
        "loses-domains-without-values",
        "DOM-012",
        viewing(
            each(
                "domainMetadata",
                lambda b: b if b["configuration"] or b.get("removed") else None,
            )
        ),
        "domain-metadata/removed-otherwise-*",
    ),
    reader(
        "loses-domains-of-compactions",
        "DOM-012",
        viewing(without("domainMetadata", where=COMPACTION)),
        "domain-metadata/removed-after-*",
    ),
    reader("respells-configurations", "DOM-012", documents(_respelt)),
    reader("takes-absent-lists-for-empty", "DOM-012", documents(_absent_is_empty)),
    reader(
        "hides-domains-that-are-set-as-before",
        "REC-017",
        viewing(replaying(_same_value_again)),
        "domain-metadata/set-again-after-*",
    ),
    reader(
        "hides-domains-by-their-values",
        "REC-015",
        viewing(replaying(_removed_as_it_was)),
        "domain-metadata/removed-after-*",
    ),
)
