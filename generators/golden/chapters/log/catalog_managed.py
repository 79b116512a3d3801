"""Cases of catalog-managed tables: what a catalog ratified is handed in with the question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import (
    aggregated,
    describe,
    file_entries,
    files_spec,
    publish,
    read_spec,
    snapshot_spec,
)
from generators.golden.cases.table import (
    EPOCH,
    MINUTE,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    instant,
    remove,
    txn,
)
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS, inline, with_vector
from generators.golden.chapters.tables.row_tracking import TRACKED_PROPERTIES, high_water_mark
from generators.materialise.log.files import LOG_DIRECTORY, commit_name
from generators.materialise.log.hints import write_compaction
from generators.oracle.delta_schema import field, struct

CATALOG = Chapter("catalog-managed-tables", since="upstream")
_STAGED = "_staged_commits"

_PLAIN = struct(c="long", name="string")
_ROWS: list[dict[str, Any]] = [{"c": 4, "name": "a"}, {"c": 5, "name": None}]

_CHANGES = _PLAIN.with_fields(
    field("_change_type", "string"),
    field("_commit_version", "long"),
    field("_commit_timestamp", "timestamp"),
)


def _changes_of(*versions: int) -> list[dict[str, Any]]:
    """Return the changes of versions that each add the row which names them."""
    return [
        {
            "c": 100 + version,
            "name": f"version {version}",
            "_change_type": "insert",
            "_commit_version": version,
            "_commit_timestamp": instant(f"2023-11-14T22:{13 + version}:20"),
        }
        for version in versions
    ]


class _Managed:
    """A catalog-managed table, and the catalog that says which of its commits count."""

    def __init__(
        self,
        case: CaseWriter,
        versions: int,
        *,
        writers: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        since: int = 0,
    ) -> None:
        """Commit versions of one file each, all of them published.

        ``since`` is the first version that the catalog manages. Rows have ids where ``writers``
        has row tracking.
        """
        self.kept: dict[int, dict[str, Any]] = {}
        self.tracked = "rowTracking" in writers
        self.table = GoldenTable.of(case, _PLAIN)
        for version in range(versions):
            actions = [add(self.file())]
            if self.tracked:
                actions.append(high_water_mark(version + 1))
            if version == since:
                names = ["inCommitTimestamp", *writers]
                self.table.protocol = feature_protocol(["catalogManaged"], names)
                on = {"delta.enableInCommitTimestamps": "true"}
                if since:
                    on["delta.inCommitTimestampEnablementVersion"] = str(since)
                    on["delta.inCommitTimestampEnablementTimestamp"] = str(EPOCH + MINUTE * since)
                self.table.properties = {**on, **(properties or {})}
            if version in (0, since):
                actions[:0] = [self.table.protocol_action(), self.table.metadata()]
            self.commit(*actions)

    def file(self) -> Any:
        """Write a file with one row that names the version to come; the first one has two."""
        number = self.table.version + 1
        rows = [{"c": 100 + number, "name": f"version {number}"}] if number else _ROWS
        base = number + 1 if number else 0
        ids: dict[str, Any] = {"baseRowId": base, "defaultRowCommitVersion": number}
        return self.table.file(rows, **(ids if self.tracked else {}))

    def commit(self, *actions: Any) -> int:
        """Commit the next version as a published one."""
        return self.table.commit(*actions, info=self._info())

    def _info(self) -> dict[str, Any]:
        number = self.table.version + 1
        return {"inCommitTimestamp": EPOCH + MINUTE * number, "txnId": f"txn-{number}"}

    def _path(self, version: int) -> Any:
        return self.table.root / LOG_DIRECTORY / commit_name(version)

    def stage(self, version: int, content: bytes | None = None) -> str:
        """Write a staged file, of the version's own content by default; returns its name."""
        folder = self.table.root / LOG_DIRECTORY / _STAGED
        folder.mkdir(exist_ok=True)
        name = f"{version:020d}.{self.table.unique_name('staged')}.json"
        (folder / name).write_bytes(
            self._path(version).read_bytes() if content is None else content
        )
        return name

    def surround(self, version: int, content: bytes) -> None:
        """Stage other commits of a kept version, under names before and after its own."""
        kept = self.kept[version]["staged"]
        names = [kept]
        while kept in (min(names), max(names)):
            names.append(self.stage(version, content))

    def keep_staged(self, version: int, *, published: bool = False) -> None:
        """Let the catalog keep a version as a staged file."""
        self.kept[version] = {"staged": self.stage(version)}
        if not published:
            self._path(version).unlink()

    def keep_inline(self, version: int) -> None:
        """Let the catalog keep a version itself."""
        content = self._path(version).read_bytes().decode()
        self.kept[version] = {"version": version, "content": content}
        self._path(version).unlink()

    def answer(self, latest: int | None = None) -> dict[str, Any]:
        """Return what the catalog answers."""
        number = self.table.version if latest is None else latest
        return {"latest": number, "commits": [self.kept[each] for each in sorted(self.kept)]}


