"""Long JSON for which there is not enough memory does not end the process of an audit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

LENGTH = 16 << 20
"""Bytes of JSON, which its parser takes many times."""

SPARE = 320 << 20
"""Bytes of address space that are left when it is parsed."""

START = f"""
from types import SimpleNamespace
import numpy as np, pyarrow as pa
from conformance.audit import screens
from conformance.audit.columnar.json_rows import JsonRows
from conformance.audit.columnar.rows import ADD
from conformance.audit.read.raw import json_lines, parse_json
from reference_impl.limits import Limits, within_limits

SPARE = {SPARE}
long = "[" + '{{"a":1}},' * ({LENGTH} // 8) + "1]"
"""

PROGRAMS = {
    "a line is left to the careful parser": """
line = b'{"add":{"path":' + long.encode() + b"}}"
del long
leave(SPARE)
print([JsonRows(None, checkpoint=False).take(0, line)])
""",
    "statistics are shown to the check": """
text = '{"numRecords":1,"minValues":{"a":' + long + "}}"
del long
rows = SimpleNamespace(
    kind=np.array([ADD], np.uint8),
    irregular=np.array([False]),
    columns={"stats": pa.chunked_array([pa.array([text], pa.large_string())])},
)
layout = SimpleNamespace(columns=(), partition_columns={})
screens._types = lambda layout: {}
with within_limits(Limits(), "a test"):
    leave(SPARE)
    print((~screens._statistics(rows, layout)).tolist())
""",
    "the careful parser reports the limit": """
text = b"[" + b"[]," * (16 << 20) + b"[]]"
with within_limits(Limits(), "a test"):
    leave(SPARE)
    print([parse_json(text).limit is None])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_long_json_does_not_end_the_process(
    name: str, printed_in_short_memory: Callable[..., str]
) -> None:
    assert printed_in_short_memory(START + PROGRAMS[name]) == "[False]"
