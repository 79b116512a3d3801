"""Checks of the domains that a commit sets (section Domain Metadata)."""

from __future__ import annotations

from collections.abc import Iterator
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
    removed = {
        line.body.get("domain")
        for line in step.of("domainMetadata")
        if line.body.get("removed") is True
    }
    for name, place in _domains(step):
        # A commit may remove the domains together with their feature.
        ends = "domainMetadata" in step.old.features and name in removed
        if step.new.writer < 7:
            message = f"a domain, but the writer version is {step.new.writer}"
            for requirement in ("DOM-008", "CLUS-002") if name == _CLUSTERING else ("DOM-008",):
                yield finding(requirement, place, message, sure=not ends)
        if "domainMetadata" not in step.new.features:
            message = "a domain, but domainMetadata is not supported"
            yield finding("DOM-009", place, message, sure=not ends)


_CLUSTERING: Final = "delta.clustering"


def _domains(step: Step) -> Iterator[tuple[Any, str]]:
    """Yield name and place of each domain that is used under the protocol of a step."""
    here = set()
    for line in step.of("domainMetadata"):
        here.add(line.body.get("domain"))
        # A tombstone of a checkpoint may be older than the protocol.
        if not (step.from_checkpoint and line.body.get("removed")):
            yield line.body.get("domain"), line.place
    if step.sets_protocol and not step.from_checkpoint:
        place = next(step.of("protocol")).place
        yield from ((name, place) for name in step.before.live_domains if name not in here)


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


@check("definition", "DOM-007")
def reserved_domains(step: Step) -> Findings:
    """Report domains in the reserved namespace that no feature defines."""
    for line in step.of("domainMetadata"):
        name = line.body.get("domain")
        if not _known_domain(name):
            message = f"the protocol defines no domain {name}; names in delta. are reserved"
            # A later text may define it.
            yield finding("DOM-007", line.place, message, severity="warning")
