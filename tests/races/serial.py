"""Run a race, and look for the serial order of its commits that explains every version."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from pathlib import Path

from racer import PROPERTIES, SCHEMA, Note, race

from conformance.audit import audit
from conformance.judging.compare import compare_rows
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import predicate_of
from generators.oracle.model import Oracle
from reference_impl import Table, read_table

MODEL = struct(field("id", "long"), field("part", "string"), field("n", "integer"))


def run(location: str, folder: Path, *, processes: int, commits: int, seed: int = 1) -> list[Note]:
    """Let processes race on a new table; gives what all of them noted."""
    Table(location).create(
        SCHEMA, partition_columns=["part"], properties=PROPERTIES, features=["domainMetadata"]
    )
    context = multiprocessing.get_context("spawn")
    notes = [folder / f"{number}.jsonl" for number in range(1, processes + 1)]
    racers = [
        context.Process(target=race, args=(location, number, seed, commits, str(path)))
        for number, path in enumerate(notes, 1)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [racer.exitcode for racer in racers] == [0] * processes
    return [json.loads(line) for path in notes for line in path.read_text().splitlines()]


def judge(location: str, notes: list[Note]) -> Counter[str]:
    """Explain every version by the commits in their order; gives how often what happened.

    Raises:
        AssertionError: a version is missing, or made twice, or has other rows, transactions or
            domains than the model; or the audit finds a fault.
    """
    table = Table(location)
    committed = {note["version"]: note for note in notes if note["version"] is not None}
    made = sorted(note["version"] for note in notes if note["version"] is not None)
    assert made == list(range(1, table.latest_version() + 1)), "a version is nobody's, or of two"
    for note in committed.values():
        assert note.get("answer", note["version"]) == note["version"], f"{note} was not its answer"
    oracle = Oracle(MODEL, ["part"])
    oracle.properties |= PROPERTIES
    oracle.commit()
    for version in made:
        _apply(oracle, committed[version])
        oracle.commit()
    idle = [note for note in notes if note["version"] is None and "conflict" not in note]
    for version in range(len(oracle.versions)):
        _compare(location, oracle, version)
        for note in idle:
            if note["answer"] == version and note["kind"] in ("delete", "update"):
                rows = oracle.rows(version)
                assert not any(map(predicate_of(note["where"]), rows)), (
                    f"{note} had work at {version}"
                )
    assert [f for f in audit(location) if f.severity == "error"] == []
    return Counter(
        note["conflict"]
        if "conflict" in note
        else f"{note['kind']}, {'idle' if note['version'] is None else 'committed'}"
        for note in notes
    )


def _compare(location: str, oracle: Oracle, version: int) -> None:
    wanted = oracle.versions[version]
    rows = arrow_table(MODEL, [row.values for row in wanted.rows])
    difference = compare_rows(rows, read_table(location, version=version))
    assert difference is None, f"version {version}: {difference}"
    snapshot = Table(location).snapshot(version)
    txns = {name: txn.version for name, txn in snapshot.txns.items()}
    domains = {
        name: domain.configuration
        for name, domain in snapshot.domain_metadata.items()
        if not name.startswith("delta.")
    }
    assert txns == dict(wanted.transactions)
    assert domains == dict(wanted.domains)
    assert snapshot.metadata.configuration.get("last") == wanted.properties.get("last")


def _apply(oracle: Oracle, note: Note) -> None:
    kind = note["kind"]
    if kind in ("delete", "overwrite"):
        oracle.delete(oracle.matching(predicate_of(note["where"])))
    if kind in ("append", "overwrite"):
        oracle.insert(note["rows"])
    if kind == "update":
        for identity in oracle.matching(predicate_of(note["where"])):
            oracle.update(identity, {"n": note["value"]})
    if kind == "merge":
        _merge(oracle, note["rows"])
    if kind == "txn":
        oracle.transactions[f"app-{note['number'] % 2}"] = note["value"]
    if kind == "domain":
        oracle.domains[f"domain-{note['number'] % 2}"] = str(note["value"])
    if kind == "properties":
        oracle.properties["last"] = str(note["value"])
    if kind == "restore":
        _restore(oracle, note["restored"])


def _merge(oracle: Oracle, rows: list[Note]) -> None:
    held = {each.values["id"]: each.identity for each in oracle.pending}
    for row in rows:
        if row["id"] in held:
            oracle.update(held[row["id"]], row)
        else:
            oracle.insert([row])


def _restore(oracle: Oracle, version: int) -> None:
    """Take rows and properties back; transactions and domains stay as they are."""
    earlier = oracle.versions[version]
    oracle.delete([each.identity for each in oracle.pending])
    oracle.insert(each.values for each in earlier.rows)
    oracle.properties = dict(earlier.properties)
