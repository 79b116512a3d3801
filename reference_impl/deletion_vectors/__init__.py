"""Deletion vectors: which physical rows of a data file are deleted.

Implements "Deletion Vectors", "Deletion Vector Format" and "Deletion Vector File Storage Format".
Rows are 64-bit positions in the data file, counted from zero.
"""

from __future__ import annotations

from reference_impl.deletion_vectors.bitmap import Bitmap
from reference_impl.deletion_vectors.descriptor import Descriptor, decode_z85, encode_z85
from reference_impl.deletion_vectors.payload import MAGIC, NATIVE_MAGIC, decode, encode
from reference_impl.deletion_vectors.store import VectorStore, frame

__all__ = [
    "MAGIC", "NATIVE_MAGIC", "Bitmap", "Descriptor", "VectorStore", "decode", "decode_z85",
    "encode", "encode_z85", "frame",
]  # fmt: skip