def _refuse(case: CaseWriter, refusal: Refusal, ratified: Mapping[str, Any], title: str) -> None:
    for kind in ("read", "snapshot"):
        case.refuse(kind, f"{kind}-latest", refusal, title=title, ratified=ratified)


def _standing(case: CaseWriter, managed: _Managed, *versions: int, latest: int) -> None:
    """Ask for the rows of versions and for the latest snapshot, by what the catalog answers."""
    ratified = managed.answer(latest)
    table = managed.table
    for version in versions:
        read_spec(case, table, version, ratified=ratified)
        snapshot_spec(case, table, version, ratified=ratified)
    files_spec(case, table, latest, ratified=ratified)
    case.read(
        "read-latest",
        table.schema_at(latest),
        table.rows(latest),
        title="A read gives the latest ratified version",
        ratified=ratified,
    )
    case.refuse(
        "read",
        "read-beyond",
        Refusal("not_found", "load", "CAT-010"),
        title="A version that is not ratified is not there",
        version=latest + 1,
        ratified=ratified,
    )


def _without(case: CaseWriter, managed: _Managed, published: int) -> None:
    """Ask for the rows as if there were no catalog."""
    refusal = Refusal("unsupported", "load", "CAT-007", code="DELTA_CATALOG_MANAGED")
    case.contest_read(
        "The table is refused, or its published versions read",
        _PLAIN,
        Accepted("refused", "ratified commits are the catalog's to tell", refusal=refusal),
        Accepted(
            "published", "only the published commits are read", rows=managed.table.rows(published)
        ),
        slug="read-without-catalog",
    )


@CATALOG.case("without-catalog", "CAT-001 CAT-007 CAT-016", features=())
def _catalog(case: CaseWriter) -> None:
    """A catalog-managed table is refused without its catalog."""
    table = GoldenTable.of(
        case,
        _PLAIN,
        protocol=feature_protocol(["catalogManaged"], ["inCommitTimestamp"]),
        properties={"delta.enableInCommitTimestamps": "true"},
    )
    table.create(add(table.file(_ROWS)), info={"inCommitTimestamp": 1, "txnId": "t0"})
    describe(case, table)
    refusal = Refusal("unsupported", "load", "CAT-007", code="DELTA_CATALOG_MANAGED")
    case.contest_read(
        "The table is refused, or its published versions read",
        _PLAIN,
        Accepted("refused", "ratified commits are the catalog's to tell", refusal=refusal),
        Accepted("published", "only the published commits are read", rows=table.rows()),
    )


@CATALOG.case("stray-staged-commit", "CAT-002 CAT-004 CAT-005")
def _staged(case: CaseWriter) -> None:
    """A staged commit is no version until it is ratified."""
    table = GoldenTable.created(case, _PLAIN, _ROWS)
    folder = table.root / LOG_DIRECTORY / "_staged_commits"
    folder.mkdir()
    line = json.dumps(add(table.file([{"c": 99, "name": "staged"}])))
    for version in (0, 1):
        name = f"{version:020d}.{table.unique_name('staged')}.json"
        (folder / name).write_text(line + "\n", encoding="utf-8")
    publish(case, table)


@CATALOG.case(
    "published-staged-inline", "CAT-002 CAT-003 CAT-004 CAT-005 CAT-006 CAT-007 CAT-008 CAT-010"
)
def _example(case: CaseWriter) -> None:
    """The example of the text: published, staged and inline commits."""
    managed = _Managed(case, 10)
    table = managed.table
    table.checkpoint(version=2, hint=False)
    lines = [[one for one in table.commits[n] if isinstance(one, dict)] for n in (3, 4, 5)]
    write_compaction(case.delta, 3, 5, lines)
    managed.keep_staged(7, published=True)
    stray = table.file([{"c": -1, "name": "rejected"}])
    managed.keep_staged(8)
    managed.surround(8, (json.dumps(add(stray)) + "\n").encode())
    managed.keep_inline(9)
    managed.stage(10, (json.dumps(add(stray)) + "\n").encode())
    managed.stage(10, b'{"add":{"path":"par')
    describe(case, table, log_info={"lastCheckpointVersion": 2})
    _standing(case, managed, 1, 6, 7, 8, 9, latest=9)
    _without(case, managed, 7)


