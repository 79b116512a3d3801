"""Operations on what a table is set to: properties, transactions, metadata domains.

Implements "Change Metadata", "Transaction Identifiers" and "Domain Metadata". Each function carries
out the method of its name of :class:`~reference_impl.table.Table`, which says what it raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from reference_impl.errors import ConstraintViolation, UnsupportedFeatures
from reference_impl.model.actions import DomainMetadata
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.write.alter.definition import define, undefine
from reference_impl.write.commit.commit_file import require_text
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.features.protocols import CONSTRAINT_PREFIX

_SYSTEM_PREFIX: Final = "delta."


def set_properties(
    snapshot: Snapshot, properties: Mapping[str, str], features: Iterable[str]
) -> int:
    """Set table properties and support features, and return the version."""
    wanted = tuple(features)
    transaction = Transaction(
        snapshot,
        "SET TBLPROPERTIES" if properties or not wanted else "ADD FEATURES",
        {"properties": dict(properties), "features": list(wanted)},
    )
    define(transaction, snapshot.metadata, properties, wanted)
    return transaction.commit()


def unset_properties(snapshot: Snapshot, names: Iterable[str]) -> int:
    """Unset table properties, whether they are set or not, and return the version."""
    gone = tuple(names)
    transaction = Transaction(snapshot, "UNSET TBLPROPERTIES", {"properties": list(gone)})
    undefine(transaction, snapshot.metadata, gone)
    return transaction.commit()


def add_constraint(snapshot: Snapshot, name: str, expression: str) -> int:
    """Add a CHECK constraint that every row obeys already, and return the version.

    Raises:
        ConstraintViolation: the name is taken, or a row breaks it.
    """
    # Obeys CHK-007 CHK-009 CHK-010 CHK-002 CHK-004 CHK-005.
    key = CONSTRAINT_PREFIX + name.lower()
    if key in snapshot.metadata.configuration:
        raise ConstraintViolation(f"there is a constraint {name!r} already")
    transaction = Transaction(snapshot, "ADD CONSTRAINT", {"name": name, "expr": expression})
    define(transaction, snapshot.metadata, {key: expression})
    return transaction.commit()


def drop_constraint(snapshot: Snapshot, name: str) -> int:
    """Drop a CHECK constraint, and return the version.

    Raises:
        ConstraintViolation: there is none of that name.
    """
    key = CONSTRAINT_PREFIX + name.lower()
    held = [k for k in snapshot.metadata.configuration if k.lower() == key]
    if not held:
        raise ConstraintViolation(f"there is no constraint {name!r}")
    transaction = Transaction(snapshot, "DROP CONSTRAINT", {"name": name})
    undefine(transaction, snapshot.metadata, held)
    return transaction.commit()


def set_transaction(snapshot: Snapshot, app_id: str, version: int) -> int:
    """Record the progress of an application, and return the table's version."""
    transaction = Transaction(snapshot, "STREAMING UPDATE", {"appId": app_id})
    transaction.set_txn(app_id, version)
    return transaction.commit()


def set_domain(snapshot: Snapshot, domain: str, configuration: str | None) -> int:
    """Set the configuration of a user's metadata domain, or remove it, and return the version.

    Raises:
        ConstraintViolation: it is a system domain.
        UnsupportedFeatures: the table does not support metadata domains.
    """
    # Obeys DOM-004 DOM-007 DOM-016.
    require_text(domain, "the name of a domain", "domainMetadata")
    if domain.startswith(_SYSTEM_PREFIX):
        raise ConstraintViolation(
            f"domain {domain!r} is a system domain, which no user sets",
            action="domainMetadata",
            requirement="DOM-015",
        )
    transaction = Transaction(snapshot, "SET DOMAIN", {"domain": domain})
    if not transaction.target.supports("domainMetadata"):
        raise UnsupportedFeatures(
            ("domainMetadata",),
            "the table does not support metadata domains",
            hint="support the feature domainMetadata first",
        )
    held = snapshot.domain_metadata.get(domain)
    if configuration is None and held is None:
        return int(snapshot.version)
    # A tombstone repeats the configuration that it removes.
    text = configuration if configuration is not None else held.configuration if held else ""
    transaction.set_domain(DomainMetadata(domain, text, removed=configuration is None))
    return transaction.commit()
