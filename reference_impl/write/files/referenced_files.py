"""Files that a log references, which must not be deleted.

Implements "Add File and Remove File" and "Metadata Cleanup". Paths may be written in many ways, so
that places are compared. A listed file is deleted only when it is certain that nothing references
it. It is uncertain where a path cannot be resolved, where a symlink leads to the file, where two
spellings are one file to the file system, and where a file that is not there has such a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.deletion_vectors import Descriptor
from reference_impl.errors import InvalidAction, PlaceRefused
from reference_impl.log.names import SIDECAR_DIR
from reference_impl.places import decode_path, decode_paths, file_names, is_absolute, resembling
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.storage import Entry, Identity, Storage

_SCHEME: Final = r"^[A-Za-z][A-Za-z0-9+.-]*:"
"""The beginning of a path that is a URL, or may be read as one."""

_ODD: Final = rf"{_SCHEME}|^[/\\]|(^|/)\.{{0,2}}(/|$)|[?#]"
"""Found in every decoded path that a listing would not have in this spelling."""

_OPAQUE: Final = re.compile(rf"{_SCHEME}|//|\\")
"""The beginning of a path that is a URL, or of a drive or a host, if only for some readers."""

_QUERY: Final = re.compile(r"[?#]")
"""Where the path of a URI ends, for readers that take a path of the log for a whole URI."""

_SIGNS: Final = 16
"""Places in one path where a reader may end it."""


class ReferencedFiles:
    """The files that a log references.

    Attributes:
        linked: folders below the root that are symlinks, for a walk to fill.
    """

    def __init__(self, storage: Storage, folder: str | None = None) -> None:
        """Bind to the storage of the table; nothing is referenced yet.

        Args:
            storage: the table's.
            folder: where the files are that are to be deleted, if that is one folder.
        """
        self._storage = storage
        self._folder = folder
        self._locate = storage.locator()
        self._within: set[str] = set()
        self._elsewhere: set[str] = set()
        self._seen: set[str] = set()
        self._lost: set[str] = set()
        self._names: set[str] = set()
        self._links: set[Identity] = set()
        self.linked: list[str] = []

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Add the files of a version, tombstones of any age among them.

        Raises:
            InvalidTableError: a path or a descriptor is malformed.
        """
        self.add_actions(snapshot.adds())
        self.add_actions(snapshot.tombstones())

    def add_actions(self, actions: pa.Table) -> None:
        """Add the data files and the vector files of file actions.

        Raises:
            InvalidTableError: a path or a descriptor is malformed.
        """
        for chunk in actions.column("path").chunks:
            decoded = decode_paths(chunk)
            odd = pc.match_substring_regex(decoded, _ODD)
            self._within.update(decoded.filter(pc.invert(odd)).to_pylist())
            for raw, path in zip(
                chunk.filter(odd).to_pylist(), decoded.filter(odd).to_pylist(), strict=True
            ):
                self._add(raw, path)
        vectors = actions.column("deletionVector")
        for wire in vectors.filter(pc.is_valid(vectors)).to_pylist():
            vector = Descriptor.from_wire(wire)
            if vector.storage_type == "u":
                self._add(vector.path, vector.path)
            elif vector.storage_type == "p":
                self._add(vector.path_or_inline_dv, vector.path)

    def add(self, path: str, action: str) -> None:
        """Add the path of an action of that wire name.

        Raises:
            InvalidAction: it cannot be decoded.
        """
        self._add(path, decode_path(path, action=action))

    def add_sidecar(self, path: str) -> None:
        """Add the path of a sidecar action. Sidecars have unique names: the name alone keeps one.

        Raises:
            InvalidAction: it cannot be decoded.
        """
        decoded = decode_path(path, action="sidecar")
        self._mark_uncertain(path, decoded)
        self._add(path, decoded if "/" in decoded else f"{SIDECAR_DIR}/{decoded}")

    def _add(self, raw: str, path: str) -> None:
        within = None
        try:
            within = self._locate(path)
        except PlaceRefused:
            self._mark_uncertain(raw, path)
        for sign in islice(_QUERY.finditer(raw), _SIGNS):
            if sign.start():
                self._mark_uncertain(decode_path(raw[: sign.start()]))
        if _OPAQUE.match(path) or is_absolute(path) != is_absolute(raw):
            self._mark_uncertain(raw, path)
        if within != path:
            self._elsewhere.add(path)
        if within is not None:
            self._within.add(within)

    def _mark_uncertain(self, *spellings: str) -> None:
        for each in spellings:
            self._names |= file_names(each.rstrip("/"))

    def unreferenced(self, listed: Iterable[Entry], wanted: Callable[[Entry], bool]) -> list[Entry]:
        """Return the wanted files of a listing that no path equals."""
        left = []
        for entry in listed:
            if entry.path in self._within:
                self._seen.add(entry.path)
                if entry.link and entry.identity is not None:
                    self._links.add(entry.identity)
            elif wanted(entry):
                left.append(entry)
        return left

    def certain(self, candidates: Iterable[Entry]) -> list[str]:
        """Return the sorted paths of those candidates that nothing references by any path.

        Raises:
            InvalidAction: a folder is named as a file.
        """
        identities = self._links | set(self._identities())
        folders = tuple(self._targets())
        return sorted(
            entry.path
            for entry in candidates
            if entry.path not in self._within
            and entry.identity not in identities
            and entry.name not in self._names
            and not entry.path.startswith(folders)
            and resembling(entry.path) not in self._lost
        )

    def _identities(self) -> list[Identity]:
        """Stat every referenced file that was not listed under that path."""
        found = []
        for path in self._elsewhere | self._near(self._within - self._seen):
            try:
                identity = self._storage.identify(path)
            except OSError:
                self._mark_uncertain(path)
                continue
            if identity is not None and identity.folder:
                raise InvalidAction(
                    "an action names a folder as a file: what lies in it may be needed",
                    path=path[:500],
                    stage="commit",
                    requirement="ADD-002",
                )
            if identity is None:
                self._lost.add(resembling(path))
            else:
                found.append(identity)
        return found

    def _near(self, paths: set[str]) -> set[str]:
        """Return the paths whose folder is the one that files are deleted from.

        It avoids a request for every data file where log files are deleted.
        """
        if self._folder is None:
            return paths
        here = self._storage.identify(self._folder)
        folders = {path.rpartition("/")[0] for path in paths}
        near = {each for each in folders if each == self._folder or self._is(each, here)}
        return {path for path in paths if path.rpartition("/")[0] in near}

    def _is(self, folder: str, here: Identity | None) -> bool:
        try:
            return here is not None and self._storage.identify(folder) == here
        except OSError:
            return True

    def _targets(self) -> Iterable[str]:
        """Return the folders of the table that symlinks in it lead to, as beginnings of paths."""
        for link in self.linked:
            within = self._locate(f"{link}/file")
            if within is not None and within != f"{link}/file":
                yield within.removesuffix("file")
