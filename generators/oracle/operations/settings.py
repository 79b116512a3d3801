"""Operations on a table as a whole: its files and its log, its properties and features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from generators.oracle.model import Oracle
from generators.oracle.operations import arguments as args
from generators.oracle.operations.entry import Operation, operation, said_by_recipe, unseen

CheckpointKind: TypeAlias = Literal["classic", "multi-part", "v2-json", "v2-parquet", "v2-classic"]


@operation(
    "optimize",
    {
        "purge": args.FLAG(
            note="rewrite files with deletion vectors and no others", required=False
        ),
        "cluster": args.FLAG(
            note="to the judge: files are clustered", required=False, seen="judge"
        ),
    },
    judges="FA-017",
    capabilities={"purge": lambda step: "purge" in step},
)
@dataclass(frozen=True, slots=True)
class Compact(Operation):
    """Rewrite all files into few; no row changes."""


@operation(
    "restore",
    {
        "to_step": args.STEP(
            note="number of an earlier step; an adapter is asked for the `version` that it left"
        )
    },
    replaces=True,
)
@dataclass(frozen=True, slots=True)
class Restore(Operation):
    """Make rows, schema and properties those of an earlier version again."""

    version: int

    def apply(self, oracle: Oracle) -> None:
        """Restore the version."""
        oracle.restore(self.version)


_FILES: Final = {
    "gone": args.PATHS(
        note="files that must not be there afterwards; earlier versions need not be readable"
    ),
    "kept": args.PATHS(note="files that must"),
}
unseen("vacuum", _FILES, commits=False, judges="FA-008")


@operation(
    "checkpoint",
    {
        "kind": args.Argument(
            {"enum": ["v2-json", "v2-parquet", "v2-classic", "multi-part"]}, required=False
        ),
        "sidecars": args.COUNT(required=False),
        "parts": args.Argument({"type": "integer", "minimum": 2}, required=False),
        "layout": args.layout(
            {
                "kind": {"enum": ["multi-part", "v2-json", "v2-parquet", "v2-classic"]},
                "sidecars": {"type": "integer", "minimum": 1, "maximum": 100},
            },
            kind="classic",
            sidecars=0,
        ),
    },
    judges="CKPT-005",
    capabilities={"kind": lambda step: "kind" in step},
)
@dataclass(frozen=True, slots=True)
class Checkpoint(Operation):
    """Write a checkpoint of the latest version; commits nothing."""

    kind: CheckpointKind = "classic"
    sidecars: int = 0

    @property
    def commits(self) -> bool:
        """Whether it makes a version."""
        return False


unseen(
    "compact_log",
    {"start": args.COUNT(note="a version"), "end": args.COUNT(note="a version")},
    commits=False,
    judges="COMP-004",
)
unseen("cleanup", _FILES, commits=False, judges="CKPT-011")


@operation("set_properties", {"properties": args.MAP("properties")}, judges="META-011")
@dataclass(frozen=True, slots=True)
class SetProperties(Operation):
    """Set table properties on top of those in force."""

    properties: Mapping[str, str]

    def apply(self, oracle: Oracle) -> None:
        """Set the properties."""
        oracle.properties |= self.properties


@operation("unset_properties", {"names": args.NAMES("names")}, judges="META-011")
@dataclass(frozen=True, slots=True)
class UnsetProperties(Operation):
    """Unset table properties, whether they are set or not."""

    names: tuple[str, ...]

    def apply(self, oracle: Oracle) -> None:
        """Unset the properties."""
        for name in self.names:
            oracle.properties.pop(name, None)


unseen(
    "add_constraint",
    {"name": args.NAME, "expression": args.NAME(note="SQL")},
    needs="checkConstraints",
    judges="CHK-002",
    capabilities={"sql": said_by_recipe},
)
unseen("drop_constraint", {"name": args.NAME})


@operation(
    "set_txn",
    {"app_id": args.TEXT("application"), "txn_version": args.LONG("version")},
    judges="TXN-004",
)
@dataclass(frozen=True, slots=True)
class SetTransaction(Operation):
    """Record an application's transaction version."""

    application: str
    version: int

    def apply(self, oracle: Oracle) -> None:
        """Record the version."""
        oracle.transactions[self.application] = self.version


@operation(
    "set_domain_metadata",
    {
        "domain": args.NAME("domain"),
        "configuration": args.TEXT_OR_NULL("configuration", "null removes it"),
    },
    needs="domainMetadata",
    judges="DOM-001",
)
@dataclass(frozen=True, slots=True)
class SetDomain(Operation):
    """Set a metadata domain, or remove it when the configuration is ``None``."""

    domain: str
    configuration: str | None

    def apply(self, oracle: Oracle) -> None:
        """Set the domain, or remove it."""
        if self.configuration is None:
            oracle.domains.pop(self.domain, None)
        else:
            oracle.domains[self.domain] = self.configuration


unseen("enable_feature", {"feature": args.NAME}, judges="PROTO-004")
unseen("drop_feature", {"feature": args.NAME}, drops_feature=True)
unseen(
    "cluster_by",
    {"columns": args.NAMES(note="none to cluster no more")},
    needs="clustering",
    judges="CLUS-006",
)
unseen("generate_manifest", commits=False)
