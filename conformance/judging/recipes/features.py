"""What a step leaves of the protocol, its features and the domains, and may not lose unasked.

See "Table Features", "Domain Metadata" and the section "Write recipes" of
``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from conformance.audit.checks.domains import SYSTEM_DOMAINS
from conformance.audit.read.layout import LISTS
from conformance.judging.recipes.files import read_commits
from conformance.judging.recipes.times import Fault
from generators.oracle.operations import OPERATIONS
from reference_impl import Snapshot
from reference_impl.model.features import supported


def replaces_table(step: Mapping[str, Any]) -> bool:
    """Return whether a step may replace the table, so that nothing of the earlier one is kept."""
    return OPERATIONS[step["operation"]].replaces and not {"filter", "partition"} & step.keys()


def lowered_protocol(
    former: Snapshot | None, now: Snapshot, step: Mapping[str, Any]
) -> Iterator[Fault]:
    """Look for a restore that lowers a version of a table that supports deletion vectors.

    Their design says so, and of no other table: one whose only reader feature has a version of its
    own may have that version again. What features are gone by a restore is said after.
    """
    if former is None or step["operation"] != "restore":
        return
    if "deletionVectors" not in supported(former.protocol):
        return
    was, found = (
        (each.protocol.min_reader_version, each.protocol.min_writer_version)
        for each in (former, now)
    )
    if found[0] < was[0] or found[1] < was[1]:
        yield "DVD-014", f"a restore lowers the protocol from {was} to {found}"
    elif "deletionVectors" not in supported(now.protocol):
        yield "DVD-014", "a restore takes deletionVectors out of the protocol"


_DROPPED: Final = {"operation": "drop_feature", "feature": "domainMetadata"}
"""A step after which no domain is left."""


def invented_domains(
    former: Snapshot | None, now: Snapshot, step: Mapping[str, Any]
) -> Iterator[Fault]:
    """Look for domains of the system that neither the protocol defines nor a step asks for."""
    held = {*SYSTEM_DOMAINS, step.get("domain"), *(former.domain_metadata if former else ())}
    for name, domain in now.domain_metadata.items():
        if not is_system(name) or name in held or domain.removed:
            continue
        # A restore brings back what was there.
        back = former if step["operation"] == "restore" else None
        if back is None or not _said_of(name, now, back.version):
            yield "DOM-007", f"the domain {name} is of no feature, and no step sets it"


def lost_domains(
    former: Snapshot | None, now: Snapshot, step: Mapping[str, Any]
) -> Iterator[Fault]:
    """Look for domains that no step speaks of, and that no feature of the protocol keeps."""
    if former is None or replaces_table(step):
        return
    of_users_first = sorted(former.domain_metadata.items(), key=lambda x: is_system(x[0]))
    for name, domain in of_users_first:
        after = now.domain_metadata.get(name)
        own = name in (step.get("domain"), *SYSTEM_DOMAINS) or _DROPPED.items() <= step.items()
        if own or domain.removed:
            continue
        if after is None or after.removed or after.configuration != domain.configuration:
            yield lost_domain(name, now), f"the domain {name} is not what it was before"


def lost_features(
    former: Snapshot | None, now: Snapshot, step: Mapping[str, Any]
) -> Iterator[Fault]:
    """Look for listed features that are gone unasked, in use or not.

    Whether a feature may be dropped is contested; that no other operation drops one is not.
    """
    if former is None or former.protocol.min_writer_version < LISTS:
        return
    operation = OPERATIONS[step["operation"]]
    if operation.drops_feature or operation.defines:
        return
    for name in sorted(supported(former.protocol) - supported(now.protocol)):
        yield "TF-016", f"the feature {name} is no longer supported, and no step drops it"


def lost_domain(name: str, now: Snapshot) -> str:
    """Return the requirement that the loss of a domain breaks that no step speaks of."""
    if not is_system(name):
        return "DOM-014"
    said = _said_of(name, now, now.version)
    # A checkpoint that forgets a domain does not change it.
    changed = name in now.domain_metadata or any(body.get("removed") for body in said[-1:])
    return "DOM-016" if changed else "DOM-014"


def _said_of(domain: str, now: Snapshot, version: int) -> list[Mapping[str, Any]]:
    """Return what the commits up to a version say of a domain."""
    commits = read_commits(Path(now.storage.location), range(version + 1))
    bodies = (line.body for commit in commits for line in commit.of("domainMetadata"))
    return [body for body in bodies if body.get("domain") == domain]


def is_system(domain: str) -> bool:
    """Return whether the system controls a domain, known or not."""
    return domain.startswith("delta.")
