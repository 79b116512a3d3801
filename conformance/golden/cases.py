"""Cases and specs as values: a table, the questions about it and the answers demanded.

See the section "Case" of ``docs/formats.md``. Files become these values in
:mod:`conformance.golden.corpus`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.adapter import Kind, Stage
from conformance.base.faults import CorpusError
from conformance.base.outcomes import Hazard
from conformance.base.untrusted import MIB
from conformance.questions import QUESTIONS

ROW_TYPES: Final = frozenset(name for name, each in QUESTIONS.items() if each.rows)
"""Types of specs whose expected answer has rows."""

_FEW_ROWS: Final = 16
_MAX_ROWS_BYTES: Final = 512 * MIB
"""Bytes of expected rows in memory."""


@dataclass(frozen=True, slots=True)
class Expected:
    """An answer that has to be given.

    Attributes:
        document: the ``expected`` object of the spec.
        source: gives the expected rows, for types with rows.
    """

    document: Mapping[str, Any]
    source: Callable[[], pa.Table] | None = None

    def rows(self) -> pa.Table:
        """Return the expected rows."""
        assert self.source is not None
        return self.source()


def rows_files(folder: Path) -> list[Path]:
    """Return the Parquet files of an ``expected_data`` folder, in the order of their names."""
    names = sorted(os.listdir(folder) if folder.is_dir() else ())  # noqa: PTH208  by far quicker
    return [folder / name for name in names if name.endswith(".parquet") and name[0] not in "._"]


@cache
def rows_in(folder: Path) -> pa.Table:
    """Read the rows of an ``expected_data`` folder."""
    return pa.concat_tables([_rows_of(path) for path in rows_files(folder)])


def _rows_of(path: Path) -> pa.Table:
    # Threads and buffers take several times as long as the few rows that nearly all files have.
    with pa.OSFile(str(path)) as source, pq.ParquetFile(source, pre_buffer=False) as file:
        facts = file.metadata
        if facts.num_rows <= _FEW_ROWS:
            return file.read(use_threads=False)
        # One long value of a dictionary can stand in every row: rows are decoded a few at a time.
        groups = (facts.row_group(index).total_byte_size for index in range(facts.num_row_groups))
        step = max(1, _MAX_ROWS_BYTES // max(path.stat().st_size, *groups))
        batches, total = [], 0
        for batch in file.iter_batches(min(step, 2**16)):
            batches.append(batch)
            total += batch.nbytes
            if total > _MAX_ROWS_BYTES:
                raise CorpusError(
                    path, f"decompresses to more than {_MAX_ROWS_BYTES} bytes of rows"
                )
        return pa.Table.from_batches(batches, file.schema_arrow)


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """A refusal that has to be given.

    Attributes:
        kind: why the table or the question is refused.
        stage: the latest stage at which it is refused.
        requirement: the id that the refusal obeys.
    """

    kind: Kind
    stage: Stage
    requirement: str | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted answer to a contested question.

    Attributes:
        name: slug that results record.
        source: who answers so and why.
        answer: the answer.
        steps: numbers of the steps of a recipe that may be refused so; none for the last one.
    """

    name: str
    source: str
    answer: Expected | ExpectedError
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Contested:
    """Answers of which each is a reading of the text; none is a failure, any other is.

    Attributes:
        accepted: the answers.
        open: the text does not determine the answer: one outside of the list is no failure either.
    """

    accepted: tuple[Accepted, ...]
    open: bool = False


Expectation: TypeAlias = Expected | ExpectedError | Contested


@dataclass(frozen=True, slots=True)
class Spec:
    """One question about a table with its answer.

    Attributes:
        id: ``<chapter>/<case>/<slug>``, permanent.
        type: the type of the question.
        title: what holds, in the present tense.
        requirements: ids that the spec touches.
        parameters: the parameters of the type, as in the file.
        expectation: what has to be answered.
        needs: capabilities beyond those that the parameters imply.
        hazard: what a wrong answer means, when the default does not fit.
        requirement: the id that it judges, where that is not to be found among those that it
            touches (see :mod:`conformance.requirements.judged`).
    """

    id: str
    type: str
    title: str
    requirements: tuple[str, ...]
    parameters: Mapping[str, Any]
    expectation: Expectation
    needs: frozenset[str] = frozenset()
    hazard: Hazard | None = None
    requirement: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A table and the questions about it.

    Attributes:
        id: ``<chapter>/<case>``, permanent.
        title: what holds, in the present tense.
        features: table features that a reader must honour to read the table.
        requirements: ids that the case serves.
        revisions: protocol revisions under which it applies.
        table: the folder of the table.
        specs: the questions, in the order of their ids.
        file_times: path under the table to modification time in ms since the epoch.
        root: name of the folder to copy the table to, where the name matters.
        placeholders: text files under the table that say where it lies, by placeholders that
            are expanded in a copy.
    """

    id: str
    title: str
    features: frozenset[str]
    requirements: tuple[str, ...]
    revisions: frozenset[str]
    table: Path
    specs: tuple[Spec, ...]
    file_times: Mapping[str, int] = field(default_factory=dict)
    root: str | None = None
    placeholders: tuple[str, ...] = ()

    @property
    def chapter(self) -> str:
        """Return the chapter's slug."""
        return self.id.partition("/")[0]
