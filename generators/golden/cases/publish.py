"""The standing questions that every golden table answers at every version.

Covers all chapters. :func:`publish` turns the ledger of a :class:`GoldenTable` into the specs of
a case: a read and a snapshot per version, the live files of the newest one. What a case is
really about comes on top, through :class:`~generators.golden.cases.case.CaseWriter`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from generators.golden.cases.case import Accepted, CaseError, CaseWriter, Refusal
from generators.golden.cases.filters import Filter
from generators.golden.cases.table import EPOCH, MINUTE, GoldenTable
from generators.materialise.data.arrow_rows import Row
from generators.materialise.log.bodies import FILE_FIELDS
from generators.materialise.log.files import LOG_DIRECTORY, commit_name, drop_commits
from generators.materialise.log.state import LogState, dv_unique_id
from generators.oracle.delta_schema import Struct, field, struct


def publish(
    case: CaseWriter,
    table: GoldenTable,
    *,
    versions: Sequence[int] | None = None,
    files: bool = True,
    log_info: Mapping[str, int] | None = None,
) -> None:
    """Describe the table and write its standing specs.

    Args:
        case: the case to write to.
        table: the table, complete.
        versions: versions to ask for by number; all that were committed by default. A table of
            one version is only asked for its latest one.
        files: write the ``files`` spec of the newest version.
        log_info: more counts for ``table_info.json``, as ``lastCheckpointVersion``.
    """
    describe(case, table, log_info=log_info)
    asked = table.versions if versions is None else versions
    for version in (None, *(asked if len(table.versions) > 1 else ())):
        read_spec(case, table, version)
        snapshot_spec(case, table, version)
    if files:
        files_spec(case, table)


def publish_respelled(
    case: CaseWriter,
    table: GoldenTable,
    written: Sequence[tuple[str, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]],
    refusal: Refusal | None = None,
) -> None:
    """Write the specs of a table whose newest commit spells the paths of its removes otherwise.

    Paths are the same after decoding, or as they are written: the text is read both ways, so that
    the newest version is contested. What comes before it is not.

    Args:
        case: the case to write to.
        table: the table, complete; its ledger has what goes by decoded paths.
        written: each answer by paths as written: its name, its rows, and its files as
            :func:`file_entries` has them.
        refusal: how the table is refused where paths as written leave it in no valid state.
    """
    describe(case, table)
    source, otherwise = "paths are compared after decoding", "paths are compared as written"
    entries = file_entries(table)
    rows = [Accepted("decoded", source, rows=table.rows())]
    files = [Accepted("decoded", source, expected={"files": entries})]
    for name, of_rows, of_files in written:
        rows.append(Accepted(name, otherwise, rows=of_rows))
        files.append(Accepted(name, otherwise, expected={"files": of_files}))
    if refusal:
        refused = Accepted("refused", "a path is live once", refusal=refusal)
        rows.append(refused)
        files.append(refused)
    for before in table.versions[:-1]:
        read_spec(case, table, before)
    for version in (None, *table.versions):
        if refusal is None or version in table.versions[:-1]:
            snapshot_spec(case, table, version)
    title = "The remove cancels the add that it decodes to, or nothing"
    for latest in (None, table.version):
        if refusal:
            state = table.states[table.version]
            whole = {"protocol": state.protocol, "metadata": state.metadata}
            documents = [Accepted("decoded", source, expected=whole), refused]
            slug = f"snapshot-{_place(latest)[0]}"
            case.contest("snapshot", slug, documents, title=title, version=latest)
        slug = f"read-{_place(latest)[0]}"
        case.contest_read(title, table.schema, *rows, slug=slug, version=latest)
    case.contest("files", "files-latest", files, title=title)


def describe(
    case: CaseWriter, table: GoldenTable, *, log_info: Mapping[str, int] | None = None
) -> None:
    """Write ``table_info.json`` of the newest version out of the ledger."""
    state = table.states[table.version]
    case.describe(
        schema=table.schema.to_json(),
        protocol=state.protocol or table.protocol,
        configuration=(state.metadata or {}).get("configuration") or table.properties,
        log_info={
            **_counts(state),
            "numCommits": len(table.versions),
            "numActions": sum(len(lines) for lines in table.commits.values()),
            **(log_info or {}),
        },
        data_layout=_layout(state, table.partition_columns),
        protocols=[each.protocol for each in table.states.values() if each.protocol],
    )


def _counts(state: LogState) -> dict[str, int]:
    return {
        "numAddFiles": len(state.adds),
        "numRemoveFiles": len(state.removes),
        "sizeInBytes": sum(int(body.get("size") or 0) for body in state.adds.values()),
    }


def _layout(state: LogState, columns: Sequence[str]) -> dict[str, int]:
    distinct = {json.dumps(body["partitionValues"]) for body in state.adds.values()}
    counts = {"numPartitionColumns": len(columns), "numDistinctPartitions": len(distinct)}
    return counts if columns else {}


def publish_written(
    case: CaseWriter,
    versions: Mapping[int, tuple[Struct, Sequence[Row]]],
    requirements: Sequence[str] = (),
) -> None:
    """Write the specs of a table that another engine wrote, and describe it by its own log.

    Args:
        case: the case, its table complete.
        versions: schema and rows of each version, which the builder put in.
        requirements: what the reads judge, where that is not what the case does.
    """
    _describe_written(case)
    for version in (None, *versions):
        schema, rows = versions[max(versions) if version is None else version]
        slug, where = _place(version)
        title = f"A read of {where} gives the rows put in"
        options: dict[str, Any] = {"version": version, "requirements": requirements}
        case.read(f"read-{slug}", schema, rows, title=title, **options)


def _describe_written(case: CaseWriter) -> None:
    state, actions = LogState(), 0
    log = case.delta / LOG_DIRECTORY
    commits = sorted(log.glob("[0-9]" * 20 + ".json"))
    for path in commits:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        actions += len(lines)
        state.apply(lines)
    if state.protocol is None or state.metadata is None:
        raise CaseError(f"{case.info.id}: the table has no protocol or metadata")
    checkpoints = [int(path.name[:20]) for path in log.glob("*.checkpoint*")]
    case.describe(
        schema=json.loads(state.metadata["schemaString"]),
        protocol=state.protocol,
        configuration=state.metadata.get("configuration") or {},
        log_info={
            **_counts(state),
            "numCommits": len(commits),
            "numActions": actions,
            **({"lastCheckpointVersion": max(checkpoints)} if checkpoints else {}),
        },
        data_layout=_layout(state, state.metadata["partitionColumns"]),
    )


def read_spec(case: CaseWriter, table: GoldenTable, version: int | None, **options: Any) -> None:
    """Write the full read of a version, the newest one for ``None``."""
    slug, where = _place(version)
    case.read(
        f"read-{slug}",
        table.schema_at(version),
        table.rows(version),
        title=f"A read of {where} gives the rows put in",
        version=version,
        **options,
    )


def snapshot_spec(
    case: CaseWriter, table: GoldenTable, version: int | None, **options: Any
) -> None:
    """Write the protocol and metadata of a version, the newest one for ``None``."""
    state = table.states[table.version if version is None else version]
    slug, where = _place(version)
    case.spec(
        "snapshot",
        f"snapshot-{slug}",
        title=f"The snapshot of {where} has its protocol and metadata",
        expected={"protocol": state.protocol, "metadata": state.metadata},
        version=version,
        **options,
    )


def files_spec(
    case: CaseWriter, table: GoldenTable, version: int | None = None, **options: Any
) -> None:
    """Write the live logical files of a version, the newest one for ``None``."""
    slug, where = _place(version)
    case.spec(
        "files",
        f"files-{slug}",
        title=f"The live files of {where} are those committed",
        expected={"files": file_entries(table, version)},
        version=version,
        **options,
    )


def file_entries(table: GoldenTable, version: int | None = None) -> list[dict[str, Any]]:
    """Return the live files as a ``files`` spec writes them, by path."""
    number = table.version if version is None else version
    entries = []
    for body in table.states[number].adds.values():
        entry = {key: body[key] for key in FILE_FIELDS if body.get(key) is not None}
        identity = dv_unique_id(body.get("deletionVector"))
        if identity is not None:
            entry["dvId"] = identity
        entries.append(entry)
    return sorted(entries, key=lambda entry: (entry["path"], entry.get("dvId", "")))


def filtered(  # noqa: PLR0913  one argument per field of the format
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    filter: Filter,  # noqa: A002  the word of the wire
    title: str,
    *,
    version: int | None = None,
    **options: Any,
) -> None:
    """Write a filtered read of a version, the newest one for ``None``."""
    schema, rows = table.schema_at(version), table.rows(version)
    case.read(slug, schema, rows, title=title, filter=filter, version=version, **options)


def projected(
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    columns: Sequence[str],
    title: str,
    **options: Any,
) -> None:
    """Write a read of some columns of the newest version, in schema order."""
    schema, rows = table.schema_at(), table.rows()
    case.read(slug, schema, rows, title=title, columns=columns, **options)


def aggregated(  # noqa: PLR0913  one argument per field of the format
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    columns: Sequence[str],
    title: str,
    *,
    version: int | None = None,
    **options: Any,
) -> None:
    """Write the number of rows and the extremes of columns, of the newest version for ``None``."""
    schema, rows = table.schema_at(version), table.rows(version)
    fields = [field("count", "long")]
    found: dict[str, Any] = {"count": len(rows)}
    for name in columns:
        values = [row[name] for row in rows if row.get(name) is not None]
        for function, of in (("min", min), ("max", max)):
            fields.append(field(f"{function}({name})", schema[name].type))
            found[f"{function}({name})"] = of(values, key=_order) if values else None
    parameters: dict[str, Any] = {"extremes": [*columns]}
    case.row_spec(
        "aggregate",
        slug,
        struct(*fields),
        [found],
        title=title,
        parameters=parameters,
        version=version,
        **options,
    )


def _order(value: Any) -> Any:
    """Return what orders a value: texts by their bytes in UTF-8."""
    return value.encode() if isinstance(value, str) else value


def refuse_load(
    case: CaseWriter,
    refusal: Refusal,
    title: str,
    *,
    slug: str = "latest",
    version: int | None = None,
) -> None:
    """Write that a read and the snapshot of a version are refused."""
    for type_name in ("read", "snapshot"):
        case.refuse(type_name, f"{type_name}-{slug}", refusal, title=title, version=version)


def refuse_unknown(  # noqa: PLR0913  what refuse_load takes, and the table
    case: CaseWriter,
    table: GoldenTable,
    refusal: Refusal,
    title: str,
    *,
    slug: str = "latest",
    version: int | None = None,
) -> None:
    """Write that a version whose protocol no reader knows is not read.

    What is refused is reading the table. That a client may not even say which protocol and metadata
    the log has, no sentence says: it has to know the protocol to name the version that is needed.
    """
    case.refuse("read", f"read-{slug}", refusal, title=title, version=version)
    state = table.states[table.version if version is None else version]
    stated = {"protocol": state.protocol, "metadata": state.metadata}
    accepted = [
        Accepted("refused", "what cannot be read is not loaded", refusal=refusal),
        Accepted("stated", "the log names the protocol that is needed", expected=stated),
    ]
    title = "Protocol and metadata are those of the log, or refused with the rest"
    case.contest("snapshot", f"snapshot-{slug}", accepted, title=title, version=version)


def publish_cut(
    case: CaseWriter,
    table: GoldenTable,
    below: int,
    *,
    checkpoint: int | None = None,
    **counts: int,
) -> None:
    """Delete the commits below a version, as log cleanup does, and publish the versions left.

    Args:
        case: the case to write to.
        table: the table, complete, with a checkpoint of the version.
        below: the version.
        checkpoint: that of the newest checkpoint, where it is another one.
        counts: more counts for ``table_info.json``.
    """
    drop_commits(table.root, below)
    newest = below if checkpoint is None else checkpoint
    versions = [version for version in table.versions if version >= below]
    publish(case, table, versions=versions, log_info={"lastCheckpointVersion": newest, **counts})


def publish_timed(case: CaseWriter, table: GoldenTable, **options: Any) -> None:
    """Publish a table whose commit files have the commits' own times, where readers go by them."""
    publish(case, table, **options)
    commit_times(case, table)


def commit_times(case: CaseWriter, table: GoldenTable) -> None:
    """Give each commit file that is left the time of its commit."""
    for version in table.versions:
        name = f"{LOG_DIRECTORY}/{commit_name(version)}"
        if (table.root / name).exists():
            case.file_time(name, EPOCH + MINUTE * version)


def earlier_spec(case: CaseWriter, table: GoldenTable, version: int) -> None:
    """Write a read of a version that comes before the broken one.

    The text promises every version of a valid table. It obliges no reader to serve an old version
    of a broken one, and some readers load the newest version first whatever is asked for.
    """
    accepted = [
        Accepted("rows", "the version itself is whole", rows=table.rows(version)),
        Accepted(
            "refused",
            "readers that load the newest version first meet the broken one",
            refusal=Refusal("invalid_table", "read", "SNAP-002"),
        ),
    ]
    case.contest(
        "read",
        f"read-v{version}",
        accepted,
        title=f"Version {version}, ahead of the broken one, reads or is refused",
        schema=table.schema_at(version),
        version=version,
        # It shows nothing of what is broken later.
        requirement="SNAP-007",
    )


def _place(version: int | None) -> tuple[str, str]:
    if version is None:
        return "latest", "the latest version"
    return f"v{version}", f"version {version}"
