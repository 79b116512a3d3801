"""How a path of the log is written: URIs that are decoded exactly once, and their parts.

Implements "Add File and Remove File" and RFC 2396. What is relative, absolute or a URL is decided
by the decoded text, which the protocol defines as the path of the file.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, unquote_to_bytes

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidAction
from reference_impl.types.text import characters

_BARE_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)(?://([^/]*))?(.*)", re.DOTALL)
_SAFE: Final = "/!$&'()*,;=@+-._~"
_ESCAPES: Final = 3
MAX_PATH_CHARACTERS: Final = 4096
"""Characters of a path; no file system and no store has longer ones."""

_ESCAPE: Final = re.compile(rb"[0-9A-Fa-f]{2}")

_IGNORED: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Code points that Unicode has ignored (Default_Ignorable_Code_Point); file systems that fold case
take two names for one that differ in them alone."""


def decode_path(path: str, *, action: str = "add") -> str:
    """Decode the percent escapes of an action's path, once.

    What comes out is relative to the table root, absolute, or a URL, just as the action writes
    it. A percent sign that starts no escape is literal, since writers are known to
    leave it bare and it has no other reading.

    Args:
        path: the path as the action writes it.
        action: wire name of the action, for messages.

    Raises:
        InvalidAction: the path is not text, its escapes are not UTF-8, or the result is
            empty or holds a NUL character.
    """
    # Obeys REM-002 CDC-006.
    try:
        decoded = unquote_to_bytes(_BARE_PERCENT.sub("%25", path)).decode() if "%" in path else path
        if not decoded.isascii():
            decoded.encode()  # JSON can hold half of a surrogate pair
    except UnicodeError:
        raise InvalidAction(
            "a path, or what its escapes spell, is not UTF-8",
            path=_shown(path),
            action=action,
            requirement="ADD-003",
        ) from None
    if decoded == "" or "\0" in decoded:
        raise InvalidAction(
            "a path is empty or holds a NUL",
            path=_shown(path),
            action=action,
            requirement="ADD-003",
        )
    return decoded


def _shown(path: str) -> str:
    return path[:500].encode(errors="backslashreplace").decode()


def decode_paths(paths: pa.Array) -> pa.Array:
    """Decode as :func:`decode_path` does, a whole column of ``pa.string()`` at once.

    Raises:
        InvalidAction: as :func:`decode_path`.
    """
    decoded = _unescaped(paths) if (characters(paths) == ord("%")).any() else paths
    if pc.min(pc.binary_length(decoded)).as_py() == 0 or not characters(decoded).all():
        raise InvalidAction("a path is empty or holds a NUL", requirement="ADD-003")
    return decoded


def _unescaped(paths: pa.Array) -> pa.Array:
    # Every piece after a '%' begins with the two hex digits of its escape. Working on pieces
    # decodes exactly once: what an escape yields is never decoded again.
    pieces = pc.split_pattern(pa.concat_arrays([paths]).cast(pa.binary()), "%")
    flat = pieces.flatten()
    row = pc.list_parent_indices(pieces)
    first = pc.not_equal(pc.fill_null(pc.pairwise_diff(row), 1), 0)
    codes = pc.binary_slice(flat, 0, 2).dictionary_encode()
    decoded = pa.array([_unescape(code) for code in codes.dictionary.to_pylist()], pa.binary())
    tail = pc.binary_replace_slice(flat, 0, 2, b"")
    rest = pc.binary_join_element_wise(decoded.take(codes.indices), tail, b"")
    whole = pa.ListArray.from_arrays(pieces.offsets, pc.if_else(first, flat, rest))
    joined = pc.binary_join(whole, b"")
    try:
        return joined.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise InvalidAction(
            f"the escapes of a path do not spell UTF-8: {error}", requirement="ADD-003"
        ) from None


def _unescape(code: bytes) -> bytes:
    return bytes((int(code, 16),)) if _ESCAPE.fullmatch(code) else b"%" + code


def encode_path(path: str) -> str:
    """Encode a relative path for an action: the inverse of :func:`decode_path`.

    A colon is always escaped, because ahead of the first slash it would end a scheme. A path
    that would be read as a URL once it is decoded begins with ``./``.
    """
    # Obeys ADD-004.
    return quote(f"./{path}" if _SCHEME.match(path) else path, safe=_SAFE)


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of an absolute path or a URL.

    Attributes:
        scheme: in lower case; ``""`` for an absolute path without one.
        authority: host, bucket or container; ``""`` where there is none.
        path: with the slash that it begins with; ``""`` for a URL of an authority alone.
    """

    scheme: str
    authority: str
    path: str

    @property
    def store(self) -> str:
        """Scheme and authority, as ``s3://bucket``."""
        return f"{self.scheme}://{self.authority}"

    @property
    def host(self) -> str:
        """The host of the authority, without user, port and the brackets of IPv6."""
        host = self.authority.rpartition("@")[2]
        return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def parse_address(path: str) -> Address | None:
    """Take a decoded path apart; ``None`` for one that is relative to the table root."""
    if path.startswith("/"):
        return Address("", "", path)
    match = _SCHEME.match(path)
    if match is None:
        return None
    # The path is decoded: '#' and '?' are letters of it.
    return Address(match[1].lower(), match[2] or "", match[3])


def is_absolute(path: str) -> bool:
    """Return whether a decoded path is absolute or a URL, and not relative to the table root."""
    return parse_address(path) is not None


def decode_url(url: str) -> Address | None:
    """Take the URL of a table root apart, and decode its path; ``None`` for a local path.

    A single letter before the colon is a drive, not a scheme. A query and a fragment are no
    part of the place.
    """
    address = parse_address(url)
    if address is None or address.scheme == "" or len(address.scheme) == 1:
        return None
    path = re.split(r"[?#]", address.path, maxsplit=1)[0]
    return Address(address.scheme, unquote(address.authority), unquote(path))


def file_name(path: str) -> str:
    """Return what comes after the last slash."""
    return path.rpartition("/")[2]


def file_names(path: str) -> set[str]:
    """Return what may be the name of the file, by the rules of whichever system wrote the path."""
    return {file_name(path), re.split(r"[/\\:]", path)[-1]}


def resembling(path: str) -> str:
    """Return what one path has in common with all that may have become of it.

    A table that was copied between file systems has names in another case or another form of
    Unicode; writers forget to escape, or escape twice, some take a plus for a space, and those
    of Windows spell a slash as a backslash.
    """
    for _ in range(_ESCAPES):
        path = unquote(path)
    path = _IGNORED.sub("", path[-MAX_PATH_CHARACTERS:]).replace("+", " ").replace("\\", "/")
    # The capital of a dotless i is that of an i, and the small letter of a dotted I is an i.
    path = path.upper().casefold().replace("i\u0307", "i")
    parts = (part.rstrip(". ") for part in unicodedata.normalize("NFKC", path).split("/"))
    return "/".join(filter(None, parts))
