"""Write manifests: lists of live files for engines that read Parquet and no log.

Implements the design note of deletion vectors, which excludes manifests for tables with vectors.
An engine with a manifest reads whole files and columns by the names in them: what it
would read wrong is refused.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import PlaceRefused, UnsupportedFeatures
from reference_impl.places import decode_path, is_absolute
from reference_impl.shown import shown_location
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.snapshot.table_schema import partition_column
from reference_impl.storage import Entry, Storage
from reference_impl.write.checkpoints.write import live_tombstones
from reference_impl.write.features.target import Target
from reference_impl.write.files.data_files import partition_folder
from reference_impl.write.files.referenced_files import ReferencedFiles

MANIFEST_FOLDER: Final = "_symlink_format_manifest"
_NAME: Final = "manifest"
_log: Final = logging.getLogger(__name__)


def write_manifests(snapshot: Snapshot) -> list[str]:
    """Carry out :meth:`~reference_impl.table.Table.generate_manifest`.

    Where a step fails the former manifests are restored; a lost storage or a killed process can
    leave some of either, each of them complete.

    Raises:
        PlaceRefused: the location of the table has a secret, or a path an end of line.
    """
    target = Target.of(snapshot.protocol, snapshot.metadata)
    adds = snapshot.adds()
    _refuse_features(target, adds)
    columns = target.table.partition_columns
    for column in columns:
        partition_column(adds, column, target.table.mode)  # refuses a value that is not there
    locate = snapshot.storage.locator()
    root = snapshot.storage.location.rstrip("/")
    if shown_location(root) != root:
        raise PlaceRefused(
            "a manifest has the location of the table in it, and this one holds a secret",
            path=shown_location(root),
            hint="give the secret as an option of the store",
        )
    lines: dict[str, list[str]] = defaultdict(list)
    texts = adds.column("partitionValues").to_pylist(maps_as_pydicts="strict")
    for path, values in zip(adds.column("path").to_pylist(), texts, strict=True):
        decoded = decode_path(str(path))
        if not is_absolute(decoded):
            locate(decoded)  # a path with '..' is refused here, but other engines would follow it
            decoded = f"{root}/{decoded}"
        if len(decoded.splitlines()) > 1:
            raise PlaceRefused(
                "a manifest has a path on each line, and this one has the end of a line",
                path=repr(decoded)[:500],
            )
        folder = partition_folder(columns, [values[column.name] or None for column in columns])
        lines[folder].append(decoded)
    if not columns:
        lines.setdefault("", [])
    fresh = {
        f"{MANIFEST_FOLDER}/{folder}{_NAME}": "".join(
            f"{each}\n" for each in sorted(locations)
        ).encode(errors="surrogateescape")
        for folder, locations in sorted(lines.items())
    }
    _replace_manifests(snapshot, fresh)
    return list(fresh)


def _refuse_features(target: Target, adds: pa.Table) -> None:
    # Obeys DVD-010.
    if pc.any(pc.is_valid(adds.column("deletionVector"))).as_py():
        raise UnsupportedFeatures(
            ("deletionVectors",),
            "a manifest cannot say that rows of a file are deleted",
            hint="optimize the table first, which drops deleted rows",
        )
    if target.table.mode != "none":
        raise UnsupportedFeatures(
            ("columnMapping",),
            "a manifest cannot give the physical names of columns",
            hint="write the rows into a table that is not mapped",
        )


def _is_manifest(entry: Entry) -> bool:
    """Return whether a file has the place and the name of a manifest."""
    return entry.path.startswith(f"{MANIFEST_FOLDER}/") and entry.name == _NAME


def _former(snapshot: Snapshot) -> tuple[set[str], set[str]]:
    """Return the paths of the manifests that are there, and of what only has such a name.

    The folder is hidden and the names are plain, but a log may reference any file as data.
    """
    storage = snapshot.storage
    named = ReferencedFiles(storage)
    named.add_actions(snapshot.adds())
    named.add_actions(live_tombstones(snapshot))
    listed: set[str] = set()

    def noted(walk: Iterable[Entry]) -> Iterator[Entry]:
        for entry in walk:
            if _is_manifest(entry):
                listed.add(entry.path)
            yield entry

    candidates = named.unreferenced(noted(storage.walk(named.linked.append)), _is_manifest)
    free = set(named.certain(candidates)) if candidates else set()
    return free, listed - free


def _replace_manifests(snapshot: Snapshot, fresh: Mapping[str, bytes]) -> None:
    """Replace the manifests; where that fails restore the former ones."""
    storage = snapshot.storage
    manifests, others = _former(snapshot)
    if taken := others & fresh.keys():
        raise PlaceRefused(
            "a manifest would replace a file that an action may name as a data file",
            path=ascii(min(taken))[1:501],
            stage="commit",
            hint="rewrite that file under another name, as OPTIMIZE does",
        )
    before: dict[str, bytes] = {}
    for path in manifests:
        with suppress(FileNotFoundError):
            before[path] = storage.get(path)
    touched: list[str] = []
    try:
        for name, content in fresh.items():
            if before.get(name) != content:
                touched.append(name)
                storage.put(name, content)
        for name in sorted(before.keys() - fresh.keys()):
            touched.append(name)
            with suppress(FileNotFoundError):
                storage.delete(name)
    except BaseException:
        for name in touched:
            _restore(storage, name, before.get(name))
        raise


def _restore(storage: Storage, name: str, content: bytes | None) -> None:
    try:
        if content is None:
            storage.delete(name)
        else:
            storage.put(name, content)
    except FileNotFoundError:
        pass  # it was not created
    except Exception:  # noqa: BLE001  the first error is the one to raise
        _log.warning("manifest %s could not be restored", name, exc_info=True)
