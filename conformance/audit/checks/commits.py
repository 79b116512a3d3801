"""Checks of one commit by itself: is it readable, are its actions valid, do they reconcile.

Covers "Delta Log Entries", "Actions" and "Requirements for Writers".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import schemas
from conformance.audit.findings import (
    Finding,
    Findings,
    Severity,
    check,
    finding,
    severity_of,
    unchecked,
)
from conformance.audit.grammar.uris import is_absolute, unescaped
from conformance.audit.read.layout import LISTS, Layout
from conformance.audit.read.raw import ACTIONS, Fault, Line, mapping_in, parse_json, parse_object
from conformance.audit.read.state import dv_id, row_count
from conformance.audit.screens import (
    beside_change_files,
    doubled_paths,
    no_plain_row,
    unescaped_paths,
)
from conformance.audit.subjects import Step
from reference_impl.limits import budget

_EXPLAINED: Final = 100
"""Documents of one file whose violations are explained: to explain one takes a millisecond."""

UNCOUNTED: Final = ("DVDESC-022", "STAT-002")
"""What statistics without a number of rows break, of a file with a deletion vector."""

_MAX_CACHED_TEXT: Final = 200
"""Characters of a line from which on its findings are not cached."""

_MAX_CACHED_DOCUMENTS: Final = 1000

_CACHED_FINDINGS: Final[dict[tuple[str, ...], Sequence[Finding]]] = {}
"""Findings of short documents, without their places."""


def schema_findings(
    name: str, document: Any, place: str, fallback: str, within: str = ""
) -> Findings:
    """Turn the violations of a schema into findings, one per place in the document.

    Args:
        name: of the schema.
        document: parsed JSON.
        place: where the document is.
        fallback: the requirement of a rule that cites none.
        within: what the document is, for messages about nested JSON text.
    """
    for violation in schemas.errors(name, document):
        if violation.limit:
            message = f"{within or 'the document'} is {violation.message}"
            yield finding(fallback, place, message, severity="warning", limit="nesting")
            continue
        requirement = (violation.requirement or (fallback,))[0]
        where = f"{within}{violation.path}"
        message = f"{where}: {violation.message}" if where else violation.message
        # That a field may be absent does not let it be malformed.
        severity: Severity = (
            "error" if severity_of(requirement) == "info" else severity_of(requirement)
        )
        severity = "warning" if violation.contested else severity
        yield finding(requirement, place, message, severity=severity)


def configuration_findings(name: str, line: Line, requirement: str, not_json: str) -> Findings:
    """Hold the configuration of a domain, which is JSON as text, against its schema.

    Args:
        name: of the schema.
        line: the domain.
        requirement: that the configuration has its form.
        not_json: message where it is no JSON.
    """
    text = line.body.get("configuration")
    parsed = parse_json(text) if isinstance(text, str) else None
    if parsed is not None and parsed.limit is not None:
        yield unchecked(requirement, line.place, parsed.limit)
    elif parsed is None or parsed.fault is not None:
        yield finding(requirement, line.place, not_json, severity="error")
    else:
        for each in schema_findings(name, parsed.value, line.place, requirement, "configuration"):
            yield each if each.limit else replace(each, severity="error")


def _small_findings(
    text: str, name: str, document: Any, fallback: str, within: str
) -> Sequence[Finding]:
    """Explain a small document once: a log may have it in many thousand files."""
    key = text, name, fallback, within
    if key not in _CACHED_FINDINGS:
        if len(_CACHED_FINDINGS) >= _MAX_CACHED_DOCUMENTS:
            _CACHED_FINDINGS.clear()
        _CACHED_FINDINGS[key] = tuple(schema_findings(name, document, "", fallback, within))
    return _CACHED_FINDINGS[key]


def line_findings(
    name: str, documents: Iterable[tuple[Any, str]], fallback: str, within: str = ""
) -> Findings:
    """Turn the violations of many documents of one file into findings; most are only counted.

    Args:
        name: of the schema.
        documents: parsed JSON with its place.
        fallback: the requirement of a rule that cites none.
        within: what a document is, for messages about nested JSON text.
    """
    explained = 0
    # The last documents without findings and with some: one may come a million times.
    valid: str | None = None
    broken: str | None = None
    for document, place in documents:
        budget().check_time()
        try:
            text = repr(document)  # true and 1 differ in it, and are equal
        except RecursionError:
            text = None
        if text is not None and text == valid:
            continue
        if explained < _EXPLAINED:
            if text is not None and len(text) < _MAX_CACHED_TEXT:
                small = _small_findings(text, name, document, fallback, within)
                found = [replace(each, place=place) for each in small]
            else:
                found = list(schema_findings(name, document, place, fallback, within))
            explained += bool(found)
            valid = valid if found else text
            yield from found
        elif (text is not None and text == broken) or not schemas.is_valid(name, document):
            broken = text
            message = f"this one of more than {_EXPLAINED} breaks {name} as well"
            yield finding(fallback, place, message, severity="error")


_SETTINGS: Final[Mapping[str, str]] = {
    "CM-005": "columnMapping",
    "CM-020": "columnMapping",
    "ICT-010": "inCommitTimestamp",
    "ICT-011": "inCommitTimestamp",
    "RT-016": "rowTracking",
    "RT-021": "rowTracking",
}
"""Requirements of the form of a table property to the feature that gives it a meaning."""


def with_inert_settings(findings: Findings, layout: Layout) -> Findings:
    """Warn of table properties in a wrong form whose features are not supported: none is read."""
    for each in findings:
        feature = _SETTINGS.get(each.requirement)
        inert = feature is not None and feature not in layout.features
        yield replace(each, severity="warning") if inert else each


def fault_finding(requirement: str, fault: Fault, prefix: str = "", hint: str = "") -> Finding:
    """Make the finding for what cannot be read; a blank line is worth a warning."""
    if fault.limit is not None:
        return unchecked(requirement, fault.place, fault.limit)
    sure = fault.kind != "blank"
    message = f"{prefix}{fault.message}"
    return finding(requirement, fault.place, message, hint, sure=sure, count=fault.count)


@check("commit", "LOG-001 LOG-004 LOG-007")
def readable(step: Step) -> Findings:
    """Report lines that are not JSON, commits of another format and those without content."""
    for fault in step.commit.content.faults:
        if fault.kind == "other format":
            message = "the commit is no JSON file: it begins as one that is compressed, or binary"
            yield finding("LOG-001", step.commit.path, message)
        if fault.kind == "empty":
            severity: Severity | None = "error" if step.version == 0 else None
            yield finding("LOG-007", fault.place, "the commit is empty", severity=severity)
        else:
            yield fault_finding("LOG-004", fault, hint="each line is one JSON object")


@check("commit", *schemas.requirements("log/commit-line"), screen=no_plain_row)
def valid_actions(step: Step) -> Findings:
    """Report actions that break their schemas, and those that are null beside another."""
    spared: list[str] = []

    def documents() -> Iterator[tuple[Any, str]]:
        for line in step.every():
            document = without_nulls(line)
            if document is not line.document and not spared:
                spared.append(line.place)
            yield document, line.place

    found = line_findings("log/commit-line", documents(), "LOG-004")
    yield from with_inert_settings(found, step.new)
    for place in spared:
        message = "an action is null beside the one that the line holds"
        hint = "leave it out: not every reader takes null for nothing"
        yield finding("LOG-004", place, message, hint, severity="warning")


def without_nulls(line: Line) -> Any:
    """Return the document of a line without the actions that are null beside the one it holds.

    A null action counts as absent, so that the line has one action. No sentence of the protocol
    forbids to name it.
    """
    document = line.document
    if line.action is None or len(document) == 1:
        return document
    absent = {name for name in ACTIONS if name in document and document[name] is None}
    return {k: v for k, v in document.items() if k not in absent} if absent else document


@check("commit", "FA-011 FA-012 FA-016 WLOG-001", screen=doubled_paths)
def one_file_action_per_path(step: Step) -> Findings:
    """Report a path that is added twice, or removed twice, in one commit."""
    without_vectors = ("FA-016",) if step.new.writer < LISTS else ()
    for action in ("add", "remove"):
        seen: dict[str, str | None] = {}
        for line in step.of(action):
            key = line.key
            if key is None:
                continue
            path, vector = key
            if path in seen:
                same = seen[path] == vector
                message = f"{action} of {path} occurs twice" + (
                    "" if same else ", with different deletion vectors"
                )
                broken = ("WLOG-001", "FA-011", "FA-012") if same else ("FA-012",)
                for requirement in (*broken, *without_vectors):
                    # What a reader does of such a commit is contested, not that it is invalid.
                    yield finding(requirement, line.place, message, severity="error")
            seen[path] = vector


@check("commit", "WLOG-001", screen=doubled_paths)
def added_or_removed(step: Step) -> Findings:
    """Report a logical file that one commit both adds and removes."""
    removed = step.keys("remove")
    for line in step.of("add"):
        key = line.key
        if key is not None and key in removed:
            message = (
                f"{key[0]} is added and removed by one commit, with one deletion vector or none"
            )
            yield finding("WLOG-001", line.place, message, "actions of a commit have no order")


def _repeated(step: Step, action: str, key: str) -> Iterator[tuple[str, str]]:
    seen: Counter[str] = Counter()
    for line in step.of(action):
        value = str(line.body.get(key)) if key else action
        seen[value] += 1
        if seen[value] == 2:
            yield value, line.place


_KEYED_ACTIONS: Final = (
    ("metaData", "", "WLOG-002"),
    ("protocol", "", "WLOG-003"),
    ("txn", "appId", "WLOG-004"),
    ("domainMetadata", "domain", "REC-005"),
)
"""Actions that reconcile by a key, with the requirement that wants one of each in a commit."""


@check("commit", *(requirement for _, _, requirement in _KEYED_ACTIONS), screen=no_plain_row)
def one_action_per_key(step: Step) -> Findings:
    """Report a second metaData or protocol, and a second action of a txn or domain."""
    for action, key, requirement in _KEYED_ACTIONS:
        for value, place in _repeated(step, action, key):
            of = f" of {value}" if key else ""
            yield finding(requirement, place, f"the commit has more than one {action}{of}")


@check("commit", "FA-016", screen=doubled_paths)
def one_action_without_vectors(step: Step) -> Findings:
    """Report a path that a commit both adds and removes where no vector distinguishes them."""
    if step.new.writer >= LISTS:
        return  # the text that knows table features lets vectors do so
    removed = step.paths("remove")
    for line in step.of("add"):
        key = line.key
        if key is not None and key[0] in removed:
            message = f"{key[0]} is both added and removed"
            yield finding("FA-016", line.place, message)


@check("commit", "CDFF-001", screen=beside_change_files)
def change_files_in_their_directory(step: Step) -> Findings:
    """Report change data files outside of ``_change_data`` that are no data files either."""
    added = step.paths("add")
    for line in step.of("cdc"):
        key = line.key
        if key and not among_changes(key[0]) and key[0] not in added:
            message = f"the change data file {key[0]} is not under _change_data"
            yield finding("CDFF-001", line.place, message)


def among_changes(path: str) -> bool:
    """Return whether a decoded path leads below the root's folder of change files."""
    segments: list[str] = []
    for each in path.split("/"):
        if each == ".." and segments and segments[-1] != "..":
            segments.pop()
        elif each not in ("", "."):
            segments.append(each)
    if is_absolute(path) or ".." in segments:  # where the root is, the log does not say
        return "_change_data" in segments[:-1]
    return segments[0] == "_change_data" if len(segments) > 1 else False


