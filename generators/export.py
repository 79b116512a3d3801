"""Generated corpora in the case layout, for people who run their harness without Python.

See ``docs/formats.md``, "Case". A seed and a count fix the corpus: the same numbers give the
same cases. Every case is a table with its questions; histories come in one layout each, in turn,
and every mutation gives one case that says what a reader must make of it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from generators.golden.cases.case import CaseInfo, CaseWriter, Refusal
from generators.histories.drawing import draw_histories
from generators.materialise.builder import TableBuilder
from generators.materialise.layouts import LAYOUTS, LaidOut, Layout, lay_out
from generators.materialise.log.files import LOG_DIRECTORY, commit_name
from generators.mutations import MUTATIONS, Mutation
from generators.oracle.operations import History


class ExportError(ValueError):
    """Something that is no exported case stands where one is to be written."""


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """Return a new place beside the cases."""
    folder = Path(tempfile.mkdtemp(dir=directory, prefix=".scratch-"))
    try:
        yield folder / "table"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _case(directory: Path, info: CaseInfo, scratch: Path, builder: TableBuilder) -> CaseWriter:
    """Begin a case, in place of one of the same id, with the table of a builder."""
    target = directory / info.id
    for place in (target.parent, target):
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise ExportError(f"{place} is no folder, and is not written through")
    if target.exists():
        if not (target / "case.json").is_file():
            raise ExportError(f"{target} is no case, and is not replaced")
        shutil.rmtree(target)
    case = CaseWriter(info, target)
    case.delta.rmdir()
    shutil.move(scratch, case.delta)
    state = builder.states[builder.version]
    case.describe(
        schema=builder.schema.to_json(),
        protocol=builder.protocol.body(),
        configuration=builder.properties,
        log_info={
            "numAddFiles": len(state.adds),
            "numRemoveFiles": len(state.removes),
            "sizeInBytes": sum(each["size"] for each in state.adds.values()),
            "numCommits": len(builder.commits),
            "numActions": sum(len(each) for each in builder.commits.values()),
        },
        data_layout={"numPartitionColumns": len(builder.partition_columns)}
        if builder.partition_columns
        else None,
    )
    return case


def _history_case(
    directory: Path, scratch: Path, place: int, history: History, layout: Layout
) -> str:
    laid = lay_out(scratch, history, layout, seed=f"export/{place}")
    info = CaseInfo(
        f"generated/history-{place:05d}-{layout.name}",
        f"a history reads the same laid out as {layout.name}",
        layout.requirements,
        features=laid.builder.protocol.reader_features or (),
    )
    case = _case(directory, info, scratch, laid.builder)
    _ask_every_version(case, laid)
    case.finish()
    return info.id


def _ask_every_version(case: CaseWriter, laid: LaidOut) -> None:
    oracle = laid.builder.oracle
    for version in laid.versions:
        case.read(
            f"version-{version}",
            oracle.versions[version].schema,
            oracle.rows(version),
            title=f"version {version} has the rows that the history put in",
            version=version,
        )
        commit = f"{LOG_DIRECTORY}/{commit_name(version)}"
        if (case.delta / commit).exists():
            case.file_time(commit, laid.builder.time_of(version))


def export_histories(
    directory: Path, *, count: int, number: int, features: Sequence[str] = ()
) -> Iterable[str]:
    """Write histories, one layout after the other, and return the ids of their cases.

    Args:
        directory: the corpus folder; cases of the same id are replaced.
        count: how many.
        number: the seed.
        features: features that the tables have.

    Raises:
        ExportError: something else has the name of a case.
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for place, history in enumerate(draw_histories(count, number, features)):
        with _scratch(directory) as scratch:
            yield _history_case(directory, scratch, place, history, LAYOUTS[place % len(LAYOUTS)])


def _mutation_case(directory: Path, scratch: Path, mutation: Mutation) -> str:
    builder = mutation.build(scratch)
    info = CaseInfo(
        f"{mutation.chapter}/mutated-{mutation.id}",
        mutation.title,
        mutation.requirements,
        features=mutation.base.features,
    )
    case = _case(directory, info, scratch, builder)
    if mutation.expect == "refused" and mutation.kind is not None:
        refusal = Refusal(mutation.kind, "read", mutation.requirements[0])
        case.refuse("read", "latest", refusal, title="the table is refused")
    else:
        case.read("latest", builder.schema, builder.rows(), title="the rows are the original ones")
    case.finish()
    return info.id


def export_mutations(directory: Path, mutations: Iterable[Mutation] = MUTATIONS) -> Iterable[str]:
    """Write a case for every mutation that has one right answer, and return their ids.

    What a ruling leaves open has no place in a corpus that other harnesses judge by.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for mutation in mutations:
        if mutation.expect != "contested" and not mutation.tolerated:
            with _scratch(directory) as scratch:
                yield _mutation_case(directory, scratch, mutation)