@CATALOG.case("catalog-before-published", "CAT-009")
def _before_published(case: CaseWriter) -> None:
    """A commit of the catalog goes before the published one."""
    managed = _Managed(case, 3)
    managed.keep_staged(1, published=True)
    # What was published under the same version is another commit, which must not be seen.
    wrong = managed.table.file([{"c": -1, "name": "published by mistake"}])
    info = {"commitInfo": {"timestamp": EPOCH, "inCommitTimestamp": EPOCH + MINUTE}}
    text = "".join(json.dumps(line) + "\n" for line in (info, add(wrong)))
    (case.delta / LOG_DIRECTORY / commit_name(1)).write_text(text, encoding="utf-8")
    describe(case, managed.table)
    _standing(case, managed, 0, 1, 2, latest=2)


@CATALOG.case("published-beyond-latest", "CAT-010")
def _beyond(case: CaseWriter) -> None:
    """What is later than the latest ratified version is ignored."""
    properties = {"delta.enableChangeDataFeed": "true"}
    writers = ["domainMetadata", "changeDataFeed"]
    managed = _Managed(case, 2, writers=writers, properties=properties)
    table = managed.table
    for number in (2, 3, 4):
        table.properties["app.version"] = str(number)
        said = txn("app", number), domain("mine", f"of version {number}")
        managed.commit(table.metadata(), add(managed.file()), *said)
    table.checkpoint(version=4, hint=False)
    hint = {"version": 4, "size": 9}
    (case.delta / LOG_DIRECTORY / "_last_checkpoint").write_text(json.dumps(hint), encoding="utf-8")
    lines = [[one for one in table.commits[n] if isinstance(one, dict)] for n in (2, 3)]
    write_compaction(case.delta, 2, 3, lines)
    describe(case, table, log_info={"lastCheckpointVersion": 4})
    _standing(case, managed, 0, 1, 2, latest=2)
    state, rows = table.states[2], table.rows(2)
    extremes = {"count": len(rows), "min(c)": 4, "max(c)": max(row["c"] for row in rows)}
    asked: Mapping[str, tuple[dict[str, Any], Any]] = {
        "snapshot": ({}, {"protocol": state.protocol, "metadata": state.metadata}),
        "files": ({}, {"files": file_entries(table, 2)}),
        "txn": ({"appId": "app"}, {"txnVersion": 2}),
        "domain_metadata": ({"domain": "mine"}, {"configuration": "of version 2"}),
    }
    options: dict[str, Any] = {
        "title": "No answer goes beyond", "requirement": "CAT-010", "ratified": managed.answer(2),
    }  # fmt: skip
    for kind, (parameters, expected) in asked.items():
        slug = f"{kind.partition('_')[0]}-latest"
        case.spec(kind, slug, parameters=parameters, expected=expected, **options)
    schema = struct(**dict.fromkeys(extremes, "long"))
    extremes_of = {"extremes": ["c"]}
    case.row_spec("aggregate", "extremes", schema, [extremes], parameters=extremes_of, **options)
    options["parameters"] = {"start": 1}
    case.row_spec("changes", "changes-from-1", _CHANGES, _changes_of(1, 2), **options)


@CATALOG.case("all-published", "CAT-001 CAT-006 CAT-008")
def _all_published(case: CaseWriter) -> None:
    """A catalog that keeps no commit tells the latest version."""
    managed = _Managed(case, 3)
    describe(case, managed.table)
    _standing(case, managed, 0, 1, 2, latest=2)
    _without(case, managed, 2)


@CATALOG.case("checkpoint-at-latest", "CAT-008 CAT-010")
def _checkpointed(case: CaseWriter) -> None:
    """A log that begins with a checkpoint of the latest version is read."""
    managed = _Managed(case, 3)
    managed.table.checkpoint(version=2, hint=False)
    for version in (0, 1):
        (case.delta / LOG_DIRECTORY / commit_name(version)).unlink()
    describe(case, managed.table, log_info={"lastCheckpointVersion": 2})
    _standing(case, managed, 2, latest=2)


