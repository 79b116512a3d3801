"""JSON for which there is not enough memory ends in an error, and not in the end of the process."""

from __future__ import annotations

import subprocess
import sys

LINE = 48 << 20
"""Bytes of a line, which its parser takes many times."""

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


def test_a_line_that_does_not_fit_in_memory_does_not_end_the_process() -> None:
    done = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr[-500:]
