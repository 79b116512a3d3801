"""Checks of the domains that a commit sets (section Domain Metadata)."""

from __future__ import annotations

from typing import Any, Final

from conformance.audit.checks.metadata import LAST_VERSION
from conformance.audit.findings import Findings, check, finding
from conformance.audit.read.raw import parse_object
from conformance.audit.subjects import Step


@check("definition", "DOM-008 DOM-009 CLUS-002")
def domains_need_their_feature(step: Step) -> Findings:
    """Report domains where the protocol does not support them."""
    if step.protocol is None or step.new.writer > LAST_VERSION:
        return
    for line in step.of("domainMetadata"):
        if step.from_checkpoint and line.body.get("removed"):
            continue  # it may be older than the protocol
        if step.new.writer < 7:
            message = f"a domain, but the writer version is {step.new.writer}"
            clusters = line.body.get("domain") == "delta.clustering"
            for requirement in ("DOM-008", "CLUS-002") if clusters else ("DOM-008",):
                yield finding(requirement, line.place, message)
        if "domainMetadata" not in step.new.features:
            yield finding("DOM-009", line.place, "a domain, but domainMetadata is not supported")


@check("commit", "DOM-004")
def removed_domains_keep_their_configuration(step: Step) -> Findings:
    """Report tombstones of domains that do not say what they remove."""
    for line in step.of("domainMetadata"):
        name = line.body.get("domain")
        held = step.before.live_domains.get(name) if isinstance(name, str) else None
        if line.body.get("removed") is not True or held is None:
            continue
        was, says = (body.get("configuration") for body in (held, line.body))
        # JSON that is written differently may say the same.
        parsed = parse_object(was)
        if was != says and (parsed is None or parsed != parse_object(says)):
            message = f"the tombstone of {name} has not the configuration that it removes"
            yield finding("DOM-004", line.place, message)


def _known_domain(name: Any) -> bool:
    return not isinstance(name, str) or not name.startswith("delta.") or name in SYSTEM_DOMAINS


SYSTEM_DOMAINS: Final = frozenset({"delta.clustering", "delta.rowTracking"})
"""System domains that the protocol defines."""


@check("commit", "DOM-007")
def reserved_domains(step: Step) -> Findings:
    """Report domains in the reserved namespace that no feature defines."""
    for line in step.of("domainMetadata"):
        name = line.body.get("domain")
        if not _known_domain(name):
            message = f"the protocol defines no domain {name}; names in delta. are reserved"
            # A later text may define it.
            yield finding("DOM-007", line.place, message, severity="warning")
