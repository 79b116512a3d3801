"""The rows that a table had at each of its versions, as far as its case has them.

Covers "In-Commit Timestamps" with its recommendations for readers: which version a time means is
advice, that the rows are those of a version is not.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from conformance.golden.cases import Case, Contested, Expectation, Expected
from conformance.judging.compare import compare_rows

_PLACES: Final = {"version", "timestamp"}
"""Parameters with which a question is still one for all rows."""

_ROW_ID_COLUMNS: Final = {"_row_id", "_row_commit_version"}

_VERSION: Final = re.compile(r"([0-9]{20})\.(?:json|checkpoint\.)")
"""The version of a file of the log that has a version of its own."""


def rows_of_versions(case: Case) -> list[pa.Table] | None:
    """Return the rows of each version of a table; ``None`` where the case does not have them all.

    Rows that differ are of versions that do, so that as many as there are versions are all.
    """
    found: list[pa.Table] = []
    for each in case.specs:
        if each.type in ("read", "row_ids") and each.parameters.keys() <= _PLACES:
            rows = _rows(each.expectation)
            if rows is not None and all(compare_rows(one, rows) is not None for one in found):
                found.append(rows)
    names = (_VERSION.match(path.name) for path in case.table.glob("_delta_log/*"))
    versions = {match[1] for match in names if match}
    return found if len(found) == len(versions) else None


def _rows(expectation: Expectation) -> pa.Table | None:
    """Return the rows that are due, or that the one reading gives which gives rows."""
    answers = (
        [each.answer for each in expectation.accepted]
        if isinstance(expectation, Contested)
        else [expectation]
    )
    given = [answer.rows() for answer in answers if isinstance(answer, Expected)]
    if len(given) != 1:
        return None
    return given[0].drop_columns(
        [name for name in given[0].column_names if name in _ROW_ID_COLUMNS]
    )
