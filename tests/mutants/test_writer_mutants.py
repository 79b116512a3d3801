"""Every writer that is wrong on purpose is killed, by the requirement that it breaks.

A mutant is the reference writer with one piece replaced while it writes. It is killed by a
golden recipe, which any adapter replays, or by a drill where it takes two writers at once: the
judge fails it, and a finding, the recipe or the drill names the requirement. The writer without
a fault passes them all.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest
from drills import DRILLS, complaints
from shipped import shipped
from wrong_marks import MARKS
from wrong_rules import RULES
from wrong_writers import MUTANTS as WRITERS
from wrong_writers import WrongWriter, writing_wrong

from conformance.base.outcomes import Outcome
from conformance.golden.cases import Case, Spec
from conformance.golden.corpus import Corpus
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore

MUTANTS = {**WRITERS, **RULES, **MARKS}

KILLED_BY = {
    "adds-names-that-are-taken": "schema-serialization-format/write-add-taken-name/write",
    "appends-past-the-catalog": "catalog-managed-tables/write-append/write",
    "assigns-no-row-ids": "row-tracking/write-changes/write",
    "bounds-no-numbers": "per-file-statistics/write-odd-numbers/write",
    "breaks-code-points": "per-file-statistics/write-long-strings/write",
    "changes-columns-and-loses-properties": "column-mapping/write-columns-kept/write",
    "changes-rows-as-a-move": "add-file-and-remove-file/write-append-partitions/write",
    "checkpoints-half-the-files": "checkpoints/write-checkpoint/write",
    "checkpoints-no-domains": "domain-metadata/write-domains/write",
    "checkpoints-no-feature-lists": "checkpoints/write-everything/write",
    "checkpoints-no-tombstones": "checkpoints/write-checkpoint/write",
    "checkpoints-no-txns": "transaction-identifiers/write-progress/write",
    "cleans-past-the-catalog": "catalog-managed-tables/write-cleanup/write",
    "cleans-what-is-needed": "metadata-cleanup/write-cleanup/write",
    "clusters-what-others-did": "clustered-table/write-cluster-run/write",
    "clusters-without-statistics": "clustered-table/write-cluster-later/write",
    "compacts-without-domains": "log-compaction-files/write-compaction-removes/write",
    "compacts-without-metadata": "log-compaction-files/write-compaction-of-everything/write",
    "compacts-without-progress": "log-compaction-files/write-compaction-of-everything/write",
    "compacts-without-tombstones": "log-compaction-files/write-compaction-removes/write",
    "counts-not-what-clusters": "clustered-table/write-append/write",
    "counts-too-few-rows": "data-files/write-append-types/write",
    "cuts-decimals": "data-files/write-every-type/write",
    "cuts-instants-to-seconds": "data-files/write-append-types/write",
    "declares-wide-bounds-tight": "deletion-vectors/write-changes/write",
    "does-not-escape-paths": "add-file-and-remove-file/write-append-partitions/write",
    "does-not-raise-max-id": "column-mapping/write-columns/write",
    "does-not-raise-row-mark": "row-tracking/write-changes/write",
    "drops-checks-with-a-constraint-left": "table-features/write-drop-checkconstraints-held/write",
    "drops-features-by-name-alone": "table-features/write-drop-deletionvectors-live/write",
    "drops-microseconds-of-partitions": "partition-value-serialization/write-timestamp/write",
    "drops-row-tracking-without-ids": "table-features/write-drop-rowtracking-given/write",
    "feeds-what-files-tell": "delete whole files of a feed",
    "fills-nulls-with-zero": "schema-serialization-format/write-null-refused/write",
    "follows-the-clock-back": "in-commit-timestamps/write-behind/write",
    "forgets-domains-it-does-not-know": "domain-metadata/write-unknown-kept/write",
    "forgets-earlier-vectors": "deletion-vectors/write-changes/write",
    "forgets-identity-mark": "identity-columns/write-up/write",
    "forgets-txn": "transaction-identifiers/write-progress/write",
    "gives-a-dropped-name-again": "column-mapping/write-name-again/write",
    "gives-a-table-another-id": "schema-serialization-format/write-nullable/write",
    "gives-row-ids-again": "row-tracking/write-changes/write",
    "gives-up-at-once": "append beside append",
    "ignores-append-only": "append-only-tables/write-delete/write",
    "ignores-conflicts": "delete after delete",
    "ignores-conflicts-of-domains": "domain after domain",
    "ignores-conflicts-of-metadata": "append after metadata",
    "ignores-conflicts-of-protocols": "append after protocol",
    "ignores-constraints": "check-constraints/write-broken-overwrite/write",
    "ignores-defaults": "default-columns/write-default/write",
    "ignores-generated-columns": "generated-columns/write-other-value/write",
    "ignores-invariants": "column-invariants/write-false/write",
    "ignores-progress-of-others": "progress after progress",
    "ignores-rows-that-came": "delete after append",
    "ignores-the-retention": "add-file-and-remove-file/write-vacuum-long-retention/write",
    "keeps-row-ids-in-files-too-early": "row-tracking/write-disabled/write",
    "knows-no-identity-at-6": "version-requirements/write-identity-6/write",
    "leaves-change-files-out": "change-data-files/write-merge/write",
    "leaves-commit-info-out": "in-commit-timestamps/write-changes/write",
    "leaves-domains-out-of-checksums": "row-tracking/write-changes/write",
    "leaves-parsed-statistics-out": "checkpoint-schema/write-both-statistics/write",
    "leaves-partitions-out-of-files": "iceberg-compatibility-v1/write-changes/write",
    "leaves-removes-out": "add-file-and-remove-file/write-delete-all/write",
    "leaves-row-counts-out": "deletion-vectors/write-changes/write",
    "leaves-statistics-out": "checkpoint-schema/write-json-statistics/write",
    "leaves-the-steps-of-identity": "identity-columns/write-wide/write",
    "lists-no-reader-features": "table-features/write-created-for-readers/write",
    "lists-no-timestamps-without-zone": "timestamp-ntz/write-create-unlisted/write",
    "lists-no-variants": "variant-type/write-unasked/write",
    "loses-features-when-it-upgrades": "table-features/write-upgrade/write",
    "maps-old-files-by-new-names": "column-mapping/write-turn-on/write",
    "marks-no-second-kind": "checkpoints/write-v2-json/write",
    "miscounts-vectors": "deletion-vectors/write-changes/write",
    "mixes-iceberg-and-vectors": "iceberg-compatibility-v2/write-refused-vectors/write",
    "moves-rows-as-a-change": "change-data-files/write-merge/write",
    "names-no-row-columns": "row-tracking/write-created/write",
    "names-sidecars-twice": "checkpoints/write-v2-json-sidecars/write",
    "narrows-types": "type-widening/write-refused-narrower/write",
    "never-gives-up": "append while others never rest",
    "numbers-no-parts-in-files": "iceberg-compatibility-v2/write-nested/write",
    "opens-system-domains": "domain-metadata/write-system-set/write",
    "optimizes-past-the-catalog": "catalog-managed-tables/write-optimize/write",
    "overwrites-commits": "append beside append",
    "partitions-by-logical-names": "column-mapping/write-changes-by-id/write",
    "passes-over-what-it-cannot-read": "check-constraints/write-unknown-function/write",
    "puts-commit-info-last": "in-commit-timestamps/write-changes/write",
    "puts-vectors-beside-their-prefix": "deletion-vectors/write-changes/write",
    "records-no-preimages": "change-data-files/write-changes/write",
    "records-no-widening": "type-widening/write-widen/write",
    "refuses-what-goes-together": "delete beside append elsewhere",
    "repartitions-under-iceberg-1": "iceberg-compatibility-v1/write-replace-partitions/write",
    "repartitions-under-iceberg-2": "iceberg-compatibility-v2/write-replace-partitions/write",
    "restores-identity-marks": "identity-columns/write-restore-then-append/write",
    "restores-rows-alone": "add-file-and-remove-file/write-restore/write",
    "restores-the-column-mark": "column-mapping/write-restore-then-add/write",
    "restores-the-row-mark": "row-tracking/write-restore-then-append/write",
    "restores-without-vectors": "deletion-vectors-design/write-restore-across-upgrade/write",
    "resurrects-when-it-moves": "deletion-vectors-design/write-purge/write",
    "splits-parts-as-it-comes": "checkpoints/write-multi-part/write",
    "starts-behind-the-file": "in-commit-timestamps/write-enable-behind/write",
    "steps-the-wrong-way": "identity-columns/write-down/write",
    "stores-logical-names": "column-mapping/write-changes-by-id/write",
    "stores-no-field-ids": "column-mapping/write-changes-by-id/write",
    "takes-identity-values": "identity-columns/write-explicit-refused/write",
    "takes-null-for-true": "check-constraints/write-null/write",
    "tells-not-since-when": "in-commit-timestamps/write-enable/write",
    "tells-not-who-clusters": "clustered-table/write-cluster-run/write",
    "tracks-without-backfill": "row-tracking/write-enable/write",
    "trusts-rows-with-a-new-constraint": "check-constraints/write-add-false/write",
    "turns-variants-around": "variant-type/write-variants/write",
    "vacuums-past-the-catalog": "catalog-managed-tables/write-vacuum/write",
    "vacuums-vectors": "deletion-vectors-design/write-vacuum/write",
    "vacuums-what-is-retained": "add-file-and-remove-file/write-vacuum-retained/write",
    "vacuums-what-it-does-not-know": "vacuum-protocol-check/write-unknown-feature/write",
    "widens-past-iceberg": "type-widening/write-iceberg-double/write",
    "widens-where-it-is-off": "type-widening/write-not-enabled/write",
    "wraps-identity-around": "identity-columns/write-overflow-up/write",
    "writes-a-file-for-each-vector": "delete from two files",
    "writes-checksums-again": "delta-log-entries/write-linear/write",
    "writes-commits-again": "delta-log-entries/write-linear/write",
    "writes-manifests-with-vectors": "deletion-vectors-design/write-manifest/write",
    "writes-native-vectors": "delete from a file",
    "writes-vectors-while-off": "deletion-vectors/write-not-enabled/write",
    "writes-what-it-does-not-know": "table-features/write-unknown-feature/write",
    "writes-wrong-checksums": "delta-log-entries/write-past-ten/write",
    "writes-wrong-crc": "deletion-vectors/write-changes/write",
}
"""Each mutant, and the recipe or drill that kills it."""

FOLLOWED = ("carried-out", "removed", "kept", "refused")
"""Readings of contested recipes that the writer without a fault follows."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)


@cache
def corpus() -> Corpus:
    return shipped()


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
    """Return the requirements that a writer breaks in a recipe or drill; ``mutant`` may be none."""
    fault = MUTANTS.get(mutant)
    if name in DRILLS:
        return {*complaints(DRILLS[name], root / "table", lambda: writing_wrong(fault))}
    case, spec = recipe(name)
    writer = WrongWriter(fault)
    verdict = Judge(writer, writer.describe().claims, store).judge_once(case, spec)
    if verdict.outcome is not Outcome.FAIL:
        assert verdict.outcome is Outcome.PASS or verdict.seen in FOLLOWED
        return set()
    # The audit may find more than one thing, and names each by its requirement first.
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
    assert len(MUTANTS) == len(WRITERS) + len(RULES) + len(MARKS)


def test_every_drill_kills() -> None:
    assert DRILLS.keys() <= {*KILLED_BY.values()}
