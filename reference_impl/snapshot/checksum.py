"""Version checksum files: read one, and verify a version against it.

Serves "Version Checksum File" and "State Validation". A reader never needs a checksum, and
a missing file is valid.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidAction, InvalidChecksum
from reference_impl.log.names import LOG_DIR, checksum_name
from reference_impl.model.actions import DomainMetadata, Metadata, Protocol, Txn
from reference_impl.model.features import active
from reference_impl.model.file_actions import from_objects
from reference_impl.model.wire import Decoder, Place, decode, int64, string, wire
from reference_impl.places import decode_paths
from reference_impl.snapshot.paths import logical_keys
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.storage import Storage
from reference_impl.untrusted import too_deep

__all__ = ["Checksum", "Discrepancy", "Histogram", "read_checksum", "verify_checksum"]

_DELETED_BINS: Final = (0, *(10**digits for digits in range(8)), 2**31 - 1)
"""First count of deleted rows of each bin of the deleted record counts histogram."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Distribution of file sizes ("File Size Histogram Schema"); bounds and totals in bytes."""

    sorted_bin_boundaries: tuple[int, ...]
    file_counts: tuple[int, ...]
    total_bytes: tuple[int, ...]


def _object_list(value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError("an array")
    return tuple(value)


def _longs(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise TypeError("an array of 64-bit integers")
    return tuple(int64(item) for item in value)


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an object")
    return value


def _histogram(value: object) -> Histogram:
    document = _object(value)
    names = ("sortedBinBoundaries", "fileCounts", "totalBytes")
    bounds, counts, totals = (_longs(document.get(name)) for name in names)
    if not bounds or bounds[0] != 0 or list(bounds) != sorted(set(bounds)):
        raise TypeError("a histogram whose boundaries rise from 0")
    if len(counts) != len(bounds) or len(totals) != len(bounds):
        raise TypeError("a histogram with one count and one total per boundary")
    return Histogram(bounds, counts, totals)


def _deleted(value: object) -> tuple[int, ...]:
    counts = _longs(_object(value).get("deletedRecordCounts"))
    if len(counts) != len(_DELETED_BINS):
        raise TypeError(f"a histogram of {len(_DELETED_BINS)} counts")
    return counts


def _action(cls: type[Any]) -> Decoder:
    def decoder(value: object) -> Any:
        try:
            return decode(cls, cls.__name__, value, Place("", 0))
        except InvalidAction as error:
            raise TypeError(f"a valid action: {error.message}") from None

    return decoder


def _actions(cls: type[Any]) -> Decoder:
    one = _action(cls)
    return lambda value: tuple(one(item) for item in _object_list(value))


_metadata, _protocol = _action(Metadata), _action(Protocol)
_txns, _domains = _actions(Txn), _actions(DomainMetadata)


@dataclass(frozen=True, slots=True)
class Checksum:
    """The content of a checksum file; ``None`` is an absent optional field.

    Sizes in bytes, timestamps in milliseconds since the epoch.
    """

    table_size_bytes: int = wire("tableSizeBytes", int64, "CRC-007")
    num_files: int = wire("numFiles", int64, "CRC-008")
    num_metadata: int = wire("numMetadata", int64, "CRC-009")
    num_protocol: int = wire("numProtocol", int64, "CRC-010")
    metadata: Metadata = wire("metadata", _metadata, "CRC-015")  # noqa: RUF009  as its neighbours
    protocol: Protocol = wire("protocol", _protocol, "CRC-016")  # noqa: RUF009  as its neighbours
    txn_id: str | None = wire("txnId", string)
    in_commit_timestamp: int | None = wire("inCommitTimestampOpt", int64)
    txns: tuple[Txn, ...] | None = wire("setTransactions", _txns)
    domains: tuple[DomainMetadata, ...] | None = wire("domainMetadata", _domains)
    histogram: Histogram | None = wire("fileSizeHistogram", _histogram)  # noqa: RUF009  as above
    all_files: tuple[Any, ...] | None = wire("allFiles", _object_list)
    deleted_records: int | None = wire("numDeletedRecordsOpt", int64)
    deletion_vectors: int | None = wire("numDeletionVectorsOpt", int64)
    deleted_counts: tuple[int, ...] | None = wire("deletedRecordCountsHistogramOpt", _deleted)


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A field in which a checksum differs from the version's state.

    Attributes:
        field: wire name of the field.
        requirement: the requirement that is broken.
        recorded: what the file says.
        computed: what replay gives.

    """

    field: str
    requirement: str
    recorded: object
    computed: object


def read_checksum(storage: Storage, version: int) -> Checksum | None:
    """Read the checksum file of a version; ``None`` when there is none.

    The size histogram is also read from ``histogramOpt``, where some writers put it.

    Raises:
        InvalidChecksum: the file is not one JSON object with the required fields.

    """
    # Obeys CRC-042.
    path = f"{LOG_DIR}/{checksum_name(version)}"
    try:
        document = orjson.loads(storage.get(path))
        if isinstance(document, dict) and document.get("fileSizeHistogram") is None:
            document["fileSizeHistogram"] = document.get("histogramOpt")
        return decode(Checksum, "checksum", document, Place(path, version))
    except FileNotFoundError:
        return None
    except orjson.JSONDecodeError as error:
        if deep := too_deep(error, path):
            raise deep from None
        message, requirement = f"a checksum file is not JSON: {error}", "CRC-005"
    except InvalidAction as error:
        message, requirement = error.message, error.requirement
    raise InvalidChecksum(message, path=path, version=version, requirement=requirement)


def verify_checksum(snapshot: Snapshot) -> list[Discrepancy] | None:
    """Compare a version's state with its checksum file, field by field.

    Gives ``None`` when the version has no checksum file, and else every difference in the
    fields that the file has: an empty list means that the file agrees.

    Raises:
        InvalidChecksum: the file is malformed.
        InvalidTableError: the version itself cannot be loaded.

    """
    checksum = read_checksum(snapshot.storage, snapshot.version)
    if checksum is None:
        return None
    return [
        Discrepancy(field, requirement, recorded, computed)
        for field, requirement, recorded, computed in _comparisons(checksum, snapshot)
        if recorded is not None and recorded != computed
    ] + list(_presence(checksum, snapshot))


def _comparisons(
    checksum: Checksum, snapshot: Snapshot
) -> Iterator[tuple[str, str, object, object]]:
    adds = snapshot.adds()
    vectors = adds["deletionVector"].combine_chunks()
    deleted = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
    yield "tableSizeBytes", "CRC-007", checksum.table_size_bytes, _total(adds["size"])
    yield "numFiles", "CRC-008", checksum.num_files, adds.num_rows
    yield "numMetadata", "CRC-009", checksum.num_metadata, 1
    yield "numProtocol", "CRC-010", checksum.num_protocol, 1
    yield "metadata", "CRC-015", checksum.metadata, snapshot.metadata
    yield "protocol", "CRC-016", _sets(checksum.protocol), _sets(snapshot.protocol)
    yield "setTransactions", "CRC-012", _keyed(checksum.txns, "app_id"), dict(snapshot.txns)
    domains = dict(snapshot.domain_metadata)
    yield "domainMetadata", "CRC-013", _keyed(checksum.domains, "domain"), domains
    yield "numDeletedRecordsOpt", "CRC-019", checksum.deleted_records, _total(deleted)
    present = len(vectors) - vectors.null_count
    yield "numDeletionVectorsOpt", "CRC-020", checksum.deletion_vectors, present
    if checksum.deleted_counts is not None:
        counts, _ = _binned(deleted, _DELETED_BINS)
        yield "deletedRecordCountsHistogramOpt", "CRC-021", checksum.deleted_counts, counts
    if checksum.histogram is not None:
        bounds = checksum.histogram.sorted_bin_boundaries
        computed = Histogram(bounds, *_binned(adds["size"], bounds))
        yield "fileSizeHistogram", "CRC-028", checksum.histogram, computed
    if checksum.all_files is not None:
        yield "allFiles", "CRC-018", _listed(checksum.all_files), sorted(_keys(adds).to_pylist())


def _presence(checksum: Checksum, snapshot: Snapshot) -> Iterator[Discrepancy]:
    recorded = checksum.in_commit_timestamp
    enabled = active(snapshot.protocol, snapshot.metadata, "inCommitTimestamp")
    computed = snapshot.timestamp if enabled else None
    if recorded != computed:
        yield Discrepancy("inCommitTimestampOpt", "CRC-011", recorded, computed)


def _total(column: pa.ChunkedArray | pa.Array) -> int:
    return int(pc.sum(column).as_py() or 0)


def _sets(protocol: Protocol) -> tuple[object, ...]:
    """Return a protocol without the order of its feature lists."""
    return (
        protocol.min_reader_version,
        protocol.min_writer_version,
        frozenset(protocol.reader_features or ()),
        frozenset(protocol.writer_features or ()),
    )


def _keyed(actions: Sequence[Any] | None, key: str) -> dict[str, Any] | None:
    return None if actions is None else {getattr(action, key): action for action in actions}


def _binned(
    column: pa.ChunkedArray | pa.Array, bounds: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Count values and sum them by the bin that they fall in."""
    counts, totals = [0] * len(bounds), [0] * len(bounds)
    for entry in pc.value_counts(column).to_pylist():
        position = max(bisect_right(bounds, entry["values"]) - 1, 0)
        counts[position] += entry["counts"]
        totals[position] += entry["counts"] * entry["values"]
    return tuple(counts), tuple(totals)


def _keys(adds: pa.Table) -> pa.Array:
    paths = decode_paths(adds["path"].combine_chunks())
    return logical_keys(paths, adds["deletionVector"].combine_chunks())


def _listed(files: Sequence[Any]) -> list[str]:
    """Return the sorted logical keys of listed add actions."""
    return sorted(_keys(from_objects("add", files, Place("", 0))).to_pylist())
