"""Checks that single table features bring: type widening, clustering, catalogs.

Covers "Type Widening", "Writer Requirements for Clustered Table" and "Catalog-managed tables".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.audit.checks.values import statistics_of
from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.log_files import LOG_DIR
from conformance.audit.grammar.types import is_primitive, same_type, widens
from conformance.audit.read.layout import Column, parts_of
from conformance.audit.read.raw import parse_object
from conformance.audit.read.state import Body, counted
from conformance.audit.subjects import Step, VersionView

_ENABLED: Final = "delta.enableTypeWidening"


def _inner(of: Any, path: str) -> Any:
    """Follow a field path through arrays and maps; ``None`` where it leads nowhere."""
    for part in filter(None, path.split(".")):
        of = of.get(f"{part}Type") if isinstance(of, dict) else None
    return of


def _widens(before: str, after: str) -> bool:
    # The schema reports names that are no types.
    return not (is_primitive(before) and is_primitive(after)) or widens(before, after)


@check("definition", "TW-002 TW-003 TW-004 TW-005 TW-006 TW-008 TW-009")
def type_changes(step: Step) -> Findings:
    """Report type changes that are not allowed, and records that do not end in the type."""
    if not step.sets_metadata:
        return
    for column in step.new.columns:
        latest: dict[str, str] = {}
        for path, before, after in column.type_changes:
            if not _widens(before, after):
                requirement = "TW-005" if "decimal" in after else "TW-004"
                message = (
                    f"column {column.name} went from {before} to {after}, which is no widening"
                )
                for each in (requirement, "TW-003"):
                    yield finding(each, step.place, message)
            if not same_type(latest.get(path, before), before):
                where = f"{column.name}.{path}" if path else column.name
                message = f"the type changes of {where} go on from {before}, not {latest[path]}"
                yield finding("TW-009", step.place, message)
            latest[path] = after
        for path, after in latest.items():
            yield from _misplaced(step, column, path, after)
    yield from _unrecorded(step)


def _misplaced(step: Step, column: Column, path: str, after: str) -> Findings:
    """Report the last record of a place that is no place, or has another type."""
    now = _inner(column.type, path)
    where = f"{column.name}.{path}" if path else column.name
    if path == "" and any(parts_of(now)):
        message = f"a type change of {column.name}, a {now['type']}, has no fieldPath"
        yield finding("TW-008", step.place, message)
    elif not same_type(now, after):
        message = f"the last type change of {where} is to {after}, its type is {now}"
        yield finding("TW-006", step.place, message)
        if now is None:
            yield finding("TW-008", step.place, f"{where} is no part of the column")


def _unrecorded(step: Step) -> Findings:
    """Report columns whose type changes over files that stay, and nothing records it."""
    if not step.before.known or not step.keeps_files:
        return  # a table that is replaced as a whole may have other columns of the same names
    held = {column.identity: column for column in step.old.columns}
    for column in step.new.columns:
        was = held.get(column.identity)
        now = dict(_primitives(column.type, ""))
        for path, before in _primitives(was.type, "") if was is not None else ():
            after = now.get(path)
            if path in now or path == "":
                yield from _changed(step, column, path, (before, after or column.type))


def _primitives(of: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield field path and name of a primitive type, or of those in arrays and maps."""
    if isinstance(of, str):
        yield path, of
    for part, inner in parts_of(of):
        yield from _primitives(inner, f"{path}.{part}" if path else part)


