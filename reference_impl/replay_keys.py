"""Keys of logical files, computed on Arrow columns.

Serves "Add File and Remove File" (paths are URIs, decoded once) and "Derived Fields" of
deletion vectors. The key of a logical file is its decoded path with its vector's unique id.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidAction
from reference_impl.types.text import characters

__all__ = ["decode_paths", "dv_unique_ids", "logical_keys"]

_HEX: Final = frozenset("0123456789abcdefABCDEF")


def decode_paths(paths: pa.Array) -> pa.Array:
    """Decode the percent escapes of URIs once; a malformed escape stands for itself.

    Raises:
        InvalidAction: the escapes of a path do not spell UTF-8.

    """
    if not (characters(paths) == ord("%")).any():
        return paths
    # Every piece after a '%' begins with the two hex digits of its escape. Working on pieces
    # decodes exactly once: what an escape yields is never looked at again.
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
    text = code.decode("latin-1")
    if len(text) == 2 and set(text) <= _HEX:
        return bytes((int(text, 16),))
    return b"%" + code


def dv_unique_ids(vectors: pa.Array) -> pa.Array:
    """Give the unique id of each deletion vector descriptor; null where there is none."""
    storage, path, offset = (
        pc.struct_field(vectors, name) for name in ("storageType", "pathOrInlineDv", "offset")
    )
    number = pc.binary_join_element_wise("@", offset.cast(pa.string()), "")
    suffix = pc.fill_null(number, "")
    return pc.if_else(
        pc.is_null(vectors), None, pc.binary_join_element_wise(storage, path, suffix, "")
    )


def logical_keys(paths: pa.Array, vectors: pa.Array) -> pa.Array:
    """Give one string per logical file: its decoded path, and for a vector NUL and its id.

    Args:
        paths: decoded paths.
        vectors: deletion vector descriptors, null for none.

    """
    if vectors.null_count == len(vectors):
        return paths
    joined = pc.binary_join_element_wise(paths, dv_unique_ids(vectors), "\0")
    return pc.coalesce(joined, paths)
