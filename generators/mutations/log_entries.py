"""Commits that are missing, misnamed or not lines of JSON.

Serves "Delta Table Specification" and "Delta Log Entries".
"""

from __future__ import annotations

import json
from typing import Final

from generators.mutations.bases import CHECKPOINT_ONLY, CHECKPOINTED
from generators.mutations.edits import add_line, append_text, delete, edit_bytes, write_file
from generators.mutations.mutation import Chapter

_CHAPTER: Final = Chapter("delta-log-entries")

_STRAY_COMMIT: Final = (
    '{"add":{"path":"gone.parquet","partitionValues":{},"size":1,'
    '"modificationTime":0,"dataChange":true}}\n'
)


def _several_lines(data: bytes) -> bytes:
    lines = data.decode("utf-8").splitlines()
    return ("\n".join(json.dumps(json.loads(each), indent=2) for each in lines) + "\n").encode()


MUTATIONS: Final = (
    _CHAPTER.refused(
        "log-missing-middle",
        "a commit in the middle is gone",
        "SNAP-001 LOG-005",
        delete("*02.json"),
    ),
    _CHAPTER.refused(
        "log-missing-first",
        "commit 0 is gone and no checkpoint stands in for it",
        "SNAP-001 LOG-005 CKPT-011",
        delete("*00.json"),
    ),
    _CHAPTER.refused(
        "log-missing-after-checkpoint",
        "the commit that follows the checkpoint is gone",
        "SNAP-001 LOG-005",
        delete("*03.json"),
        base=CHECKPOINTED,
    ),
    _CHAPTER.refused(
        "log-gap-without-older-commits",
        "behind the checkpoint a commit is gone, and all before it too",
        "SNAP-001 LOG-005 CKPT-011",
        delete("*03.json"),
        base=CHECKPOINT_ONLY,
    ),
    _CHAPTER.refused(
        "log-empty-directory",
        "the log directory holds no file",
        "REC-003 REC-002 LOG-001",
        delete("*"),
        kind="not_found",
        noticed_by="reader",
    ),
    _CHAPTER.refused(
        "log-cut-line",
        "the last line of a commit is cut off",
        "LOG-006 LOG-004",
        edit_bytes("*02.json", lambda data: data[: data.rindex(b'"size"') + 3]),
    ),
    _CHAPTER.contested(
        "log-action-over-lines",
        "actions of a commit spread over several lines",
        "LOG-004 LOG-006",
        edit_bytes("*02.json", _several_lines),
        reason="a parser that goes on to the next value wherever it stands finds every action",
    ),
    _CHAPTER.contested(
        "log-actions-on-one-line",
        "two actions of a commit stand on one line",
        "LOG-004",
        edit_bytes("*02.json", lambda data: data.replace(b"\n", b"") + b"\n"),
        reason="a parser that goes on to the next value wherever it stands finds every action",
    ),
    _CHAPTER.refused(
        "log-not-utf8",
        "a commit has bytes that are not UTF-8",
        "LOG-006 LOG-004",
        edit_bytes("*02.json", lambda data: data.replace(b'"part-', b'"\xff\xfepart-', 1)),
    ),
    _CHAPTER.contested(
        "log-utf16",
        "a commit is written in UTF-16",
        "LOG-006 LOG-004",
        edit_bytes("*02.json", lambda data: data.decode("utf-8").encode("utf-16")),
        reason="the text names no encoding, and some parsers of JSON find out which it is",
    ),
    _CHAPTER.refused(
        "log-line-is-array",
        "a line of a commit is a JSON array",
        "LOG-006 LOG-004",
        add_line(2, "[1,2,3]"),
    ),
    _CHAPTER.refused(
        "log-line-is-number",
        "a line of a commit is a JSON number",
        "LOG-006 LOG-004",
        add_line(2, "42"),
    ),
    _CHAPTER.refused(
        "log-binary-garbage",
        "a commit ends in bytes that are no text",
        "LOG-006 LOG-004",
        append_text(2, bytes(range(128, 256))),
    ),
    _CHAPTER.refused(
        "log-action-is-text",
        "the body of an add action is a string",
        "LOG-006 LOG-004 ADD-001",
        add_line(2, {"add": "part-0.parquet"}),
    ),
    _CHAPTER.refused(
        "log-empty-first",
        "commit 0 is a file of zero bytes",
        "META-001 REC-003 REC-002",
        edit_bytes("*00.json", lambda _data: b""),
    ),
    _CHAPTER.contested(
        "log-empty-last",
        "the last commit is a file of zero bytes",
        "LOG-004 LOG-006 LOG-007",
        write_file(f"_delta_log/{5:020d}.json", b""),
        reason="a commit without actions changes nothing, or is a write that never finished",
    ),
    _CHAPTER.contested(
        "log-blank-line",
        "a commit has an empty line",
        "LOG-004",
        edit_bytes("*02.json", lambda data: data.replace(b"\n", b"\n\n", 1)),
        reason="an empty line is no JSON document, and holds nothing that could be lost",
    ),
    _CHAPTER.contested(
        "log-empty-object",
        "a line of a commit is an object without any action",
        "LOG-004 PROTO-008",
        add_line(2, "{}"),
        reason="no action is neither a known nor an unknown one",
    ),
    _CHAPTER.contested(
        "log-byte-order-mark",
        "a commit begins with a byte order mark",
        "LOG-004",
        edit_bytes("*02.json", lambda data: b"\xef\xbb\xbf" + data),
        reason="JSON texts have no byte order mark, and parsers may ignore one",
    ),
    _CHAPTER.contested(
        "log-two-actions-in-one-object",
        "one object carries an add and a remove",
        "LOG-004",
        add_line(2, {"txn": {"appId": "a", "version": 1}, "remove": {"path": "x"}}),
        reason="a line is one action; a reader that takes both keys is not told otherwise",
    ),
    _CHAPTER.survived(
        "log-unpadded-name",
        "a file with an unpadded number is no commit",
        "LOG-002",
        write_file("_delta_log/5.json", _STRAY_COMMIT),
        noticed_by="audit",
    ),
    _CHAPTER.survived(
        "log-carriage-returns",
        "lines end in carriage return and newline",
        "LOG-004",
        edit_bytes("*02.json", lambda data: data.replace(b"\n", b"\r\n")),
    ),
    _CHAPTER.survived(
        "log-no-last-newline",
        "the last line of a commit has no newline",
        "LOG-004",
        edit_bytes("*02.json", lambda data: data.rstrip(b"\n")),
    ),
    _CHAPTER.survived(
        "log-spaces-in-json",
        "actions are written with spaces between the tokens",
        "LOG-004",
        edit_bytes("*02.json", lambda data: data.replace(b':{"', b' : { "')),
    ),
    _CHAPTER.survived(
        "log-other-order",
        "the actions of a commit stand in another order",
        "FA-015",
        edit_bytes("*00.json", lambda data: b"".join(reversed(data.splitlines(keepends=True)))),
    ),
)
