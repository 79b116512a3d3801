"""Wrong writers of in-commit timestamps."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from breaches.edits import (
    COMMIT,
    Lines,
    dropping,
    lines,
    matching,
    properties,
    setting,
    unlisted,
    without,
)
from breaches.model import writer
from breaches.seams import Edit, during, leaving
from breaches.views import bodies, commits_of

_SINCE = "delta.inCommitTimestampEnablementVersion"


def _since_the_first(root: Path, fresh: frozenset[str]) -> None:
    """Let timestamps that are turned on again begin where they began at first."""
    given = [body["configuration"].get(_SINCE) for body in bodies(root, "metaData")]
    first = next(version for version in [*given, None] if version or version is None)
    properties(lambda p: p.update({_SINCE: first}) if _SINCE in p else None, COMMIT)(root, fresh)


def _described_as_at_first(root: Path, fresh: frozenset[str]) -> None:
    first = next(bodies(root, "metaData"))
    lines(lambda actions: [*actions, {"metaData": first}], COMMIT)(root, fresh)


def _drop_from(configuration: str) -> Edit:
    return properties(lambda p: p.pop(configuration, None) and None)


def _first_of_all(actions: Lines) -> Lines:
    return [*actions[1:], actions[0]] if len(actions) > 1 else actions


def _a_minute_on(root: Path, fresh: frozenset[str]) -> None:
    """Take a minute after the commit before for the time."""
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)
        before = [
            a["commitInfo"]["inCommitTimestamp"]
            for a in commits_of(root).get(version - 1, [])
            if "inCommitTimestamp" in a.get("commitInfo", {})
        ]
        if before:
            later = before[0] + 60_000
            setting("commitInfo", "inCommitTimestamp", later, name.replace(".", r"\."))(root, fresh)


TIMED = "in-commit-timestamps/write-changes*"


_PROVENANCE: Final = "delta.inCommitTimestampEnablement"


def _unprovenanced(found: dict[str, str]) -> None:
    for name in [*found]:
        if name.startswith(_PROVENANCE):
            del found[name]


def _unrecorded(configuration: dict[str, str]) -> None:
    for name in ("Version", "Timestamp"):
        configuration.pop(f"delta.inCommitTimestampEnablement{name}", None)


def _stamped_before(found: Lines) -> Lines:
    return [
        {"commitInfo": {**a["commitInfo"], "inCommitTimestamp": 1}} if "commitInfo" in a else a
        for a in found
    ]


def _at_the_wall(root: Path, fresh: frozenset[str]) -> None:
    """Take the time of the file for the time of the commit, whatever the commit before says."""
    for name in matching(COMMIT, fresh):
        now = (root / name).stat().st_mtime_ns // 1_000_000
        setting("commitInfo", "inCommitTimestamp", now, name.replace(".", r"\."))(root, fresh)


STARTING_EARLY = leaving(
    setting("commitInfo", "inCommitTimestamp", 1_000, COMMIT),
    properties(lambda p: p.update({k: "1000" for k in p if k.endswith("EnablementTimestamp")})),
)
"""Turn in-commit timestamps on at a time before that of the files."""


ROWS = (
    writer(
        "leaves-commit-info-out",
        "ICT-005",
        leaving(without("commitInfo", where=COMMIT)),
        TIMED,
    ),
    writer("puts-commit-info-last", "ICT-006", leaving(lines(_first_of_all, COMMIT)), TIMED),
    writer(
        "tells-times-as-text",
        "ICT-007",
        leaving(setting("commitInfo", "inCommitTimestamp", str, COMMIT)),
        TIMED,
    ),
    writer(
        "stops-the-clock",
        "ICT-009",
        leaving(setting("commitInfo", "inCommitTimestamp", 1_700_000_000_000, COMMIT)),
        TIMED,
    ),
    writer(
        "goes-by-the-clock-alone",
        "ICT-008",
        leaving(_a_minute_on),
        "in-commit-timestamps/write-behind*",
    ),
    writer(
        "tells-not-since-which-version",
        "ICT-010",
        leaving(_drop_from("delta.inCommitTimestampEnablementVersion")),
        "in-commit-timestamps/write-enable*",
    ),
    writer(
        "tells-not-since-what-time",
        "ICT-011",
        leaving(_drop_from("delta.inCommitTimestampEnablementTimestamp")),
        "in-commit-timestamps/write-enable*",
    ),
    writer(
        "starts-behind-the-file",
        "ICT-012",
        STARTING_EARLY,
        "in-commit-timestamps/write-enable-behind*",
    ),
    writer(
        "times-without-the-feature",
        "ICT-002",
        leaving(unlisted("inCommitTimestamp")),
        TIMED,
    ),
    writer(
        "turns-times-on-without-the-property",
        "ICT-004",
        leaving(_drop_from("delta.enableInCommitTimestamps")),
        "in-commit-timestamps/write-merge*",
    ),
    writer(
        "turns-times-on-without-one",
        "ICT-005",
        during("set_properties", without("commitInfo", where=COMMIT)),
        "in-commit-timestamps/write-enable/*",
    ),
    writer(
        "adds-columns-without-commit-info",
        "ICT-005",
        during("add_columns", without("commitInfo", where=COMMIT)),
        "in-commit-timestamps/write-alter*",
    ),
    writer(
        "restores-with-commit-info-last",
        "ICT-006",
        during("restore", lines(_first_of_all, COMMIT)),
        "in-commit-timestamps/write-alter*",
    ),
    *(
        writer(
            f"puts-commit-info-last-{slug}",
            "ICT-006",
            during(operation, lines(_first_of_all, COMMIT)),
            "in-commit-timestamps/write-settings-course/*",
        )
        for slug, operation in (
            ("of-transactions", "set_txn"),
            ("of-domains", "set_domain_metadata"),
            ("of-comments", "set_comment"),
            ("where-it-replaces", "replace"),
        )
    ),
    writer(
        "tells-times-in-seconds",
        "ICT-007",
        leaving(setting("commitInfo", "inCommitTimestamp", lambda v: v and v // 1000, COMMIT)),
        TIMED,
    ),
    writer(
        "repeats-the-time",
        "ICT-008",
        leaving(setting("commitInfo", "inCommitTimestamp", 1_700_000_000_000, COMMIT)),
        TIMED,
    ),
    writer(
        "restores-the-times-of-before-they-were-off",
        "ICT-010",
        during("restore", _described_as_at_first),
        "in-commit-timestamps/write-enable-again-behind/*",
    ),
    *(
        writer(
            f"starts-{name}-behind-the-file",
            "ICT-012",
            STARTING_EARLY,
            f"in-commit-timestamps/write-enable-{case}/*",
        )
        for name, case in (("checkpointed", "behind-checkpoint"), ("again", "again-behind"))
    ),
    writer(
        "turns-timestamps-on-again-since-the-first-time",
        "ICT-010",
        during("set_properties", _since_the_first),
        "in-commit-timestamps/write-enable/*",
    ),
    writer(
        "forgets-since-when-in-an-alter",
        "ICT-010",
        during("add_columns", properties(_unprovenanced, COMMIT)),
        "*/write-enabled-then-altered/*",
    ),
    writer(
        "restores-without-time-of-enablement",
        "ICT-010",
        during("restore", properties(_unrecorded, COMMIT)),
        "in-commit-timestamps/write-enabled-then-restored/*",
    ),
    writer(
        "restores-to-the-time-of-then",
        "ICT-009",
        during("restore", lines(_stamped_before, COMMIT)),
        "in-commit-timestamps/write-moves-course/*",
    ),
    writer(
        "optimizes-without-a-time",
        "ICT-007",
        during("optimize", dropping("commitInfo", "inCommitTimestamp", where=COMMIT)),
        "in-commit-timestamps/write-moves-course/*",
    ),
    writer(
        "optimizes-by-the-wall-clock",
        "ICT-008",
        during("optimize", _at_the_wall),
        "in-commit-timestamps/write-behind-alter/*",
    ),
    *(
        writer(
            f"forgets-the-time-of-enablement-at-{operation.replace('_', '-')}",
            "ICT-011",
            during(operation, properties(_unprovenanced, COMMIT)),
            f"in-commit-timestamps/write-enabled-then-{case}/*",
        )
        for operation, case in (
            *((each, "columns") for each in ("rename_column", "drop_column", "set_nullable")),
            *(
                (each, "settings")
                for each in ("drop_constraint", "set_default", "unset_properties")
            ),
        )
    ),
    writer(
        "clusters-without-a-time",
        "ICT-007",
        during("cluster_by", dropping("commitInfo", "inCommitTimestamp", where=COMMIT)),
        "in-commit-timestamps/write-enabled-then-settings/*",
    ),
    writer(
        "turns-times-on-below-version-7",
        "ICT-001",
        during("enable_feature", setting("protocol", "minWriterVersion", 6, COMMIT)),
        "in-commit-timestamps/write-enable/*",
    ),
)
