"""What an executor does for ``explore``: draw histories of one seed, and judge by them.

A failure is shrunk where it is found, and its bundle travels with the answer, as executors and the
driver share no folder. Failures of a kind that the driver has already are counted and not shrunk.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import io
import os
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

from conformance.adapter import Description
from conformance.base.outcomes import FAILING, Outcome, Verdict
from conformance.items.generated import read_items
from conformance.items.items import Item
from conformance.items.recipes import written_item
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.replay.bundle import replacing
from conformance.replay.keeper import Keeper
from conformance.replay.shrink import way_words
from conformance.requirements.registry import load_registry
from conformance.run.run import verdict_at_level
from conformance.workers.resolve import Limits, alarm_of, described, resolve
from generators.histories.groups import GROUPS, Drawn, Kind
from generators.oracle.operations import History

COUNTS: Final[dict[Kind, int]] = {"read": 4, "write": 1}
"""Histories that a unit draws; one to be read is laid out in every layout."""

_MAX_BUNDLE_BYTES: Final = 64 * 1024 * 1024
"""Bytes of a bundle that travels."""


@cache
def _bench(implementation: str) -> tuple[Description, Judge]:
    """Return who is judged in this process, for as long as it lives."""
    limits = Limits()
    adapter = resolve(implementation, limits)
    atexit.register(adapter.close)
    description = described(adapter, limits)
    judge = Judge(adapter, description.claims, TableStore(), alarm_of(adapter, limits.request))
    return description, judge


def defect_of(implementation: str, verdict: Verdict) -> str:
    """Return the name of what is wrong; equal for failures of one kind."""
    words = f"{implementation}\n{verdict.outcome}\n{way_words(verdict)}"
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def explore_unit(unit: dict[str, Any]) -> dict[str, Any]:
    """Judge one implementation by the histories of one seed and group.

    Args:
        unit: ``implementation``, ``seed``, ``group`` (its place in
            :data:`generators.histories.groups.GROUPS`) and ``known``: defects not to be shrunk.

    Returns:
        ``outcomes`` with their counts, ``failures`` with a defect each, ``bundles`` of the new
        ones, ``seconds`` of CPU time, and who was judged.
    """
    begun = time.process_time()
    description, judge = _bench(unit["implementation"])
    outcomes: Counter[str] = Counter()
    failures: dict[str, dict[str, Any]] = {}
    bundles: dict[str, str] = {}
    for item in _items(unit["seed"], unit["group"]):
        verdict = verdict_at_level(item, judge, load_registry())
        outcomes[verdict.outcome.value] += 1
        if verdict.outcome in FAILING:
            defect = defect_of(unit["implementation"], verdict)
            failures.setdefault(defect, _failure(defect, item, verdict))["count"] += 1
            if defect not in unit["known"] and defect not in bundles:
                bundles[defect] = _bundle(description, judge, item, verdict)
    return {
        "outcomes": dict(outcomes),
        "failures": [*failures.values()],
        "bundles": bundles,
        "seconds": time.process_time() - begun,
        "engine_version": description.engine_version,
    }


def _items(seed: int, place: int) -> Iterator[Item]:
    # Loading Hypothesis takes a second, which the driver need not spend.
    from generators.histories.drawing import draw_group  # noqa: PLC0415  see above

    group = GROUPS[place]
    for number, history in enumerate(draw_group(group, COUNTS[group.kind], seed)):
        name = f"seed-{seed}-{place}-{number}"
        drawn = Drawn(name, group.kind, group.features, partial(_same, history))
        if group.kind == "read":
            yield from read_items(number, drawn)
        else:
            yield written_item(number, drawn)


def _same(history: History) -> History:
    return history


def _failure(defect: str, item: Item, verdict: Verdict) -> dict[str, Any]:
    return {
        "defect": defect,
        "case_id": item.id,
        "outcome": verdict.outcome.value,
        "hazard": verdict.hazard.value if verdict.hazard else None,
        "requirement": verdict.requirement,
        "way": way_words(verdict),
        "message": verdict.message,
        "count": 0,
    }


def _bundle(description: Description, judge: Judge, item: Item, verdict: Verdict) -> str:
    """Return the bundle of a failure, packed; empty where it cannot be kept."""
    if item.history is None or (verdict.outcome is Outcome.ERROR and verdict.fault is None):
        return ""  # a fault of the kit is no bundle
    with tempfile.TemporaryDirectory(prefix="delta-tck-") as folder:
        Keeper(Path(folder), description).keep(item, judge, verdict)
        kept = sorted(Path(folder).iterdir())
        if not kept:
            return ""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(kept[0], ".")
    return base64.b64encode(packed.getvalue()).decode()


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a file of an archive with its time; the filters of tarfile came with Python 3.11.4."""
    name = PurePosixPath(member.name)
    data = archive.extractfile(member) if member.isreg() else None
    if name.is_absolute() or ".." in name.parts or (data is None and not member.isdir()):
        raise tarfile.TarError(f"{member.name} is no file of a bundle")
    path = folder / name
    (path if data is None else path.parent).mkdir(parents=True, exist_ok=True)
    if data is not None:
        path.write_bytes(data.read())
        os.utime(path, (member.mtime, member.mtime))


def unpack(packed: str, folder: Path) -> None:
    """Write a bundle that travelled; one that is there already is replaced.

    Raises:
        OSError: the folder cannot be written, or holds something else than a bundle.
        tarfile.TarError: it is not an archive, or leads outside of the folder.
    """
    data = io.BytesIO(base64.b64decode(packed))
    with replacing(folder) as partial_, tarfile.open(fileobj=data, mode="r:gz") as archive:
        if sum(member.size for member in archive) > _MAX_BUNDLE_BYTES:
            raise tarfile.TarError(f"a bundle of more than {_MAX_BUNDLE_BYTES} bytes")
        for member in archive:
            _extract(archive, member, partial_)