@CATALOG.case("removal-in-staged-commit", "CAT-003 CAT-007")
def _removal(case: CaseWriter) -> None:
    """A staged commit removes what a published one added."""
    managed = _Managed(case, 1)
    first = managed.file()
    managed.commit(add(first))
    managed.commit(remove(first), add(managed.file()))
    managed.keep_staged(2)
    describe(case, managed.table)
    _standing(case, managed, 0, 1, 2, latest=2)
    _without(case, managed, 1)


@CATALOG.case("enabled-later", "CAT-001 CAT-007")
def _enabled_later(case: CaseWriter) -> None:
    """Versions from before the catalog are read beside ratified ones."""
    managed = _Managed(case, 4, since=2)
    managed.keep_staged(3)
    describe(case, managed.table)
    _standing(case, managed, 0, 1, 2, 3, latest=3)


@CATALOG.case("history-and-travel", "CAT-008 CAT-015")
def _history(case: CaseWriter) -> None:
    """In-commit timestamps tell the times of commits that have no file."""
    managed = _Managed(case, 4)
    table = managed.table
    # Published much later than committed, as publishing may be: the file's time misleads.
    for version in (0, 1):
        case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", EPOCH + 60 * MINUTE)
    managed.keep_staged(2)
    managed.keep_inline(3)
    describe(case, table)
    ratified = managed.answer()
    _standing(case, managed, latest=3)
    case.spec(
        "history",
        "history-all",
        title="The commits are listed newest first",
        expected={
            "commits": [
                {
                    "version": version,
                    "timestamp": EPOCH + MINUTE * version,
                    "operation": (table.infos[version] or {}).get("operation"),
                }
                for version in reversed(table.versions)
            ]
        },
        ratified=ratified,
    )
    for version in table.versions:
        # A time after the newest version is answered by that version or by none.
        second = "20.000" if version == table.version else "59.999"
        case.read(
            f"at-v{version}",
            _PLAIN,
            table.rows(version),
            title=f"That instant belongs to version {version}",
            timestamp=f"2023-11-14 22:{13 + version}:{second}",
            ratified=ratified,
        )


@CATALOG.case("changes", "CAT-003 CAT-009")
def _changes(case: CaseWriter) -> None:
    """The change feed goes on through the commits of the catalog."""
    properties = {"delta.enableChangeDataFeed": "true"}
    managed = _Managed(case, 3, writers=["changeDataFeed"], properties=properties)
    managed.keep_staged(1, published=True)
    managed.keep_inline(2)
    describe(case, managed.table)
    for start, end, judged in ((1, 2, "CAT-007"), (1, 1, "CAT-009")):
        case.row_spec(
            "changes",
            f"changes-{start}-{end}",
            _CHANGES,
            _changes_of(*range(start, end + 1)),
            title="Staged and inline commits give their rows",
            parameters={"start": start, "end": end},
            requirement=judged,
            ratified=managed.answer(),
        )


@CATALOG.case("parts-of-rows", "CAT-007 CAT-010")
def _parts(case: CaseWriter) -> None:
    """Reads of some rows, some columns and of row ids go by the catalog."""
    writers = ["domainMetadata", "rowTracking"]
    managed = _Managed(case, 5, writers=writers, properties=TRACKED_PROPERTIES)
    managed.keep_staged(2)
    managed.keep_inline(3)
    describe(case, managed.table)
    table, latest = managed.table, 3
    _standing(case, managed, latest=latest)
    title = "The latest ratified version gives its rows, and no later ones"
    options: dict[str, Any] = {"ratified": managed.answer(latest), "requirement": "CAT-007"}
    schema, rows = table.schema_at(latest), table.rows(latest)
    case.read("columns", schema, rows, title=title, columns=["name"], **options)
    for slug, kept in (
        ("filter-ratified", compare("c", "=", 103, "long")),
        ("filter-range", compare("c", ">", 101, "long")),
        ("filter-text", compare("name", "=", "version 2", "string")),
    ):
        case.read(slug, schema, rows, title=title, filter=kept, **options)
    versions = [0, 0, *range(1, latest + 1)]
    numbered = [
        {**row, "_row_id": number, "_row_commit_version": version}
        for number, (row, version) in enumerate(
            zip(sorted(rows, key=lambda row: row["c"]), versions, strict=True)
        )
    ]
    of_ids = _PLAIN.with_fields(field("_row_id", "long"), field("_row_commit_version", "long"))
    case.row_spec("row_ids", "row-ids", of_ids, numbered, title=title, parameters={}, **options)


