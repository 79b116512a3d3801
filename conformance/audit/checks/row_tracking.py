"""Checks of row tracking (sections Row Tracking and Writer Requirements for Row Tracking)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import schemas
from conformance.audit.checks.commits import configuration_findings
from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.types import LONG_END
from conformance.audit.read.raw import Line, parse_object
from conformance.audit.read.state import Body, IdRange, State, last_row_id
from conformance.audit.subjects import Step, VersionView

_DOMAIN: Final = "delta.rowTracking"
_ENABLED: Final = "delta.enableRowTracking"
_WRITER: Final = 7
MATERIALIZED: Final = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)
"""Properties that name the columns of row ids and of row commit versions."""

_MARKS: Final = ("rowIdHighWaterMark", "highWaterMark")


def row_id_mark(domains: Mapping[str, Body]) -> int | None:
    """Return the recorded mark of row ids; ``None`` where there is none, or it was removed."""
    domain = domains.get(_DOMAIN)
    if domain is None or domain.get("removed") is True:
        return None
    held = parse_object(domain.get("configuration")) or {}
    return next((held[key] for key in _MARKS if type(held.get(key)) is int), None)


def _supported(step: Step) -> bool:
    return "rowTracking" in step.new.features and not step.new.is_true("delta.rowTrackingSuspended")


@check("commit", "RT-028 RT-040 RT-046")
def adds_have_ids(step: Step) -> Findings:
    """Report added files without row ids or with a commit version that is not theirs."""
    if not _supported(step):
        return
    for line in step.of("add"):
        base, version = line.body.get("baseRowId"), line.body.get("defaultRowCommitVersion")
        if type(base) is not int:
            yield finding("RT-028", line.place, "row tracking is supported: baseRowId is missing")
        of, key = _fresh(step, line), line.key
        if type(version) is not int or (of and version != step.version and step.before.known):
            file = of or "new file"
            message = f"defaultRowCommitVersion is {version} in a {file} of version {step.version}"
            # The field is described as the first version of the path, and due as in a new file.
            first = key is not None and of == _GIVEN_IDS and step.before.seen.get(key[0]) == version
            sure = not first and not _may_come_back(step, line)
            yield finding("RT-040", line.place, message, sure=sure)
            if of == _GIVEN_IDS and type(version) is int:
                yield finding("RT-046", line.place, message, sure=sure)


_GIVEN_IDS: Final = "file without ids before"
"""What is said of a file that was in the table and gets its first row ids."""


def _fresh(step: Step, line: Line) -> str | None:
    """Return how to call a file that gets its ids by a commit; ``None`` where they are repeated.

    Files of the table that get their ids later are as new ones.
    """
    key = line.key
    if key is None:
        return None
    if key[0] not in step.before.seen:
        return "new file"
    if step.before.ids.get(key[0]) is not None:
        return None
    # After an add without ids, as one that ends row tracking, a restore may bring them back.
    if step.before.ids.former(key[0]) == tuple(map(line.body.get, _IDS)):
        return None
    vectors = step.before.vectors.get(key[0], ())
    live = [step.before.adds[key[0], vector] for vector in vectors]
    # What has a part of its ids was to have them all, and that is found where it was added.
    partly = any(body.get("defaultRowCommitVersion") is not None for body in live)
    return _GIVEN_IDS if (live or step.before.whole) and not partly else None


def _may_come_back(step: Step, line: Line) -> bool:
    """Return whether a file may be one from before the log, which a restore brings back."""
    version, base = line.body.get("defaultRowCommitVersion"), line.body.get("baseRowId")
    mark = row_id_mark(step.before.domains)
    if type(version) is not int or type(base) is not int or mark is None:
        return False
    return base <= mark and version <= step.before.begun


@check("commit", "RT-039 RT-046")
def ids_are_above_the_mark(step: Step) -> Findings:
    """Report new files whose ids reach below the high water mark before them.

    Ids up to the mark that no file was given may have been reserved by an earlier commit.
    """
    mark = row_id_mark(step.before.domains)
    if not _supported(step) or mark is None:
        return
    for line in step.of("add"):
        base, of = line.body.get("baseRowId"), _fresh(step, line)
        if of is None or type(base) is not int or base > mark:
            continue
        given = base <= step.before.given
        if given or not step.before.whole:
            message = f"baseRowId {base} of a {of} is not above the high water mark {mark}"
            certain = given and not _may_come_back(step, line)
            hint = "the ids may be taken by another file"
            yield finding("RT-039", line.place, message, hint, sure=certain)
            if of == _GIVEN_IDS:
                yield finding("RT-046", line.place, message, hint, sure=certain)


@check("commit", "RT-030")
def ids_are_repeated(step: Step) -> Findings:
    """Report an add or remove of a known path with other ids than its last add had."""
    if not _supported(step) or not step.before.known:
        return
    for line in step.of("add", "remove"):
        key = line.key
        was = step.before.ids.get(key[0]) if key else None
        if was is None:
            continue
        for name, value in zip(_IDS, was, strict=True):
            held = line.body.get(name)
            if value is not None and held != value:
                message = (
                    f"{line.action} of {line.body.get('path')} has {name} {held}, "
                    f"its last add had {value}"
                )
                # The clause may mean the removes of checkpoints alone.
                lenient = line.action == "remove" and held is None
                yield finding("RT-030", line.place, message, sure=not lenient)


_IDS: Final = ("baseRowId", "defaultRowCommitVersion")


@check("definition", "RT-033", *schemas.requirements("table/row-tracking"))
def marks_are_valid(step: Step) -> Findings:
    """Report a high water mark that is removed or malformed."""
    for line in step.of("domainMetadata") if _supported(step) else ():
        if line.body.get("domain") == _DOMAIN:
            yield from _valid_mark(line)


@check("commit", "RT-033 RT-036 RT-037")
def marks_are_high_enough(step: Step) -> Findings:
    """Report a high water mark that is missing or too low."""
    if not _supported(step):
        return
    highest = step.highest_row_id
    domains = dict(step.before.domains)
    domains.update({str(x.body.get("domain")): x.body for x in step.of("domainMetadata")})
    mark, former = row_id_mark(domains), row_id_mark(step.before.domains)
    recorded = any(x.body.get("domain") == _DOMAIN for x in step.of("domainMetadata"))
    if mark is not None and recorded:
        highest = max(highest, step.before.given)
    if (
        highest >= 0
        and (mark is None or mark < highest)
        and (mark is not None or step.before.known)
    ):
        message = f"the high water mark is {mark}, but row id {highest} is assigned"
        if mark is None and not recorded:
            yield finding("RT-033", step.place, message)
        else:
            yield finding("RT-037", step.place, message)
        if not recorded:
            yield finding("RT-036", step.place, f"{message} without a domain action")
    elif mark is not None and former is not None and mark < former and not step.before.whole:
        message = f"the high-water mark of row ids fell from {former} to {mark}"
        hint = "ids that files had which are gone may be given again"
        yield finding("RT-037", step.place, message, hint, severity="warning")


@check("add", "RT-031 RT-033 RT-037")
def checkpoints_keep_ids(step: Step) -> Findings:
    """Report ids of a checkpoint without its commits that no log can have given."""
    if not step.from_checkpoint or not _supported(step):
        return
    domains = {str(line.body.get("domain")): line.body for line in step.of("domainMetadata")}
    mark, enabled = row_id_mark(domains), step.new.is_true(_ENABLED)
    if step.highest_row_id >= 0 and _DOMAIN not in domains:
        yield finding(
            "RT-033", step.place, "the files have row ids, and there is no high water mark"
        )
    for line in step.of("add"):
        last, version = last_row_id(line.body), line.body.get("defaultRowCommitVersion")
        if mark is not None and last is not None and last > mark:
            message = f"the high water mark is {mark}, but row id {last} is assigned"
            yield finding("RT-037", line.place, message)
        if enabled and None in (line.body.get("baseRowId"), version):
            message = "row tracking is enabled, but the file has no ids in the checkpoint"
            yield finding("RT-031", line.place, message)
        elif type(version) is int and version > step.version:
            message = f"defaultRowCommitVersion is {version} in a checkpoint of {step.version}"
            yield finding("RT-031", line.place, message)


def _valid_mark(line: Line) -> Findings:
    """Look at the domain itself; both keys that are contested are valid in it."""
    if line.body.get("removed") is True:
        yield finding("RT-033", line.place, f"the domain {_DOMAIN} is removed")
    else:
        message = f"the configuration of {_DOMAIN} is not JSON"
        yield from configuration_findings("table/row-tracking", line, "RT-034", message)


@check("definition", "RT-006 RT-009 RT-041 RT-042 RT-043 RT-044")
def enablement_is_complete(step: Step) -> Findings:
    """Report row tracking that is turned on without what it needs."""
    if not (step.sets_metadata or step.sets_protocol) or not step.new.is_true(_ENABLED):
        return
    # What is asked of a commit that turns it on; without its feature it has no effect later.
    sure = step.sets_metadata and not (step.before.known and step.old.is_true(_ENABLED))
    if "rowTracking" not in step.new.features:
        message = f"{_ENABLED} is true, but the protocol does not support rowTracking"
        yield finding("RT-041", step.place, message, sure=sure)
    if step.new.writer < _WRITER:
        message = f"{_ENABLED} is true, and the writer version is {step.new.writer}"
        yield finding("RT-006", step.place, message, sure=sure)
    if step.sets_metadata:
        yield from _named_columns(step)
    if step.new.is_true("delta.rowTrackingSuspended"):
        message = "row tracking is enabled and suspended at once"
        yield finding("RT-009", step.place, message)


def _named_columns(step: Step) -> Findings:
    """Report names of hidden columns that are missing, or those of columns of the table."""
    names = {c.path[0] for c in step.new.columns}
    mapped = {c.physical[-1] for c in step.new.columns}
    hidden = {
        name: step.new.properties[name] for name in MATERIALIZED if step.new.properties.get(name)
    }
    if len(hidden) > len(set(hidden.values())):
        message = f"{' and '.join(MATERIALIZED)} name the same column"
        yield finding("RT-043", step.place, message)
    for name in MATERIALIZED:
        column = step.new.properties.get(name)
        if not column:
            yield finding("RT-042", step.place, f"{_ENABLED} is true, but {name} is not set")
        elif column in names | mapped:
            requirement = "RT-043" if column in names else "RT-044"
            message = f"{name} names {column}, a column of the table"
            yield finding(requirement, step.place, message)


@check("commit", "RT-046")
def files_have_ids_before(step: Step) -> Findings:
    """Report files that have no ids when row tracking is turned on over them."""
    if not step.sets_metadata or step.old.is_true(_ENABLED) or not step.new.is_true(_ENABLED):
        return
    here = {line.key: line for line in step.of("remove", "add")}
    for key, body in step.before.adds.items():
        again = here.get(key)
        if again is not None and again.action == "remove":
            continue
        if None in ((body if again is None else again.body).get(name) for name in _IDS):
            message = f"row tracking is enabled over {key[0]}, which has no row ids"
            yield finding("RT-046", step.place, message)


@check("version", "RT-045")
def live_files_have_ids(view: VersionView) -> Findings:
    """Report files without ids while tracking is enabled."""
    if not view.layout.active("rowTracking"):
        return
    for (path, _), body in view.state.adds.items():
        base = body.get("baseRowId")
        if type(base) is not int or type(body.get("defaultRowCommitVersion")) is not int:
            message = "row tracking is enabled, but the live file has no ids"
            yield finding("RT-045", path, message)


@check("version", "RT-029", whole=True)
def ids_do_not_overlap(view: VersionView) -> Findings:
    """Report ranges of row ids that overlap, in this version or one before it."""
    yield from overlaps(id_ranges(view))


def id_ranges(view: VersionView) -> list[IdRange]:
    """Return the row ids of the files that are live, and of those that were."""
    state = view.state
    if "rowTracking" not in view.layout.features:
        return state.id_ranges
    live = (_range(state, path, body, LONG_END) for (path, _), body in state.adds.items())
    return [*state.id_ranges, *filter(None, live)]


def note_row_ids(step: Step) -> None:
    """Keep in the state before a commit which row ids it gives, and which it ends."""
    step.before.id_ranges += _ended(step)
    tracked = "rowTracking" in step.new.features
    # Ids that were given before the feature was dropped are promised no longer.
    step.before.given = max(step.before.given, step.highest_row_id) if tracked else -1


def _ended(step: Step) -> Iterator[IdRange]:
    """Yield the row ids of the files that a commit removes, and does not add again."""
    if "rowTracking" not in step.old.features or not step.before.known:
        return
    again = step.paths("add")
    for line in step.of("remove"):
        key = line.key
        body = step.before.adds.get(key) if key and key[0] not in again else None
        found = key and body and _range(step.before, key[0], body, step.version)
        if found:
            yield found


def _range(state: State, path: str, body: Body, until: int) -> IdRange | None:
    base, last = body.get("baseRowId"), last_row_id(body)
    if type(body.get("defaultRowCommitVersion")) is not int or last is None:
        return None
    if not isinstance(base, int) or last < base:
        return None
    return base, last, path, state.ids.since(path), until


def overlaps(ranges: Iterable[IdRange]) -> Findings:
    """Report ranges of files that were live at once and overlap."""
    near: list[IdRange] = []
    for found in sorted(ranges):
        base, _, other, since, until = found
        near = [each for each in near if each[1] >= base]
        for _, last, path, start, end in near:
            # Of one path only files that are both there: what is committed again keeps its ids.
            apart = path != other or until == end == LONG_END
            if apart and start < until and since < end:
                message = f"row ids overlap with those of {path}: {base} to {last} occur twice"
                yield finding("RT-029", other, message)
                break
        near.append(found)