def _changed(step: Step, column: Column, path: str, types: tuple[str, Any]) -> Findings:
    """Report a type that changes while that is off, to one not allowed, or unrecorded."""
    before, after = types
    if before in (after, "void"):
        return
    if isinstance(after, str) and _widens(after, before):
        return  # a restore takes a widening back; files that are wider than this are reported
    where = f"{column.name}.{path}" if path else column.name
    supported = "typeWidening" in step.new.features
    if supported and not step.new.is_true(_ENABLED):
        message = f"column {where} goes from {before} while {_ENABLED} is not true"
        yield finding("TW-002", step.place, message)
    recorded = any(at == path and same_type(last, after) for at, _, last in column.type_changes)
    if not recorded:
        message = f"column {where} goes from {before} to {after} unrecorded"
        # Without the feature nothing asks for a record: files of the other type are reported.
        yield finding("TW-006", step.place, message, sure=supported)
        if supported and not (isinstance(after, str) and _widens(before, after)):
            message = f"column {where} goes from {before} to {after}, which is no widening"
            yield finding("TW-003", step.place, message)


@check("commit", "DFT-008")
def new_columns_have_no_default(step: Step) -> Findings:
    """Report a column that is added to a table together with its default."""
    if not step.before.known or not step.sets_metadata or not step.keeps_files:
        return  # a table that is replaced is created with the defaults that it begins with
    held, names = {column.physical for column in step.old.columns}, step.before.names
    for column in step.new.columns:
        if column.physical in held or "CURRENT_DEFAULT" not in column.metadata:
            continue
        # A restore brings a column back with its default.
        former = names is not None and column.physical[0] in names
        if former and len(column.physical) == 1:
            continue
        message = f"the column {column.name} is added together with a default"
        yield finding("DFT-008", step.place, message, sure=names is not None and not former)


@check("commit", "VOID-003 VOID-004 VOID-005")
def void_shapes(step: Step) -> Findings:
    """Report files that are added where void leaves nothing to write, or stands in a list."""
    fields = step.new.schema.get("fields") if step.new.schema else None
    if not isinstance(fields, list) or '"void"' not in _schema_text(step):
        return
    place = step.commit.content.first_add
    if place is None:
        return
    if _voids({"type": "struct", "fields": fields}):
        yield finding("VOID-005", place, "a file is added, and all columns are void")
    for column in step.new.columns:
        kind = column.type.get("type") if isinstance(column.type, dict) else None
        if kind == "struct" and _voids(column.type):
            message = f"a file is added, and the struct {column.name} has only void fields"
            yield finding("VOID-004", place, message)
        elif kind in ("array", "map") and _holds_void(column.type):
            message = f"a file is added, and {column.name} is an {kind} with void"
            yield finding("VOID-003", place, message)


def _schema_text(step: Step) -> str:
    return str((step.metadata or {}).get("schemaString"))


def _voids(of: Any) -> bool:
    """Return whether a type is void, or a struct of nothing else."""
    fields = of.get("fields") if isinstance(of, dict) and of.get("type") == "struct" else None
    if not isinstance(fields, list) or not fields:
        return bool(of == "void")
    return all(isinstance(each, dict) and _voids(each.get("type")) for each in fields)


def _holds_void(of: Any) -> bool:
    if not isinstance(of, dict):
        return bool(of == "void")
    fields = of.get("fields")
    listed = fields if isinstance(fields, list) else []
    inner = [each.get("type") for each in listed if isinstance(each, dict)]
    return any(map(_holds_void, (*inner, *(each for _, each in parts_of(of)))))


@check("definition", "CAT-015")
def catalogs_need_timestamps(step: Step) -> Findings:
    """Report catalog-managed tables whose commits are not in an order of time."""
    changed = step.sets_metadata or step.sets_protocol
    managed = "catalogManaged" in step.new.features
    if changed and managed and not step.new.active("inCommitTimestamp"):
        message = "the table is catalog-managed, but in-commit timestamps are not active"
        yield finding("CAT-015", step.place, message)


@check("commit", "CINFO-004")
def catalog_managed(step: Step) -> Findings:
    """Report commits of catalog-managed tables that name no transaction."""
    if "catalogManaged" not in step.new.features:
        return
    info = step.commit_info
    name = info.body.get("txnId") if info else None
    if not (isinstance(name, str) and name):
        message = "the table is catalog-managed, but commitInfo has no txnId that is text"
        yield finding("CINFO-004", step.place, message)


