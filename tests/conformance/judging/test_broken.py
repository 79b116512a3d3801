"""What differs names the row that an answer breaks, whatever else its question touches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fakes import EVERYTHING, Told
from shipped import shipped

from conformance.adapter import Answer, Ok, Refused, Request, Snapshot
from conformance.base.outcomes import Outcome, Verdict
from conformance.golden.cases import Expected
from conformance.golden.corpus import Corpus
from conformance.items.generated import Plan, generated_items
from conformance.items.items import Item, golden_items
from conformance.judging.claims import WORDS
from conformance.judging.compare import compare_rows
from conformance.judging.judge import Judge
from conformance.judging.live import marked_rows
from conformance.judging.tables import TableStore
from conformance.judging.verdicts import verdict_on
from conformance.requirements.levels import ROWS_READ, at_level
from conformance.requirements.registry import load_registry
from reference_impl import read_table

Change: TypeAlias = Callable[[pa.Table], pa.Table]

_ABLE = replace(
    EVERYTHING,
    reader_version=3,
    writer_version=7,
    reader_features=frozenset(WORDS["reader_features"]),
    capabilities=frozenset(WORDS["capabilities"]),
)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return shipped()


@pytest.fixture(scope="module")
def items(corpus: Corpus) -> dict[str, Item]:
    return {item.id: item for item in golden_items(corpus)}


def _nulls(*names: str) -> Change:
    def change(rows: pa.Table) -> pa.Table:
        for name in names:
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, pa.nulls(rows.num_rows, rows.field(name).type))
        return rows

    return change


def _without(*names: str) -> Change:
    return lambda rows: rows.drop_columns(list(names))


def _swapped(one: str, other: str) -> Change:
    return lambda rows: rows.rename_columns(
        [{one: other, other: one}.get(name, name) for name in rows.column_names]
    )


def _fewer(rows: pa.Table) -> pa.Table:
    return rows.slice(1)


def _more(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(0, 1)])


def _names(rows: pa.Table) -> pa.Table:
    at = rows.column_names.index("name")
    return rows.set_column(at, "name", pc.binary_join_element_wise(rows["name"], "x", ""))


def _moved(by: int) -> Change:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.column_names.index("count")
        return rows.set_column(at, "count", pc.add(rows["count"], by))

    return change


def _shifted(name: str) -> Change:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.column_names.index(name)
        return rows.set_column(at, name, pc.add(rows[name], 100))

    return change


def _showing(*names: str) -> Change:
    def change(rows: pa.Table) -> pa.Table:
        for name in names:
            rows = rows.append_column(name, pa.nulls(rows.num_rows, pa.int64()))
        return rows

    return change


def _hollowed(name: str, empty: list[Any] | dict[str, Any]) -> Change:
    """Give what holds nothing for null: the empty list, or a struct of nulls."""

    def change(rows: pa.Table) -> pa.Table:
        field = rows.schema.field(name)
        filled = pa.array([value or empty for value in rows[name].to_pylist()], field.type)
        return rows.set_column(rows.column_names.index(name), field, filled)

    return change


def _turned(name: str) -> Change:
    """Give fields of structs in a list the values of one another."""

    def change(rows: pa.Table) -> pa.Table:
        field = rows.schema.field(name)
        turned = [
            [dict(zip(each, [*each.values()][::-1], strict=True)) for each in value]
            for value in rows[name].to_pylist()
        ]
        column = pa.array(turned, field.type)
        return rows.set_column(rows.column_names.index(name), field, column)

    return change


_MAPPED = "deletion-vectors/mapped-and-partitioned/read-latest"
_VARIANTS = "variant-shredding/arrays/read-latest"
_NESTED = "type-widening/nested-types/read-latest"
_VECTORS = "deletion-vectors/every-second/read-latest"
_TRACKED = "row-tracking/spark-enabled-late/row-ids-v5"
_IDS_LEFT = "deletion-vectors/every-question/row-ids-latest"
_COUNTED = "deletion-vectors/aggregates-after-vectors/aggregate-count"
_SUPPORTED = "table-features/unknown-writer-feature-in-commits/{}"
_FOLDERS = "data-files/misleading-directories/read-latest"
_CROSSED = "add-cdc-file/crossed-name-all/vector"
_CHANGED = "action-reconciliation/changed-after-compaction-of-the-changes/read-{}"
_BOUNDS = "column-mapping/crossed-id-{}/bounds-u-v3"
_CUT = ("parts", "v2-json", "v2-parquet")


@pytest.mark.parametrize(
    ("identity", "change", "named"),
    [
        (_MAPPED, _nulls("p"), "CM-030"),
        (_MAPPED, _without("p"), "CM-030"),
        (_MAPPED, _nulls("id", "name"), "CM-029"),
        (_MAPPED, _fewer, ROWS_READ),
        (_MAPPED, _more, "DVDESC-020"),
        ("column-mapping/name-mode-feature/read-latest", _nulls("p"), "CM-030"),
        ("column-mapping/id-mode-feature/read-latest", _nulls("p"), "CM-026"),
        ("column-mapping/id-mode-feature/project-partition", _more, ROWS_READ),
        ("column-mapping/id-mode-feature/project-partition", _nulls("p"), "CM-026"),
        (_CROSSED, _swapped("a", "c"), "CM-029"),
        (_CROSSED.replace("vector", "removed"), _swapped("a", "c"), "CM-029"),
        # The first checkpoint says how columns are mapped, where earlier commits are gone.
        *((_CROSSED.replace("all", cut), _swapped("a", "c"), "CM-029") for cut in _CUT),
        *((_BOUNDS.format(cut), _swapped("u", "v"), "CM-025") for cut in _CUT),
        (_CROSSED, _more, "DVD-008"),
        (_VECTORS, _fewer, ROWS_READ),
        (_VECTORS, _more, "DVDESC-020"),
        (_VECTORS, _names, ROWS_READ),
        (_NESTED, _hollowed("c0", {key: [] for key in ("l", "m", "ls", "ms")}), ROWS_READ),
        (_NESTED, _fewer, ROWS_READ),
        (_VARIANTS, _more, ROWS_READ),
        (_CROSSED.replace("vector", "told"), _turned("l"), "CM-029"),
        # Which rows changed is no matter of how their values are found.
        ("add-cdc-file/partitioned-by-id/changes-1-1", _more, "CDC-003"),
        ("add-cdc-file/partitioned-by-name/changes-all", _fewer, "CDC-004"),
        ("add-cdc-file/partitioned-by-name/changes-all", _nulls("p"), "CM-030"),
        (_CHANGED.format("v6"), _without("extra"), "REC-013"),
        (_CHANGED.format("v6"), _fewer, "REC-018"),
        (_TRACKED, _nulls("_row_commit_version"), "RT-026"),
        (_TRACKED, _nulls("_row_id"), "RT-024"),
        (_IDS_LEFT, _shifted("_row_id"), "RT-024"),
        # All ids of these rows are kept in files, and none of those.
        ("row-tracking/crossed-plain-all/ids-latest", _shifted("_row_id"), "RT-023"),
        ("row-tracking/crossed-plain-all/versions-latest", _shifted("_row_id"), "RT-024"),
        (_IDS_LEFT, _shifted("_row_commit_version"), "RT-026"),
        (_IDS_LEFT, _fewer, ROWS_READ),
        (_IDS_LEFT, _more, "DVDESC-020"),
        ("row-tracking/crossed-id-classic/plain-latest", _showing("_row-id-col-7f3a"), "RT-017"),
        ("row-tracking/crossed-id-classic/ids-latest", _showing("_row-id-col-7f3a"), "RT-017"),
        (_COUNTED, _moved(-1), ROWS_READ),
        (_COUNTED, _moved(1), "DVDESC-020"),
        # Values of partition columns are no matter of other columns, nor of how many rows are.
        (_FOLDERS, _shifted("id"), ROWS_READ),
        (_FOLDERS, _nulls("p"), "DATA-003"),
        (_FOLDERS, _fewer, ROWS_READ),
        ("data-files/every-question/extremes-latest", _moved(1), ROWS_READ),
        ("column-mapping/every-question-name/extremes-latest", _moved(1), ROWS_READ),
        # A reader that supports a table and reads it wrong is wrong in what it reads.
        ("table-features/unknown-writer-version-in-commits/read-latest", _names, ROWS_READ),
        ("vacuum-protocol-check/every-question/extremes-latest", _moved(1), ROWS_READ),
        ("delta-log-entries/foreign-files/read-latest", _names, ROWS_READ),
        ("delta-log-entries/foreign-files/read-latest", _fewer, ROWS_READ),
        ("delta-log-entries/foreign-files/read-latest", _more, "SNAP-003"),
    ],
)
def test_what_differs_names_the_row(
    corpus: Corpus, items: dict[str, Item], identity: str, change: Change, named: str
) -> None:
    verdict = _judged(corpus, items[identity], lambda expected: change(expected.rows()))
    assert (verdict.outcome, verdict.requirement) == (Outcome.FAIL, named)
    assert named in items[identity].requirements_judged("upstream")


def _judged(corpus: Corpus, item: Item, given: Callable[[Expected], Any]) -> Verdict:
    """Judge an answer that is made of the expected one."""
    case, spec = next((c, s) for c in corpus.cases for s in c.specs if s.id == item.id)
    assert isinstance(spec.expectation, Expected)
    judged = item.requirement("upstream")
    assert judged is not None
    verdict = verdict_on(case, spec, Ok(given(spec.expectation)), _ABLE)
    return at_level(verdict, judged, "reader", load_registry())


@pytest.mark.parametrize(
    "identity",
    [
        "column-mapping/crossed-id-commits/columns-latest",
        "column-mapping/crossed-name-all/partition-latest",
        "type-widening/crossed-plain-classic/low-latest",
        "row-tracking/crossed-plain-commits/ids-latest",
    ],
)
def test_rows_that_a_vector_marks_name_the_row_on_them(
    corpus: Corpus, items: dict[str, Item], identity: str
) -> None:
    case = next(c for c in corpus.cases for s in c.specs if s.id == identity)
    marked = marked_rows(case.table, None)
    assert marked is not None
    assert marked.num_rows

    def undeleted(expected: Expected) -> pa.Table:
        rows = expected.rows()
        names = [name for name in rows.column_names if name in marked.column_names]
        more = marked.select(names).slice(0, 1)
        return pa.concat_tables([rows, more], promote_options="default")

    verdict = _judged(corpus, items[identity], undeleted)
    assert (verdict.outcome, verdict.requirement) == (Outcome.FAIL, "DVDESC-020")
    assert "DVDESC-020" in items[identity].requirements_judged("upstream")


def test_advice_stays_advice_whatever_differs(corpus: Corpus, items: dict[str, Item]) -> None:
    """Null as a struct of nulls, where a SHOULD alone says that missing columns are null."""
    item = items["data-files/missing-columns/read-v2"]
    verdict = _judged(corpus, item, lambda expected: _hollowed("s", {})(expected.rows()))
    assert (verdict.outcome, verdict.requirement) == (
        Outcome.ADVICE,
        item.requirement("upstream"),
    )


@pytest.mark.parametrize(
    ("question", "part", "named"),
    [
        ("deletion-vectors/all-rows/snapshot-v1", "metadata", "REC-003"),
        ("deletion-vectors/all-rows/snapshot-latest", "metadata", "REC-003"),
        ("deletion-vectors/all-rows/snapshot-latest", "protocol", "REC-002"),
        ("action-reconciliation/changed-after-classic/snapshot-v5", "metadata", "REC-013"),
        ("action-reconciliation/changed-after-classic/snapshot-v5", "protocol", "REC-002"),
        ("action-reconciliation/changed-after-classic/snapshot-v6", "protocol", "REC-012"),
        ("action-reconciliation/metadata-replaced-whole/snapshot-v1", "metadata", "META-002"),
        ("action-reconciliation/metadata-replaced-whole/snapshot-v1", "protocol", "REC-002"),
        (_SUPPORTED.format("snapshot-latest"), "metadata", "REC-013"),
        (_SUPPORTED.format("snapshot-latest"), "protocol", "REC-012"),
    ],
)
def test_a_part_of_a_snapshot_names_the_row_on_it(
    corpus: Corpus, items: dict[str, Item], question: str, part: str, named: str
) -> None:
    wrong = {"metadata": {"name": "another"}, "protocol": {"minWriterVersion": 9}}

    def changed(expected: Expected) -> Any:
        return {**expected.document, part: {**expected.document[part], **wrong[part]}}

    assert _judged(corpus, items[question], changed).requirement == named
    assert named in items[question].requirements_judged("upstream")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda files: [{**files[0], "size": 1}, *files[1:]], "REC-018"),
        (lambda files: files[1:], "REC-018"),
        (lambda files: [*files, files[0]], "REC-018"),
        (lambda files: [*files, {**files[0], "path": "stray.parquet"}], "SNAP-003"),
    ],
)
def test_what_differs_of_files_names_the_row_on_it(
    corpus: Corpus, items: dict[str, Item], change: Callable[[Any], Any], named: str
) -> None:
    """A file of no commit is another matter than what commits say of files."""
    item = items["data-files/orphans-invisible/files-latest"]
    verdict = _judged(corpus, item, lambda wanted: change(wanted.document["files"]))
    assert verdict.requirement == named
    assert named in item.requirements_judged("upstream")


def test_wrong_files_of_a_table_that_is_supported_name_the_row_on_files(
    corpus: Corpus, items: dict[str, Item]
) -> None:
    item = items[_SUPPORTED.format("files-latest")]
    assert item.requirement("upstream") == "TF-002"
    verdict = _judged(corpus, item, lambda wanted: wanted.document["files"][1:])
    assert verdict.requirement == "REC-018"
    assert "REC-018" in item.requirements_judged("upstream")


@pytest.mark.parametrize(("version", "named"), [(1, "REC-012"), (9, "REC-002")])
def test_an_older_part_of_a_snapshot_names_the_row_on_the_newest(
    corpus: Corpus, items: dict[str, Item], version: int, named: str
) -> None:
    item = items["action-reconciliation/protocol-newest-wins/snapshot-latest"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": version}
    verdict = _judged(corpus, item, lambda wanted: {**wanted.document, "protocol": protocol})
    assert verdict.requirement == named
    assert named in item.requirements_judged("upstream")


def test_a_case_says_which_row_on_protocols_it_is_about(
    corpus: Corpus, items: dict[str, Item]
) -> None:
    item = items["action-reconciliation/protocol-lists-less/snapshot-latest"]
    lists = {
        "readerFeatures": ["deletionVectors", "timestampNtz"],
        "writerFeatures": ["appendOnly", "deletionVectors", "timestampNtz"],
    }

    def joined(wanted: Expected) -> Any:
        return {**wanted.document, "protocol": {**wanted.document["protocol"], **lists}}

    assert _judged(corpus, item, joined).requirement == "REC-002"


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("deletion-vectors/life-cycle/snapshot-v2", "REC-009"),
        ("deletion-vectors/inline/snapshot-latest", "DVDESC-017"),
        ("sidecar-files/unreferenced-ignored/snapshot-latest", "SIDE-005"),
        ("action-reconciliation/added-again-after-classic/snapshot-latest", "REC-018"),
        ("action-reconciliation/crossed-classic/snapshot-latest", "REC-013"),
        ("action-reconciliation/protocol-newest-wins/snapshot-latest", "REC-002"),
        ("iceberg-compatibility-v1/active/read-latest", "TF-002"),
        ("deletion-vectors/crossed-classic/nested", "SNAP-007"),
        ("default-columns/crossed-plain-classic/default-latest", "SNAP-007"),
        ("default-columns/crossed-name-classic/default-latest", "CM-031"),
        ("default-columns/crossed-id-classic/default-latest", "CM-028"),
    ],
)
def test_a_refusal_names_what_may_be_its_reason(
    corpus: Corpus, items: dict[str, Item], question: str, named: str
) -> None:
    item = items[question]
    case, spec = next((c, s) for c in corpus.cases for s in c.specs if s.id == item.id)
    judged = item.requirement("upstream")
    assert judged is not None
    verdict = verdict_on(case, spec, Refused("invalid_table", "load", "no"), _ABLE)
    assert at_level(verdict, judged, "reader", load_registry()).requirement == named
    assert named in item.requirements_judged("upstream")


def test_what_is_left_of_older_metadata_names_the_row_on_it(
    corpus: Corpus, items: dict[str, Item]
) -> None:
    item = items["action-reconciliation/changed-after-classic/snapshot-v6"]

    def merged(expected: Expected) -> Any:
        held = expected.document["metadata"]
        properties = {**held["configuration"], "delta.logRetentionDuration": "interval 1 days"}
        return {**expected.document, "metadata": {**held, "configuration": properties}}

    assert _judged(corpus, item, merged).requirement == "META-002"
    assert "META-002" in item.requirements_judged("upstream")


def test_newest_actions_are_judged_where_there_are_several(
    corpus: Corpus, items: dict[str, Item]
) -> None:
    marks = {"REC-012": '"protocol":', "REC-013": '"metaData":', "META-002": '"metaData":'}
    tables = {spec.id: (case.table, spec) for case in corpus.cases for spec in case.specs}
    seen = 0
    for identity, item in items.items():
        mark = marks.get(str(item.requirement("upstream")))
        table, spec = tables[identity]
        log = sorted((table / "_delta_log").glob(f"{'[0-9]' * 20}.json"))
        whole = len(log) == int(log[-1].stem) + 1 if log else False
        if mark is None or spec.requirement is not None or not whole:
            continue
        asked = spec.parameters.get("version", len(log))
        texts = [path.read_text() for path in log if int(path.stem) <= asked]
        assert sum(text.count(mark) for text in texts) > 1, identity
        seen += 1
    assert seen > 100


class _Foreign(Told):
    """Gives every row twice: of all logs, or of those that a mark is in; or of some versions."""

    def __init__(self, mark: str, of: Callable[[int | None], bool] = lambda _: True) -> None:
        super().__init__(_ABLE)
        self._mark = mark
        self._of = of

    def run(self, request: Request) -> Answer:
        assert not isinstance(request, Snapshot)
        given: Any = request
        rows = read_table(given.table, version=given.version)
        named = any(self._mark in path.name for path in Path(given.table, "_delta_log").iterdir())
        return Ok(_more(rows) if named and self._of(given.version) else rows)


def _latest(version: int | None) -> bool:
    return version is None


def _travelled(version: int | None) -> bool:
    return version is not None


@pytest.mark.parametrize(
    ("layout", "reader", "named"),
    [
        ("compactions", _Foreign(""), ROWS_READ),
        ("compactions", _Foreign(".compacted."), "COMP-012"),
        # The newest version is no time travel, and none up to the hint is newer than it.
        ("classic-everywhere", _Foreign(".checkpoint.", _latest), ROWS_READ),
        ("classic-everywhere", _Foreign(".checkpoint.", _travelled), "CKPT-004"),
        ("stale-hint", _Foreign(".checkpoint.", _latest), "LAST-003"),
        ("stale-hint", _Foreign(".checkpoint.", lambda version: version == 0), ROWS_READ),
    ],
)
def test_a_history_names_its_layout_where_the_plain_one_is_read_right(
    layout: str, reader: _Foreign, named: str, store: TableStore
) -> None:
    items = {item.id: item for item in generated_items(Plan())}
    item = items[f"generated/history-2/{layout}"]
    verdict = item.judge(Judge(reader, _ABLE, store))
    verdict = at_level(verdict, str(item.requirement("upstream")), "reader", load_registry())
    assert (verdict.outcome, verdict.requirement) == (Outcome.FAIL, named)
    assert named in item.requirements_judged("upstream")


def test_a_timestamp_may_lack_its_zone_by_the_text_that_has_none(corpus: Corpus) -> None:
    identity = "parquet-type-mappings/timestamp-int96/read-latest"
    case, spec = next((c, s) for c in corpus.cases for s in c.specs if s.id == identity)
    assert isinstance(spec.expectation, Expected)
    rows = spec.expectation.rows()
    (name,) = (f.name for f in rows.schema if pa.types.is_timestamp(f.type))
    at = rows.column_names.index(name)
    zoneless = rows.set_column(at, name, rows[name].cast(pa.timestamp("us")))
    outcomes = {
        revision: verdict_on(case, spec, Ok(zoneless), _ABLE, revision).outcome
        for revision in ("2021", "2025")
    }
    assert outcomes == {"2021": Outcome.PASS, "2025": Outcome.FAIL}
    late = zoneless.set_column(at, name, pc.add(zoneless[name], pa.scalar(1, pa.duration("us"))))
    assert compare_rows(rows, late, zoneless=True) is not None
