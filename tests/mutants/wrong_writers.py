"""Writers that are wrong in one way each: the reference writer with one piece replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import reference_impl
from conformance.adapter import Answer, Description, Request, Write
from conformance.adapters.ours import create

# A module that is imported while a piece is wrong keeps the wrong one.
for _module in walk_packages(reference_impl.__path__, f"{reference_impl.__name__}."):
    import_module(_module.name)

YES, NO = True, False

Wrap = Callable[[Any], Any]
"""Gives the wrong piece for the right one."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to be wrong.

    Attributes:
        requirement: what has to notice.
        pieces: what is replaced: module and name below ``reference_impl.``, to the wrong piece.
    """

    requirement: str
    pieces: tuple[tuple[str, Wrap], ...]


def wrong(requirement: str, *pieces: tuple[str, Wrap]) -> Mutant:
    return Mutant(requirement, pieces)


def owner_of(piece: str) -> tuple[Any, str]:
    """Return what has a piece, and the name that it has there."""
    module, _, path = piece.partition(":")
    *outer, last = path.split(".")
    return reduce(getattr, outer, import_module(f"reference_impl.{module}")), last


@contextmanager
def writing_wrong(mutant: Mutant | None) -> Iterator[None]:
    """Let the reference writer be wrong for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for name, wrap in mutant.pieces if mutant is not None else ():
            owner, last = owner_of(name)
            patch.setattr(owner, last, wrap(getattr(owner, last)))
        yield


class WrongWriter:
    """The adapter of the reference implementation, wrong while it writes."""

    def __init__(self, mutant: Mutant | None) -> None:
        self._mutant = mutant
        self._ours = create()

    def describe(self) -> Description:
        return self._ours.describe()

    def run(self, request: Request) -> Answer:
        if not isinstance(request, Write):
            return self._ours.run(request)
        with writing_wrong(self._mutant):
            return self._ours.run(request)

    def close(self) -> None:
        self._ours.close()


def replacing(wrong: Callable[..., Any]) -> Wrap:
    """Replace a function by one that gets the right one first."""
    return lambda right: lambda *args, **named: wrong(right, *args, **named)


def gives(value: Any) -> Wrap:
    """Replace a function by one that always gives the same."""
    return lambda _: lambda *_args, **_named: value


def is_(value: Any) -> Wrap:
    """Replace a constant."""
    return lambda _: value


def afterwards(change: Callable[[Any], Any]) -> Wrap:
    """Change what a function gives."""
    return lambda right: lambda *args, **named: change(right(*args, **named))


def blind_to(*features: str) -> Wrap:
    """Replace a test for a feature by one that does not see some."""
    return lambda right: lambda self, name: name not in features and right(self, name)


def sees(*features: str) -> Wrap:
    """Replace a test for a feature by one that sees some that are not there."""
    return lambda right: lambda self, name: name in features or right(self, name)


@replacing
def _names_no_vectors(right: Any, self: Any, actions: pa.Table) -> None:
    at = actions.column_names.index("deletionVector")
    none = pa.nulls(actions.num_rows, actions.schema.field(at).type)
    right(self, actions.set_column(at, "deletionVector", none))


def without(action: str) -> Wrap:
    """Leave an action out of a commit."""

    @replacing
    def wrap(right: Any, self: Any, version: int) -> Any:
        return [line for line in right(self, version) if action not in line]

    return wrap


