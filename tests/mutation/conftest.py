"""Make the mutation tester importable, where what it is made of is installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

collect_ignore = [] if find_spec("mutmut") else ["test_generic_mutants.py"]
"""Other environments than that of ``tox run -e mutation`` lack it."""
