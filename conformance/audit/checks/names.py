"""Checks of the names in a log and of which versions it holds.

Covers "Delta Log Entries", "Checkpoint Naming Scheme", "Log Compaction Files", "Version Checksum
File Schema" and "Metadata Cleanup".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final

from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.log_files import LOG_DIR, LogFile, commit_name, name_of
from conformance.audit.read.contents import is_log_content
from conformance.audit.read.log import Log
from conformance.audit.subjects import LogView, VersionView
from reference_impl.limits import budget

_UUID: Final = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_VERSION: Final = "[0-9]{20}"
_GROUPED: Final = r"[0-9]+(?:[_,' ][0-9]{3,4}(?![0-9]))*"
_OTHER_FORM: Final = (
    rf"(?:(?i:v|commit|delta|version)[._-]?)?[+-]? *{_GROUPED}(?:\.0)? *|[0-9A-Fa-f]{{20}}"
)
"""A version in another form: without zeros, with a sign, a word or a fraction, padded with spaces,
in groups or in hexadecimal digits."""
_WORD: Final = "(?i:(?:v[12][._-]?)?(?:checkpoints?|checkpt|chkpoint|chkpt|ckpt))"
_UUID_LIKE: Final = r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"
_CODEC: Final = "(?i:gz|gzip|zst|zstd|xz|bz2|lz4|snappy)"
_NO_LEFTOVER: Final = r"(?![._])(?!.*\.(?i:crc|tmp|temp|bak|old|orig|part|partial|swp|lock)$)"
"""What is no file of a writer that failed, and no file of another tool."""
_LOOKALIKES: Final = tuple(
    (re.compile(pattern), requirements, wanted)
    for pattern, requirements, wanted in (
        (
            (
                rf"(?:{_OTHER_FORM})(?:[._-](?i:commit|delta))?\.json|{_VERSION}(?:[_-]?(?i:json))?"
                rf"|{_VERSION}(?:[._-](?i:commit|delta))?\.(?i:json[l5]?|ndjson|txt|log|commit|delta)"
            ),
            ("LOG-002",),
            "a commit is named by its version in twenty digits and .json",
        ),
        (
            (
                rf"{_VERSION}(?:\.json)?\.{_CODEC}"
                rf"|{_VERSION}\.(?i:avro|orc|csv|xml|ya?ml|cbor|msgpack|pb|arrow)"
            ),
            ("LOG-001",),
            "a commit is a JSON file",
        ),
        (
            rf"(?:{_OTHER_FORM})\.checkpoint\.parquet",
            ("CKPT-019",),
            "a classic checkpoint is named by its version in twenty digits",
        ),
        (
            rf"(?:{_OTHER_FORM})\.checkpoint\.{_UUID}\.(?:json|parquet)",
            ("CKPT-014",),
            "a UUID-named checkpoint is named by its version in twenty digits",
        ),
        (
            rf"{_VERSION}\.checkpoint\.[0-9]{{10}}\.[0-9]{{10}}\.(?!parquet$)(?i:parquet|parq|pq)",
            ("CKPT-021",),
            "a part is called n.checkpoint.o.p.parquet",
        ),
        (
            (
                rf"{_VERSION}\.checkpoint\.[0-9]{{10}}\.[0-9]{{10}}"
                rf"(?:(?:\.parquet)?\.{_CODEC}|\.(?!parquet$)[0-9A-Za-z]+)?"
            ),
            ("CKPT-N-002", "CKPT-021"),
            "a part of a checkpoint is Parquet",
        ),
        (
            rf"{_VERSION}\.checkpoint(?:\.[0-9]{{10}}){{2}}[._-].*{_UUID_LIKE}.*",
            ("CKPT-021",),
            "a part is called n.checkpoint.o.p.parquet",
        ),
        (
            rf"{_VERSION}\.checkpoint\.[0-9]{{10}}\.000000000[01]\.parquet",
            ("CKPT-024",),
            "a multi-part checkpoint has more than one part",
        ),
        (
            rf"{_VERSION}\.checkpoint\.[0-9]{{10}}\.[0-9]{{10}}\.parquet",
            ("CKPT-025",),
            "parts are numbered from 1 to their count",
        ),
        (
            rf"{_VERSION}\.checkpoint(?:\.(?: *[0-9]+|(?:0x)?[0-9A-Fa-f]{{1,10}})){{2}}\.parquet",
            ("CKPT-023",),
            "number and count of a part have ten digits each",
        ),
        (
            rf"(?:{_OTHER_FORM})\.checkpoint\. *[0-9]+\. *[0-9]+\.parquet",
            ("CKPT-022",),
            "a part is named by its version in twenty digits",
        ),
        (
            (
                rf"{_VERSION}[._-]{_WORD}(?:[._-](?:of|part)?[._-]?[0-9]+){{2}}\.parquet"
                rf"|(?:{_VERSION}[._-])?[0-9]+[._-][0-9]+[._-]{_WORD}\.parquet"
                rf"|{_WORD}(?:[._-][0-9]{{1,10}}){{2}}\.parquet"
            ),
            ("CKPT-021",),
            "a part is called n.checkpoint.o.p.parquet",
        ),
        (
            rf"{_VERSION}\.checkpoint\.[0-9]+\.parquet",
            ("CKPT-013", "CKPT-021"),
            "between n.checkpoint and parquet are a UUID, or the number and the count of a part",
        ),
        (
            rf"{_VERSION}\.checkpoint\.json",
            ("CKPT-013", "CKPT-018", "CKC-026"),
            "n.checkpoint is followed by a UUID, or by parquet",
        ),
        (
            rf"{_VERSION}\.checkpoint\.(?i:orc|avro|csv)",
            ("CKPT-018", "CKC-026"),
            "a classic checkpoint is Parquet",
        ),
        (
            (
                rf"{_VERSION}[._-]?{_WORD}(?:[._-](?i:parquet|parq|pq))?"
                rf"|{_WORD}(?:[._-]?{_VERSION})?\.parquet"
                rf"|{_VERSION}\.checkpoint\.(?i:snappy|gz|gzip|zstd|lz4)\.parquet|{_VERSION}\.parquet"
                rf"|{_VERSION}\.checkpoint\.parquet\.(?i:snappy|gz|gzip|zst|zstd|lz4)"
            ),
            ("CKPT-018",),
            "a classic checkpoint is called n.checkpoint.parquet",
        ),
        (
            (
                rf"{_VERSION}\.checkpoint\.[0-9A-Za-z_-]+\.(?i:json|parquet)|{_VERSION}\.{_UUID}\.parquet"
                rf"|{_VERSION}[._-]{_WORD}[._-]\{{?{_UUID_LIKE}\}}?(?:\.(?!crc$|tmp$|bak$)[0-9A-Za-z]+)*"
                rf"|{_VERSION}[._-]{_UUID_LIKE}[._-]{_WORD}\.(?:json|parquet)"
            ),
            ("CKPT-013",),
            "a UUID-named checkpoint is called n.checkpoint.u.json or .parquet, u being a UUID",
        ),
        (
            (
                rf"(?:{_OTHER_FORM})\.crc"
                rf"|{_VERSION}[._-]?(?i:(?:crc(?:32c?)?|checksum)(?:\.json)?|json\.crc|md5|sum)"
                rf"|_?(?i:crc|checksum)[._-]{_VERSION}(?:\.json)?"
                rf"|{_VERSION}[._-][0-9A-Za-z_-]*(?i:crc|checksum)\.(?:json|crc)"
                rf"|{_VERSION}[._-]\{{?{_UUID_LIKE}\}}?\.crc|{_VERSION}\.crc\.{_CODEC}"
            ),
            ("CRC-003",),
            "a checksum is called n.crc, n being its version in twenty digits",
        ),
        (
            rf"{_VERSION}\.{_VERSION}\.compacted\.json",
            ("COMP-013",),
            "the end of a compaction is above its start",
        ),
        (
            rf"(?:{_OTHER_FORM})\.(?:{_OTHER_FORM})\.compacted\.json",
            ("COMP-003",),
            "both versions of a compaction have twenty digits",
        ),
        (
            (
                rf"{_VERSION}(?:[._-]|[._-]to[._-]){_VERSION}"
                r"(?:[._-](?i:[a-z]*[_-]?compact(?:ed|ion)?|merged|combined|aggregated))?"
                r"(?:\.(?i:jsonl?|ndjson|parquet))?"
                rf"|{_VERSION}[._-]compacted[._-]{_VERSION}\.json"
                rf"|compact(?:ed|ion)[._-].*{_VERSION}\.json"
                rf"|{_VERSION}\.{_VERSION}\.compacted\.(?:json\.{_CODEC}|{_UUID_LIKE}\.json)"
                r"|[^._].*\.compacted\.json"
            ),
            ("COMP-002",),
            "a compaction is called x.y.compacted.json",
        ),
        (
            rf"{_NO_LEFTOVER}(?=.*{_VERSION})(?=.*{_WORD}).*(?:{_UUID_LIKE}.*|\.json)",
            ("CKPT-013",),
            "a UUID-named checkpoint is called n.checkpoint.u.json or .parquet, u being a UUID",
        ),
        (
            (
                rf"{_NO_LEFTOVER}(?=.*{_VERSION})(?=.*{_WORD}).*"
                r"(?<![0-9])[0-9]{1,10}[^0-9]{1,6}[0-9]{1,10}(?![0-9]).*"
            ),
            ("CKPT-021",),
            "a part is called n.checkpoint.o.p.parquet",
        ),
        (
            rf"{_NO_LEFTOVER}(?=.*{_VERSION}).*{_WORD}.*",
            ("CKPT-018",),
            "a classic checkpoint is called n.checkpoint.parquet",
        ),
    )
)
"""Names that look like those of log files, most specific first."""

_PARQUET_WITHOUT_WORD: Final = re.compile(rf"{_VERSION}\.parquet")
"""A commit in Parquet where that is missing, else a checkpoint without its word."""

_AFFIXED_CHECKPOINT: Final = re.compile(
    rf"(?:^|[^0-9]){_VERSION}\.checkpoint\.(?:{_UUID}\.json|(?:{_UUID}\.)?parquet)"
    rf"(?!\.(?:{_CODEC}|{_UUID_LIKE}|[0-9]{{10}}\.[0-9]{{10}})$)(?=.)|[^0-9]{_VERSION}\.checkpoint\.parquet$"
)
"""The name of a checkpoint with something before or behind it."""

_NUMBER: Final = re.compile(_GROUPED)
_HEXADECIMAL_NAME: Final = re.compile(r"([0-9A-Fa-f]*[A-Fa-f][0-9A-Fa-f]*)\.json")
"""Names with a version in decimal and in hexadecimal digits."""


def _lacks(log: Log, version: int) -> bool:
    """Return whether a commit is missing: the next one, or one that the others stand beside."""
    if version in log.commits:
        return False
    kept = [each.version for each in log.checkpoints if each.complete]
    following = max([*log.commits, *kept], default=-1) + 1
    begins = min(log.commits, default=following)
    covered = max(kept, default=-1) >= begins - 1
    return (begins if covered else 0) <= version <= following


def _is_missed(view: LogView | VersionView, path: str, requirement: str) -> bool:
    """Return whether a file under a wrong name is a file of the log that has no right one.

    Nothing forbids foreign files beside a log. One that looks like a commit stands for it where
    the log lacks it. What the log may have or not is known by what is in it.
    """
    log, name = view.log, path.rpartition("/")[2]
    found = _NUMBER.search(name)
    version = int(re.sub("[^0-9]", "", found[0])[-_DIGITS:]) if found else -1
    if requirement.startswith("LOG"):
        by_sixteen = _HEXADECIMAL_NAME.fullmatch(name)
        return found is not None and _lacks(log, int(by_sixteen[1], 16) if by_sixteen else version)
    whole = _whole(view)
    if _AFFIXED_CHECKPOINT.search(name) or version < min(log.commits, default=0) <= max(
        whole, default=-1
    ):
        return False  # a copy of another tool, or what a cleanup has left
    kept: Mapping[str, Iterable[int]] = {
        "CKPT": whole,
        "CKC": whole,
        "COMP": (file.version for file, _ in log.compactions),
        "CRC": log.checksums,
    }
    return version not in kept[requirement.partition("-")[0]] and is_log_content(view.storage, path)


_DIGITS: Final = 20
"""Digits of a version, at most."""


@check(
    "log", *tuple(dict.fromkeys(name for _, names, _ in _LOOKALIKES for name in names)), whole=True
)
def misnamed(view: LogView) -> Findings:
    """Report files that a reader passes over because of their names."""
    for entry in view.log.entries:
        if name_of(entry.name) is not None:
            continue
        found = next((each for each in _LOOKALIKES if each[0].fullmatch(entry.name)), None)
        if found is None:
            continue
        _, requirements, wanted = found
        if _PARQUET_WITHOUT_WORD.fullmatch(entry.name) and _is_missed(view, entry.path, "LOG-001"):
            requirements, wanted = ("LOG-001",), "a commit is a JSON file"
        if requirements == ("COMP-013",) and entry.name[:20] > entry.name[21:41]:
            requirements = ("COMP-002", *requirements)  # it begins with the end
        hint = "readers ignore the file; rename it if it belongs to the log"
        for requirement in requirements:
            sure = _is_missed(view, entry.path, requirement)
            yield finding(requirement, entry.path, wanted, hint, sure=sure)


def _whole(view: LogView | VersionView) -> list[int]:
    """Return the versions of the complete checkpoints."""
    return sorted({c.version for c in view.log.checkpoints if c.complete})


@check("log", "SNAP-001 LOG-003", whole=True)
def contiguous(view: LogView) -> Findings:
    """Report versions that are missing between two commits."""
    newest = max(_whole(view), default=-1)
    for low, high in pairwise(view.log.commits):
        if high > low + 1:
            covered = newest >= high - 1
            yield finding(
                "SNAP-001",
                f"{LOG_DIR}/{commit_name(low + 1)}",
                f"versions {low + 1} to {high - 1} are missing",
                "a later checkpoint covers them: only older versions are lost"
                if covered
                else "versions after the gap cannot be read",
                sure=not covered,
            )
            if not covered:
                message = f"version {high} is committed after version {low}"
                place = f"{LOG_DIR}/{commit_name(high)}"
                yield finding("LOG-003", place, message, "the next version was another one")


@check("log", "CKPT-011", whole=True)
def covered(view: LogView) -> Findings:
    """Report a log whose beginning is gone without a checkpoint in its place."""
    first = min(view.log.commits, default=None)
    if first is None:
        for checkpoint in () if _whole(view) else view.log.checkpoints:
            message = "no version can be read: there is no commit and no complete checkpoint"
            yield finding("CKPT-011", checkpoint.place, message, "restore what is missing")
        return
    covering = min((version for version in _whole(view) if version >= first - 1), default=None)
    place = f"{LOG_DIR}/{commit_name(first)}"
    if first > 0 and covering is None:
        message = f"the log begins with version {first} and no complete checkpoint covers it"
        yield finding("CKPT-011", place, message, "restore the earlier commits or a checkpoint")
    elif first > 0 and covering is not None and covering > first:
        # They may be what a cleanup has not come to, and the versions that it keeps begin later.
        message = f"commits {first} to {covering - 1} are there and make no version"
        hint = f"the first checkpoint that covers what is gone is of version {covering}"
        yield finding("CKPT-011", place, message, hint, severity="warning")


@check("log", "CKPT-030 CKPT-031", whole=True)
def checkpoints_follow_commits(view: LogView) -> Findings:
    """Report checkpoints of versions that were never committed, and incomplete ones."""
    latest = max(view.log.commits, default=None)
    for checkpoint in view.log.checkpoints:
        if latest is not None and checkpoint.version > latest:
            message = (
                f"a checkpoint of version {checkpoint.version}, after the last commit {latest}"
            )
            yield finding("CKPT-031", checkpoint.place, message)
        if not checkpoint.complete:
            have, want = len(checkpoint.files), checkpoint.files[0].parts
            message = f"only {have} of {want} parts are there, so readers ignore them"
            yield finding("CKPT-030", checkpoint.place, message, severity="warning")


@check("version", "CAT-017", whole=True)
def summaries_follow_publication(view: VersionView) -> Findings:
    """Report checkpoints and compactions of versions of a catalog that are not published."""
    latest = max(view.log.commits, default=None)
    if "catalogManaged" not in view.layout.features or latest is None:
        return
    ends = [(each.version, each.place) for each in view.log.checkpoints]
    ends += [(file.end, f"{LOG_DIR}/{file.name}") for file, _ in view.log.compactions]
    for version, place in ends:
        if version > latest:
            message = f"it reaches version {version}, and {latest} is the last that is published"
            yield finding("CAT-017", place, message, "publish the commits first")


@check("version", "CRC-038", whole=True)
def checksums_follow_commits(view: VersionView) -> Findings:
    """Report checksums of versions that were never committed."""
    if "catalogManaged" in view.layout.features:
        return  # CAT-018: the catalog may have committed what is not published
    latest = max([*view.log.commits, *(checkpoint.version for checkpoint in view.log.checkpoints)])
    for version in view.log.checksums:
        if version > latest:
            message = f"a checksum of version {version}, after the last version {latest}"
            yield finding("CRC-038", f"{LOG_DIR}/{version:020d}.crc", message)


_DIRECT: Final = {"checksum": "CRC-004", "compaction": "COMP-001", "commit": "LOG-001"}
"""Kinds of files that are in the log folder itself, and the requirement that says so."""

_STAGED: Final = f"{LOG_DIR}/_staged_commits"
_STAGED_NAME: Final = re.compile(rf"{_VERSION}\.{_UUID}\.json")
_STAGED_LIKE: Final = re.compile(rf"[0-9]+[._-]{_UUID_LIKE}\.json(?:\.{_CODEC})?")
_STAGED_ANY: Final = re.compile(
    rf"[^._].*\.(?i:json)(?:\.{_CODEC})?|[0-9]+[._-]{_UUID_LIKE}(?i:\.jsonl?|\.txt)?"
)


def _is_copy(view: VersionView, folder: str, file: LogFile) -> bool:
    """Return whether a file outside of the log may be a copy of what the log has, or had."""
    log = view.log
    if not folder or folder.startswith(f"{LOG_DIR}/"):
        return file.kind == "commit" and file.version in log.commits
    if file.kind == "commit":
        return file.version <= max(log.commits, default=-1)
    kept = log.checksums if file.kind == "checksum" else log.compactions
    return bool(kept) or file.version not in log.commits


def _staged(view: VersionView, path: str) -> Findings:
    """Report a staged commit of another name, or in another folder."""
    catalogued = "catalogManaged" in view.layout.features
    folder, _, name = path.rpartition("/")
    if folder == _STAGED and not _STAGED_NAME.fullmatch(name) and _STAGED_ANY.fullmatch(name):
        message = "a staged commit is called VERSION.UUID.json, its version of twenty digits"
        # In a table that no catalog manages the folder has no meaning.
        yield finding("CAT-002", path, message, sure=catalogued)
    elif LOG_DIR in folder.split("/")[1:]:
        return  # the log of another table
    elif catalogued and folder != _STAGED and _STAGED_LIKE.fullmatch(name):
        sure = _is_missed(view, path, "LOG-001")
        yield finding("CAT-002", path, "a staged commit is in _staged_commits", sure=sure)


@check("files", "CRC-004 COMP-001 LOG-001 CAT-002", whole=True)
def files_below_the_log(view: VersionView) -> Findings:
    """Report commits and what belongs to them in other folders, where no reader looks for them."""
    latest = max(view.log.commits, default=-1)
    for entry in view.storage.walk():
        budget().check_time()
        folder, _, name = entry.path.rpartition("/")
        staged = list(_staged(view, entry.path))
        yield from staged
        inside = LOG_DIR in folder.split("/")[1:] or folder == LOG_DIR
        file = None if inside else name_of(name)
        if file is None or _is_copy(view, folder, file):
            continue
        if staged and file.kind == "commit" and "catalogManaged" in view.layout.features:
            continue
        if requirement := _DIRECT.get(file.kind):
            message, hint = f"the file is not in {LOG_DIR} itself", "readers do not find it there"
            attempt = file.version > latest and _is_attempt(folder, file)
            sure = not attempt and _is_missed(view, entry.path, requirement)
            yield finding(requirement, entry.path, message, hint, sure=sure)


def _is_attempt(folder: str, file: LogFile) -> bool:
    """Return whether a file may be what a writer prepared for its commit, and left aside."""
    hidden = folder.rpartition("/")[2].startswith(("_", "."))
    return hidden and folder != _STAGED and file.kind == "commit"