def with_bodies(action: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Wrap:
    """Change the bodies of an action in a commit."""

    @replacing
    def wrap(right: Any, self: Any, version: int) -> Any:
        return [
            {action: change(line[action])} if action in line else line
            for line in right(self, version)
        ]

    return wrap


def _drops(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {name: value for name, value in body.items() if name not in names}


def _unnamed(body: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in body["configuration"].items() if "materialized" not in k}
    return {**body, "configuration": kept}


def _document(change: Callable[[dict[str, Any]], object]) -> Wrap:
    """Change the checksum that is written."""

    @replacing
    def wrap(right: Any, self: Any, path: str, data: bytes) -> None:
        if path.endswith(".crc"):
            document = json.loads(data)
            change(document)
            data = json.dumps(document).encode()
        right(self, path, data)

    return wrap


def _overwrites(_: Any) -> Any:
    return lambda self, path, data: self.put(path, data)


def _cut_bytes(_: Any) -> Any:
    """Cut at 32 bytes, through the middle of a character."""
    return lambda text: text.encode()[:34].decode(errors="replace").replace("\ufffd", "?")


def _whole_seconds(right: Any) -> Any:
    return lambda moment, *, up: right(moment.replace(microsecond=0), up=up)


def _with_nan(_: Any) -> Any:
    return lambda _values, low, high: (low, high if np.isfinite(high) else 1.0)


@replacing
def _forgets_deleted(right: Any, self: Any, file: Any, chosen: Any) -> None:
    """Write a vector of the rows that go now, without those that went before."""
    right(self, replace(file, live=np.ones_like(file.live)), chosen)


@replacing
def _resurrects(right: Any, self: Any, file: Any) -> None:
    right(self, replace(file, live=np.ones_like(file.live)))


def _in_first_file(right: Any) -> Any:
    """Return the columns of a mapped file the names that users see."""
    return lambda column, _mode: right(column, "none")


def _no_ids(right: Any) -> Any:
    return lambda column, mode: right(column, mode).remove_metadata()


def _no_folder(_: Any) -> Any:
    return lambda path, *_args, **_named: path


@replacing
def _vector_plus_one(right: Any, self: Any) -> Any:
    return {**right(self), "cardinality": self.cardinality + 1}


@replacing
def _unlisted_reader(right: Any, current: Any, names: Any) -> Any:
    return replace(right(current, names), reader_features=())


@replacing
def _wrong_crc(right: Any, payloads: Any) -> Any:
    data, offsets = right(payloads)
    return data[:-1] + bytes([data[-1] ^ 1]), offsets


@replacing
def _tight(right: Any, add: Any) -> str:
    return right(add).replace('"tightBounds":false', '"tightBounds":true')


@replacing
def _no_statistics(right: Any, file: Any, vector: Any) -> Any:
    body = right(file, vector)
    return {name: value for name, value in body.items() if name != "stats"}


def _flat_steps(right: Any) -> Any:
    return lambda name, identity, count: right(name, replace(identity, step=-identity.step), count)


@replacing
def _overflows(_right: Any, _name: str, identity: Any, count: int) -> Any:
    """Count on from the other end of a long."""
    following = range(identity.following(), identity.following() + count)
    wrapped = [(each + 2**63) % 2**64 - 2**63 for each in following]
    return pa.array(wrapped, pa.int64()), wrapped[-1]


@replacing
def _zeros(_right: Any, rows: pa.Table, schema: Any) -> pa.Table:
    for at, column in enumerate(schema.fields):
        if not column.nullable and rows.column(at).null_count:
            filled = pa.array([0 if v is None else v for v in rows.column(at).to_pylist()])
            rows = rows.set_column(at, column.name, filled)
    return rows


def _forgets_highest(right: Any) -> Any:
    """Record nothing in the table of the number that a new column gets."""

    class Numbering(right):  # type: ignore[misc]
        def annotate(self, column: Any) -> Any:
            before = self.highest
            found = super().annotate(column)
            self.highest = before
            return found

    return Numbering


def _explicit(right: Any) -> Any:
    return lambda column: replace(right(column), explicit=True)


@replacing
def _swapped_order(right: Any, self: Any, version: int) -> Any:
    """Put commitInfo last."""
    lines = right(self, version)
    return [*lines[1:], lines[0]]


def _goes_back(right: Any) -> Any:
    return lambda self, moment: min(right(self, moment), moment)


def _no_provenance(_: Any) -> Any:
    return lambda _self, metadata, _version, _timestamp: metadata


@replacing
def _same_columns(right: Any, transaction: Any, schema: Any, *rest: Any, **named: Any) -> Any:
    """Record no change of a type."""
    fields = tuple(
        replace(f, metadata={k: v for k, v in f.metadata.items() if k != "delta.typeChanges"})
        for f in schema.fields
    )
    return right(transaction, replace(schema, fields=fields), *rest, **named)


MUTANTS: dict[str, Mutant] = {
    # Commits.
    "overwrites-commits": wrong("WNEW-001", ("storage:LocalStorage.put_if_absent", _overwrites)),
    "ignores-conflicts": wrong("LOG-003", ("write.commit.transaction:check_conflict", gives(None))),
    "ignores-conflicts-of-domains": wrong(
        "DOM-005", ("write.commit.conflicts:DomainMetadata", is_(type("Nothing", (), {})))
    ),
    "puts-commit-info-last": wrong(
        "ICT-006", ("write.commit.transaction:Transaction._commit_actions", _swapped_order)
    ),
    "leaves-commit-info-out": wrong(
        "ICT-005", ("write.commit.transaction:Transaction._commit_actions", without("commitInfo"))
    ),
    "moves-rows-as-a-change": wrong(
        "FA-017",
        (
            "write.commit.transaction:Transaction._commit_actions",
            lambda right: with_bodies("add", lambda b: {**b, "dataChange": True})(
                with_bodies("remove", lambda b: {**b, "dataChange": True})(right)
            ),
        ),
    ),
    "changes-rows-as-a-move": wrong(
        "ADD-009",
        (
            "write.commit.transaction:Transaction._commit_actions",
            with_bodies("add", lambda b: {**b, "dataChange": False}),
        ),
    ),
    "leaves-removes-out": wrong(
        "FA-021", ("write.commit.transaction:Transaction._commit_actions", without("remove"))
    ),
    "forgets-txn": wrong(
        "TXN-004", ("write.commit.transaction:Transaction._commit_actions", without("txn"))
    ),
    # Rules about rows.
    "ignores-append-only": wrong(
        "APP-002", ("write.features.target:Target.active", blind_to("appendOnly"))
    ),
    "ignores-invariants": wrong(
        "INV-005", ("write.features.target:Target.supports", blind_to("invariants"))
    ),
    "ignores-constraints": wrong("CHK-006", ("write.rows.incoming:check_rules", gives(None))),
    "trusts-rows-with-a-new-constraint": wrong(
        "CHK-009", ("write.alter.definition:_check_existing", gives(None))
    ),
    "takes-null-for-true": wrong(
        "CHK-006",
        (
            "expressions.sql:Expression.evaluate",
            lambda right: (
                lambda self, *args: (
                    found.fill_null(True)  # noqa: FBT003  a value
                    if pa.types.is_boolean((found := right(self, *args)).type)
                    else found
                )
            ),
        ),
    ),
    "fills-nulls-with-zero": wrong("SCH-025", ("write.rows.incoming:check_nulls", _zeros)),
    "ignores-generated-columns": wrong(
        "GEN-004", ("write.rows.incoming:_check_generated", gives(None))
    ),
    "ignores-defaults": wrong(
        "DFT-005", ("write.features.target:Target.supports", blind_to("allowColumnDefaults"))
    ),
    "forgets-identity-mark": wrong(
        "IDN-016", ("write.rows.incoming:HIGH_WATER_MARK_KEY", is_("delta.identity.other"))
    ),
    "steps-the-wrong-way": wrong("IDN-014", ("write.rows.incoming:_next_identities", _flat_steps)),
    "wraps-identity-around": wrong("IDN-015", ("write.rows.incoming:_next_identities", _overflows)),
    "takes-identity-values": wrong("IDN-011", ("write.rows.rules:_identity", _explicit)),
    # Column mapping.
    "does-not-raise-max-id": wrong("CM-020", ("write.alter.columns:Numbering", _forgets_highest)),
    "stores-logical-names": wrong(
        "CM-013", ("write.files.data_files:stored_field", _in_first_file)
    ),
    "stores-no-field-ids": wrong("CM-015", ("write.files.data_files:stored_field", _no_ids)),
    "partitions-by-logical-names": wrong(
        "CM-016",
        ("write.files.data_files:physical_name", lambda _: lambda column, _mode: column.name),
    ),
    "gives-a-dropped-name-again": wrong(
        "CM-014",
        (
            "write.alter.columns:Numbering",
            lambda right: lambda highest: right(highest, lambda c: c.name),
        ),
    ),
    "maps-old-files-by-new-names": wrong(
        "CM-013",
        (
            "write.alter.definition:map_columns",
            lambda right: lambda *given, **_: right(*given, new=True),
        ),
    ),
    # Deletion vectors.
    "forgets-earlier-vectors": wrong(
        "DVD-017", ("write.rows.changes:Changes._delete_rows", _forgets_deleted)
    ),
    "miscounts-vectors": wrong(
        "DVDESC-010", ("deletion_vectors.descriptor:Descriptor.to_wire", _vector_plus_one)
    ),
    "writes-wrong-crc": wrong("DVSTO-007", ("write.files.vectors:frame", _wrong_crc)),
    "declares-wide-bounds-tight": wrong("STAT-012", ("write.files.vectors:_widened", _tight)),
    "leaves-row-counts-out": wrong(
        "DVDESC-022",
        ("write.files.vectors:_with_vector", _no_statistics),
        (
            "write.commit.transaction:ensure_num_records",
            lambda _: lambda _storage, adds, **_named: adds,
        ),
    ),
    "vacuums-vectors": wrong(
        "DVD-001", ("write.files.referenced_files:ReferencedFiles.add_actions", _names_no_vectors)
    ),
    "resurrects-when-it-moves": wrong("DVD-005", ("write.rows.changes:Changes.move", _resurrects)),
    "restores-without-vectors": wrong(
        "DVD-013",
        ("write.upkeep.maintenance:add_of", afterwards(_drops("deletionVector"))),
    ),
    "writes-manifests-with-vectors": wrong(
        "DVD-010",
        (
            "write.interop.manifest:pc",
            is_(
                type(
                    "Blind",
                    (),
                    {
                        "any": staticmethod(gives(pa.scalar(NO))(0)),
                        "is_valid": staticmethod(gives(None)(0)),
                    },
                )
            ),
        ),
    ),
    "vacuums-what-is-retained": wrong(
        "FA-008", ("write.upkeep.vacuum:live_tombstones", afterwards(lambda t: t.slice(0, 0)))
    ),
    # Change data feed.
    "leaves-change-files-out": wrong(
        "CDC-012", ("write.commit.transaction:Transaction._commit_actions", without("cdc"))
    ),
    "records-no-preimages": wrong(
        "CDC-012",
        (
            "write.rows.changes:Changes._record",
            lambda right: (
                lambda self, change, rows: (
                    None if change == "update_preimage" else right(self, change, rows)
                )
            ),
        ),
    ),
    # Row tracking.
    "gives-row-ids-again": wrong("RT-039", ("write.features.row_ids:high_water_mark", gives(-1))),
    "does-not-raise-row-mark": wrong(
        "RT-037",
        ("write.commit.transaction:Transaction._commit_actions", without("domainMetadata")),
    ),
    "assigns-no-row-ids": wrong(
        "RT-028",
        ("write.commit.transaction:assign_row_ids", lambda _: lambda adds, *_: (adds, None)),
    ),
    "tracks-without-backfill": wrong("RT-045", ("write.alter.definition:backfill", gives(None))),
    "names-no-row-columns": wrong(
        "RT-042",
        ("write.commit.transaction:Transaction._commit_actions", with_bodies("metaData", _unnamed)),
    ),
    # In-commit timestamps.
    "follows-the-clock-back": wrong(
        "ICT-009", ("write.commit.transaction:Transaction._in_commit_timestamp", _goes_back)
    ),
    "tells-not-since-when": wrong(
        "ICT-010", ("write.commit.transaction:Transaction._with_provenance", _no_provenance)
    ),
    # Clustering, Iceberg, types.
    "counts-not-what-clusters": wrong(
        "CLUS-009",
        ("write.rows.changes:clustering_leaves", gives(())),
        ("write.commit.transaction:clustering_leaves", gives(())),
    ),
    "clusters-without-statistics": wrong("CLUS-009", ("write.alter.columns:to_objects", gives(()))),
    "leaves-partitions-out-of-files": wrong(
        "ICE1-007", ("write.files.data_files:is_iceberg_compatible", gives(NO))
    ),
    "mixes-iceberg-and-vectors": wrong(
        "ICE2-014", ("write.features.target:check_iceberg", gives(None))
    ),
    "lists-no-timestamps-without-zone": wrong(
        "NTZ-002", ("write.features.protocols:_FEATURE_OF_TYPE", is_({}))
    ),
    "lists-no-reader-features": wrong(
        "DV-001", ("write.alter.definition:with_features", _unlisted_reader)
    ),
    "records-no-widening": wrong("TW-006", ("write.alter.columns:_commit", _same_columns)),
    "narrows-types": wrong(
        "TW-003",
        ("write.alter.columns:is_widening", gives(YES)),
        ("types.widening:is_widening", gives(YES)),
    ),
    "widens-where-it-is-off": wrong(
        "TW-002", ("write.features.target:Target.active", sees("typeWidening"))
    ),
    # Values, paths, statistics, checksums.
    "does-not-escape-paths": wrong("ADD-004", ("write.files.data_files:encode_path", _no_folder)),
    "drops-microseconds-of-partitions": wrong(
        "PART-008",
        (
            "write.files.data_files:format_value",
            afterwards(lambda text: re.sub(r"\.\d{6}", "", text) if text else text),
        ),
    ),
    "breaks-code-points": wrong("STAT-012", ("write.statistics:upper_prefix", _cut_bytes)),
    "cuts-instants-to-seconds": wrong("STAT-012", ("write.statistics:_instant", _whole_seconds)),
    "bounds-no-numbers": wrong("STAT-012", ("write.statistics:_float_bounds", _with_nan)),
    "counts-too-few-rows": wrong(
        "STAT-001",
        (
            "write.files.data_files:statistics_of",
            afterwards(lambda s: {**s, "numRecords": s["numRecords"] - 1}),
        ),
    ),
    "writes-wrong-checksums": wrong(
        "CRC-008",
        (
            "storage:LocalStorage.put_if_absent",
            _document(lambda d: d.update(numFiles=d["numFiles"] + 1)),
        ),
    ),
    "leaves-domains-out-of-checksums": wrong(
        "CRC-013",
        ("storage:LocalStorage.put_if_absent", _document(lambda d: d.update(domainMetadata=[]))),
    ),
}
"""Each wrong writer, and the requirement that has to notice."""
