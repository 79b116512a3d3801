"""What two builds of a case have to agree on, whatever wrote their bytes.

A Parquet library of another version lays the same rows out in other bytes, and the file sizes
that the log repeats follow. So Parquet files compare as tables and by what a reader can stumble
over (physical types, field ids, row groups, encodings, compression), JSON files as documents,
and byte counts of Parquet files are left out; everything else compares byte by byte.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from generators.file_digests import digest_of_case, joined
from generators.spec_files import spec_files

_SIZES = frozenset({"size", "sizeInBytes", "tableSizeBytes", "totalBytes", "sidecarSizeInBytes"})
_OBSERVED = frozenset({"cross_checked", "tool_versions"})
_HINT_CHECKSUM = re.compile(r'"checksum"\s*:\s*"[0-9a-f]{32}"')

_WORDS: Final = frozenset({"title", "requirements", "requirement"})
"""Fields of a spec that describe it: part of neither the question nor the answer."""


def question_digest(directory: Path) -> str:
    """Return the SHA-256 of a case's table, questions and answers, without what describes them.

    It says whether a record about the case, which the description holds, is still about it. A
    better title or another judged requirement leaves what an engine was asked as it was.
    """
    total = sha256()
    for part in ("delta", "expected"):
        total.update(digest_of_case(directory / part).encode())
    specs = {path.name: sha256(_asked(path)).digest() for path in spec_files(directory)}
    total.update(joined(specs).encode())
    return total.hexdigest()


def _asked(spec: Path) -> bytes:
    fields = json.loads(spec.read_bytes())
    asked = {name: value for name, value in fields.items() if name not in _WORDS}
    return json.dumps(asked, sort_keys=True).encode()


def logical_content(path: Path) -> Any:
    """Return the content of one file in a form that two equal builds share."""
    if path.suffix == ".parquet":
        try:
            table = pq.read_table(path)
            layout = _layout(path)
        except pa.ArrowException:
            return path.read_bytes()  # broken on purpose
        rows = [_masked(row) for row in table.to_pylist()]
        return (str(table.schema.remove_metadata()), layout, rows)
    content = path.read_bytes()
    if path.suffix in {".json", ".crc"} or path.name == "_last_checkpoint":
        try:
            return _documents(_HINT_CHECKSUM.sub('"checksum":"*"', content.decode("utf-8")))
        except ValueError:
            return content  # broken on purpose
    return content


def differences(left: Path, right: Path) -> list[str]:
    """Name the files in which two builds of a case differ; empty when they agree."""
    ours = {path.relative_to(left): path for path in _files(left)}
    theirs = {path.relative_to(right): path for path in _files(right)}
    found = [f"{name}: only on one side" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        if ours[name].read_bytes() == theirs[name].read_bytes():
            continue
        if repr(logical_content(ours[name])) != repr(logical_content(theirs[name])):
            found.append(f"{name}: content differs")
    return found


def _layout(path: Path) -> Any:
    """Return how a Parquet file stores its columns."""
    with pq.ParquetFile(path) as file:
        # The first line is the address of an object.
        _, _, columns = str(file.schema).partition("\n")
        groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
    return columns, [(group.num_rows, _chunks(group)) for group in groups]


def _chunks(group: Any) -> list[Any]:
    chunks = [group.column(n) for n in range(group.num_columns)]
    return [(each.path_in_schema, each.compression, sorted(each.encodings)) for each in chunks]


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _documents(text: str) -> Any:
    try:
        return _masked(json.loads(text))
    except ValueError:
        return [_masked(json.loads(line)) for line in text.splitlines() if line.strip()]


def _masked(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: None if key in _OBSERVED or _is_size(key, value) else _masked(value[key])
                for key in sorted(value, key=str)
            }
        case list() | tuple():
            return [_masked(item) for item in value]
        case _:
            return value


def _is_size(key: Any, owner: dict[Any, Any]) -> bool:
    # A deletion vector's size does not depend on the Parquet library.
    return key in _SIZES and "storageType" not in owner
