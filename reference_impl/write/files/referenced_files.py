"""Files that a log names, and so the listed files that are not deleted.

Serves "Add File and Remove File" and "Metadata Cleanup". A file may be named in many spellings:
what is compared is places. A listed file is deleted only when it is certain that nothing names
it, and there is doubt where a name cannot be resolved, where a symlink leads to the file, and
where the file system takes two spellings for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.deletion_vectors import Descriptor
from reference_impl.errors import InvalidAction, PlaceRefused
from reference_impl.log.names import SIDECAR_DIR
from reference_impl.places import decode_path, decode_paths, file_name, is_absolute
from reference_impl.storage import Entry, Identity, Storage

__all__ = ["NamedFiles"]

_SCHEME: Final = r"^[A-Za-z][A-Za-z0-9+.-]*:"
"""What a path begins with that is a URL, or that others may take for one."""

_ODD: Final = rf"{_SCHEME}|^/|(^|/)\.{{0,2}}(/|$)"
"""Found in every decoded path that a listing would not have in this spelling."""

_OPAQUE: Final = re.compile(_SCHEME)


class NamedFiles:
    """The files that a log names.

    Attributes:
        linked: folders below the root that are symlinks, for a walk to fill.

    """

    def __init__(self, storage: Storage, folder: str | None = None) -> None:
        """Bind to the storage of the table; nothing is named yet.

        Args:
            storage: the table's.
            folder: where the files are that are to be deleted, if that is one folder.

        """
        self._storage = storage
        self._folder = folder
        self._locate = storage.locator()
        self._within: set[str] = set()
        self._elsewhere: set[str] = set()
        self._unseen: set[str] = set()
        self._names: set[str] = set()
        self._links: set[Identity] = set()
        self.linked: list[str] = []

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
        """Add the path of a sidecar action. Sidecars have unique names, and are kept by them.

        Raises:
            InvalidAction: it cannot be decoded.

        """
        decoded = decode_path(path, action="sidecar")
        self._doubt(path, decoded)
        self._add(path, decoded if "/" in decoded else f"{SIDECAR_DIR}/{decoded}")

    def _add(self, raw: str, path: str) -> None:
        within = None
        try:
            within = self._locate(path)
        except PlaceRefused:
            self._doubt(raw, path)
        if _OPAQUE.match(path) or is_absolute(path) != is_absolute(raw):
            self._doubt(raw, path)
        if within != path:
            self._elsewhere.add(path)
        if within is not None:
            self._within.add(within)

    def _doubt(self, *spellings: str) -> None:
        self._names.update(file_name(each.rstrip("/")) for each in spellings)

    def pass_over(self, listed: Iterable[Entry], wanted: Callable[[Entry], bool]) -> list[Entry]:
        """Give the listed files that are wanted and that nothing names in this spelling."""
        self._unseen = set(self._within)
        left = []
        for entry in listed:
            if entry.path in self._within:
                self._unseen.discard(entry.path)
                if entry.link and entry.identity is not None:
                    self._links.add(entry.identity)
            elif wanted(entry):
                left.append(entry)
        return left

    def certain(self, candidates: Iterable[Entry]) -> list[str]:
        """Give the paths of those candidates that nothing names in any spelling, sorted.

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
        )

    def _identities(self) -> list[Identity]:
        """Look at every file that was named and not listed in that spelling."""
        found = []
        for path in self._elsewhere | self._near(self._unseen):
            try:
                identity = self._storage.identify(path)
            except OSError:
                self._doubt(path)
                continue
            if identity is not None and identity.folder:
                raise InvalidAction(
                    "an action names a folder as a file: what lies in it may be needed",
                    path=path[:500],
                    stage="commit",
                    requirement="ADD-002",
                )
            if identity is not None:
                found.append(identity)
        return found

    def _near(self, paths: set[str]) -> set[str]:
        """Give the paths whose folder is the one that files are deleted from.

        It spares a look at each of a million data files where files of the log are deleted.
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
        """Give the folders of the table that symlinks in it lead to, as beginnings of paths."""
        for link in self.linked:
            within = self._locate(f"{link}/file")
            if within is not None and within != f"{link}/file":
                yield within.removesuffix("file")
