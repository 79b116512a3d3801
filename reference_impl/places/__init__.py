"""From a path of the log to a place in a store: URI, place and policy.

Implements "Add File and Remove File", "Deletion Vector Descriptor Schema" and "Sidecar File
Information", whose paths are URIs, relative to the table root or absolute. Nothing else in the
kit decodes a path, looks for a scheme or strips ``file:``.
"""

from __future__ import annotations

from reference_impl.places.place import LocalRoot, Locator, ObjectRoot, Place
from reference_impl.places.policy import OUTSIDE, SAME_STORE, Outside, Policy, opened_as
from reference_impl.places.uris import (
    Address,
    decode_path,
    decode_paths,
    decode_url,
    encode_path,
    file_name,
    file_names,
    is_absolute,
    resembling,
)

__all__ = [
    "OUTSIDE", "SAME_STORE", "Address", "LocalRoot", "Locator", "ObjectRoot", "Outside", "Place",
    "Policy", "decode_path", "decode_paths", "decode_url", "encode_path", "file_name", "file_names",
    "is_absolute", "opened_as", "resembling",
]  # fmt: skip
