"""From a decoded path to a place: which store, which file or key in it, and whether it is ours.

Implements "Add File and Remove File" (relative and absolute paths) and RFC 2396.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

from reference_impl.errors import PlaceRefused
from reference_impl.places.policy import Policy, family
from reference_impl.places.uris import MAX_PATH_CHARACTERS, Address, decode_url, parse_address
from reference_impl.shown import without_secrets

Locator: TypeAlias = Callable[[str], str | None]
"""From a decoded path to the path relative to the root, or to nothing."""

_ODD: Final = re.compile(r":|(?:^|/)\.{0,2}(?:/|$)")
"""Found in every path that is not relative to the root in the plainest form."""

_LOCAL_HOSTS: Final = frozenset({"", "localhost"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads.

    Attributes:
        address: what the store is asked for: an absolute local path, or a key.
        within: the path relative to the table root, without empty segments and ``.``, when it
            lies in there; ``None`` when it does not. Symlinks are not resolved.
        store: another store than the table's own; ``None`` for that.
    """

    address: str
    within: str | None
    store: Address | None = None


def _climbs(path: str) -> bool:
    return ".." in path.split("/")


def _refuse(message: str, path: str, hint: str | None = None) -> PlaceRefused:
    return PlaceRefused(message, path=path[:500], hint=hint)


def _climbing(path: str) -> PlaceRefused:
    return _refuse(
        "a relative path climbs with '..', and is followed under no policy",
        path,
        "spell it as an absolute path, or without '..'",
    )


def _outside(path: str) -> PlaceRefused:
    return _refuse(
        "the path leads out of the table root, which the policy 'refuse' does not follow",
        path,
        'to read it, open the table with outside="same-store"',
    )


def _refuse_long(address: str, path: str) -> None:
    """Refuse a local path that no file can have: each folder of it would be looked at."""
    if len(address) > MAX_PATH_CHARACTERS:
        raise _refuse(
            "no file can be read or written there: File name too long",
            path,
            "shorten the names of the table and its partitions",
        )


def _real(address: str, path: str) -> str:
    """Resolve the symlinks of a local path, in time that grows with the square of its length."""
    _refuse_long(address, path)
    return os.path.realpath(address)


