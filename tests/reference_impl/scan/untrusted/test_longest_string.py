"""The longest string of a dictionary is found, whatever its bytes look like."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl.parquet.pages import read_footer, read_page_headers
from reference_impl.parquet.strings import longest_string

DRAWS: dict[str, Callable[[random.Random], bytes]] = {
    "digits": lambda draw: str(draw.random()).encode()[: draw.randrange(5, 19)],
    "empty ones": lambda draw: b"x" * draw.choice((0, 0, 1, 255)),
    "zeros": lambda draw: bytes(draw.choice((0, 0, 1, 2, 3)) for _ in range(draw.randrange(9))),
    "lengths": lambda draw: draw.randrange(9).to_bytes(4, "little") * draw.randrange(1, 60),
    "a byte more than short": lambda draw: b"y" * draw.choice((1, 254, 255, 256)),
    "one long": lambda draw: b"z" * (draw.randrange(1 << 8) or 1 << 18),
}


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("drawn", DRAWS)
@pytest.mark.parametrize("count", [1, 2, 40, 20_000])
def test_the_longest_string_of_a_dictionary_is_found(drawn: str, codec: str, count: int) -> None:
    draw = random.Random(count)  # noqa: S311  a fixed choice, not a secret
    strings = [DRAWS[drawn](draw) for _ in range(count)]
    sink = pa.BufferOutputStream()
    table = pa.table({"c": pa.array(strings, pa.binary())})
    pq.write_table(table, sink, compression=codec, dictionary_pagesize_limit=1 << 26)
    data = sink.getvalue().to_pybytes()

    def read(start: int, length: int) -> bytes:
        return data[start : start + length]

    ((chunk,),) = read_footer(read, len(data), 1)
    (page,) = (page for page in read_page_headers(read, chunk, len(data)) if page.dictionary)
    assert longest_string(read, chunk, page) == max(map(len, strings))
