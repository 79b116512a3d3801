"""Keys of logical files, computed on Arrow columns.

Serves "Add File and Remove File" and "Derived Fields" of deletion vectors. The key of a logical
file is its decoded path with its vector's unique id.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["dv_unique_ids", "logical_keys"]


def dv_unique_ids(vectors: pa.Array) -> pa.Array:
    """Return the unique id of each deletion vector descriptor; null where there is none."""
    storage, path, offset = (
        pc.struct_field(vectors, name) for name in ("storageType", "pathOrInlineDv", "offset")
    )
    number = pc.binary_join_element_wise("@", offset.cast(pa.string()), "")
    suffix = pc.fill_null(number, "")
    return pc.if_else(
        pc.is_null(vectors), None, pc.binary_join_element_wise(storage, path, suffix, "")
    )


def logical_keys(paths: pa.Array, vectors: pa.Array) -> pa.Array:
    """Return one string per logical file: its decoded path, and for a vector NUL and its id.

    Args:
        paths: decoded paths.
        vectors: deletion vector descriptors, null for none.

    """
    # Obeys ADD-012 REM-013.
    if vectors.null_count == len(vectors):
        return paths
    joined = pc.binary_join_element_wise(paths, dv_unique_ids(vectors), "\0")
    return pc.coalesce(joined, paths)
