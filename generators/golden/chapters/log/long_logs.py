"""Cases of long log files: commits and checkpoints of thousands of lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow.parquet as pq

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import filtered, publish, publish_cut
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import EPOCH, GoldenTable, add, feature_protocol, remove, txn
from generators.golden.chapters.files.deletion_vectors import store, with_vector
from generators.golden.chapters.log.reconciliation import txn_spec
from generators.materialise.log.checkpoints import (
    CheckpointStyle,
    checkpoint_schema,
    checkpoint_table,
)
from generators.materialise.log.files import (
    LOG_DIRECTORY,
    classic_checkpoint_name,
    commit_name,
    json_text,
)

LOG = Chapter("delta-log-entries")
CHECKPOINTS = Chapter("checkpoints")

_MANY = 70
"""More actions than a reader may want to take one by one."""


def _spelled(number: int, action: Mapping[str, Any]) -> str:
    """Write an action as JSON in one of several ways."""
    ((kind, body),) = action.items()
    match number % 6:
        case 1:
            return json_text({kind: dict(reversed(list(body.items())))})
        case 2:
            return json_text(action).replace('{"', '{ "', 1).replace(":{", " : {", 1) + " "
        case 3:
            return json_text(action).replace(":{", ": {", 1)
        case 4:
            return json_text(action).replace("part-", "\\u0070art-").replace("/", "\\/")
        case _:
            return json_text(action)


def _respell(table: GoldenTable, version: int) -> None:
    """Write the file actions of a commit otherwise, and no line feed after the last."""
    lines = [
        _spelled(number, action) if {"add", "remove"} & action.keys() else json_text(action)
        for number, action in enumerate(table.commits[version])
        if not isinstance(action, str)
    ]
    path = table.root / LOG_DIRECTORY / commit_name(version)
    path.write_text("\n".join(lines), encoding="utf-8")


@LOG.case("long-commit-of-odd-lines", "LOG-004 REC-018 PROTO-009")
def _odd_lines(case: CaseWriter) -> None:
    """Spaces, order and escapes do not matter in a long commit either."""
    table = GoldenTable.of(
        case,
        PAIR,
        partition_columns=("name",),
        protocol=feature_protocol(["deletionVectors"]),
        properties={"delta.enableDeletionVectors": "true"},
    )
    names = ("a", None, "ü/%")
    files = [
        table.file([{"id": n}, {"id": n + 1000}], partition={"name": names[n % 3]})
        for n in range(_MANY)
    ]
    table.create(*(add(file) for file in files[:-1]), txn("loader", 1), add(files[-1]))
    _respell(table, 0)
    # The same files again, with what few actions have, and what none of the text has.
    vectors = store(table, [0], [1])
    again = []
    for number, file in enumerate(files):
        changes: dict[str, Any] = {"dataChange": False}
        if number % 10 == 3:
            changes["tags"] = {"first" if number % 20 == 3 else "second": f"ß{number}"}
        if number % 25 == 7:
            changes["novelty"] = {"of": [number, None]}
        again.append(add(file, **changes))
    table.commit(*again, operation="OPTIMIZE")
    _respell(table, 1)
    marked = with_vector(files[0], vectors[0]) + with_vector(files[_MANY - 1], vectors[1])
    gone = [remove(file, tags={"why": "x" * n}) for n, file in enumerate(files[4:-4], 100)]
    table.commit(*marked[:2], *gone, txn("loader", 2), *marked[2:], operation="DELETE")
    _respell(table, 2)
    publish(case, table)


@LOG.case("long-commit-without-keys", "LOG-004 REC-018 ADD-005")
def _without_keys(case: CaseWriter) -> None:
    """Maps without keys in every line of a long commit stay empty."""
    table = GoldenTable.of(case, PAIR)
    files = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(_MANY)]
    table.create(*(add(file, tags={}) for file in files))
    table.commit(*(remove(file, tags={}) for file in files[::2]), operation="DELETE")
    publish(case, table)


@CHECKPOINTS.case("many-rows", "CKPT-005 CKPT-003 CKC-001")
def _many_rows(case: CaseWriter) -> None:
    """A checkpoint of many rows in many row groups is read to its end."""
    table = GoldenTable.of(case, PAIR)
    files = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(6)]
    table.create(*(add(file) for file in files[:4]), txn("early", 1))
    lost = [
        {"remove": {"path": f"gone-{n:04}", "deletionTimestamp": EPOCH, "dataChange": True}}
        for n in range(1200)
    ]
    table.commit(*lost, txn("late", 5), operation="DELETE")
    table.commit(add(files[4]), remove(files[0]))
    _scattered_checkpoint(table, 2)
    table.commit(add(files[5]), remove(files[1]))
    publish_cut(case, table, 2)
    for version in (2, 3):
        filtered(
            case,
            table,
            f"filter-v{version}",
            compare("id", ">=", 3, "long"),
            "Statistics of the checkpoint, and of what follows, lose no row",
            version=version,
        )
    for app, last in (("early", 1), ("late", 5), ("never", None)):
        txn_spec(case, app, last)


def _scattered_checkpoint(table: GoldenTable, version: int) -> None:
    """Write a checkpoint of statistics by type, with other actions between those of files."""
    style = CheckpointStyle(stats_json=False, stats_parsed=True)
    state = table.states[version]
    removes = [each for each in state.file_actions() if "remove" in each]
    adds = [each for each in state.file_actions() if "add" in each]
    first, *others = state.other_actions()
    actions = [
        *removes[:500],
        adds[0],
        *others,
        *removes[500:1150],
        *adds[1:],
        *removes[1150:],
        first,
    ]
    rows = checkpoint_table(actions, checkpoint_schema(table.schema, (), style))
    path = table.root / LOG_DIRECTORY / classic_checkpoint_name(version)
    pq.write_table(rows, path, row_group_size=150, compression="zstd", store_schema=False)
