"""Check that strings which came out of a file are text.

Arrow's readers of Parquet take any bytes for text. What is handed on must be UTF-8, and for
plain ASCII, which nearly all of it is, that shows without a look at each string.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["refuse_bad_text"]


def refuse_bad_text(values: pa.Array) -> None:
    """Check an array and its children as they came from a reader.

    Raises:
        pyarrow.ArrowInvalid: a string is not UTF-8, or the array is inconsistent.

    """
    if not (pa.types.is_string(values.type) and _is_ascii(values)):
        values.validate(full=True)


def _is_ascii(texts: pa.StringArray) -> bool:
    _, offsets, characters = texts.buffers()
    if len(texts) == 0 or characters is None:
        return True
    bounds = np.frombuffer(offsets, np.int32)
    begin, end = bounds[texts.offset], bounds[texts.offset + len(texts)]
    return bool(np.frombuffer(characters, np.int8)[begin:end].min(initial=0) >= 0)