_AS_JSON: Final = "delta.checkpoint.writeStatsAsJson"
_CLUSTERING: Final = "delta.clustering"


def clustering_of(domain: Body | None) -> list[tuple[str, ...]]:
    """Return the clustering columns that a domain names, as parts of names."""
    columns = (parse_object((domain or {}).get("configuration")) or {}).get("clusteringColumns")
    found = []
    for column in columns if isinstance(columns, list) else ():
        parts = [column] if isinstance(column, str) else column
        if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
            found.append(tuple(parts))
    return found


def _dotted(name: tuple[str, ...], columns: Mapping[tuple[str, ...], Column]) -> tuple[str, ...]:
    """Return a name as parts where it is one text that joins those of a nested column.

    The sample of the text has one text for each column, and none of them is nested.
    """
    parts = tuple(name[0].split(".")) if len(name) == 1 else name
    return parts if name not in columns and parts in columns else name


@check("version", "CINFO-004")
def transactions_are_distinct(view: VersionView) -> Findings:
    """Report commits of a catalog-managed table that share a transaction id."""
    if "catalogManaged" not in view.layout.features:
        return
    seen: dict[str, int] = {}
    for version, commit in view.log.commits.items():
        info = next(commit.content.of("commitInfo"), None)
        name = info.body.get("txnId") if info else None
        if isinstance(name, str) and seen.setdefault(name, version) != version:
            message = f"the commits {seen[name]} and {version} have the txnId {name}"
            yield finding("CINFO-004", commit.path, message)


def _domain_after(step: Step) -> Body | None:
    """Return the domain of clustering columns that is in force after a commit."""
    domain = step.before.live_domains.get(_CLUSTERING)
    for line in step.of("domainMetadata"):
        if line.body.get("domain") == _CLUSTERING:
            domain = None if line.body.get("removed") is True else line.body
    return domain


@check("definition", "CLUS-006 CM-035 VAR-006")
def clustering_columns_exist(step: Step) -> Findings:
    """Report clustering columns that are no columns of their version, or cannot be ordered."""
    domain = _domain_after(step)
    set_here = domain is not step.before.domains.get(_CLUSTERING)
    changed = set_here or step.sets_metadata or step.sets_protocol
    if not changed or "clustering" not in step.new.features or step.new.schema is None:
        return
    columns = step.new.by_physical
    for named in clustering_of(domain):
        name = _dotted(named, columns)
        column = columns.get(name)
        if name != named:
            message = f"the clustering column {named[0]} is nested, and named by one text"
            yield finding("CLUS-006", step.place, message, severity="warning")
        if column is None:
            mapped = step.new.mode != "none" and name in step.new.by_path
            what = "called by its logical name" if mapped else "not in the schema"
            message = f"the clustering column {'.'.join(name)} is {what}"
            yield finding("CM-035" if mapped else "CLUS-006", step.place, message)
        elif column.type == "variant":
            message = f"the clustering column {column.name} is a variant"
            yield finding("VAR-006", step.place, message)


@check("version", "CLUS-006 CLUS-009")
def clustered_files_have_statistics(view: VersionView) -> Findings:
    """Report a clustered table without its domain, and live files without its statistics."""
    domain = view.state.live_domains.get(_CLUSTERING)
    wanted = clustering_of(domain)
    if "clustering" not in view.layout.features:
        return
    if domain is None:
        message = "clustering is supported, and no domain delta.clustering names its columns"
        place = f"{LOG_DIR}, version {view.state.version}"
        # A writer may support the feature before it has columns to cluster by.
        yield finding("CLUS-006", place, message, severity="warning")
    if not wanted:
        return
    columns = view.layout.by_physical
    # A checkpoint leaves statistics out where the table asks for that, so that none are left.
    left_out = view.layout.properties.get(_AS_JSON, "").lower() == "false"
    for (path, _), body in view.state.adds.items():
        stats = statistics_of(body) or {}
        if left_out and not stats:
            continue
        yield from _uncounted(stats, wanted, columns, path)


