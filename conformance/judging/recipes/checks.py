"""What single steps of a recipe have to leave, beside rows: in the log and in the files.

See the section "Write recipes" of ``docs/formats.md``. What is looked for depends on the
step or on what the table was before it, which no audit of the table alone could find.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.audit.checks.column_ids import named_alike
from conformance.audit.checks.high_water_marks import lowered_marks
from conformance.audit.checks.row_tracking import MATERIALIZED
from conformance.audit.grammar.log_files import LOG_DIR, commit_name
from conformance.audit.read.layout import LISTS, Layout, layout_of
from conformance.audit.read.log import Checkpoint, open_log
from conformance.audit.read.raw import Lines
from conformance.audit.stored.features import not_shredded, of_iceberg
from conformance.judging.recipes.clustering import check_providers
from conformance.judging.recipes.features import (
    invented_domains,
    lost_domains,
    lost_features,
    lowered_protocol,
    replaces_table,
)
from conformance.judging.recipes.files import path_in_table, read_commits
from conformance.judging.recipes.needs import features_asked, features_of_readers
from conformance.judging.recipes.times import (
    CLOCK_SLACK,
    Fault,
    misdated,
    misdated_converted,
    misdated_sidecars,
)
from conformance.requirements.registry import load_registry
from reference_impl import DeltaError, Snapshot, Table
from reference_impl.model.features import active, supported
from reference_impl.storage import LocalStorage

__all__ = ["Fault", "Watch"]

_FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "v2-json": ("uuid_checkpoint", ".json"),
    "v2-parquet": ("uuid_checkpoint", ".parquet"),
    "v2-classic": ("classic_checkpoint", ".parquet"),
    "multi-part": ("multipart_checkpoint", ".parquet"),
}
"""Kind of a checkpoint in a recipe, to the form of its name in the log."""

_AFTER_COMMIT: Final = re.compile(r"([0-9]{20})\.(crc|checkpoint\..*(?:json|parquet))")
"""A file of the log that follows the commit of its version, and that version."""

_BESIDE: Final = re.compile(r"\d{20}\.json|.*\.crc|_last_checkpoint")
"""Names of files of the log that are no checkpoint, however one is called."""
_NAME: Final = "delta.columnMapping.physicalName"


@dataclass(slots=True)
class Watch:
    """Looks at a table before a step and after it.

    Attributes:
        table: the table root.
        former: the version before the step; ``None`` where there was none.
        now: the version after the step; ``None`` before it was looked at.
        committed: when that version was committed: the time of its file, in ms since the epoch.
        began: when the step began, in ms since the epoch.
        there: the files before the step, by their paths below the table root.
        parts: multi-part checkpoint to the actions that each of its parts holds.
    """

    table: Path
    former: Snapshot | None = None
    now: Snapshot | None = None
    committed: int = 0
    began: int = 0
    there: frozenset[str] = frozenset()
    parts: dict[int, list[list[str]]] = field(default_factory=dict)

    def before(self) -> None:
        """Look at the table before a step; after another one it was looked at already."""
        if self.now is None:
            with suppress(DeltaError):  # what cannot be read is reported where it is read
                self.look()
        self.former, self.now = self.now, None
        self.began = time.time_ns() // 1_000_000
        found = (path for path in self.table.rglob("*") if path.is_file())
        self.there = frozenset(path.relative_to(self.table).as_posix() for path in found)
        if self.former is not None:
            self.committed = self._modified(self.former.version)

    def look(self) -> Snapshot:
        """Look at the table as a step left it.

        Raises:
            DeltaError: it cannot be read.
        """
        now = Table(self.table).snapshot()
        # The state is read now: files that it needs may be gone after the next step.
        now.adds()
        self.now = now
        return now

    def after(self, step: Mapping[str, Any]) -> Fault | None:
        """Return the first fault that a step left in the table that was looked at, MUST first."""
        assert self.now is not None
        found = chain(self._faults(step, self.now), self._early_files())
        return min(found, key=_advised, default=None)

    def _faults(self, step: Mapping[str, Any], now: Snapshot) -> Iterator[Fault]:
        operation = step["operation"]
        yield from self._check_file_times(now, operation)
        if step.get("purge"):
            yield from _purged(now)
        if operation == "checkpoint":
            yield from self._checkpoint(step, now.version)
        if operation == "vacuum" and not {"gone", "kept"} & step.keys():
            yield from self._lost_changes(now.version)
        if operation == "compact_log":
            name = f"{step['start']:020}.{step['end']:020}.compacted.json"
            if not (self.table / LOG_DIR / name).exists():
                yield "COMP-002", f"there is no {name}"
        yield from _unasked(self.former, now, step)
        if self.former is None or now.version == self.former.version:
            return
        if step.get("cluster"):
            yield from check_providers(self.former, now, self.table)
        if not replaces_table(step) and now.metadata.id != self.former.metadata.id:
            message = f"the table was {self.former.metadata.id} and is {now.metadata.id}"
            yield "META-004", message
        before, layout = _layout(self.former), _layout(now)
        yield from lowered_marks(before, layout, replaced=operation == "replace")
        yield from _changed_nullability(step, before, layout)
        yield from _ids_given_again(step, before, layout)
        if "txn" in step:
            versions = range(self.former.version + 1, now.version + 1)
            yield from _txn_without_rows(read_commits(self.table, versions), step["txn"])
        yield from self._check_upgrade(self.former, now)
        yield from self._check_first_timestamp(self.former, now)
        yield from self._new_files(self.former, now, layout)

    def _check_file_times(self, now: Snapshot, operation: str) -> Iterator[Fault]:
        """Look at the times of the commits that came with the step."""
        held = {} if self.former is None else _times(self.former.adds(), self.table)
        first = 0 if self.former is None else self.former.version + 1
        for commit in read_commits(self.table, range(first, now.version + 1)):
            if operation == "convert":
                adds = commit.of("add")
                yield from misdated_converted(adds, self.there, self.began, self.table)
            yield from misdated(
                commit.of("add", "remove"), held, self.there, self.began, self.table
            )

    def _lost_changes(self, version: int) -> Iterator[Fault]:
        """Look for change files of young versions that are gone with the step."""
        for commit in read_commits(self.table, range(version + 1)):
            keys = (line.key for line in commit.of("cdc"))
            for path in (key[0] for key in keys if key is not None):
                if path in self.there and not (self.table / path).exists():
                    yield "FA-008", f"{path} is gone, which has the changes of a young version"

    def _others_of_log(self) -> Iterator[Path]:
        """Return the files of the log that came with the step, but commits, checksums and hints."""
        for path in (self.table / LOG_DIR).rglob("*"):
            new = path.relative_to(self.table).as_posix() not in self.there
            if new and path.is_file() and not _BESIDE.fullmatch(path.name):
                yield path

    def _early_files(self) -> Iterator[Fault]:
        """Look for checkpoints and checksums that are there before the commit of their version."""
        log = self.table / LOG_DIR
        former = -1 if self.former is None else self.former.version
        commits = (path.stem for path in log.glob("*.json"))
        newest = max([former, *(int(stem) for stem in commits if stem.isdecimal())])
        for path in log.glob("*"):
            named = _AFTER_COMMIT.fullmatch(path.name)
            if named is None:
                continue
            commit = path.with_name(f"{named[1]}.json")
            if any(f"{LOG_DIR}/{each.name}" in self.there for each in (path, commit)):
                continue
            broken = "CRC-038" if named[2] == "crc" else "CKPT-031"
            if int(named[1]) > newest:
                yield broken, f"{path.name} is of a version that is not committed"
            # By when the other got its name: it may be prepared beside, and renamed afterwards.
            elif commit.exists() and path.stat().st_ctime_ns < commit.stat().st_mtime_ns:
                yield broken, f"{path.name} was written before {commit.name}"

    def _modified(self, version: int) -> int:
        path = self.table / LOG_DIR / commit_name(version)
        return path.stat().st_mtime_ns // 1_000_000 if path.exists() else 0

    def _checkpoint(self, step: Mapping[str, Any], version: int) -> Iterator[Fault]:
        """Look for the checkpoint that was asked for."""
        # A checkpoint may be of any version, so that what is committed with it may come after it.
        first = version if self.former is None else self.former.version
        there = [
            each
            for each in open_log(LocalStorage(self.table)).checkpoints
            if each.complete and first <= each.version <= version
        ]
        if "kind" not in step:
            if not there:
                # A file of another name may be meant for one; without it nothing is misnamed.
                misnamed = any(self._others_of_log())
                broken = "CKPT-018" if misnamed else "CKPT-010"
                yield broken, f"there is no checkpoint of version {version}"
            return
        kind, ending = _FORMS[step["kind"]]
        found = [each for each in there if each.kind == kind and each.place.endswith(ending)]
        if step["kind"] == "v2-classic":
            found = [each for each in found if any(each.top.of("checkpointMetadata"))]
        if not found:
            broken = "CKPT-021" if step["kind"] == "multi-part" else "CKPT-005"
            yield broken, f"there is no checkpoint of kind {step['kind']} of version {version}"
            return
        written = max(found, key=lambda each: each.version)
        if len(written.sidecars) != step.get("sidecars", 0):
            wanted = step.get("sidecars", 0)
            message = f"the checkpoint has {len(written.sidecars)} sidecars and not {wanted}"
            yield "CKPT-V2-003", message
        yield from misdated_sidecars(written.top.of("sidecar"), self.there, self.began)
        if step["kind"] == "multi-part":
            parts = _parts(written)
            if self.parts.setdefault(written.version, parts) != parts:
                yield "CKPT-N-007", f"another attempt at version {written.version} has other parts"

    def _check_upgrade(self, former: Snapshot, now: Snapshot) -> Iterator[Fault]:
        """Look for what earlier versions used, once features are listed."""
        if former.protocol.min_writer_version >= LISTS or (now.protocol.min_writer_version < LISTS):
            return
        listed = supported(now.protocol)
        for version in range(former.version + 1):
            metadata = Table(self.table).snapshot(version).metadata
            schema, properties = json.loads(metadata.schema_string), metadata.configuration
            used = features_asked(
                {"operation": "create", "schema": schema, "properties": properties}
            )
            for name in sorted(used & supported(former.protocol) - listed):
                message = f"version {version} used {name}, and the upgrade drops it"
                yield "TF-012", message
            if "columnMapping" in used - features_of_readers(now.protocol):
                message = f"version {version} used columnMapping, and no list of readers has it"
                yield "TF-012", message

    def _check_first_timestamp(self, former: Snapshot, now: Snapshot) -> Iterator[Fault]:
        """Compare the first in-commit timestamp with the time of the commit before it."""
        if not _active(now, "inCommitTimestamp"):
            return
        if _active(former, "inCommitTimestamp"):
            yield from self._check_commit_timestamp(former, now)
            return
        for version in range(former.version + 1, now.version + 1):
            snapshot = Table(self.table).snapshot(version)
            if not _active(snapshot, "inCommitTimestamp"):
                continue
            try:
                stamp = snapshot.timestamp
            except DeltaError:
                return  # a commit without one is for the audit to report
            own = version - 1 == former.version
            held = self.committed if own else self._modified(version - 1)
            if stamp is not None and stamp <= held:
                message = (
                    f"the in-commit timestamp of version {version}, {stamp}, "
                    f"is not above the time of the commit before it, {held}"
                )
                yield "ICT-012", message
            return

    def _check_commit_timestamp(self, former: Snapshot, now: Snapshot) -> Iterator[Fault]:
        """Check a commit's timestamp against the time of the attempt and the one before it."""
        try:
            before, stamp = former.timestamp, now.timestamp
        except DeltaError:
            return  # a commit without one is for the audit to report
        if now.version != former.version + 1 or before is None or stamp is None:
            return
        ended = time.time_ns() // 1_000_000
        for unit, found in (("seconds", stamp * 1000), ("microseconds", stamp // 1000)):
            if self.began - 1000 <= found <= ended:
                yield "ICT-007", f"inCommitTimestamp {stamp} of version {now.version} is in {unit}"
        earliest, latest = self.began - CLOCK_SLACK, ended + CLOCK_SLACK
        if not max(earliest, before + 1) <= stamp <= max(latest, before + 1):
            message = (
                f"the in-commit timestamp of version {now.version} is {stamp}: not when it was "
                f"committed, from {self.began} to {ended}, and not one above {before}"
            )
            yield "ICT-008", message

    def _new_files(self, former: Snapshot, now: Snapshot, layout: Layout) -> Iterator[Fault]:
        """Look into the files that came with the step."""
        fresh = sorted(_paths(now, self.table) - _paths(former, self.table))
        hidden = "rowTracking" in supported(now.protocol) and not _active(now, "rowTracking")
        for path in fresh:
            if not (self.table / path).is_file():
                continue  # outside of the table
            file = pq.ParquetFile(self.table / path, pre_buffer=False)
            # A restore brings files back that were written while row tracking was enabled.
            if hidden and path not in self.there:
                yield from _early_row_ids(path, file, now)
            found = [*of_iceberg(file, layout), *_check_codec(file, now)]
            if not layout.is_true("delta.enableVariantShredding"):
                found += not_shredded(file.schema_arrow, layout)
            for requirement, message in found:
                yield requirement, f"{path}: {message}"


def _unasked(former: Snapshot | None, now: Snapshot, step: Mapping[str, Any]) -> Iterator[Fault]:
    """Look for what a step removes from the table, or adds to it, unasked."""
    kept = (invented_domains, lost_domains, lowered_protocol, lost_features)
    for look in (*kept, _common_names):
        yield from look(former, now, step)


def _common_names(
    _former: Snapshot | None, now: Snapshot, step: Mapping[str, Any]
) -> Iterator[Fault]:
    """Look for columns of a table that is created whose physical names are no unique ones."""
    for column in named_alike(_layout(now)) if step["operation"] == "create" else ():
        message = f"the new column {column.name} has the physical name {column.physical[-1]}"
        yield "CM-018", message


def _advised(fault: Fault) -> bool:
    return load_registry()[fault[0]].level == "SHOULD"


def _times(adds: pa.Table, table: Path) -> dict[str, int]:
    paths = (path_in_table(table, path) for path in adds.column("path").to_pylist())
    return dict(zip(paths, adds.column("modificationTime").to_pylist(), strict=True))


def _layout(snapshot: Snapshot) -> Layout:
    return layout_of(snapshot.protocol.to_wire(), snapshot.metadata.to_wire())


def _changed_nullability(step: Mapping[str, Any], former: Layout, now: Layout) -> Iterator[Fault]:
    """Look for columns that may not be null now and might, unasked; to loosen one is no breach."""
    if replaces_table(step) or step["operation"] == "set_nullable":
        return
    held = {column.path: column.nullable for column in former.columns}
    for column in now.columns:
        if held.get(column.path) and not column.nullable:
            yield "SCH-025", f"column {column.name} is not nullable, and was before"


def _ids_given_again(step: Mapping[str, Any], former: Layout, now: Layout) -> Iterator[Fault]:
    """Look for new columns whose ids the table had given before; no step clones another table."""
    # A restore brings columns that were dropped back, with their ids.
    other = replaces_table(step) and step["operation"] != "restore"
    if not other or "none" in (former.mode, now.mode):
        return
    held, highest = {column.physical for column in former.columns}, former.max_column_id or 0
    for column in now.columns:
        if column.physical not in held and (column.field_id or highest + 1) <= highest:
            message = f"the new column {column.name} has id {column.field_id}"
            yield "CM-022", f"{message}, and the mark was {highest} before it"


def _early_row_ids(path: str, file: pq.ParquetFile, now: Snapshot) -> Iterator[Fault]:
    """Look for row ids that are not to be in a file."""
    known = {each.name for each in now.schema.fields} | {"_change_type"}
    known |= {str(each.metadata.get(_NAME, each.name)) for each in now.schema.fields}
    named = {now.metadata.configuration.get(name) for name in MATERIALIZED}
    columns = set(file.schema_arrow.names)
    extra = sorted((columns - known) | (columns & named))
    if extra:
        yield "RT-004", f"row tracking is not enabled, and {path} has a column {extra[0]}"


def _check_codec(file: pq.ParquetFile, now: Snapshot) -> Iterator[Fault]:
    """Compare the codec of a file with the one that the table names, if it does."""
    wanted = now.metadata.configuration.get("delta.parquet.compression.codec", "")
    groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
    held = {group.column(at).compression for group in groups for at in range(group.num_columns)}
    # Of the two names for LZ4 pyarrow has one.
    if wanted and held != {wanted.upper().removesuffix("_RAW")}:
        requirement = "PROP-001" if wanted.islower() else "PROP-003"
        yield requirement, f"the codec is {sorted(held)} and not {wanted}"


def _active(snapshot: Snapshot, feature: str) -> bool:
    return active(snapshot.protocol, snapshot.metadata, feature)


def _paths(snapshot: Snapshot, table: Path) -> set[str]:
    return {path_in_table(table, path) for path in snapshot.adds().column("path").to_pylist()}


def _purged(now: Snapshot) -> Iterator[Fault]:
    vectors = now.adds().column("deletionVector")
    if vectors.null_count < len(vectors):
        yield "DVD-005", "a file has a deletion vector still"


def _txn_without_rows(commits: Iterable[Lines], txn: Mapping[str, Any]) -> Iterator[Fault]:
    """Look for the commit that has both the change of rows and the progress of its application."""
    wanted = txn["app_id"], txn["txn_version"]
    held = False
    apart = []
    for commit in commits:
        known = [(line.body.get("appId"), line.body.get("version")) for line in commit.of("txn")]
        # Rows that are deleted may leave no file in the place of theirs.
        files = commit.of("add", "remove")
        rows = [line for line in files if line.body.get("dataChange") is not False]
        if wanted in known:
            held = held or bool(rows)
        else:
            apart += rows
    if not held:
        yield "TXN-004", f"no commit has the rows and version {wanted[1]} of {wanted[0]}"
    elif apart:
        message = f"{apart[0].place} has rows without version {wanted[1]} of {wanted[0]}"
        yield "TXN-004", message


_CHECKPOINT_ACTIONS: Final = ("add", "remove", "txn", "domainMetadata", "metaData", "protocol")
"""Actions that a checkpoint keeps."""


def _parts(checkpoint: Checkpoint) -> list[list[str]]:
    """Return the actions that each part of a checkpoint holds, as texts to compare."""
    found: dict[str, list[str]] = {entry.path: [] for entry in checkpoint.entries}
    for line in checkpoint.top.of(*_CHECKPOINT_ACTIONS):
        place = line.place.partition("#")[0]
        body = json.dumps(line.body, sort_keys=True, default=str)
        found[place].append(f"{line.action} {body}")
    return [sorted(each) for each in found.values()]
