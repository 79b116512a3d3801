"""Writers that break the rules of concurrency, of single features and of checkpoints."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyroaring
from wrong_writers import (
    NO,
    YES,
    Mutant,
    Wrap,
    afterwards,
    blind_to,
    gives,
    is_,
    replacing,
    with_bodies,
    wrong,
)

from reference_impl.deletion_vectors import NATIVE_MAGIC
from reference_impl.errors import UnsupportedExpression

_NOTHING = type("Nothing", (), {})


def _drops(*names: str) -> Wrap:
    """Leave fields out of every add."""
    return with_bodies("add", lambda body: {k: v for k, v in body.items() if k not in names})


def _again(ending: str) -> Wrap:
    """Write the log file of the version before once more, with a blank at its end."""

    @replacing
    def wrap(right: Any, self: Any, path: str, data: bytes) -> None:
        right(self, path, data)
        name = Path(path).stem
        if path.endswith(".json") and name.isdigit() and int(name):
            before = Path(self.location) / "_delta_log" / f"{int(name) - 1:020}{ending}"
            before.write_bytes(before.read_bytes() + b" \n")

    return wrap


def _tracks_what_is_supported(right: Any) -> Any:
    return lambda self, name: self.supports(name) if name == "rowTracking" else right(self, name)


def _cuts_decimals(bounds: tuple[Any, Any]) -> tuple[Any, Any]:
    """Cut the digits after the point off, for the lower and the upper bound alike."""
    low, high = (each // 1 if isinstance(each, Decimal) else each for each in bounds)
    return low, high


@replacing
def _turned(right: Any, values: Any, target: Any, place: Any) -> Any:
    """Store the two parts of a variant under each other's names."""
    found = right(values, target, place)
    parts = [found.field(at) for at in (1, 0)]
    return pa.StructArray.from_arrays(parts, fields=list(target), mask=found.is_null())


@replacing
def _starts_now(right: Any, self: Any, moment: int) -> int:
    """Begin in-commit timestamps with the clock, whatever came before."""
    if self.base is None or self.read_target.active("inCommitTimestamp"):
        return int(right(self, moment))
    return moment


def _without_parts(right: Any) -> Any:
    """Return what is in arrays and maps no field ids."""

    def bare(of: pa.DataType) -> pa.DataType:
        if pa.types.is_list(of):
            return pa.list_(pa.field("element", bare(of.value_type), of.value_field.nullable))
        if pa.types.is_map(of):
            value = pa.field("value", bare(of.item_type), of.item_field.nullable)
            return pa.map_(pa.field("key", bare(of.key_type), nullable=False), value)
        return of

    return lambda column, mode: (found := right(column, mode)).with_type(bare(found.type))


@replacing
def _passes_over(right: Any, target: Any) -> Any:
    """Hold rows to nothing where a condition cannot be read."""
    try:
        return right(target)
    except UnsupportedExpression:
        return {}


def _without_lists(actions: dict[str, Any]) -> dict[str, Any]:
    bare = [
        {name: value for name, value in body.items() if not name.endswith("Features")}
        for body in actions["protocol"]
    ]
    return {**actions, "protocol": bare}


def _known_domains(actions: dict[str, Any]) -> dict[str, Any]:
    system = [d for d in actions["domainMetadata"] if not d["domain"].startswith("delta.from")]
    return {**actions, "domainMetadata": system}


@replacing
def _repeats_sidecars(right: Any, small: Any, files: Any) -> Any:
    """Name every sidecar twice."""
    found = list(right(small, files))
    return [*found, *(line for line in found if line.startswith('{"sidecar"'))]


@replacing
def _far_ids(right: Any, name: str, identity: Any, count: int) -> Any:
    """Count the values of an identity column from anywhere."""
    found, _ = right(name, identity, count)
    moved = pa.array([value + 1 for value in found.to_pylist()], pa.int64())
    return moved, moved[-1].as_py() if len(moved) else None


def _without_domain_lines(right: Any) -> Any:
    return lambda lines: right([line for line in lines if "domainMetadata" not in line])


_ATTEMPTS = count()


def _shuffled(right: Any) -> Any:
    return lambda actions: [next(_ATTEMPTS) for _ in right(actions)]


PAST_THE_CATALOG = (
    ("snapshot.snapshot:check_readable", gives(None)),
    ("write.features.target:check_writable", gives(None)),
    ("model.protocol:check_writable", gives(None)),
    ("write.upkeep.vacuum:check_writable", gives(None)),
    ("write.upkeep.cleanup:check_writable", gives(None)),
)


def _one_by_one(right: Any) -> Any:
    return lambda storage, files, created: [
        add for file in files for add in right(storage, [file], created)
    ]


def _native(rows: Any) -> bytes:
    """Serialize a vector in the layout before the portable one."""
    bitmap = pyroaring.BitMap(rows).serialize()
    head = NATIVE_MAGIC.to_bytes(4, "little") + (1).to_bytes(4, "little")
    return head + len(bitmap).to_bytes(4, "little") + bytes(bitmap)


