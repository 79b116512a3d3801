"""Compare protocol, metadata, file lists and commit lists: JSON documents with a meaning.

Covers the "Actions" section. An absent key means null; feature lists are sets; a schema string is
compared as the document it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from conformance.base.faults import AdapterError
from conformance.base.terminal import shortened
from conformance.judging.compare.rows import Difference

_MISSING: Final = object()
_MAX_SHOWN: Final = 5
_FILE_SCHEME: Final = re.compile(r"\Afile:/+")


def _schema(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _as_set(value: Any) -> Any:
    return sorted(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _filled(value: Any) -> Any:
    # A map without entries and no map say the same.
    return value or None


def _keep(value: Any) -> Any:
    return value


_MEANING: Final[Mapping[str, Callable[[Any], Any]]] = {
    "readerFeatures": _as_set,
    "writerFeatures": _as_set,
    "schemaString": _schema,
    "stats": _schema,
    "tags": _filled,
    "partitionValues": _filled,
    "configuration": _filled,
}
_NULL_WHERE_ABSENT: Final = ("baseRowId", "defaultRowCommitVersion", "clusteringProvider", "tags")
"""Keys of a file that an expectation leaves out only where they are null."""

_FILE_KEYS: Final = {
    key.lower(): key
    for key in (
        "path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "dvId",
        "deletionVector", "baseRowId", "defaultRowCommitVersion", "clusteringProvider", "tags",
    )
}  # fmt: skip
"""Keys of a file by their letters, for those that are spelled in another way."""

_SNAPSHOT_KEYS: Final = {
    "protocol": ("minReaderVersion", "minWriterVersion"),
    "metadata": ("schemaString", "partitionColumns"),
}
_WHERE_FILLED: Final = ("readerFeatures", "writerFeatures", "configuration")
"""Keys of a snapshot that an answer may leave out where they hold nothing, and only there."""


def compare_document(
    expected: Any, actual: Any, place: str, required: Iterable[str] = ()
) -> Difference | None:
    """Compare two documents at the keys that the answer has.

    Args:
        expected: what the protocol demands.
        actual: what the implementation gave.
        place: a name for the document in messages.
        required: keys that the answer has to have.

    Returns:
        The first differences, or ``None``.
    """
    if not isinstance(actual, Mapping):
        return Difference("document", f"{place or 'answer'} is no object: {actual!r}")
    faults = [
        f"{place}.{key} is not answered"
        for key in required
        if key not in actual and expected.get(key) is not None
    ]
    for key in sorted(actual):
        meaning = _MEANING.get(key, _keep)
        wanted, given = meaning(expected.get(key)), meaning(actual[key])
        if not _equal(wanted, given):
            faults.append(f"{place}.{key} is {_brief(given)}, expected {_brief(wanted)}")
    if not faults:
        return None
    return Difference("document", faults[0], tuple(faults[1:]))


def _equal(expected: Any, actual: Any) -> bool:
    """Compare JSON values: absent members are null, true is not 1, NaN does not occur."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return all(_equal(expected.get(k), actual.get(k)) for k in {*expected, *actual})
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(_equal, expected, actual))
    if isinstance(expected, bool) != isinstance(actual, bool):
        return False
    return bool(expected == actual)


def _brief(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str), 200)


def compare_snapshot(expected: Mapping[str, Any], actual: Any) -> Difference | None:
    """Compare the ``protocol`` and ``metadata`` of a snapshot.

    Args:
        expected: ``{"protocol": {...}, "metadata": {...}}``.
        actual: the payload of a snapshot answer.

    Returns:
        The first differences, or ``None``.
    """
    if not isinstance(actual, Mapping):
        return Difference("document", f"snapshot is no object: {actual!r}")
    for part, keys in _SNAPSHOT_KEYS.items():
        if part in expected:
            filled = [key for key in _WHERE_FILLED if expected[part].get(key)]
            found = compare_document(expected[part], actual.get(part), part, (*keys, *filled))
            if found:
                return found
    return None


