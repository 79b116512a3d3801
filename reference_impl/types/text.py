"""The bytes behind Arrow's strings, and a check that those out of a file are text.

Arrow's readers of Parquet take any bytes for text. The result must be UTF-8, and for
plain ASCII, which nearly all of it is, that is checked without visiting each string.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def refuse_bad_text(values: pa.Array) -> None:
    """Refuse strings that are not UTF-8, in an array or its children.

    Raises:
        pyarrow.ArrowInvalid: a string is not UTF-8, or the array is inconsistent.
    """
    if not pa.types.is_string(values.type) or characters(values).max(initial=0) >= 128:
        values.validate(full=True)


def bounds(texts: pa.Array) -> npt.NDArray[np.int32]:
    """Return where each string of an array of ``pa.string()`` begins, and where the last ends."""
    if len(texts) == 0:
        return np.zeros(1, np.int32)
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]


def characters(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the bytes of all strings of an array, those of null ones included."""
    offsets, data = bounds(texts), texts.buffers()[2]
    return np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