@check("commit", "CDC-013", screen=no_plain_row)
def changes_need_their_feature(step: Step) -> Findings:
    """Report change files under feature lists that do not name the change feed.

    The property counts only with the feature. A writer may produce change files without either.
    """
    if step.new.writer < 7 or "changeDataFeed" in step.new.features:
        return
    obeyed = step.new.is_true("delta.enableChangeDataFeed")
    for line in step.of("cdc"):
        message = "a change data file, but writerFeatures does not list changeDataFeed"
        yield finding("CDC-013", line.place, message, sure=obeyed)


@check("commit", "SCA-001 CKM-001", screen=no_plain_row)
def actions_of_checkpoints(step: Step) -> Findings:
    """Report actions that belong in V2 checkpoints alone."""
    for action, requirement in (("sidecar", "SCA-001"), ("checkpointMetadata", "CKM-001")):
        for line in step.of(action):
            yield finding(requirement, line.place, f"a commit has a {action} action")


@check("commit", "ADD-004", screen=unescaped_paths)
def escaped_paths(step: Step) -> Findings:
    """Report paths with characters that a URI has to escape."""
    for line in step.of("add", "remove", "cdc"):
        yield from bare_path("ADD-004", line)


def bare_path(requirement: str, line: Line) -> Findings:
    """Report a path of an action with characters that a URI has to escape."""
    path = line.body.get("path")
    plain, beyond = unescaped(path) if isinstance(path, str) else ("", "")
    if plain or beyond:
        message = f"{line.action}.path {path!r} has unescaped {plain + beyond!r}"
        hint = "write each byte as % and two hex digits"
        yield finding(requirement, line.place, message, hint, sure=bool(plain))


@check("add", *UNCOUNTED, screen=no_plain_row)
def vectors_need_row_counts(step: Step) -> Findings:
    """Report an add with a deletion vector and without a number of rows."""
    left_out = step.new.properties.get("delta.checkpoint.writeStatsAsJson", "").lower() == "false"
    for line in step.of("add"):
        if dv_id(line.body) is None or row_count(line.body) is not None:
            continue
        # A checkpoint leaves the text out where the table asks for that, or has columns for it.
        if step.from_checkpoint and parse_object(line.body.get("stats")) is None:
            parsed = mapping_in(line.body, "stats_parsed").get("numRecords")
            if left_out or type(parsed) is int:
                continue
        yield from uncounted(line.place)


def uncounted(place: str) -> Findings:
    """Report statistics without a number of rows, of a file with a deletion vector."""
    for requirement in UNCOUNTED:
        message = "a file with a deletion vector has no numRecords in its stats"
        yield finding(requirement, place, message)
