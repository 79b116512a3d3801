"""Run :mod:`conformance.workers.worker` as a script whose imports no other folder can shadow.

The kit starts it by its path, as ``python -P serve.py IMPL SECONDS``: neither the working directory
nor the folder of this script is then searched for modules. The kit's own packages are found beside
this one, whatever else bears their names on the search path.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_HOME = str(Path(__file__).resolve().parents[2])
_PACKAGES = frozenset({"conformance", "generators", "reference_impl", "schemas"})


class _KitFinder(MetaPathFinder):
    """Find the kit's packages where this file lies, and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for the kit's packages; their modules are found through them."""
        del path
        return PathFinder.find_spec(fullname, [_HOME], target) if fullname in _PACKAGES else None


if __name__ == "__main__":
    sys.meta_path.insert(0, _KitFinder())
    from conformance.workers.worker import main

    raise SystemExit(main())
