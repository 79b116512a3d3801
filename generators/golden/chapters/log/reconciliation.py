"""Cases of action reconciliation: which action wins, and commits that contradict themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import describe, earlier_spec, publish, publish_cut
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import (
    EPOCH,
    DataFile,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    remove,
    txn,
    writer_protocol,
)
from generators.materialise.log.files import json_text
from generators.oracle.delta_schema import field, struct

RECONCILIATION = Chapter("action-reconciliation")
TRANSACTIONS = Chapter("transaction-identifiers")
DOMAINS = Chapter("domain-metadata")


@RECONCILIATION.case("newest-wins", "REC-006 REC-007 REC-008 REC-018 REC-020 REC-001")
def _newest(case: CaseWriter) -> None:
    """Of add and remove of one file the newest counts."""
    table = GoldenTable.created(case, PAIR)
    a, b = (table.file([{"id": n, "name": "x"}]) for n in (1, 2))
    table.commit(add(a), add(b))
    table.commit(remove(a))
    table.commit(add(a), remove(b))
    table.commit(remove(a))
    table.commit(add(a))
    publish(case, table)


@RECONCILIATION.case("newest-wins-checkpoint", "REC-018 CKPT-005 CKPT-007")
def _newest_checkpoint(case: CaseWriter) -> None:
    """The newest action counts across a checkpoint."""
    table = GoldenTable.of(case, PAIR)
    a, b, c = (table.file([{"id": n, "name": "x"}]) for n in (1, 2, 3))
    table.create(add(a), add(b), add(c))
    table.commit(remove(a))
    table.checkpoint(version=1, hint=False)
    table.commit(remove(b), add(a))
    publish(case, table, log_info={"lastCheckpointVersion": 1})


@RECONCILIATION.case("metadata-replaced-whole", "REC-003 REC-013 META-002")
def _metadata(case: CaseWriter) -> None:
    """A later metaData replaces the earlier entirely."""
    commented = struct(field("id", "long"), field("name", "string", metadata={"comment": "first"}))
    table = GoldenTable.created(
        case,
        commented,
        [{"id": 1, "name": "a"}],
        properties={"old": "1", "kept": "2"},
        name="first",
    )
    table.properties, table.schema = {"kept": "3"}, PAIR
    table.name = None
    replaced = table.metadata(description="said of the second")
    replaced["metaData"].pop("createdTime")
    table.commit(replaced, operation="SET TBLPROPERTIES")
    table.schema = table.schema.with_fields(field("extra", "double"))
    table.properties = {}
    table.commit(table.metadata(), add(table.file([{"id": 2, "name": "b", "extra": 0.5}])))
    case.judged = dict.fromkeys(("snapshot-latest", "snapshot-v1", "snapshot-v2"), "META-002")
    publish(case, table)


@RECONCILIATION.case("metadata-created-earlier", "REC-013")
def _created_earlier(case: CaseWriter) -> None:
    """The newest metaData wins, whatever time of creation it has."""
    table = GoldenTable.created(case, PAIR, [{"id": 1, "name": "a"}], properties={"round": "1"})
    table.schema = table.schema.with_fields(field("extra", "double"))
    table.properties = {"round": "2"}
    later = table.file([{"id": 2, "name": "b", "extra": 0.5}])
    table.commit(table.metadata(createdTime=EPOCH - 1), add(later))
    publish(case, table)


@RECONCILIATION.case("protocol-newest-wins", "REC-002 REC-012")
def _protocol(case: CaseWriter) -> None:
    """The newest protocol is in force."""
    table = GoldenTable.created(
        case,
        PAIR,
        [{"id": 1, "name": "a"}],
        protocol={"minReaderVersion": 1, "minWriterVersion": 1},
    )
    for writer in (2, 4):
        table.protocol = {"minReaderVersion": 1, "minWriterVersion": writer}
        table.commit(table.protocol_action(), operation="UPGRADE PROTOCOL")
    table.append([{"id": 2, "name": "b"}])
    publish(case, table)


@RECONCILIATION.case("protocol-lists-less", "REC-002 REC-012")
def _protocol_lists_less(case: CaseWriter) -> None:
    """The lists of the newest protocol stand alone, without those before."""

    def protocol(*features: str) -> dict[str, Any]:
        lists = {"readerFeatures": [*features], "writerFeatures": ["appendOnly", *features]}
        return {"minReaderVersion": 3, "minWriterVersion": 7, **lists}

    table = GoldenTable.created(
        case, PAIR, [{"id": 1, "name": "a"}], protocol=protocol("deletionVectors", "timestampNtz")
    )
    table.protocol = protocol("timestampNtz")
    table.commit(table.protocol_action(), operation="DROP FEATURE")
    table.append([{"id": 2, "name": "b"}])
    case.judged["snapshot-latest"] = "REC-002"
    publish(case, table)


@RECONCILIATION.case("tombstones-invisible", "REC-011 SNAP-004")
def _tombstones(case: CaseWriter) -> None:
    """Tombstones never show in a read."""
    table = GoldenTable.of(case, PAIR)
    files = [table.file([{"id": n, "name": "x"}]) for n in range(4)]
    table.create(*(add(file) for file in files))
    table.commit(*(remove(file) for file in files), operation="DELETE")
    table.checkpoint(version=1, hint=False)
    table.append([{"id": 9, "name": "new"}])
    publish(case, table, log_info={"lastCheckpointVersion": 1})


@RECONCILIATION.case("removed-later", "REC-006 REC-008 REC-018")
def _removed_later(case: CaseWriter) -> None:
    """Files of one commit are removed by several, some commits later."""
    table = GoldenTable.of(case, PAIR)
    files = [table.file([{"id": n, "name": "x"}]) for n in range(4)]
    table.create(*(add(file) for file in files))
    for number in range(4, 9):
        table.append([{"id": number, "name": "y"}])
    for file in files[:3]:
        table.commit(remove(file), operation="DELETE")
    publish(case, table, versions=[6, 7])


_MANY = 72
"""More actions than a reader may want to take one by one."""


def _uneven(number: int, file: DataFile) -> dict[str, Any]:
    """Return an add action whose fields differ from those of the next one."""
    changes: dict[str, Any] = {}
    if number % 8 == 3:
        changes["tags"] = {"k": f"é{number}", "none": None} if number % 16 == 3 else {}
    if number % 9 == 4:
        changes["stats"] = ... if number % 2 else None
    return add(file, **changes)


@RECONCILIATION.case("many-in-one-commit", "REC-006 REC-018 REC-008")
def _many(case: CaseWriter) -> None:
    """Commits with many uneven file actions are read as those with few."""
    table = GoldenTable.of(case, PAIR, partition_columns=("name",))
    names = ("a", None, "b c", "é")
    files = [
        table.file([{"id": number}], partition={"name": names[number % 4]})
        for number in range(_MANY)
    ]
    table.create(*(_uneven(number, file) for number, file in enumerate(files)))
    gone, new = files[: _MANY - 4], [table.file([{"id": 100}], partition={"name": "a"})]
    back = files[5]
    table.commit(
        *(remove(file) for file in gone[:30]),
        txn("app", 7),
        add(new[0]),
        *(remove(file) for file in gone[30:]),
        operation="DELETE",
    )
    table.commit(add(back))
    publish(case, table)


@RECONCILIATION.case("long-lines-in-turns", "REC-006 REC-018 REC-008", since="2025")
def _in_turns(case: CaseWriter) -> None:
    """Long lines of adds and removes that take turns are read as others."""
    table = GoldenTable.of(case, PAIR, protocol=feature_protocol([], ["domainMetadata"]))
    files = [table.file([{"id": number, "name": "x"}]) for number in range(16)]
    old, new = files[:8], files[8:]
    table.create(*(add(file) for file in old))
    tags = {"note": "é" * 1500}
    turns = [
        action
        for number, (gone, file) in enumerate(zip(old, new, strict=True))
        for action in (remove(gone, tags=tags), txn(f"app {number}", number), add(file, tags=tags))
    ]
    table.commit(*turns[3:], operation="MERGE")
    table.commit(*turns[:3], domain("of a user", "z" * 20_000), operation="MERGE")
    publish(case, table)


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """A commit that says one thing twice.

    The clauses bind the writer of the commit. No clause says what a reader does with it, so
    refusing is as good as any reading that takes one of the two words.

    Attributes:
        title: what is wrong.
        requirement: the clause that forbids it.
        actions: the actions of the bad commit, given the table and its only file.
        readings: name of a reading to the ids of its rows.
    """

    title: str
    requirement: str
    actions: Callable[[GoldenTable, DataFile], Sequence[Mapping[str, Any]]]
    readings: Mapping[str, Sequence[int]]


def _twice(action: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [action, action]


def _both(file: DataFile) -> list[Mapping[str, Any]]:
    return [add(file), remove(file)]


_CONTRADICTIONS = {
    "two-metadata": _Contradiction(
        "A commit with two metaData actions is refused or read by one",
        "WLOG-002",
        lambda table, _: [
            table.metadata(),
            table.metadata(configuration={"delta.appendOnly": "true"}),
        ],
        {"one": [1]},
    ),
    "two-protocols": _Contradiction(
        "A commit with two protocol actions is refused or read by one",
        "WLOG-003",
        lambda table, _: [
            table.protocol_action(),
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}},
        ],
        {"one": [1]},
    ),
    "two-txns": _Contradiction(
        "Two txn actions of one application are refused or read by one",
        "WLOG-004",
        lambda _, file: [txn("app", 1), txn("app", 2), add(file)],
        {"one": [1]},
    ),
    "same-add-twice": _Contradiction(
        "A commit that adds one file twice is refused or adds it once",
        "FA-011",
        lambda table, _: _twice(add(table.file([{"id": 5, "name": "x"}]))),
        {"once": [1, 5]},
    ),
    "same-remove-twice": _Contradiction(
        "A commit that removes one file twice is refused or removes it",
        "FA-011",
        lambda _, file: _twice(remove(file)),
        {"removed": []},
    ),
    "add-and-remove": _Contradiction(
        "Add and remove of one file in a commit are refused or one wins",
        "WLOG-001",
        lambda table, _: _both(table.file([{"id": 5, "name": "x"}])),
        {"live": [1, 5], "gone": [1]},
    ),
}


def _contradiction(case: CaseWriter, wrong: _Contradiction) -> None:
    table = GoldenTable.of(case, PAIR)
    file = table.create_with([{"id": 1, "name": "x"}])
    describe(case, table)
    # As text, so that the ledger does not try to make sense of it.
    table.commit(*(json_text(action) for action in wrong.actions(table, file)))
    refusal = Refusal("invalid_table", "read", wrong.requirement, code="DELTA_DUPLICATE_ACTIONS")
    readings = [
        Accepted(name, "the clause binds writers only", rows=[{"id": n, "name": "x"} for n in ids])
        for name, ids in wrong.readings.items()
    ]
    refused = Accepted("refused", "a commit that breaks the clause is invalid", refusal=refusal)
    case.contest_read(wrong.title, PAIR, refused, *readings)
    earlier_spec(case, table, 0)


for _name, _wrong in _CONTRADICTIONS.items():
    RECONCILIATION.define(
        _name, _wrong.title, [_wrong.requirement], partial(_contradiction, wrong=_wrong)
    )


@RECONCILIATION.case("checkpoint-actions-in-commit", "REC-019 SCA-001 CKM-001", since="2025")
def _checkpoint_actions(case: CaseWriter) -> None:
    """Checkpoint actions in a commit take no part in replay."""
    table = GoldenTable.created(case, PAIR, [{"id": 1, "name": "x"}])
    table.commit(
        {"checkpointMetadata": {"version": 7}},
        {"sidecar": {"path": "nowhere.parquet", "sizeInBytes": 1, "modificationTime": 1}},
        add(table.file([{"id": 2, "name": "y"}])),
    )
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "REC-019")
    case.contest_read(
        "The actions are passed over or refused",
        PAIR,
        Accepted("ignored", "they take no part in replay", rows=table.rows()),
        Accepted("refused", "they do not occur in commits", refusal=refusal),
    )
    earlier_spec(case, table, 0)


def txn_spec(  # noqa: PLR0913  one argument per field of the format
    case: CaseWriter,
    app: str,
    expected: int | None,
    version: int | None = None,
    *,
    slug: str | None = None,
    title: str | None = None,
) -> None:
    """Write the version that an application is at, in the newest table version for ``None``."""
    found = "at no version" if expected is None else "at the version of its newest txn"
    case.spec(
        "txn",
        f"txn-{slug or app}" + ("" if version is None else f"-v{version}"),
        title=title or f"Application {app} is {found}",
        expected={"txnVersion": expected},
        parameters={"appId": app},
        version=version,
    )


@TRANSACTIONS.case("latest-per-application", "TXN-001 TXN-002 REC-004")
def _txn_latest(case: CaseWriter) -> None:
    """Each application has its own latest version."""
    table = GoldenTable.of(case, PAIR)
    table.create(txn("a", 1), txn("b", 10))
    table.commit(
        txn("a", 2, lastUpdated=1_700_000_000_000), add(table.file([{"id": 1, "name": "x"}]))
    )
    table.commit(txn("b", 2**40))
    publish(case, table)
    for app, expected in (("a", 2), ("b", 2**40), ("c", None)):
        txn_spec(case, app, expected, None)
    txn_spec(case, "a", 1, 0)
    txn_spec(case, "b", 10, 1)


@TRANSACTIONS.case("newest-entry-wins", "TXN-005 REC-004")
def _txn_lower(case: CaseWriter) -> None:
    """The newest entry wins even when it is lower."""
    table = GoldenTable.of(case, PAIR)
    table.create(txn("app", 7), txn("sunk", 1), txn("least", 0))
    table.commit(txn("app", 3), txn("sunk", -1), txn("least", -(2**63)))
    publish(case, table)
    for app, before, after in (("app", 7, 3), ("sunk", 1, -1), ("least", 0, -(2**63))):
        txn_spec(case, app, after, None)
        txn_spec(case, app, before, 0)


@TRANSACTIONS.case("newest-entry-wins-earlier", "TXN-005 REC-004")
def _txn_earlier(case: CaseWriter) -> None:
    """In earlier versions, too, the newest entry wins when it is lower."""
    table = GoldenTable.of(case, PAIR)
    table.create(txn("app", 7))
    for number in (3, 5, 9):
        table.commit(txn("app", number))
    publish(case, table)
    for version, number in enumerate((7, 3, 5)):
        txn_spec(case, "app", number, version)
    txn_spec(case, "app", 9, None)


@TRANSACTIONS.case("names-alike", "TXN-005 REC-004")
def _txn_alike(case: CaseWriter) -> None:
    """Applications whose ids differ by a letter are different ones."""
    table = GoldenTable.of(case, PAIR)
    longer = {"dash": "app-1", "colon": "app:1", "dot": "app.1", "slash": "app/1", "prefix": "ap"}
    numbered = {slug: (app, 10 + n) for n, (slug, app) in enumerate(longer.items())}
    table.create(txn("app", 7), txn("App", 1), txn("app ", 2))
    table.commit(*(txn(*each) for each in numbered.values()))
    table.commit(txn("App", 9), txn("app", 3))
    case.judged = {f"txn-{slug}": "REC-004" for slug in ("blank", *numbered)}
    publish(case, table)
    own = {"lower": ("app", 3), "upper": ("App", 9), "blank": ("app ", 2), **numbered}
    for slug, (app, expected) in own.items():
        txn_spec(
            case,
            app,
            expected,
            slug=slug,
            title=f"Application {app!r} is at the version of its own txn",
        )
    case.judged["txn-absent"] = "REC-004"
    txn_spec(case, "APP", None, slug="absent", title="A third application is at no version")


@TRANSACTIONS.case("kept-in-checkpoint", "TXN-005 CKC-006 CKPT-005")
def _txn_checkpoint(case: CaseWriter) -> None:
    """A checkpoint carries the transactions."""
    table = GoldenTable.of(case, PAIR)
    table.create(txn("early", 1), txn("both", 9))
    table.commit(txn("both", 4))
    table.checkpoint(version=1, hint=False)
    table.commit(txn("late", 5))
    publish_cut(case, table, 1)
    for app, expected in (("early", 1), ("both", 4), ("late", 5)):
        txn_spec(case, app, expected, None)


_DOMAIN_WRITER = writer_protocol(["domainMetadata"])


def domain_spec(
    case: CaseWriter,
    name: str,
    expected: str | None,
    version: int | None = None,
    *,
    title: str | None = None,
) -> None:
    """Write the configuration of a domain, in the newest table version for ``None``."""
    slug = "domain-" + name.replace(".", "-").lower() + ("" if version is None else f"-v{version}")
    found = "is not set" if expected is None else "has the configuration last set"
    case.spec(
        "domain_metadata",
        slug,
        title=title or f"Domain {name} {found}",
        expected={"configuration": expected},
        parameters={"domain": name},
        version=version,
    )


def system_domain_spec(case: CaseWriter, name: str, expected: str, slug: str, title: str) -> None:
    """Ask for a domain of the system: a snapshot has it, and an engine may keep it from users."""
    refusal = Refusal("unsupported", "load", "DOM-013")
    accepted = [
        Accepted("given", "a snapshot has all domains", expected={"configuration": expected}),
        Accepted("hidden", "system domains are not for users", expected={"configuration": None}),
        Accepted("refused", "as before, and said so", refusal=refusal),
    ]
    case.contest(
        "domain_metadata",
        slug,
        accepted,
        title=title,
        parameters={"domain": name},
        requirements=["DOM-013"],
    )


@DOMAINS.case(
    "set-replace-remove",
    "REC-005 REC-014 REC-015 REC-016 REC-017 DOM-001 DOM-002 DOM-003 DOM-012",
    since="2025",
)
def _domains(case: CaseWriter) -> None:
    """A domain has its newest configuration or none."""
    table = GoldenTable.of(case, PAIR, protocol=_DOMAIN_WRITER)
    table.create(domain("app.one", '{"k":1}'), domain("app.two", "plain text"))
    table.commit(domain("app.one", '{"k":2}'))
    table.commit(domain("app.two", "plain text", removed=True))
    table.commit(domain("app.two", ""), add(table.file([{"id": 1, "name": "a"}])))
    publish(case, table)
    case.judged = {
        "domain-app-one": "REC-014",
        "domain-app-two": "REC-017",
        "domain-app-two-v2": "REC-016",
    }
    domain_spec(case, "app.one", '{"k":2}')
    domain_spec(case, "app.one", '{"k":1}', 0)
    domain_spec(case, "app.two", "")
    domain_spec(case, "app.two", None, 2)
    domain_spec(case, "never.set", None)


@DOMAINS.case("unknown-domains-ignored", "PROTO-010 DOM-010 DOM-011 DOM-012 DOM-013", since="2025")
def _unknown_domains(case: CaseWriter) -> None:
    """Domains that a reader does not know change no read."""
    table = GoldenTable.of(case, PAIR, protocol=_DOMAIN_WRITER)
    table.create(domain("delta.somethingNew", '{"rows":"none"}'), domain("vendor.x", "[1,2"))
    table.append([{"id": 1, "name": "a"}])
    publish(case, table)
    case.judged = {"domain-vendor-x": "DOM-013"}
    domain_spec(case, "vendor.x", "[1,2")
    system_domain_spec(
        case,
        "delta.somethingNew",
        '{"rows":"none"}',
        "domain-delta-somethingnew",
        "An unknown domain of the system is given, or kept from users",
    )


@DOMAINS.case("unknown-domains-removed", "PROTO-010 DOM-010", since="2025")
def _unknown_removed(case: CaseWriter) -> None:
    """Domains that a reader does not know, and that are gone, change no read."""
    table = GoldenTable.of(case, PAIR, protocol=_DOMAIN_WRITER)
    table.create(domain("delta.somethingNew", "{}"), domain("vendor.x", "1"))
    table.commit(domain("vendor.x", "1", removed=True), domain("vendor.never", "", removed=True))
    table.commit(
        domain("delta.somethingNew", "{}", removed=True), add(table.file([{"id": 1, "name": "a"}]))
    )
    publish(case, table)


@DOMAINS.case("unknown-fields", "PROTO-009", since="2025")
def _unknown_domain_fields(case: CaseWriter) -> None:
    """Unknown fields of a domain are ignored."""
    table = GoldenTable.of(case, PAIR, protocol=_DOMAIN_WRITER)
    set_, gone = domain("app.one", "1"), domain("app.two", "2", removed=True)
    for action in (set_, gone):
        action["domainMetadata"] |= {"futureField": {"a": [1, None]}, "zzz": 1}
    table.create(domain("app.two", "2"), set_)
    table.commit(gone, add(table.file([{"id": 1, "name": "a"}])))
    case.judged = dict.fromkeys(("domain-app-one", "domain-app-two"), "PROTO-009")
    publish(case, table)
    domain_spec(case, "app.one", "1")
    domain_spec(case, "app.two", None)


@DOMAINS.case("kept-in-checkpoint", "DOM-014 CKC-007 CKC-008", since="2025")
def _domain_checkpoint(case: CaseWriter) -> None:
    """A checkpoint carries live domains only."""
    table = GoldenTable.of(case, PAIR, protocol=_DOMAIN_WRITER)
    table.create(domain("kept", "1"), domain("gone", "2"), domain("later", "3"))
    table.commit(domain("gone", "2", removed=True))
    table.checkpoint(version=1, hint=False)
    table.commit(domain("later", "3", removed=True))
    publish_cut(case, table, 1)
    domain_spec(case, "kept", "1")
    domain_spec(case, "gone", None)
    domain_spec(case, "later", None)
    domain_spec(case, "later", "3", 1)