def _plain(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _without_end(address: str) -> str:
    """Return a path without the slashes and ``.`` at its end, with which others read it as well."""
    if not address.endswith(("/", "/.")):
        return address
    parts = address.split("/")
    while parts and parts[-1] in ("", "."):
        parts.pop()
    return "/".join(parts)


class LocalRoot:
    """A table root on local disk."""

    def __init__(self, root: str, policy: Policy) -> None:
        """Bind to an absolute path, which need not exist yet.

        Raises:
            PlaceRefused: no folder can have it.
        """
        if "\0" in root or any(
            "\ud800" <= each < "\udc80" or "\udcff" < each <= "\udfff" for each in root
        ):
            raise _refuse("no folder can have such a path", ascii(root)[1:-1])
        self.path = root
        self._policy = policy

    @classmethod
    def of_url(cls, address: Address, policy: Policy) -> LocalRoot:
        """Bind to a ``file:`` URL.

        Raises:
            PlaceRefused: it names another host.
        """
        _check_host(address, address.store + address.path)
        return cls(str(Path(address.path or "/")), policy)

    @cached_property
    def real(self) -> str:
        """The root with its symlinks resolved."""
        return os.path.realpath(self.path)

    def place(self, path: str) -> Place:
        """Resolve a decoded path by its text; the policy is not asked.

        Raises:
            PlaceRefused: it is not certain which place is meant, or it climbs.
        """
        if _ODD.search(path) is None:
            return Place(f"{self.path}/{path}", path)
        address = parse_address(path)
        if address is None:
            if _climbs(path):
                raise _climbing(path)
            return Place(f"{self.path}/{path}", _plain(path))
        if address.scheme not in ("", "file"):
            return Place(address.path[1:], None, address)
        _check_host(address, path)
        return Place(address.path, None)

    def follow(self, path: str) -> Place:
        """Resolve a path that is to be read.

        Raises:
            PlaceRefused: as :meth:`place`; or the policy does not let the place be read.
        """
        place = self.place(path)
        if place.store is not None:
            self._policy.other(place.store, "file", path)
        elif self._policy.root_only and self._inside(_real(place.address, path)) is None:
            raise _outside(path)
        return place

    def writable_key(self, path: str) -> str:
        """Return the local path of what is to be written or deleted.

        Symlinks of folders are resolved: no folder of the table leads anything out of it. What
        the path itself names may be a symlink, which is then replaced or deleted.

        Raises:
            PlaceRefused: as :meth:`place`; or it lies outside of the table root.
        """
        place = self.place(path)
        _refuse_long(place.address, path)
        folder = os.path.dirname(place.address)  # noqa: PTH120  hot, and a path is text
        linked = place.within is None or self._has_link(place.within)
        if place.store is not None or (linked and self._inside(os.path.realpath(folder)) is None):
            raise _refuse(
                "the path leads out of the table root, where nothing is written or deleted",
                path,
                "a folder of the table that is a symlink may lead there",
            )
        return place.address

    def locator(self) -> Locator:
        """Return a function from a decoded path to the path relative to the root.

        Symlinks of folders are resolved, each folder once. ``None`` is a path that leads
        elsewhere. It raises :class:`PlaceRefused` as :meth:`place` does.
        """
        folders: dict[str, str | None] = {}

        def locate(path: str) -> str | None:
            place = self.place(path)
            if place.store is not None:
                return None
            folder, _, name = _without_end(place.address).rpartition("/")
            if folder not in folders:
                try:
                    folders[folder] = self._folder(folder or "/", path)
                except ValueError as error:  # a NUL, or half of a surrogate pair
                    raise _refuse("no folder can have such a name", path) from error
            inside = folders[folder]
            return None if inside is None else f"{inside}/{name}".lstrip("/")

        return locate

    def check_opened(self, descriptor: int, path: str) -> None:
        """Check where an opened file or folder lies: what has its name may be another by now.

        Args:
            descriptor: of what was opened.
            path: as decoded, for the message.

        Raises:
            PlaceRefused: it lies outside of the table root.
        """
        opened = f"/proc/self/fd/{descriptor}"
        if os.path.islink(opened) and self._inside(os.path.realpath(opened)) is None:  # noqa: PTH114  as own
            raise _refuse("the path leads out of the table root since it was looked at", path)

    def holds(self, path: str) -> bool:
        """Return whether a decoded path leads below the root once all symlinks are resolved.

        Raises:
            PlaceRefused: as :meth:`place`.
        """
        place = self.place(path)
        return place.store is None and self._inside(_real(place.address, path)) is not None

    def guess(self, path: str) -> str:
        """Return the local path that a path means if it means any, certain or not."""
        address = parse_address(path)
        return f"{self.path}/{path}" if address is None else address.path or "/"

    def _folder(self, folder: str, path: str) -> str | None:
        """Return a folder relative to the root; one that a symlink leads out of it as written."""
        inside = self._inside(_real(folder, path))
        if inside is None and not _climbs(folder) and folder.startswith(f"{self.path}/"):
            return _plain(folder[len(self.path) :])
        return inside

    def _inside(self, real: str) -> str | None:
        if real == self.real:
            return ""
        root = self.real.rstrip("/") + "/"
        return real[len(root) :] if real.startswith(root) else None

    def _has_link(self, within: str) -> bool:
        """Return whether a folder on the way from the root is a symlink."""
        folder = self.path
        for part in within.split("/")[:-1]:
            folder = f"{folder}/{part}"
            if os.path.islink(folder):  # noqa: PTH114  hot, and a path is text
                return True
        return False


def _check_host(address: Address, path: str) -> None:
    if address.authority.lower() not in _LOCAL_HOSTS:
        raise _refuse(
            f"a file: URL names the host {address.authority!r}, which is not this one",
            path,
            "a local file is file:///path",
        )
    if not address.path:
        raise _refuse("a file: URL names no file", path)


class ObjectRoot:
    """A table root in an object store, as its URL names it."""

    def __init__(self, location: str, policy: Policy) -> None:
        """Bind to a URL.

        Raises:
            PlaceRefused: no store is known for its scheme.
        """
        address = decode_url(location)
        if address is None or family(address.scheme) in (None, "file"):
            shown = without_secrets(location)
            raise _refuse("no object store is known for the scheme of a table's location", shown)
        self.address = address
        self.key = address.path.strip("/")
        self._policy = policy

    def place(self, path: str) -> Place:
        """Resolve a decoded path by its text; the policy is not asked.

        Raises:
            PlaceRefused: as :meth:`LocalRoot.place`; or it is a local file, which a table in an
                object store never leads to.
        """
        if _ODD.search(path) is None:
            return Place(path, path)
        address = parse_address(path)
        if address is None:
            if _climbs(path):
                raise _climbing(path)
            key = "/".join(part for part in path.split("/") if part != ".")
            return Place(key, _exact(key, path))
        if address.scheme == "file":
            raise _refuse("a table in an object store names a local file", path)
        key = _exact(address.path[1:], path)
        here = self.address
        own = family(address.scheme) == family(here.scheme) and address.authority == here.authority
        if address.scheme and not own:
            return Place(key, None, address)
        if not self.key:
            return Place(key, key)
        if key.startswith(f"{self.key}/"):
            key = key[len(self.key) + 1 :]
            return Place(key, key)
        return Place(key, None, Address(here.scheme, here.authority, address.path))

    def same_store(self, address: Address) -> bool:
        """Return whether the address of a place is in the store that the table lies in."""
        return address.store == self.address.store

    def follow(self, path: str) -> Place:
        """Resolve a path that is to be read.

        Raises:
            PlaceRefused: as :meth:`place`; or the policy does not let the place be read.
        """
        place = self.place(path)
        if place.store is None:
            return place
        if not self.same_store(place.store):
            self._policy.other(place.store, self.address.scheme, path)
        elif self._policy.root_only:
            raise _outside(path)
        return place

    def writable_key(self, path: str) -> str:
        """Return the key, below the root, of what is to be written or deleted.

        Raises:
            PlaceRefused: as :meth:`place`; or it lies outside of the table root.
        """
        place = self.place(path)
        if place.within is None:
            raise _refuse(
                "the path leads out of the table root, where nothing is written or deleted", path
            )
        return place.within

    def locator(self) -> Locator:
        """Return a function as :meth:`LocalRoot.locator` does."""
        return lambda path: self.place(path).within


def _exact(key: str, path: str) -> str:
    """Refuse a key that no client asks for as it is written."""
    if any(part in ("", ".", "..") for part in key.split("/")):
        raise _refuse("a key with an empty segment or with '.' or '..' is not certain", path)
    return key