@replacing
def _feeds_all(right: Any, self: Any) -> None:
    self._needs_feed = True
    right(self)


def _half(table: pa.Table) -> pa.Table:
    return table.slice(0, table.num_rows // 2)


def _compacts_adds(right: Any) -> Any:
    """Forget tombstones in a compaction."""
    return lambda lines: right([line for line in lines if "remove" not in line])


@replacing
def _supported(right: Any, self: Any, name: str) -> bool:
    """Take vectors that a table supports for vectors that it asks for."""
    return bool(self.supports(name) if name == "deletionVectors" else right(self, name))


@replacing
def _without_properties(right: Any, transaction: Any, schema: Any, **named: Any) -> Any:
    """Change columns, and keep no property but those of column mapping."""
    held = named.get("configuration", transaction.base.metadata.configuration)
    kept = {k: v for k, v in held.items() if k.startswith("delta.columnMapping.")}
    return right(transaction, schema, **{**named, "configuration": kept})


RULES: dict[str, Mutant] = {
    # Change feed.
    "feeds-what-files-tell": wrong("CDFF-005", ("write.rows.changes:Changes.finish", _feeds_all)),
    # Others at the same time.
    "ignores-conflicts-of-metadata": wrong(
        "LOG-003", ("write.commit.conflicts:Metadata", is_(_NOTHING))
    ),
    "ignores-conflicts-of-protocols": wrong(
        "LOG-003", ("write.commit.conflicts:Protocol", is_(_NOTHING))
    ),
    "ignores-progress-of-others": wrong("TXN-004", ("write.commit.conflicts:Txn", is_(_NOTHING))),
    "ignores-rows-that-came": wrong("LOG-003", ("write.commit.conflicts:_were_read", gives(NO))),
    "refuses-what-goes-together": wrong(
        "WNEW-001", ("write.commit.conflicts:_were_read", gives(YES))
    ),
    "gives-up-at-once": wrong("WNEW-001", ("write.commit.transaction:_ATTEMPTS", is_(1))),
    "never-gives-up": wrong("LOG-003", ("write.commit.transaction:_ATTEMPTS", is_(1 << 20))),
    # The earlier log.
    "writes-commits-again": wrong(
        "CRC-001", ("storage:LocalStorage.put_if_absent", _again(".json"))
    ),
    "writes-checksums-again": wrong(
        "CRC-039", ("storage:LocalStorage.put_if_absent", _again(".crc"))
    ),
    # Rules about rows.
    "passes-over-what-it-cannot-read": wrong("CHK-006", ("write.rows.rules:_checks", _passes_over)),
    "knows-no-identity-at-6": wrong(
        "WVER-005", ("write.features.target:Target.supports", blind_to("identityColumns"))
    ),
    "leaves-the-steps-of-identity": wrong(
        "IDN-013", ("write.rows.incoming:_next_identities", _far_ids)
    ),
    # Names, types, statistics.
    "adds-names-that-are-taken": wrong("SCH-028", ("types.schema:_refuse_duplicates", gives(None))),
    "turns-variants-around": wrong("VAR-003", ("write.rows.conform:_variant", _turned)),
    "lists-no-variants": wrong("VAR-001", ("write.features.protocols:_FEATURE_OF_TYPE", is_({}))),
    "cuts-decimals": wrong("STAT-012", ("write.statistics:bounds_of", afterwards(_cuts_decimals))),
    # Vectors.
    "puts-vectors-beside-their-prefix": wrong(
        "DVFILE-001", ("write.files.vectors:encode_z85", afterwards(lambda text: f"ab{text}"))
    ),
    "writes-a-file-for-each-vector": wrong(
        "DVD-024", ("write.rows.changes:write_vectors", _one_by_one)
    ),
    "writes-native-vectors": wrong("DVFMT-008", ("write.files.vectors:encode", is_(_native))),
    # Row tracking, timestamps.
    "keeps-row-ids-in-files-too-early": wrong(
        "RT-004", ("write.features.target:Target.active", _tracks_what_is_supported)
    ),
    "starts-behind-the-file": wrong(
        "ICT-012", ("write.commit.transaction:Transaction._in_commit_timestamp", _starts_now)
    ),
    "writes-vectors-while-off": wrong(
        "DV-002", ("write.features.target:Target.active", _supported)
    ),
    # Features that are dropped.
    "drops-features-by-name-alone": wrong("TF-016", ("write.alter.dropping:_TRACES", is_({}))),
    "drops-row-tracking-without-ids": wrong(
        "TF-016", ("write.alter.dropping:_stripped", gives([]))
    ),
    "drops-checks-with-a-constraint-left": wrong(
        "CHK-001", ("write.alter.dropping:features_needed", gives(()))
    ),
    # Metadata.
    "changes-columns-and-loses-properties": wrong(
        "META-011", ("write.alter.columns:_commit", _without_properties)
    ),
    "gives-a-table-another-id": wrong(
        "META-004",
        (
            "write.commit.transaction:Transaction._commit_actions",
            with_bodies("metaData", lambda body: {**body, "id": str(uuid4())}),
        ),
    ),
    # Clustering, Iceberg, catalogs.
    "tells-not-who-clusters": wrong(
        "CLUS-011",
        ("write.commit.transaction:Transaction._commit_actions", _drops("clusteringProvider")),
    ),
    "clusters-what-others-did": wrong(
        "CLUS-012", ("write.upkeep.maintenance:PROVIDER", is_("fromAnotherWorld"))
    ),
    "numbers-no-parts-in-files": wrong(
        "ICE2-012", ("write.files.data_files:stored_field", _without_parts)
    ),
    "repartitions-under-iceberg-1": wrong(
        "ICE1-011", ("write.alter.replace:_check_partitioning", gives(None))
    ),
    "repartitions-under-iceberg-2": wrong(
        "ICE2-019", ("write.alter.replace:_check_partitioning", gives(None))
    ),
    "widens-past-iceberg": wrong("ICE2-023", ("write.features.iceberg:_is_allowed", gives(YES))),
    "appends-past-the-catalog": wrong("CAT-011", *PAST_THE_CATALOG),
    "optimizes-past-the-catalog": wrong("CAT-021", *PAST_THE_CATALOG),
    "vacuums-past-the-catalog": wrong("CAT-020", *PAST_THE_CATALOG),
    "cleans-past-the-catalog": wrong("CAT-019", *PAST_THE_CATALOG),
    # Checkpoints, compactions, statistics.
    "checkpoints-no-feature-lists": wrong(
        "CKSCH-009", ("write.checkpoints.write:_small_actions", afterwards(_without_lists))
    ),
    "forgets-domains-it-does-not-know": wrong(
        "DOM-014", ("write.checkpoints.write:_small_actions", afterwards(_known_domains))
    ),
    "names-sidecars-twice": wrong(
        "SIDE-002", ("write.checkpoints.files:_lines", _repeats_sidecars)
    ),
    "splits-parts-as-it-comes": wrong(
        "CKPT-N-007", ("write.checkpoints.write:part_keys", _shuffled)
    ),
    "leaves-parsed-statistics-out": wrong(
        "CKC-021", ("write.checkpoints.files:_AS_STRUCT", is_("delta.nothing"))
    ),
    "leaves-statistics-out": wrong(
        "CKC-018", ("write.checkpoints.files:_AS_JSON", is_("delta.checkpoint.writeStatsAsStruct"))
    ),
    "compacts-without-domains": wrong(
        "COMP-004", ("write.upkeep.compaction:_encoded", _without_domain_lines)
    ),
    # Checkpoints, compactions, cleaning, vacuum.
    "checkpoints-half-the-files": wrong(
        "CKC-004", ("write.checkpoints.write:checkpoint_adds", afterwards(_half))
    ),
    "checkpoints-no-tombstones": wrong(
        "CKC-005", ("write.checkpoints.write:live_tombstones", afterwards(lambda t: t.slice(0, 0)))
    ),
    "checkpoints-no-domains": wrong(
        "CKC-007",
        (
            "write.checkpoints.write:_small_actions",
            afterwards(lambda a: {**a, "domainMetadata": []}),
        ),
    ),
    "checkpoints-no-txns": wrong(
        "CKC-006",
        ("write.checkpoints.write:_small_actions", afterwards(lambda a: {**a, "txn": []})),
    ),
    "marks-no-second-kind": wrong(
        "CKPT-V2-002",
        (
            "write.checkpoints.files:_lines",
            lambda right: (
                lambda small, files: right(
                    {k: v for k, v in small.items() if k != "checkpointMetadata"}, files
                )
            ),
        ),
    ),
    "compacts-without-tombstones": wrong(
        "COMP-006", ("write.upkeep.compaction:_encoded", _compacts_adds)
    ),
    "cleans-what-is-needed": wrong(
        "CKPT-011",
        (
            "write.upkeep.cleanup:_expired",
            lambda right: lambda storage, checkpoint: right(storage, checkpoint + 2),
        ),
    ),
    "vacuums-what-it-does-not-know": wrong(
        "VPC-002", ("write.upkeep.vacuum:check_writable", gives(None))
    ),
    "writes-what-it-does-not-know": wrong(
        "TF-003", ("write.features.target:check_writable", gives(None))
    ),
    "opens-system-domains": wrong(
        "DOM-015", ("write.alter.settings:_SYSTEM_PREFIX", is_("nothing."))
    ),
    "loses-features-when-it-upgrades": wrong(
        "TF-012", ("write.features.protocols:supported", gives(frozenset()))
    ),
    "restores-rows-alone": wrong("META-011", ("write.upkeep.maintenance:define", gives(None))),
}
"""Each wrong writer, and the requirement that has to notice."""
