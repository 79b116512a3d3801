"""A table in an object store, reached by URL."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import quote

import obstore
import pyarrow as pa
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import HTTPStore, S3Store, from_url

from reference_impl.errors import PlaceRefused
from reference_impl.places import Address, Locator, ObjectRoot, Policy, decode_url, opened_as
from reference_impl.shown import without_secrets
from reference_impl.storage import protocol
from reference_impl.storage.listing import directly_in, listed
from reference_impl.storage.protocol import Entry, Identity

_BLOCK = 1 << 20
"""Bytes that a small read of an open file asks for; a file of no more is one request."""


class ObjectStorage:
    """A table in an object store, reached by URL."""

    def __init__(
        self,
        location: str,
        options: Mapping[str, str] | None = None,
        store: Any = None,
        *,
        policy: Policy | None = None,
    ) -> None:
        """Bind to a URL; ``store`` is an obstore store whose root is the table root.

        Raises:
            PlaceRefused: no store is known for the URL's scheme, or the URL names none.
        """
        self._location = location
        self._options = dict(options or {})
        self._policy = policy or Policy(options=self._options)
        self._root = ObjectRoot(location, self._policy)
        scheme, colon, rest = location.partition(":")
        written = opened_as(scheme.lower()) + colon + rest
        self._opened = store is None
        self._store = store if store is not None else _open_url(written, self._options)
        if store is None:
            _check_root(self._store, self._root, location)
        self._others: dict[str, Any] = {}

    @classmethod
    def of_other(cls, base: str, given: Any) -> ObjectStorage:
        """Bind to the whole of a store, by its options or as it is handed in open."""
        if isinstance(given, Mapping):
            return cls(base, given)
        return cls(base, store=given)

    @property
    def location(self) -> str:
        """The table root as the caller gave it."""
        return self._location

    def _resolve(self, path: str) -> tuple[Any, str]:
        """Return the store and the key of a path that is to be read."""
        place = self._root.follow(path)
        if place.store is None:
            return self._store, place.address
        base = place.store.store
        if base not in self._others:
            self._others[base] = self._open(place.store, path)
        return self._others[base], place.address

    def _open(self, address: Address, path: str) -> Any:
        """Open another store, or the table's own from its top."""
        given = self._policy.stores.get(address.store, self._options)
        if not self._root.same_store(address):
            given = self._policy.other(address, self._root.address.scheme, path)
        if not isinstance(given, Mapping):
            return given
        return _open_url(_base(address), given)

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        """List the files directly in a directory, sorted by name; empty when there is none."""
        prefix = f"{directory}/" if directory else ""
        offset = prefix + start_after if start_after is not None else None
        with _as_os_error(directory, listing=True):
            metas = (
                directly_in(self._store, prefix or None)
                if offset is None
                else listed(self._store, prefix or None, offset)
            )
            found = [
                _entry(meta["path"], meta)
                for meta in metas
                if "/" not in meta["path"][len(prefix) :]
            ]
        found.sort(key=lambda entry: entry.path)
        return found

    def walk(self, linked: Callable[[str], None] | None = None) -> Iterator[Entry]:  # noqa: ARG002  a store has no symlinks
        """List every file below the root, log and hidden ones too, in no order."""
        with _as_os_error("", listing=True):
            for meta in listed(self._store):
                yield _entry(meta["path"], meta)

    def head(self, path: str) -> Entry:
        """Describe a file."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            return _entry(path, obstore.head(store, key))

    def get(self, path: str) -> bytes:
        """Read a whole file; :class:`FileTooLarge` beyond the limit ``log_file``."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            found = obstore.get(store, key)
            protocol.refuse_large(path, found.meta["size"])
            return bytes(found.bytes())

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from byte ``start``; fewer where the file ends."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            end = min(start + length, obstore.head(store, key)["size"])
            if end <= start:
                return b""
            return bytes(obstore.get_range(store, key, start=start, end=end))

    def open_input(self, path: str) -> Any:
        """Open a file for random access by pyarrow."""
        return pa.PythonFile(_Reader(*self._resolve(path), path), mode="r")

    def put(self, path: str, data: bytes) -> None:
        """Write a file below the root as a whole, replacing one that is there."""
        key = self._root.writable_key(path)
        with _as_os_error(path):
            obstore.put(self._store, key, data)

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create a file below the root atomically; :class:`FileExistsError` when it exists."""
        key = self._root.writable_key(path)
        with _as_os_error(path):
            try:
                obstore.put(self._store, key, data, mode="create")
            except (AlreadyExistsError, PreconditionError) as error:
                raise FileExistsError(path) from error

    def delete(self, path: str) -> None:
        """Delete a file below the root."""
        key = self._root.writable_key(path)
        with _as_os_error(path):
            obstore.delete(self._store, key)

    def locator(self) -> Locator:
        """Return a function from a decoded path to the path below the root, ``None`` for others."""
        return self._root.locator()

    def holds(self, path: str) -> bool:
        """Return whether a path leads to a place below the root."""
        return self._root.place(path).within is not None

    def above(self, name: str) -> Iterator[tuple[protocol.Storage, str]]:
        """Return the folders above the root that have a folder of a name, with the root in each.

        One request for each folder; none where the store was handed in open. A folder that the
        credentials do not let be listed is left out.
        """
        key = self._root.key
        # What a URL has ahead of the prefix names the store.
        prefix = str(getattr(self._store, "prefix", key) or "")
        parts = prefix.split("/") if prefix and self._opened else []
        for at in reversed(range(len(parts))):
            within = "/".join(parts[at:])
            folder = f"{_base(self._root.address)}/{quote(key.removesuffix(within).rstrip('/'))}"
            outer = ObjectStorage(folder, self._options, policy=self._policy)
            with suppress(PermissionError):
                if outer.list_from(name):
                    yield outer, within

    def identify(self, path: str) -> Identity | None:  # noqa: ARG002  a key has one spelling
        """Return nothing: every key is a file of its own."""
        return None


class _Reader(io.RawIOBase):
    """A file of a store for random access; what is read around one place is one request."""

    def __init__(self, store: Any, key: str, path: str) -> None:
        self._store = store
        self._key = key
        self._path = path
        self._at = 0
        self._block, self._block_at = b"", 0
        with _as_os_error(path):
            self._size = int(obstore.head(store, key)["size"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        start, self._at = self._at, max(self._at, end)
        if end <= start:
            return b""
        if end - start > _BLOCK:
            return self._fetch(start, end)
        if not self._block_at <= start <= end <= self._block_at + len(self._block):
            # The last block is that of a footer, and of all of a small file.
            first = max(min(start, self._size - _BLOCK), 0)
            self._block, self._block_at = self._fetch(first, min(first + _BLOCK, self._size)), first
        return self._block[start - self._block_at : end - self._block_at]

    def _fetch(self, start: int, end: int) -> bytes:
        with _as_os_error(self._path):
            return bytes(obstore.get_range(self._store, self._key, start=start, end=end))


def _check_root(store: Any, root: ObjectRoot, location: str) -> None:
    """Refuse a root that the client found elsewhere than paths are compared with.

    A client drops ``..``, tabs and blanks at the end of a URL. An absolute path would then lead
    out of the root, and what it names seem to be unreferenced.
    """
    if root.address.scheme in ("http", "https") or not hasattr(store, "prefix"):
        return  # a container may be a part of the path, and not every client has a root
    found = str(store.prefix or "")
    if found != root.key:
        raise PlaceRefused(
            f"the store reads the location of the table as {found[:500]!r}",
            path=location[:500],
            hint="spell it plainly, without '..', tabs and blanks around it",
        )


def _base(address: Address) -> str:
    """Return the URL of the top of a store."""
    return f"{opened_as(address.scheme)}://{quote(address.authority, safe=':@[]')}"


def _open_url(url: str, options: Mapping[str, str]) -> Any:
    try:
        store = from_url(url, config=dict(options))
        kept = client_options(store)
        return store if kept is None else from_url(url, config=dict(options), client_options=kept)
    except BaseException as error:
        # An option that it cannot take back ends the client in a panic, which is no Exception.
        if not _is_panic(error) and not isinstance(error, BaseError | ValueError):
            raise
        reason = without_secrets(str(error).partition("\n")[0])
        shown = without_secrets(url[:500])
        raise PlaceRefused(f"no store can be opened there: {reason}", path=shown) from None


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ == "PanicException"


@contextmanager
def _as_os_error(path: str, *, listing: bool = False) -> Iterator[None]:
    """Turn an error of an object store into an :class:`OSError`.

    What the client says of itself repeats its URLs: it is no cause that a traceback shows.
    """
    try:
        yield
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise PermissionError(errno.EACCES, without_secrets(str(error)), path) from None
    except BaseError as error:
        raise OSError(errno.EIO, without_secrets(str(error)), path) from None
    except ValueError as error:
        if listing:  # as for a year that Python does not have
            raise OSError(errno.EIO, str(error), path) from error
        raise PlaceRefused("the store allows no such key", path=path[:500]) from error
    except BaseException as error:
        if _is_panic(error):  # as for an endpoint that is no URL
            raise OSError(errno.EIO, without_secrets(str(error)), path) from None
        raise


def _entry(path: str, meta: Any) -> Entry:
    return Entry(path, meta["size"], int(meta["last_modified"].timestamp() * 1000))


NOWHERE: Final = "http://127.0.0.1:0"
"""No server can listen on port 0."""

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")
_CLIENT: Final = (
    "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type",
    "http1_only", "http2_keep_alive_interval", "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle", "http2_only", "pool_idle_timeout", "pool_max_idle_per_host",
    "proxy_ca_certificate", "proxy_excludes", "proxy_url", "randomize_addresses", "timeout",
    "user_agent",
)  # fmt: skip
"""What the environment may say of a client, which options given to it would replace."""


def client_options(store: Any) -> dict[str, str] | None:
    """Return the options that keep the client of a store to its host.

    What a store says over HTTP leads no further than the paths of its tables do. Clients follow
    redirects and have no option against it, so all hosts but the store's own are asked by way of
    a proxy, at an address where there cannot be one.

    Args:
        store: an obstore store, as it is opened without them.

    Returns:
        ``None`` where they cannot be: of a cloud, whose hosts are many; where credentials are
        still to be asked for, at another host; where there is a proxy already.
    """
    given: dict[str, str] = {}
    if isinstance(store, HTTPStore):
        url = store.url
    elif isinstance(store, S3Store):
        words = {name.lower(): value for name, value in os.environ.items()}
        around = {name[4:]: value for name, value in words.items() if name.startswith("aws_")}
        config: dict[str, Any] = {**around, **store.config}
        signs = "access_key_id" in config or config.get("skip_signature") == "true"
        url = str(config.get("endpoint") or config.get("endpoint_url") or "") if signs else ""
        given = {name: around[name] for name in _CLIENT if name in around}
    else:
        url = ""
    address = decode_url(url)
    proxied = "proxy_url" in given or any(name.lower() in _PROXIES for name in os.environ)
    if address is None or not address.host or proxied:
        return None
    return {**given, "proxy_url": NOWHERE, "proxy_excludes": address.host}