def _file_key(entry: Mapping[str, Any]) -> tuple[str, str]:
    deletion_vector = entry.get("dvId", _MISSING)
    if deletion_vector is _MISSING:
        deletion_vector = _vector_id(entry.get("deletionVector"))
    return str(entry.get("path")), str(deletion_vector)


def _vector_id(descriptor: Any) -> str | None:
    """Derive the unique id of a deletion vector (section "Derived Fields")."""
    if not isinstance(descriptor, Mapping):
        return None
    name = f"{descriptor.get('storageType')}{descriptor.get('pathOrInlineDv')}"
    offset = descriptor.get("offset")
    return name if offset is None else f"{name}@{offset}"


def compare_files(expected: Sequence[Mapping[str, Any]], actual: Any) -> Difference | None:
    """Compare the live logical files of a version as a multiset keyed by path and vector.

    Args:
        expected: file objects of the spec.
        actual: file objects of the answer; ``path`` is always there, other keys are compared
            where any file of the answer has them: to the others of its files they are null.

    Returns:
        The first differences, or ``None``.

    Raises:
        AdapterError: a key is spelled in another way than the contract's, and would say nothing.
    """
    if not isinstance(actual, Sequence) or not all(isinstance(e, Mapping) for e in actual):
        return Difference("document", f"files is no list of objects: {_brief(actual)}")
    answered = {str(key) for entry in actual for key in entry}
    for name in sorted(answered - {*_FILE_KEYS.values()}):
        meant = _FILE_KEYS.get(name.replace("_", "").lower())
        if meant is not None:
            raise AdapterError("garbage", f"a file has {name!r} where the contract has {meant!r}")
    with_vectors = any("dvId" in e or "deletionVector" in e for e in actual)
    wanted, given = (
        _by_key(expected, with_vectors=with_vectors),
        _by_key(actual, with_vectors=with_vectors),
    )
    faults = [
        f"{what} file {key[0]!r}" + (f" with deletion vector {key[1]}" if with_vectors else "")
        for what, left, right in (("missing", wanted, given), ("extra", given, wanted))
        for key in sorted(left)
        for _ in range(len(left[key]) - len(right.get(key, ())))
    ]
    for key in sorted(set(wanted) & set(given)):
        for left, right in zip(wanted[key], given[key], strict=False):
            shared = answered & {*left, *_NULL_WHERE_ABSENT}
            found = compare_document(left, {k: right.get(k) for k in shared}, f"file {key[0]!r}")
            if found:
                faults.append(found.summary)
    return Difference("document", faults[0], tuple(faults[1:_MAX_SHOWN])) if faults else None


def _by_key(
    entries: Iterable[Mapping[str, Any]], *, with_vectors: bool
) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for given in entries:
        entry = {**given, "path": _FILE_SCHEME.sub("/", str(given.get("path")))}
        path, vector = _file_key(entry)
        found.setdefault((path, vector if with_vectors else ""), []).append(entry)
    return found


def compare_history(expected: Sequence[Mapping[str, Any]], actual: Any) -> Difference | None:
    """Compare commits, newest first, at the keys that any of the answer has, and their times.

    Args:
        expected: ``{"version", "timestamp", "operation"}`` objects.
        actual: the payload of a history answer.

    Returns:
        The first difference, or ``None``.
    """
    if not isinstance(actual, Sequence) or not all(isinstance(e, Mapping) for e in actual):
        return Difference("document", f"history is no list of objects: {_brief(actual)}")
    wanted, given = ([e.get("version") for e in entries] for entries in (expected, actual))
    if wanted != given:
        return Difference("document", f"versions are {given}, expected {wanted}")
    answered = {"timestamp", *(key for entry in actual for key in entry)}
    for left, right in zip(expected, actual, strict=True):
        shared = {key: right.get(key) for key in answered & left.keys()}
        found = compare_document(left, shared, f"commit {left['version']}")
        if found:
            return found
    return None
