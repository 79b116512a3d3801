"""Tables damaged at random give rows or typed errors, whatever is asked of them.

A few here; ``tox run -e damage`` tries ``DELTA_TCK_DAMAGES`` of a plan that a new seed draws, and
names the seed and number of each that fails.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from damage import damage_at

from conformance.audit import AuditError, audit
from generators.mutations.bases import BASES
from reference_impl import DeltaError, Limits, Table, read_table

LIMITS = Limits(memory=512 << 20, seconds=120)
ASKED: Mapping[str, Callable[[str], object]] = {
    "files": lambda root: Table(root, limits=LIMITS).snapshot().adds(),
    "rows": lambda root: read_table(root, limits=LIMITS).validate(full=True),
    "row ids": lambda root: read_table(root, limits=LIMITS, row_ids=True),
    "history": lambda root: Table(root, limits=LIMITS).history(),
    "changes": lambda root: Table(root, limits=LIMITS).changes(0),
    "audit": lambda root: audit(root, limits=LIMITS),
}


def untyped(root: Path, number: int, seed: int) -> list[str]:
    """Build a damaged table, and name what ends otherwise than in rows or a typed error."""
    damage = damage_at(number, seed)
    _, what = damage.build(root)
    found = []
    for name, ask in ASKED.items():
        try:
            ask(str(root))
        except (DeltaError, AuditError):
            continue
        except Exception as error:  # noqa: BLE001  it is what is looked for
            found.append(f"{damage.id}, {what}: {name} raises {error!r}")
    return found


@pytest.mark.parametrize("number", range(len(BASES)))
def test_a_damaged_table_gives_rows_or_typed_errors(tmp_path: Path, number: int) -> None:
    assert untyped(tmp_path / "t", number, 12) == []


@pytest.mark.damage
def test_many_damaged_tables_give_rows_or_typed_errors(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seed = secrets.randbelow(2**31)
    count = int(os.environ.get("DELTA_TCK_DAMAGES", "500"))
    found: list[str] = []

    def say(line: str) -> None:
        with capfd.disabled():
            print(line, flush=True)  # noqa: T201  when it is known: a crash or hang ends the rest

    for number in range(count):
        if number % 100 == 0:
            say(f"seed {seed}: {number} of {count} tried, {len(found)} findings")
        root = tmp_path / str(number)
        for line in untyped(root, number, seed):
            found.append(line)
            say(line)
        shutil.rmtree(root)
    assert found == []
