"""JSON for which there is not enough memory ends in an error, and not in the end of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

LINE = 48 << 20
"""Bytes of a line, which its parser takes many times."""

TEXT = 8 << 20
"""Bytes of JSON of many small values."""

SPARE = 384 << 20
"""Bytes of address space that are left when it is parsed."""

PROGRAM = f"""
import re, resource
from pathlib import Path
from reference_impl.log.commits import parse_line
from reference_impl.model.wire import LogPlace

line = b'{{"txn":{{"appId":"' + b"x" * {LINE} + b'","version":1}}}}'
held = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (held + {SPARE}, held + {SPARE}))
try:
    parse_line(line, 1, LogPlace("c", 0))
except MemoryError:
    print("refused")
"""

PARTS = {"objects": b'{"a":1},', "lists": b"[],", "short texts": '"\u00e9é",'.encode()}
"""What makes the most values of the fewest bytes."""

OF_PARTS = f"""
import re, resource, sys
from pathlib import Path
from reference_impl.untrusted import load_json

part = bytes.fromhex(sys.argv[1])
text = b"[" + part * ({TEXT} // len(part)) + b"1]"
held = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
spare = held + int(len(text) * float(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_AS, (spare, spare))
try:
    load_json(text)
    print("parsed")
except MemoryError:
    print("refused")
"""


@pytest.mark.parametrize("times", ["12.5", "24"])
@pytest.mark.parametrize("part", PARTS)
def test_values_that_do_not_fit_in_memory_do_not_end_the_process(part: str, times: str) -> None:
    done = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", OF_PARTS, PARTS[part].hex(), times],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr[-500:]


def test_a_line_that_does_not_fit_in_memory_does_not_end_the_process() -> None:
    done = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr[-500:]
