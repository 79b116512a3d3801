"""Every writer that is wrong on purpose is killed, by the requirement that it breaks.

A mutant is the reference writer with one piece replaced while it writes. It is killed by a
golden recipe, or by a drill, where a recipe cannot say what it takes: the judge fails it, and a
finding, the recipe or the drill names the requirement. The writer without a fault passes them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest
from drills import DRILLS, complaints
from wrong_writers import MUTANTS, WrongWriter, writing_wrong

from conformance.cases import Case, Spec
from conformance.corpus import Corpus, load_corpus
from conformance.judge import Judge
from conformance.outcomes import Outcome
from conformance.tables import TableStore

KILLED_BY = {
    "assigns-no-row-ids": "row-tracking/write-changes/write",
    "bounds-no-numbers": "per-file-statistics/write-odd-numbers/write",
    "breaks-code-points": "per-file-statistics/write-long-strings/write",
    "changes-rows-as-a-move": "add-file-and-remove-file/write-append-partitions/write",
    "checkpoints-half-the-files": "checkpoints/write-checkpoint/write",
    "checkpoints-no-domains": "checkpoints of everything",
    "checkpoints-no-tombstones": "checkpoint-schema/write-parsed-statistics/write",
    "checkpoints-no-txns": "checkpoints of everything",
    "cleans-what-is-needed": "log cleaned",
    "clusters-without-statistics": "clustering by more",
    "compacts-without-tombstones": "log compacted",
    "counts-not-what-clusters": "clustering",
    "counts-too-few-rows": "data-files/write-append-types/write",
    "cuts-instants-to-seconds": "data-files/write-append-types/write",
    "declares-wide-bounds-tight": "vectors twice",
    "does-not-escape-paths": "add-file-and-remove-file/write-append-partitions/write",
    "does-not-raise-max-id": "mapped columns",
    "does-not-raise-row-mark": "row-tracking/write-changes/write",
    "drops-microseconds-of-partitions": "partition values",
    "fills-nulls-with-zero": "schema-serialization-format/write-null-refused/write",
    "follows-the-clock-back": "time under a clock that goes back",
    "forgets-earlier-vectors": "deletion-vectors/write-changes/write",
    "forgets-identity-mark": "identity",
    "forgets-txn": "transaction-identifiers/write-progress/write",
    "gives-a-dropped-name-again": "a name given again",
    "gives-row-ids-again": "row-tracking/write-changes/write",
    "gives-rows-new-ids": "row ids that stay",
    "ignores-append-only": "append-only-tables/write-delete/write",
    "ignores-conflicts": "delete after delete",
    "ignores-conflicts-of-domains": "domain after domain",
    "ignores-constraints": "check-constraints/write-broken-overwrite/write",
    "ignores-defaults": "defaults",
    "ignores-generated-columns": "generated-columns/write-other-value/write",
    "ignores-invariants": "column-invariants/write-false/write",
    "leaves-change-files-out": "feed of an update",
    "leaves-commit-info-out": "in-commit-timestamps/write-changes/write",
    "leaves-domains-out-of-checksums": "row ids",
    "leaves-partitions-out-of-files": "iceberg",
    "leaves-removes-out": "add-file-and-remove-file/write-delete-all/write",
    "leaves-row-counts-out": "deletion-vectors/write-changes/write",
    "lists-no-reader-features": "append beside append",
    "lists-no-timestamps-without-zone": "without zone",
    "loses-features-when-it-upgrades": "upgrade",
    "loses-the-bound-of-strings": "per-file-statistics/write-long-strings/write",
    "maps-old-files-by-new-names": "mapped later",
    "marks-no-second-kind": "checkpoints of the second kind",
    "miscounts-vectors": "deletion-vectors/write-changes/write",
    "mixes-iceberg-and-vectors": "iceberg with vectors",
    "moves-rows-as-a-change": "feed of a compaction",
    "names-no-row-columns": "row ids of nothing yet",
    "narrows-types": "narrowing",
    "opens-system-domains": "domains of the system",
    "overwrites-commits": "append beside append",
    "partitions-by-logical-names": "column-mapping/write-changes-by-id/write",
    "puts-commit-info-last": "in-commit-timestamps/write-changes/write",
    "records-no-preimages": "feed of an update",
    "records-no-widening": "widening",
    "restores-rows-alone": "properties restored",
    "restores-without-vectors": "vectors restored",
    "resurrects-when-it-moves": "vectors optimized away",
    "steps-the-wrong-way": "identity",
    "stores-logical-names": "column-mapping/write-changes-by-id/write",
    "stores-no-field-ids": "column-mapping/write-changes-by-id/write",
    "takes-identity-values": "identity",
    "takes-null-for-true": "check-constraints/write-null/write",
    "tells-not-since-when": "time from now on",
    "tracks-without-backfill": "row ids for files of before",
    "trusts-rows-with-a-new-constraint": "constraint on rows that are there",
    "vacuums-vectors": "vectors vacuumed",
    "vacuums-what-is-retained": "retained",
    "vacuums-what-it-does-not-know": "vacuum of what is unknown",
    "widens-where-it-is-off": "widening that is not on",
    "wraps-identity-around": "identity at its end",
    "writes-manifests-with-vectors": "vectors under a manifest",
    "writes-what-it-does-not-know": "table-features/write-unknown-feature/write",
    "writes-wrong-checksums": "delta-log-entries/write-past-ten/write",
    "writes-wrong-crc": "vectors twice",
}
"""Each mutant, and the recipe or drill that kills it."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: no test here pulls the plug."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture
def store() -> Iterator[TableStore]:
    store = TableStore()
    yield store
    store.close()