@check("commit", "CLUS-009")
def added_files_have_statistics(step: Step) -> Findings:
    """Report adds without statistics of the clustering columns of their version."""
    if "clustering" not in step.new.features:
        return
    if wanted := clustering_of(_domain_after(step)):
        columns = step.new.by_physical
        for line in step.of("add"):
            stats = statistics_of(line.body) or {}
            key = line.key
            yield from _uncounted(stats, wanted, columns, key[0] if key else line.place)


@check("commit", "CLUS-010")
def joining_columns_have_statistics(step: Step) -> Findings:
    """Report files that are kept without statistics of a column that joins the clustering.

    Files that stay, and files of the version before that the commit adds again: it is the place
    to give them what they lack.
    """
    if "clustering" not in step.new.features:
        return
    before = step.before.live_domains.get(_CLUSTERING)
    after = _domain_after(step)
    was = "clustering" in step.old.features
    if was and after is before:
        return
    columns = step.new.by_physical
    held = {_dotted(name, columns) for name in clustering_of(before)} if was else set()
    joining = [n for n in clustering_of(after) if _dotted(n, columns) not in held]
    if not joining:
        return
    left_out = step.old.properties.get(_AS_JSON, "").lower() == "false"
    for key, body in step.staying():
        stats = statistics_of(body) or {}
        if left_out and not stats:
            continue
        yield from _uncounted(stats, joining, columns, key[0], "CLUS-010")
    for line in step.of("add"):
        restated = line.key
        if restated is not None and step.before.vectors.get(restated[0]):
            stats = statistics_of(line.body) or {}
            yield from _uncounted(stats, joining, columns, restated[0], "CLUS-010")


def _uncounted(
    stats: dict[str, Any],
    wanted: list[tuple[str, ...]],
    columns: Mapping[tuple[str, ...], Column],
    path: str,
    requirement: str = "CLUS-009",
) -> Findings:
    names = [_dotted(name, columns) for name in wanted]
    missing = [name for name in names if not _is_counted(stats, name, columns.get(name))]
    if missing:
        message = f"no statistics of the clustering column {'.'.join(missing[0])}"
        yield finding(requirement, path, message, sure=not _may_be_nan(stats, missing, columns))
    elif counted(stats) is None:
        yield finding(requirement, path, "no numRecords in a file of a clustered table")


def _may_be_nan(
    stats: dict[str, Any], missing: list[tuple[str, ...]], columns: Mapping[tuple[str, ...], Column]
) -> bool:
    """Return whether missing bounds may not exist: JSON has no NaN to be one."""
    floats = all((of := columns.get(x)) and of.type in ("float", "double") for x in missing)
    held = [_of_column(stats, name) for name in missing]
    bare = all(nulls is not None and low is None and high is None for nulls, low, high in held)
    return floats and bare


def _is_counted(stats: dict[str, Any], name: tuple[str, ...], column: Column | None) -> bool:
    """Return whether nulls are counted, and bounds given where there is a value to bound."""
    nulls, low, high = _of_column(stats, name)
    of = None if column is None else column.type
    bounded = isinstance(of, str) and of not in ("boolean", "binary")  # what is nested has no order
    empty = nulls == stats.get("numRecords")
    return nulls is not None and (empty or not bounded or None not in (low, high))


def _of_column(stats: dict[str, Any], name: tuple[str, ...]) -> list[Any]:
    """Return how many nulls a column has and its bounds, each ``None`` where it is not there."""
    found = []
    for kind in ("nullCount", "minValues", "maxValues"):
        node = stats.get(kind)
        for part in name:
            node = node.get(part) if isinstance(node, dict) else None
        found.append(node)
    return found
