"""Writers that let a mark fall or a summary forget, each with one piece replaced."""

from __future__ import annotations

from typing import Any

from wrong_writers import Mutant, gives, wrong

from reference_impl.write.features.row_ids import ROW_TRACKING_DOMAIN


def _row_mark_of_then(_right: Any) -> Any:
    def restore(transaction: Any, earlier: Any) -> None:
        wanted = earlier.domain_metadata.get(ROW_TRACKING_DOMAIN)
        if wanted is not None:
            transaction.set_domain(wanted)

    return restore


def _leaves_out(*actions: str) -> Any:
    return lambda right: lambda lines: right([each for each in lines if not {*actions} & {*each}])


MARKS: dict[str, Mutant] = {
    "restores-the-row-mark": wrong(
        "RT-037", ("write.upkeep.maintenance:_restore_row_ids", _row_mark_of_then)
    ),
    "restores-the-column-mark": wrong(
        "CM-022",
        ("write.upkeep.maintenance:_restored_metadata", lambda _: lambda _now, then: then.metadata),
    ),
    "restores-identity-marks": wrong(
        "IDN-016",
        ("write.upkeep.maintenance:_with_high_water_mark", lambda _: lambda then, _now: then),
    ),
    "compacts-without-metadata": wrong(
        "COMP-004", ("write.upkeep.compaction:_encoded", _leaves_out("metaData"))
    ),
    "compacts-without-progress": wrong(
        "COMP-004", ("write.upkeep.compaction:_encoded", _leaves_out("txn"))
    ),
    "ignores-the-retention": wrong("FA-008", ("write.upkeep.vacuum:duration", gives(0))),
}
