"""Write manifests: lists of live files for engines that read Parquet and no log.

Serves the design note of deletion vectors, which rules manifests out where there are vectors.
An engine that goes by a manifest reads whole files and columns by the names in them: what it
would read wrong is refused.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import Final

import pyarrow.compute as pc

from reference_impl.errors import UnsupportedFeatures
from reference_impl.places import decode_path, is_absolute
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.write.files.data_files import partition_folder
from reference_impl.write.files.target import Target

__all__ = ["MANIFEST_FOLDER", "write_manifests"]

MANIFEST_FOLDER: Final = "_symlink_format_manifest"
_NAME: Final = "manifest"


def write_manifests(snapshot: Snapshot) -> list[str]:
    """Write a manifest per partition, delete those of partitions that are gone; give the paths.

    Each has the location of a live file per line, and lies in the partition's folder below
    ``_symlink_format_manifest``.

    Raises:
        UnsupportedFeatures: files have deletion vectors, or know columns by other names.

    """
    target = Target.of(snapshot.protocol, snapshot.metadata)
    adds = snapshot.adds()
    if pc.any(pc.is_valid(adds.column("deletionVector"))).as_py():
        raise UnsupportedFeatures(
            ("deletionVectors",),
            "a manifest cannot say that rows of a file are deleted",
            hint="optimize the table first, which drops deleted rows",
        )
    if target.table.mode != "none":
        raise UnsupportedFeatures(
            ("columnMapping",),
            "a manifest cannot say by which names files know columns",
            hint="write the rows into a table that is not mapped",
        )
    columns = target.table.partition_columns
    lines: dict[str, list[str]] = defaultdict(list)
    texts = adds.column("partitionValues").to_pylist(maps_as_pydicts="strict")
    for path, values in zip(adds.column("path").to_pylist(), texts, strict=True):
        decoded = decode_path(str(path))
        root = snapshot.storage.location.rstrip("/")
        folder = partition_folder(columns, [values[column.name] or None for column in columns])
        lines[folder].append(decoded if is_absolute(decoded) else f"{root}/{decoded}")
    if not columns:
        lines.setdefault("", [])
    written = []
    for folder, locations in sorted(lines.items()):
        name = f"{MANIFEST_FOLDER}/{folder}{_NAME}"
        snapshot.storage.put(name, "".join(f"{each}\n" for each in sorted(locations)).encode())
        written.append(name)
    for entry in snapshot.storage.walk():
        if entry.path.startswith(f"{MANIFEST_FOLDER}/") and entry.path not in written:
            with suppress(FileNotFoundError):
                snapshot.storage.delete(entry.path)
    return written
