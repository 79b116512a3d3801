"""File actions that a summary repeats, against those of the log (section Action Reconciliation)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import schemas
from conformance.audit.checks.commits import UNCOUNTED, line_findings, uncounted
from conformance.audit.checks.values import (
    VALUELESS,
    logical_statistics,
    statistics_of,
    typed_values,
    unread_statistics,
)
from conformance.audit.columnar.files import unlike
from conformance.audit.findings import Findings, finding
from conformance.audit.grammar.partition_text import TEXT_REQUIREMENTS
from conformance.audit.read.layout import Layout
from conformance.audit.read.raw import Line, mapping_in, parse_json, parse_object
from conformance.audit.read.state import Body, State, dv_id, row_count
from conformance.audit.summaries.parsed import (
    comparable,
    compare_statistics,
    is_stated,
    misnamed,
    respelled_partition_value,
    wrong_partition_values,
    wrong_statistics,
)

_KNOWN_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "protocol": ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"),
    "metaData": (
        "id", "name", "description", "format", "schemaString", "partitionColumns", "createdTime",
        "configuration",
    ),
    "txn": ("appId", "version", "lastUpdated"),
    "domainMetadata": ("domain", "configuration", "removed"),
}  # fmt: skip
"""Fields of the actions that are no file actions. A writer that does not recognize another field
must ignore it ("Protocol Evolution"), so that its summaries do not have it."""

_INNER: Final[Mapping[str, tuple[str, ...]]] = {
    "format": ("provider", "options"),
    "deletionVector": ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality"),
}
"""The same of the structs within actions."""

_ADD: Final = (
    "partitionValues", "size", "modificationTime", "tags", "deletionVector", "baseRowId",
    "defaultRowCommitVersion", "clusteringProvider",
)  # fmt: skip
_REMOVE: Final = ("deletionTimestamp", "deletionVector", "baseRowId", "defaultRowCommitVersion")
_IF_BOTH: Final = ("partitionValues", "size")
"""Fields of a remove that a summary may leave out."""

REPEATED: Final = (
    *VALUELESS, "ADD-006", "ADD-010", "CM-016", "CM-017", "PART-004", *TEXT_REQUIREMENTS.values(),
    *UNCOUNTED, *schemas.requirements("table/statistics"),
)  # fmt: skip
"""What an add of a summary can break that the add of the log does not."""

_ROW_IDS: Final = ("baseRowId", "defaultRowCommitVersion")


def known(action: str, body: Body | None) -> Any:
    """Return what a summary has to hold of an action, in a form that can be compared."""
    found = comparable({k: _recognized(k, (body or {}).get(k)) for k in _KNOWN_FIELDS[action]})
    if action == "protocol":
        found |= {k: sorted({*map(str, v)}) for k, v in found.items() if isinstance(v, list)}
    return found


def known_of(action: str, bodies: Mapping[str, Body]) -> dict[str, Any]:
    """Return :func:`known` of actions by name."""
    return {name: known(action, body) for name, body in bodies.items()}


def restates(lines: Iterable[Line], state: State) -> bool:
    """Return whether protocol, metadata or a domain of a summary is not that of its version."""
    of_version = {"protocol": state.protocol, "metaData": state.metadata}
    for line in lines:
        action = line.action
        if action == "domainMetadata":
            logged = state.domains.get(str(line.body.get("domain")))
        elif action in of_version:
            logged = of_version[action]
        else:
            continue
        if known(action, line.body) != known(action, logged):
            return True
    return False


def _field(body: Body, name: str) -> Any:
    value = body.get(name)
    if name == "partitionValues" and isinstance(value, Mapping):
        # Empty text is a null partition value, and writers choose between the two.
        return {k: v or None for k, v in value.items()}
    if name == "tags":
        return comparable(value) or None
    return comparable(_recognized(name, value))


def _recognized(name: str, value: Any) -> Any:
    if name in _INNER and isinstance(value, Mapping):
        # No options are an empty map, null, or nothing.
        return {k: value.get(k) for k in _INNER[name] if k != "options" or value.get(k)}
    if name == "schemaString":
        # JSON that is written differently is the same schema.
        schema = parse_object(value, exact=True)
        return value if schema is None else schema
    return value


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def add_differences(  # noqa: PLR0913  two actions, and the rows of a summary
    want: Body, have: Body, layout: Layout, fallback: str, row_ids: str, *, whole: bool = False
) -> Iterator[tuple[str, str, bool]]:
    """Yield requirement, message and whether it is sure of each field that a summary has otherwise.

    Statistics are optional: a writer that read them from typed statistics knows those of the
    columns that the table asks for, which may have become fewer, so that a part is not sure.

    Args:
        want: the action of the log.
        have: that of the summary.
        layout: of the version.
        fallback: the requirement that the summary repeats the log.
        row_ids: the requirement that it repeats row ids.
        whole: no statistic of a column may be left out.
    """
    for name in _ADD:
        if _field(want, name) != _field(have, name) and not (
            name == "partitionValues" and _same_values(want, have, layout)
        ):
            message = (
                f"{name} is {_shortened(have.get(name))}, the log says {_shortened(want.get(name))}"
            )
            yield (row_ids if name in _ROW_IDS else fallback), message, True
            if name == "size":  # a file has one, so that one of the two is wrong
                yield "ADD-006", message, True
    stats = statistics_of(want)
    if _other_text(want, have):
        found = compare_statistics(stats or {}, statistics_of(have) or {}, layout)
        kept = f"stats is {_shortened(have.get('stats'))}"
        if found == "part" and not whole:
            yield fallback, f"{kept}, a part of what the log says", False
        elif found != "same":
            logged = "nothing" if stats is None else _shortened(want.get("stats"))
            yield fallback, f"{kept}, the log says {logged}", True
    for requirement, message in _parsed(stats, want, have, layout, fallback):
        yield requirement, message, True


def differing_files(want: State, have: State, layout: Layout) -> Iterator[tuple[str, Body]]:
    """Yield path and add of each live file that a summary describes otherwise than the log."""
    for key, logged, kept in unlike(want.adds, have.adds, adds=True):
        for body in differing_bodies(logged, kept, layout):
            yield key[0], body
    for key in sorted(have.adds.minus(want.adds), key=str):
        if want.vectors.get(key[0]):
            yield key[0], have.adds[key]


def differing_bodies(want: Body, have: Body, layout: Layout) -> Iterator[Body]:
    """Yield what a summary says of a file where that is not what the log says.

    Typed statistics that are wrong beside a text come without the text.
    """
    if any(sure for _, _, sure in add_differences(want, have, layout, "", "")):
        yield have
        parsed, stats = have.get("stats_parsed"), statistics_of(want)
        if isinstance(parsed, Mapping) and stats and any(wrong_statistics(stats, parsed, layout)):
            yield {**have, "stats": None}


def _same_values(want: Body, have: Body, layout: Layout) -> bool:
    """Return whether partition values are equal by their types, which have several texts."""
    a, b = (_field(body, "partitionValues") for body in (want, have))
    columns = layout.partition_columns
    if not (isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys()):
        return False
    return all(
        a[name] == b[name]
        or (
            None not in (a[name], b[name])
            and (column := columns.get(name)) is not None
            and respelled_partition_value(a[name], b[name], str(column.type))
        )
        for name in a
    )


def _other_text(want: Body, have: Body) -> bool:
    """Return whether a summary has statistics as text, and not the text of the log."""
    text = have.get("stats")
    return isinstance(text, str) and text not in ("", want.get("stats"))


def _parsed(
    stats: Mapping[str, Any] | None, want: Body, have: Body, layout: Layout, fallback: str
) -> Iterator[tuple[str, str]]:
    by_name = list(misnamed(have, layout, stats))
    yield from by_name
    parsed, values = have.get("stats_parsed"), have.get("partitionValues_parsed")
    if isinstance(parsed, Mapping) and is_stated(parsed) and stats is not None and not by_name:
        for message in wrong_statistics(stats, parsed, layout):
            yield fallback, message
    texts = want.get("partitionValues")
    if isinstance(values, Mapping) and isinstance(texts, Mapping) and not by_name:
        for message in wrong_partition_values(texts, values, layout):
            yield "CKC-016", message


def _remove_differences(
    want: Body, have: Body, fallback: str, row_ids: str
) -> Iterator[tuple[str, str]]:
    """Yield requirement and message for each field of a tombstone that a summary has otherwise."""
    for name in (*_REMOVE, *_IF_BOTH):
        a, b = _field(want, name), _field(have, name)
        # The time of a removal is optional: a summary may have one all the same.
        added = name == "deletionTimestamp" and a is None
        if a != b and not added and (name not in _IF_BOTH or (a and b)):
            message = (
                f"{name} is {_shortened(have.get(name))}, the log says {_shortened(want.get(name))}"
            )
            yield (row_ids if name in _ROW_IDS else fallback), message


def malformed(place: str, want: Body, have: Body, layout: Layout) -> Findings:
    """Report values of an add that a summary has in another form or lacks, where it has others."""
    yield from _misspelled(place, "add", want, have, layout)
    texts, copied = (mapping_in(each, "partitionValues") for each in (want, have))
    # The commits of a compaction may be without metadata.
    columns = texts.keys() if layout.schema is None else layout.partition_columns.keys()
    for name in sorted(columns & texts.keys() - copied.keys()):
        for requirement in VALUELESS:
            yield finding(requirement, place, f"there is no value for partition column {name}")
    for name in sorted(copied.keys() - texts.keys()):
        logical = layout.by_path.get((name,))
        if logical is not None and logical.physical[-1] in columns:
            message = f"the partition value of {name} is not by its physical name"
            yield finding("CM-016", place, message)
    if _other_text(want, have):
        parsed = parse_json(have["stats"], exact=True)
        yield from unread_statistics(place, parsed)
        if parsed.fault is None:
            held = [] if parsed.value is None else [(parsed.value, place)]
            yield from line_findings("table/statistics", held, "STAT-007", "stats")
            yield from logical_statistics(place, parsed.value, statistics_of(want), layout)
            if dv_id(have) is not None and row_count(want) is not None and row_count(have) is None:
                yield from uncounted(place)


def _misspelled(place: str, action: str, want: Body, have: Body, layout: Layout) -> Findings:
    """Report partition values whose form is wrong in a summary, and right in the log."""
    values, logged = (mapping_in(each, "partitionValues") for each in (have, want))
    if layout.schema is None or values == logged:
        return
    # What was removed before a column got another type is wrong in the log as well.
    lines = [Line(place, None, action, dict(each)) for each in (have, want)]
    if not any(typed_values(lines[1], logged, layout)):
        yield from typed_values(lines[0], values, layout)


def file_differences(  # noqa: PLR0913  two states, and the rows of a summary
    place: str,
    want: State,
    have: State,
    layout: Layout,
    *,
    adds: tuple[str, str],
    removes: tuple[str, str],
    whole: bool = False,
) -> Findings:
    """Report files and tombstones that a summary has otherwise than the log.

    Args:
        place: of the summary.
        want: what the log gives.
        have: what the summary gives.
        layout: of the table.
        adds: requirement of a file that differs, and of its row ids.
        removes: the same of a tombstone.
        whole: no field of a file may be left out.
    """
    for key, logged, kept in unlike(want.adds, have.adds, adds=True, whole=whole):
        for requirement, message, sure in add_differences(logged, kept, layout, *adds, whole=whole):
            yield finding(requirement, place, f"{key[0]}: {message}", sure=sure)
        yield from malformed(f"{place}: {key[0]}", logged, kept, layout)
        if whole and logged.get("stats") and not kept.get("stats"):
            yield finding(adds[0], place, f"{key[0]}: the compaction lacks its stats")
    for key, logged, kept in unlike(want.removed, have.removed, adds=False):
        for requirement, message in _remove_differences(logged, kept, *removes):
            yield finding(requirement, place, f"tombstone of {key[0]}: {message}")
        yield from _misspelled(f"{place}: {key[0]}", "remove", logged, kept, layout)
