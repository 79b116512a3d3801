"""The filter of one partition that is named by its values.

Serves the operation ``overwrite`` of "Write recipes" in ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_partition(values: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Return the tree that is true for the rows of one partition.

    Args:
        values: for each partition column its value, a typed literal; null for the null partition.
        types: for each of them its primitive type, as a table's schema spells it.

    """
    tests = [
        {"op": "<=>", "args": [{"column": [name]}, {"literal": value, "type": types[name]}]}
        for name, value in values.items()
    ]
    return tests[0] if len(tests) == 1 else {"op": "and", "args": tests}
