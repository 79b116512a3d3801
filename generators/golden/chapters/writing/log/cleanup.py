"""Cases of writing: a cleanup of the log leaves what readers need."""

from __future__ import annotations

import json
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.given import old_files
from generators.golden.chapters.writing.starts import AHEAD
from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import LOG_DIRECTORY, commit_name

CLEANUP: Final = Chapter("metadata-cleanup", since="2025")


@CLEANUP.case("write-cleanup", "CLEAN-012 CKPT-011", since="upstream")
def _cleanup(case: CaseWriter) -> None:
    """A cleanup keeps the commit of the checkpoint that it cuts at."""
    recipe = Recipe(PAIR)
    for number in range(5):
        recipe.append(pairs(number))
    recipe.checkpoint().append(pairs(9)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        return [f"{LOG_DIRECTORY}/{commit_name(version)}" for version in (5, 6)]

    recipe.run("cleanup", kept=kept, gone=[]).publish(case)


@CLEANUP.case("write-cleanup-nothing", "CLEAN-013 CKPT-011")
def _cleanup_nothing(case: CaseWriter) -> None:
    """A cleanup deletes nothing of a log whose one checkpoint lacks a part."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).checkpoint("multi-part").append(pairs(3)).given()

    def kept(builder: TableBuilder) -> list[str]:
        log = case.delta / LOG_DIRECTORY
        for path in (log / "_last_checkpoint", *log.glob("*.0000000002.0000000002.parquet")):
            path.unlink()
        old_files(case)(builder)
        return [f"{LOG_DIRECTORY}/{commit_name(v)}" for v in range(builder.version + 1)]

    recipe.run("cleanup", kept=kept, gone=[]).append(pairs(10)).publish(case)


@CLEANUP.case("write-cleanup-sidecars", "CLEAN-009")
def _cleanup_sidecars(case: CaseWriter) -> None:
    """A cleanup keeps the sidecars of the checkpoint that it cuts at."""
    recipe = Recipe.active(PAIR, "v2Checkpoint")
    for number in range(4):
        recipe.append(pairs(number))
    recipe.checkpoint("v2-parquet", 2).append(pairs(8)).checkpoint("v2-json", 2)
    recipe.append(pairs(9)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        log = case.delta / LOG_DIRECTORY
        newest = max(log.glob("*.checkpoint.*.json"))
        lines = [json.loads(line) for line in newest.read_text().splitlines()]
        sidecars = [line["sidecar"]["path"] for line in lines if "sidecar" in line]
        last = f"{LOG_DIRECTORY}/{commit_name(builder.version)}"
        return [last, *(f"{LOG_DIRECTORY}/_sidecars/{path}" for path in sidecars)]

    recipe.run("cleanup", kept=kept, gone=[]).append(pairs(10)).publish(case)


@CLEANUP.case("write-cleanup-two-checkpoints", "CLEAN-009 CLEAN-012")
def _cleanup_two(case: CaseWriter) -> None:
    """A cleanup keeps the sidecars of every checkpoint that stays."""
    recipe = Recipe.active(PAIR, "v2Checkpoint")
    recipe.append(pairs(1)).append(pairs(2)).checkpoint("v2-parquet", 2).append(pairs(3))
    recipe.append(pairs(4)).checkpoint("v2-parquet", 2).append(pairs(5)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        log = case.delta / LOG_DIRECTORY
        for version in (3, 4, 5):  # of a time to come: the cutoff is before them
            case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", AHEAD + version)
        files = [*log.glob("*.parquet"), *log.glob("_sidecars/*")]
        stay = sorted(path.relative_to(case.delta).as_posix() for path in files)
        return [*(f"{LOG_DIRECTORY}/{commit_name(number)}" for number in (2, 3, 4, 5)), *stay]

    recipe.run("cleanup", kept=kept, gone=[]).append(pairs(6)).publish(case)
