"""What each case is held to: one requirement that binds who is asked and is in force."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shipped import shipped

from conformance.golden.cases import Expected
from conformance.items.generated import Plan, generated_items
from conformance.items.items import Item, golden_items
from conformance.items.mutated import mutated_items
from conformance.items.recipes import generated_recipes
from conformance.requirements.judged import Judged, can_be_judged, judged_of, judged_step, shows
from conformance.requirements.registry import SELECTIONS, load_registry
from conformance.run.selection import Selection, select
from generators.mutations import MUTATIONS
from reference_impl import Table

REVISIONS = tuple(SELECTIONS)


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return (
        *golden_items(shipped()),
        *mutated_items(load_registry(), audited=True),
        *generated_items(Plan()),
        *generated_recipes(Plan()),
    )


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_an_item_judges_binds_who_is_asked_and_is_in_force(
    items: tuple[Item, ...], revision: str
) -> None:
    registry = load_registry()
    wrong, judged = [], 0
    for item in items:
        name = item.requirement(revision)
        if name is None:
            continue
        judged += 1
        row = registry[name]
        binding = can_be_judged(
            row,
            item.judged.asked,
            revision,
            refusing=item.judged.refusing,
            own=item.judged.alone,
        )
        if not binding:
            wrong.append((item.id, name))
    assert wrong == []
    assert judged > 1500


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_case_fails_by_what_is_allowed_or_defined(
    items: tuple[Item, ...], revision: str
) -> None:
    registry = load_registry()
    assert [
        (item.id, name)
        for item in items
        if item.judged.asked != "audit"
        and (name := item.requirement(revision)) is not None
        and registry[name].level not in ("MUST", "SHOULD")
    ] == []


def test_what_judges_nothing_in_a_revision_is_not_selected_there(items: tuple[Item, ...]) -> None:
    registry = load_registry()
    unjudged = [item for item in items if item.requirement("2021") is None]
    assert unjudged
    chosen = {item.id for item in select(Selection("2021"), items, registry)}
    assert chosen.isdisjoint(item.id for item in unjudged)
    assert chosen


@pytest.mark.parametrize(
    ("question", "unseen"),
    [
        ("row_ids", "RT-017"),
        ("files", "META-002"),
        ("snapshot", "CKC-027"),
        ("snapshot", "CM-023"),
        ("snapshot", "SCA-004"),
        *((question, "SIDE-005") for question in ("snapshot", "txn", "domain_metadata")),
    ],
)
def test_no_question_judges_what_its_answer_does_not_show(
    items: tuple[Item, ...], question: str, unseen: str
) -> None:
    asked = [item for item in items if item.judged.question == question]
    assert any(unseen in item.judged.named for item in asked)
    assert [item.id for item in asked if item.requirement("upstream") == unseen] == []


def test_a_read_of_a_column_of_void_is_judged_upstream_alone(items: tuple[Item, ...]) -> None:
    (item,) = (each for each in items if each.id == "void-type/top-level-column/project-others")
    found = {each: item.requirement(each) for each in REVISIONS}
    assert found == {"2021": None, "2025": None, "upstream": "VOID-002"}


def test_no_text_demands_what_a_later_one_recommends(items: tuple[Item, ...]) -> None:
    registry = load_registry()
    for item in items:
        judged = [item.requirement(each) for each in REVISIONS]
        levels = [registry[each].level for each in judged if each is not None]
        assert levels == sorted(levels, reverse=True), item.id


def test_names_that_differ_by_case_are_refused_by_the_later_text_alone(
    items: tuple[Item, ...],
) -> None:
    asked = [each for each in items if "write-add-taken-name/" in each.id]
    assert {revision for each in asked for revision in each.revisions} == {"upstream"}
    assert "SCH-028" in {each.requirement("upstream") for each in asked}


def test_travel_by_in_commit_timestamps_is_a_recommendation(items: tuple[Item, ...]) -> None:
    registry = load_registry()
    travelled = [item for item in items if item.judged.timed or item.judged.question == "history"]
    assert len(travelled) > 20
    for item in travelled:
        assert item.requirement("2021") is None, item.id
        name = item.requirement("upstream")
        assert name is not None, item.id
        assert registry[name].level == "SHOULD", item.id


@pytest.mark.parametrize("name", ["SUM-009", "CRC-016", "STAT-012", "CM-016"])
def test_a_requirement_of_files_is_proved_by_what_writers_leave(
    items: tuple[Item, ...], name: str
) -> None:
    registry = load_registry()
    chosen = select(Selection(requirements=(name,)), items, registry)
    written = {item.id for item in items if item.judged.question == "write"}
    assert written <= {item.id for item in chosen}


def test_a_requirement_of_readers_is_proved_by_what_judges_it(items: tuple[Item, ...]) -> None:
    chosen = select(Selection(requirements=("DVDESC-003",)), items, load_registry())
    asked = {item.judged.asked: item.requirement("upstream") for item in chosen}
    assert asked["reader"] == "DVDESC-003"
    assert all("DVDESC-003" in item.requirements for item in chosen)
    assert not any(item.judged.question == "write" for item in chosen)


def test_a_must_comes_before_a_should_and_what_is_due_before_both() -> None:
    named = ("CM-006", "CM-029")
    assert Judged("read", named).in_revision("upstream") == "CM-029"
    assert Judged("read", ("CM-006",)).in_revision("upstream") == "CM-006"
    assert Judged("read", named, "TF-001").in_revision("upstream") == "TF-001"
    assert Judged("read", named, "TF-001").in_revision("2021") == "CM-029"


def test_how_readers_come_to_an_answer_is_judged_where_a_case_says_so_alone() -> None:
    assert Judged("read", ("CKPT-003",)).in_revision("upstream") == "SNAP-007"
    assert Judged("read", ("WCON-004",)).in_revision("upstream") == "SNAP-007"
    said = Judged("read", ("WCON-004",), "WCON-004", alone=True)
    assert said.in_revision("upstream") == "WCON-004"


def test_a_row_of_files_binds_a_reader_by_a_ruling_and_for_a_refusal_alone() -> None:
    registry = load_registry()
    row = registry["SNAP-001"]
    assert row.role == "file"
    assert can_be_judged(row, "reader", "upstream", refusing=True)
    assert not can_be_judged(row, "reader", "upstream")
    without = dataclasses.replace(row, ruling=None)
    assert not can_be_judged(without, "reader", "upstream", refusing=True)


def test_readers_notice_by_a_clause_or_a_ruling() -> None:
    registry = load_registry()
    assert [
        row.id
        for row in registry
        if row.role != "reader" and "reader" in row.notice and row.ruling is None
    ] == []


def test_a_step_is_held_to_what_the_recipe_says_and_else_to_what_it_is_carried_out_by() -> None:
    assert judged_step("checkpoint").in_revision("upstream") == "CKPT-005"
    assert judged_step("checkpoint", "CKPT-N-003").in_revision("upstream") == "CKPT-N-003"
    assert judged_step("append").in_revision("2021") == "SNAP-008"
    # A clause that is not in force yet judges nothing.
    assert judged_step("cluster_by").in_revision("2021") == "SNAP-008"


def test_every_step_judges_a_must_of_writers(items: tuple[Item, ...]) -> None:
    registry = load_registry()
    written = [item for item in items if item.judged.question == "write"]
    assert len(written) > 200
    for item in written:
        assert item.steps, item.id
        for revision in item.revisions:
            for step in item.steps:
                row = registry[str(step.in_revision(revision))]
                assert row.level == "MUST", (item.id, row.id)
                assert row.role != "reader", (item.id, row.id)


def test_a_step_that_says_what_it_judges_is_one_of_the_recipe() -> None:
    registry = load_registry()
    recipes = {
        spec.id: spec
        for case in shipped().cases
        for spec in case.specs
        if "judged" in spec.parameters
    }
    assert len(recipes) > 20
    for identity, spec in recipes.items():
        for number, name in spec.parameters["judged"].items():
            assert int(number) < len(spec.parameters["operations"]), identity
            assert name in spec.requirements, (identity, name)
            assert registry[name].level == "MUST", (identity, name)
            # The audit finds what the metadata lacks; wrong rows say nothing of it.
            assert name != "RT-042", identity


def test_a_row_that_a_step_judges_selects_its_recipe(items: tuple[Item, ...]) -> None:
    chosen = select(Selection(requirements=("RT-046",)), items, load_registry())
    assert "row-tracking/write-enable/write" in {item.id for item in chosen}


def test_a_version_is_not_can_be_judged_a_feature_that_it_does_not_show(
    items: tuple[Item, ...],
) -> None:
    found = {item.id: item.requirement("upstream") for item in items}
    assert found["deletion-vectors/all-rows/read-v0"] == "SNAP-007"
    assert found["deletion-vectors/all-rows/read-latest"] == "DVDESC-020"
    assert found["catalog-managed-tables/enabled-later/read-v1"] == "SNAP-007"
    assert found["catalog-managed-tables/enabled-later/read-v2"] == "CAT-007"
    assert found["deletion-vectors/spark-enabled-late/read-v1"] == "SNAP-007"
    assert found["column-mapping/spark-enabled-late/read-v0"] == "SNAP-007"
    assert found["type-widening/byte-to-integer/read-v1"] == "SNAP-007"
    assert found["type-widening/byte-to-integer/read-v2"] == "TW-012"
    assert found["column-mapping/upgraded-table/read-v0"] == "CM-024"
    assert found["column-mapping/upgraded-table/read-v3"] == "CM-029"


def test_a_version_judges_nothing_of_what_is_said_later_or_again(items: tuple[Item, ...]) -> None:
    found = {item.id: item.requirement("2025") for item in items}
    judged = {
        "append-only-tables/active-legacy/read-v1": "SNAP-007",
        "append-only-tables/active-feature/read-v1": "TF-002",
        "protocol-evolution/write-unknown-version/read-latest": "TF-002",
        "action-reconciliation/protocol-lowered-after-checkpoint/snapshot-v2": None,
        "action-reconciliation/changed-after-classic/snapshot-v5": "REC-013",
        "action-reconciliation/changed-after-classic/snapshot-v6": "REC-012",
        "action-reconciliation/in-order-after-classic/read-v0": "SNAP-007",
        "action-reconciliation/in-order-after-classic/read-v1": "REC-001",
        "action-reconciliation/newest-wins/read-latest": "REC-006",
        "action-reconciliation/newest-wins/read-v2": "REC-008",
        "action-reconciliation/spark-overwrites/read-v1": "SNAP-007",
        "action-reconciliation/spark-overwrites/read-v2": "REC-008",
        "action-reconciliation/protocol-newest-wins/read-v0": "SNAP-007",
        "action-reconciliation/protocol-newest-wins/read-v1": "REC-012",
        "action-reconciliation/tombstones-invisible/read-v0": "SNAP-007",
        "action-reconciliation/tombstones-invisible/read-v1": "REC-011",
        "add-file-and-remove-file/re-add-replaces/read-v0": "SNAP-007",
        "add-file-and-remove-file/re-add-replaces/read-v1": "FA-003",
        "add-file-and-remove-file/remove-other-case/read-latest": "REM-002",
        "add-file-and-remove-file/paths-odd-characters/read-v0": "SNAP-007",
        "add-file-and-remove-file/paths-odd-characters/read-latest": "ADD-003",
        "add-file-and-remove-file/remove-then-add-again/read-v0": "SNAP-007",
        "change-metadata/partitioning-replaced/read-v0": "SNAP-007",
        "checkpoint-schema/data-change-of-removes/read-v2": "SNAP-007",
        "checkpoint-schema/data-change-of-removes/read-v3": "CKC-027",
        "default-columns/defaults-do-not-affect-reads/read-v0": "SNAP-007",
        "partition-value-serialization/empty-string-of-every-type-commits/read-v0": "SNAP-007",
        "deletion-vectors/remove-without-vector/read-v0": "SNAP-007",
        "deletion-vectors/remove-without-vector/read-v1": "REC-010",
        "delta-log-entries/long-commit-of-odd-lines/snapshot-v0": "REC-003",
        "delta-log-entries/long-commit-of-odd-lines/snapshot-v1": "PROTO-009",
        "last-checkpoint-file/stale/read-v1": "SNAP-007",
        "last-checkpoint-file/unknown-fields/read-latest": "PROTO-009",
        "last-checkpoint-file/stale/read-v3": "LAST-003",
        "last-checkpoint-file/stale/read-latest": "LAST-003",
        "protocol-evolution/unknown-fields-checkpoint/read-v1": "SNAP-007",
        "protocol-evolution/unknown-fields-checkpoint/read-v2": "PROTO-008",
        "row-tracking/spark-enabled-late/read-v2": "SNAP-007",
        "row-tracking/spark-enabled-late/read-v5": "SNAP-007",
        "row-tracking/spark-enabled-late/read-v6": "RT-017",
        "row-tracking/materialised-ids/read-v0": "SNAP-007",
        "row-tracking/materialised-ids/read-v1": "RT-017",
        "vacuum-protocol-check/several-versions/read-v0": "SNAP-007",
    }
    assert {name: found[name] for name in judged} == judged


def test_a_recipe_that_judges_upgrades_has_one(items: tuple[Item, ...]) -> None:
    judging = [item.id for item in items if item.requirement("2025") == "TF-012"]
    assert judging
    assert [name for name in judging if "upgrade" not in name] == []


def test_files_that_nothing_refers_to_again_are_those_that_were_added(
    items: tuple[Item, ...],
) -> None:
    found = {item.id: item.requirement("2025") for item in items}
    assert found["action-reconciliation/nested-field-added/files-latest"] == "SNAP-003"
    assert found["deletion-vectors/all-rows/files-latest"] == "REC-018"


_KEYS = {"CM-028": "delta.columnMapping.id", "CM-031": "delta.columnMapping.physicalName"}
"""What a file is looked through for, in mode id and in mode name."""


def _mapped(document: Any, key: str) -> Iterator[str]:
    """Give what the columns of a schema have under a key, the inner ones too."""
    if isinstance(document, dict):
        if key in document:
            yield str(document[key])
        document = list(document.values())
    if isinstance(document, list):
        for each in document:
            yield from _mapped(each, key)


def _held(fields: pa.Schema | pa.DataType, row: str) -> Iterator[str]:
    """Give the names of the columns of a file, or their ids, the inner ones too."""
    for field in fields:
        metadata = field.metadata or {}
        yield metadata.get(b"PARQUET:field_id", b"").decode() if row == "CM-028" else field.name
        if pa.types.is_nested(field.type):
            inner = (field.type.field(at) for at in range(field.type.num_fields))
            yield from _held(pa.schema(list(inner)), row)


@pytest.mark.parametrize("row", ["CM-028", "CM-031"])
def test_columns_that_files_lack_are_judged_where_a_file_lacks_one(
    items: tuple[Item, ...], row: str
) -> None:
    judged = {item.id for item in items if item.requirement("2025") == row}
    specs = [(case, spec) for case in shipped().cases for spec in case.specs if spec.id in judged]
    assert len(specs) > 10
    wrong = []
    for case, spec in specs:
        version = spec.parameters.get("version")
        snapshot = Table(str(case.table)).snapshot(version)
        wanted = set(_mapped(json.loads(snapshot.metadata.schema_string), _KEYS[row]))
        held = [
            set(_held(pq.read_schema(case.table / unquote(path)), row))
            for path in snapshot.files().column("path").to_pylist()
        ]
        wrong += [spec.id] if all(wanted <= names for names in held) else []
    assert wrong == []


def test_a_hint_that_names_no_checkpoint_is_no_absent_hint(
    tmp_path: Path,
) -> None:
    gone = []
    for item in mutated_items(load_registry(), audited=False):
        mutation = next(each for each in MUTATIONS if item.id == f"mutations/{each.id}/read")
        if not {"LAST-003", "LAST-004"}.intersection(mutation.requirements):
            continue
        root = tmp_path / mutation.id
        mutation.build(root)
        hint = root / "_delta_log/_last_checkpoint"
        with suppress(OSError, ValueError, LookupError, TypeError):
            version = json.loads(hint.read_bytes())["version"]
            known = 0 <= version < 1 << 63
            if known and not any(hint.parent.glob(f"{version:020d}.checkpoint*")):
                gone.append((mutation.id, item.requirement("2025")))
    assert ("checkpoint-gone", "LAST-003") in gone
    # One that says its version twice says none.
    assert {name for name, row in gone if row != "LAST-003"} <= {"hint-duplicate-key"}


def test_a_row_that_demands_a_refusal_judges_no_reader_that_is_to_read() -> None:
    found = {item.id: item for item in mutated_items(load_registry(), audited=True)}
    mutation = "mutations/features-writer-version-beyond"
    assert found[f"{mutation}/read"].requirement("2025") == "TF-002"
    assert found[f"{mutation}/audit"].requirement("2025") == "PROTO-006"
    assert found["mutations/protocol-reader-version-beyond/read"].requirement("2025") == "PROTO-005"


def test_the_audit_is_held_to_what_an_audit_notices() -> None:
    rows = load_registry()
    items = [i for i in mutated_items(rows, audited=True) if i.id.endswith("/audit")]
    for item in items:
        noticed = [name for name in item.requirements if "audit" in rows[name].notice]
        judged = item.requirement("upstream")
        assert not noticed or judged in noticed, item.id
    found = {item.id: item.requirement("2025") for item in items}
    assert found["mutations/vector-file-empty/audit"] == "DVSTO-001"


def test_a_version_judges_no_checkpoint_that_it_is_not_read_from(items: tuple[Item, ...]) -> None:
    found = {item.id: item.requirement("2025") for item in items}
    judged = {
        "checkpoints/with-hint/read-v3": "CKPT-004",
        "checkpoints/with-hint/read-v4": "SNAP-007",
        "checkpoints/with-hint/read-latest": "SNAP-007",
        "checkpoints/newer-than-asked/snapshot-latest": "REC-003",
        "sidecar-files/spark-v2-json/read-v1": "SNAP-007",
        "sidecar-files/spark-v2-json/read-v2": "SIDE-005",
        "log-compaction-files/one-range/read-v1": "SNAP-007",
        "log-compaction-files/one-range/read-v2": "COMP-012",
        "v2-checkpoint-feature/json-embedded/read-v9": "SNAP-007",
        "v2-checkpoint-feature/json-sidecars/read-v9": "SIDE-005",
    }
    assert judged.items() <= found.items()
    late = [item for item, row in found.items() if row == "CKPT-004" and "latest" in item]
    assert late == []


def test_partition_values_of_mapped_tables_are_can_be_judged_their_own_row(
    items: tuple[Item, ...],
) -> None:
    asked = [item for item in items if item.id.startswith("column-mapping/")]
    alone = [item for item in asked if item.id.rpartition("/")[2].startswith(_PARTITION)]
    assert len(alone) > 15
    assert {item.requirement("2025") for item in alone} == {"CM-026", "CM-030"}


_PARTITION = ("project-partition", "filter-partition")
"""Names of questions that ask for partition columns alone."""


def test_a_version_before_the_first_tombstone_judges_no_row_about_tombstones() -> None:
    corpus = shipped()
    early = [
        spec.id
        for case in corpus.cases
        for spec in case.specs
        if spec.type == "read"
        and spec.requirement is None
        and _is_before(b'"remove"', case.table, spec.parameters.get("version"))
        and (judged_of(spec, case).in_revision("upstream") or "").startswith(
            ("REC-007", "REC-008", "REM-")
        )
    ]
    assert early == []


def test_a_log_with_a_version_beyond_all_others_is_looked_through_at_once(tmp_path: Path) -> None:
    """Versions are those that there are; who counted up to the last one would never end."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in (0, 2**63 - 1):
        (log / f"{version:020}.json").write_text('{"protocol":{}}')
    assert shows(tmp_path, None, "", "REC-012")
    assert not shows(tmp_path, None, "", "REC-013")