@cache
def corpus() -> Corpus:
    return load_corpus(validate=False)


def recipe(name: str) -> tuple[Case, Spec]:
    (found,) = [
        (case, spec)
        for case in corpus().cases
        if name.startswith(case.id)
        for spec in case.specs
        if spec.id == name
    ]
    return found


def broken(name: str, mutant: str, root: Path, store: TableStore) -> set[str]:
    """Give the requirements that a writer breaks in a recipe or drill; ``mutant`` may be none."""
    fault = MUTANTS.get(mutant)
    if name in DRILLS:
        return {*complaints(DRILLS[name], root / "table", lambda: writing_wrong(fault))}
    case, spec = recipe(name)
    writer = WrongWriter(fault)
    verdict = Judge(writer, writer.describe().claims, store).judge_once(case, spec)
    if verdict.outcome is not Outcome.FAIL:
        assert verdict.outcome is Outcome.PASS
        return set()
    # The audit may find more than one thing, and tells each by its requirement first.
    found = {detail.partition(" ")[0] for detail in verdict.details}
    return {verdict.requirement or "", *found, *spec.requirements}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_suite_kills_the_writer(
    mutant: str,
    tmp_path: Path,
    store: TableStore,
    record_property: Callable[[str, object], None],
) -> None:
    requirement, killer = MUTANTS[mutant].requirement, KILLED_BY[mutant]
    assert requirement in broken(killer, mutant, tmp_path, store)
    record_property("killed", f"{mutant:42} {requirement:10} {killer}")


@pytest.mark.parametrize("name", sorted({*KILLED_BY.values()} - DRILLS.keys()))
def test_the_writer_without_a_fault_passes_the_recipe(
    name: str, tmp_path: Path, store: TableStore
) -> None:
    assert broken(name, "", tmp_path, store) == set()


@pytest.mark.parametrize("name", DRILLS)
def test_the_writer_without_a_fault_passes_the_drill(name: str, tmp_path: Path) -> None:
    assert [*complaints(DRILLS[name], tmp_path / "table", nullcontext)] == []


def test_every_mutant_has_its_killer() -> None:
    assert MUTANTS.keys() == KILLED_BY.keys()
