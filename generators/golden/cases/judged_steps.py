"""Which steps of recipes judge a requirement of their own, beside that of the whole recipe.

See the section "Write recipes" of ``docs/formats.md``. A step is listed where what can go wrong
at it breaks a clause that the recipe as a whole does not judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JUDGED_STEPS: Final[Mapping[str, Mapping[int, str]]] = {
    "append-only-tables/write-after-unlocking": dict.fromkeys((3, 4, 5), "APP-004"),
    "append-only-tables/write-after-unsetting": dict.fromkeys((3, 4, 5), "APP-004"),
    "append-only-tables/write-unlocked-replaced": dict.fromkeys((5, 6, 7, 8), "APP-004"),
    "append-only-tables/write-append": {1: "WVER-001"},
    "append-only-tables/write-optimize": {4: "FA-017"},
    "check-constraints/write-add-after-vectors": {3: "CHK-009"},
    "checkpoints/write-checkpoint": {4: "CKPT-007"},
    "checkpoints/write-multi-part": {9: "CKPT-N-003"},
    "checkpoints/write-v2-json-sidecars": {9: "SIDE-003"},
    "checkpoints/write-v2-parquet-sidecars": {9: "SIDE-001"},
    "clustered-table/write-changes-mapped": {3: "CM-035"},
    "clustered-table/write-cluster-later": {5: "CLUS-010"},
    "clustered-table/write-cluster-later-mapped": {6: "CLUS-010", 8: "CLUS-010"},
    "column-mapping/write-add-nested-by-id": dict.fromkeys((2, 4, 5), "CM-019"),
    "column-mapping/write-add-nested-by-name": dict.fromkeys((2, 4, 5), "CM-019"),
    "column-mapping/write-columns": {6: "CM-019"},
    "column-mapping/write-turn-on": {2: "CM-011", 3: "CM-012"},
    "column-mapping/write-turn-on-legacy": {0: "CM-010", 1: "WVER-004"},
    "default-columns/write-columns-course": {1: "DFT-006"},
    "default-columns/write-default": {2: "DFT-005", 3: "DFT-006"},
    "default-columns/write-merge-null": {2: "DFT-006"},
    "default-columns/write-merge-with-default": {2: "DFT-005"},
    "default-columns/write-overwrite-null": dict.fromkeys((2, 3, 4), "DFT-006"),
    "default-columns/write-update-null": {2: "DFT-006"},
    "default-columns/write-default-expression": {1: "DFT-005"},
    "default-columns/write-default-mapped": {2: "DFT-005"},
    "default-columns/write-default-partition": {2: "DFT-005"},
    "default-columns/write-set-default": {3: "DFT-005"},
    "default-columns/write-set-default-again": {3: "DFT-005", 5: "DFT-005"},
    **{
        f"default-columns/write-kept-by-{change}": {3: "SCH-037"}
        for change in ("rename", "nullable", "comment", "widen", "reorder", "properties")
    },
    "default-columns/write-overwrite-with-default": {2: "DFT-005", 3: "DFT-005"},
    "deletion-vectors-design/write-purge": {4: "DVD-005", 6: "DVD-005"},
    "deletion-vectors-design/write-restore-across-upgrade": {6: "DVD-013", 8: "DVD-013"},
    "deletion-vectors-design/write-restore-before-vectors": {5: "DVD-014"},
    "deletion-vectors-design/write-restore-vectors": {3: "DVD-017"},
    "deletion-vectors/write-changes": {3: "DVD-018"},
    "deletion-vectors/write-merge-after-delete": dict.fromkeys((4, 5, 6), "DVD-017"),
    "deletion-vectors/write-merge-after-delete-mapped": dict.fromkeys((4, 5, 6), "DVD-017"),
    "deletion-vectors/write-merge-after-delete-partitions": dict.fromkeys((4, 5, 6), "DVD-017"),
    "delta-log-entries/write-append-given": {1: "WNEW-001"},
    "generated-columns/write-generated": {1: "GEN-005"},
    "generated-columns/write-null-results": dict.fromkeys((1, 2, 3), "GEN-005"),
    "generated-columns/write-null-results-of-changes": dict.fromkeys((2, 3), "GEN-005"),
    **{
        f"generated-columns/write-source-{change}": {2: "GEN-004"}
        for change in ("update", "computed-update", "merge")
    },
    "in-commit-timestamps/write-changes": {0: "ICT-002"},
    "in-commit-timestamps/write-merge": {0: "ICT-004"},
    "partition-value-serialization/write-binary": {1: "PART-014"},
    "partition-value-serialization/write-boolean": {1: "PART-013"},
    "partition-value-serialization/write-date": {1: "PART-005"},
    "partition-value-serialization/write-integer": {1: "PART-004"},
    "partition-value-serialization/write-string": {1: "PART-003"},
    "partition-value-serialization/write-timestamp-ntz": {1: "PART-011"},
    "row-tracking/write-changes": {1: "RT-032"},
    "row-tracking/write-enable": {4: "RT-046"},
    "row-tracking/write-enable-with-vectors": {5: "RT-045"},
    "row-tracking/write-merge": {3: "RT-050"},
    "row-tracking/write-merge-with-vectors": {3: "RT-052"},
    "row-tracking/write-restore-then-append": {4: "RT-036"},
    "table-features/write-created-for-readers": {1: "TF-004"},
    "table-features/write-created-for-writers": {0: "APP-001"},
    "table-features/write-enable": {5: "TF-015"},
    "version-requirements/write-constraint-3": {0: "CHK-011"},
    "version-requirements/write-feed-4": {0: "WVER-003", 1: "CDC-011", 2: "CDC-011"},
    **{f"version-requirements/write-feed-{n}": dict.fromkeys(range(3), "CDC-011") for n in (5, 6)},
    "version-requirements/write-feed-overwritten": dict.fromkeys((0, 1), "CDC-011"),
    "version-requirements/write-identity-6": {0: "WVER-005"},
}
"""Case id to number of a step, among those that are asked for, to the requirement that it
judges."""