def test_a_version_before_the_first_file_judges_no_row_about_what_files_hold(
    items: tuple[Item, ...],
) -> None:
    found = {item.id: item.requirement("upstream") for item in items}
    assert found["column-mapping/id-mode/read-v0"] == "SNAP-007"
    assert found["column-mapping/id-mode/read-v1"] == "CM-025"
    of_content = ("ADD-002", "CM-", "DATA-003", "DFT-", "DV", "PART-", "PQ-", "PROP-", "RVER-001")
    assert [
        spec.id
        for case in shipped().cases
        for spec in case.specs
        if spec.type in ("read", "aggregate")
        and spec.requirement is None
        and isinstance(spec.expectation, Expected)
        and _is_before(b'"add"', case.table, spec.parameters.get("version"))
        and (found[spec.id] or "").startswith(of_content)
    ] == []


def _is_before(mark: bytes, table: Path, version: int | None) -> bool:
    log = sorted((table / "_delta_log").glob(f"{'[0-9]' * 20}.json"))
    last = (int(log[-1].stem) if log else -1) if version is None else version
    commits = [table / "_delta_log" / f"{number:020}.json" for number in range(last + 1)]
    return all(each.is_file() and mark not in each.read_bytes() for each in commits)


def test_what_a_recipe_starts_from_judges_nothing_of_what_its_steps_do(
    items: tuple[Item, ...],
) -> None:
    found = {item.id: item.requirement("upstream") for item in items}
    for before in (
        "add-file-and-remove-file/write-changes-course",
        "deletion-vectors/write-groups",
        "partition-value-serialization/write-empty-string",
        "type-widening/write-widen-checkpointed",
    ):
        assert found[f"{before}/read-latest"] == "SNAP-007", before
        assert found[f"{before}/write"] not in (None, "SNAP-008"), before
