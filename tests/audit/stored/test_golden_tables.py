"""A golden table that is to be read breaks no writer's clause, but where it is made for that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from conformance.audit import audit
from generators.golden.cases.summarise import LAYOUTS
from generators.spec_files import spec_files

CORPUS = Path(__file__).resolve().parents[3] / "golden-tables"
CHAPTERS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir())

_FOREIGN: Final = "files that are none of the log's lie in its folder"
_BY_ID: Final = "ids alone find columns in mode id, whatever a file calls them"
_BY_NAME: Final = "readers by name look at no ids of files"
_STRUCTS: Final = "readers find the statistics where they are"
_OTHERS: Final = "a column of another physical name is not the table's, whatever its id"
_RECIPE: Final = "the recipe judges what a writer leaves; of this table the rows alone are asked"
_CROSSED: Final = "what a reader must not go by says something else on purpose"
_CROSSINGS: Final = {
    "add-cdc-file/crossed-id": {"CM-013", "CM-015"},
    "add-cdc-file/crossed-name": {"CDC-001", "CDC-012", "CM-015"},
    "column-mapping/crossed-id": {"CM-013", "CM-015"},
    "column-mapping/crossed-name": {"CM-015"},
    "default-columns/crossed-id": {"CM-013"},
    "default-columns/crossed-name": {"CM-013"},
}
BROKEN: Final[dict[str, tuple[set[str], str]]] = {
    **{
        f"{name}-{layout}": (rows, _CROSSED)
        for name, rows in _CROSSINGS.items()
        for layout in LAYOUTS
    },
    "add-cdc-file/actions-ignored-by-reads": (
        {"CDC-001", "CDC-012"},
        "its change files tell of other rows, which a read of the table must not show",
    ),
    "checkpoints/foreign-names": ({"CKPT-019", "CKPT-023", "CKPT-024"}, _FOREIGN),
    "column-mapping/every-question-id-swapped": ({"CM-013", "CM-015"}, _BY_ID),
    "column-mapping/id-mode-names-swapped": ({"CM-013", "CM-015"}, _BY_ID),
    "column-mapping/id-mode-nested-names-swapped": ({"CM-013", "CM-015"}, _BY_ID),
    "column-mapping/mode-id-alone-feature": ({"CM-013", "CM-015"}, _BY_ID),
    "column-mapping/mode-name-alone-feature": ({"CM-015"}, _BY_NAME),
    "column-mapping/name-mode-nested-wrong-ids": ({"CM-015"}, _BY_NAME),
    "column-mapping/name-mode-without-ids": ({"CM-015"}, _BY_NAME),
    "column-mapping/name-mode-wrong-ids": ({"CM-015"}, _BY_NAME),
    "column-mapping/name-missing-id-there": ({"CM-013"}, _OTHERS),
    "column-mapping/nested-name-missing-id-there": ({"CM-013"}, _OTHERS),
    "default-columns/defaults-do-not-affect-reads": (
        {"DFT-008"},
        "how a column came by its default is nothing to a reader",
    ),
    **dict.fromkeys(
        (
            "deletion-vectors/remove-without-vector",
            *(
                f"deletion-vectors/remove-{what}-after-{summary}"
                for what in ("other-inline", "other-offset", "without-offset", "without-vector")
                for summary in ("classic", "v2-json-sidecars")
            ),
        ),
        (
            {"REM-014"},
            "a remove without the vector of the file names another one, and removes nothing",
        ),
    ),
    "delta-log-entries/foreign-files": ({"LOG-001", "LOG-002"}, _FOREIGN),
    "iceberg-compatibility-v1/write-changes": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-changes-by-id": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-enable-later": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-merge": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-moves-course": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-alike": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-partitions": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-partitions-by-id": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-partitions-fewer": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-partitions-more": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-restore-enabled": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-partitions-fewer": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-partitions-more": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-restore-enabled": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-partitions-first": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-partitions-second": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v1/write-replace-partitions-typed": ({"ICE1-007"}, _RECIPE),
    "iceberg-compatibility-v2/active": ({"ICE2-006"}, "readers look at no ids of parts"),
    "iceberg-compatibility-v2/write-changes": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-changes-course": ({"ICE2-006", "ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-enable-later": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-merge": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-nested": ({"ICE2-006"}, _RECIPE),
    "iceberg-compatibility-v2/write-nested-ids": ({"ICE2-006"}, _RECIPE),
    "iceberg-compatibility-v2/write-nested-replaced": ({"ICE2-006"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-alike": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-partitions": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-partitions-by-id": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-partitions-first": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-partitions-second": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-replace-partitions-typed": ({"ICE2-015"}, _RECIPE),
    "iceberg-compatibility-v2/write-whole-course-with-features": (
        {"ICE2-006", "ICE2-015"},
        _RECIPE,
    ),
    "v2-checkpoint-feature/parquet-struct-statistics": ({"CKC-018"}, _STRUCTS),
    "v2-checkpoint-feature/parquet-struct-statistics-hint": ({"CKC-018"}, _STRUCTS),
    "v2-checkpoint-feature/tags-ignored": ({"CKM-007"}, "readers know no tags"),
    "v2-checkpoint-feature/uuid-name-malformed": ({"CKPT-013"}, _FOREIGN),
}
"""Tables that break clauses of writers on purpose: which, and why they are read all the same."""


def _is_to_be_read(case: Path) -> bool:
    """Say whether every question has one answer, and none is a refusal; a recipe is no question."""
    specs = [json.loads(path.read_bytes()) for path in spec_files(case)]
    asked = [spec for spec in specs if spec["type"] != "write"]
    return all("expected" in spec for spec in asked)


def _has_places(case: Path) -> bool:
    """Say whether the log names places that are filled in when the table is laid out."""
    return any(b"{{" in path.read_bytes() for path in (case / "delta").rglob("*.json"))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_table_that_is_to_be_read_breaks_what_it_is_made_to_break(chapter: str) -> None:
    for case in sorted((CORPUS / chapter).iterdir()):
        if not _is_to_be_read(case) or _has_places(case):
            continue
        found = {
            each.requirement for each in audit(str(case / "delta")) if each.severity == "error"
        }
        name = f"{chapter}/{case.name}"
        assert found == BROKEN.get(name, (set(), ""))[0], name


def test_every_table_that_breaks_a_clause_is_there() -> None:
    assert [name for name in BROKEN if not (CORPUS / name).is_dir()] == []