# Answers that do not fit the table.


def _invalid(requirement: str) -> Refusal:
    return Refusal("invalid_table", "load", requirement)


@CATALOG.case("gap", "CAT-008 CAT-014")
def _gap(case: CaseWriter) -> None:
    """A gap between published and ratified commits is refused."""
    managed = _Managed(case, 4)
    managed.keep_staged(3)
    (case.delta / LOG_DIRECTORY / commit_name(2)).unlink()
    describe(case, managed.table)
    _refuse(case, _invalid("SNAP-001"), managed.answer(), "Nobody has the commit of version 2")


@CATALOG.case("latest-missing", "CAT-008 CAT-013")
def _latest_missing(case: CaseWriter) -> None:
    """A latest version that nobody has the commit of is refused."""
    managed = _Managed(case, 3)
    describe(case, managed.table)
    title = "Version 3 is ratified, and neither kept nor published"
    _refuse(case, _invalid("CAT-008"), managed.answer(3), title)


@CATALOG.case("staged-file-missing", "CAT-008 CAT-013")
def _staged_missing(case: CaseWriter) -> None:
    """A ratified commit whose staged file is gone is refused."""
    managed = _Managed(case, 3)
    managed.keep_staged(2)
    (case.delta / LOG_DIRECTORY / _STAGED / managed.kept[2]["staged"]).unlink()
    describe(case, managed.table)
    _refuse(case, _invalid("CAT-008"), managed.answer(), "The commit of version 2 is gone")


@CATALOG.case("crossed-staged", "CAT-007 DVDESC-020 TXN-005 REC-014")
def _state_staged(case: CaseWriter) -> None:
    """Vectors, transactions and domains of staged and inline commits count."""
    managed = _Managed(case, 1, writers=["domainMetadata"])
    table = managed.table
    table.protocol = feature_protocol(
        ["catalogManaged", "deletionVectors"], ["inCommitTimestamp", "domainMetadata"]
    )
    table.properties |= WITH_VECTORS
    files = [table.file([{"c": n + m, "name": "of a file"} for n in range(3)]) for m in (0, 50)]
    former = txn("app", 9), domain("mine", "before")
    managed.commit(table.protocol_action(), table.metadata(), *map(add, files), *former)
    marked = [with_vector(file, inline(table, [2])) for file in files]
    later = managed.commit(*marked[0], txn("app", 3), domain("mine", "between"))
    last = managed.commit(*marked[1], txn("app", 2), domain("mine", "now"))
    managed.keep_staged(later)
    managed.keep_inline(last)
    describe(case, table)
    ratified = managed.answer()
    case.read(
        "vectors",
        _PLAIN,
        table.rows(),
        title="Rows that a ratified commit deletes are gone",
        requirement="DVDESC-020",
        ratified=ratified,
    )
    title = "Rows that a ratified commit deletes do not count"
    case.judged["extremes"] = "DVDESC-020"
    aggregated(case, table, "extremes", ["c"], title, ratified=ratified)
    files_spec(case, table, requirement="REC-018", ratified=ratified)
    of: Mapping[str, tuple[dict[str, Any], dict[str, Any], str]] = {
        "txn": ({"appId": "app"}, {"txnVersion": 2}, "TXN-005"),
        "domain_metadata": ({"domain": "mine"}, {"configuration": "now"}, "REC-014"),
    }
    for kind, (asked, known, judged) in of.items():
        case.spec(
            kind,
            kind.partition("_")[0],
            title="What a ratified commit says is the newest",
            parameters=asked,
            expected=known,
            requirement=judged,
            ratified=ratified,
        )
    earlier: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "txn": ({"appId": "app"}, {"txnVersion": 3}),
        "domain_metadata": ({"domain": "mine"}, {"configuration": "between"}),
    }
    for kind, (asked, known) in earlier.items():
        case.spec(
            kind,
            f"{kind.partition('_')[0]}-v{later}",
            title="Ratified commits are those of an earlier version as well",
            parameters=asked,
            expected=known,
            version=later,
            requirement="CAT-007",
            ratified=ratified,
        )
