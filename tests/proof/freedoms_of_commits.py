"""Freedoms of what a commit is made of: other files, other actions beside, other words.

They are of the kind of ``freedoms.py``: right by the text, and unlike the reference.
"""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyroaring
from breaches.seams import afterwards, answering, asking
from freedoms import Actions, Freedom, bodies, committing
from freedoms_of_files import new_files

from conformance.adapter import Ok, Refused, Write
from conformance.adapter import Snapshot as AskSnapshot
from generators.materialise.data.deletion_vectors import z85_encode
from reference_impl import DeltaError, Snapshot, Table
from reference_impl.model.features import supported

_KIND: Final = "_change_type"


def _latest(root: Path) -> Snapshot | None:
    try:
        return Table(root).snapshot()
    except DeltaError:
        return None


def _rows(body: dict[str, Any], root: Path) -> pa.Table:
    return pq.ParquetFile(root / unquote(body["path"])).read()


def _one_row_each(actions: Actions, root: Path) -> Actions:
    """Write a data file for each row of a new one, with row ids that go on."""
    fresh: list[str] = []

    def note(body: dict[str, Any], _root: Path, kind: str) -> dict[str, Any]:
        fresh.extend([body["path"]] if kind == "add" else [])
        return body

    new_files(note)(actions, root)
    found: Actions = []
    for each in actions:
        body = each.get("add")
        if body is None or body["path"] not in fresh or body.get("deletionVector"):
            found.append(each)
            continue
        rows, path = _rows(body, root), root / unquote(body["path"])
        for number in range(rows.num_rows):
            target = path.with_name(f"{number}-{path.name}")
            pq.write_table(rows.slice(number, 1), target)
            own = {
                "path": quote(target.relative_to(root).as_posix()),
                "size": target.stat().st_size,
                "stats": json.dumps({"numRecords": 1}),
            }
            if body.get("baseRowId") is not None:
                own["baseRowId"] = body["baseRowId"] + number
            found.append({"add": {**body, **own}})
        path.unlink()
    return found


def _restated(actions: Actions, root: Path) -> Actions:
    """Set protocol and metadata in each commit, as they are."""
    snapshot = _latest(root)
    if snapshot is None:
        return actions
    held = {"protocol": snapshot.protocol.to_wire(), "metaData": snapshot.metadata.to_wire()}
    kinds = {kind for each in actions for kind in each}
    return [*actions, *({kind: body} for kind, body in held.items() if kind not in kinds)]


def _vector(rows: int, root: Path) -> dict[str, Any]:
    """Write a vector that deletes every row of a file, and describe it."""
    payload = struct.pack("<I", 1681511377) + pyroaring.BitMap64(range(rows)).serialize()
    name, size = uuid.uuid4(), len(payload)
    framed = struct.pack(">I", size) + payload + struct.pack(">I", zlib.crc32(payload))
    (root / f"deletion_vector_{name}.bin").write_bytes(b"\x01" + framed)
    place = {"storageType": "u", "pathOrInlineDv": z85_encode(name.bytes), "offset": 1}
    return {**place, "sizeInBytes": size, "cardinality": rows}


def _emptied(actions: Actions, root: Path) -> Actions:
    """Delete every row of a file that goes, by a vector, in the place of the file."""
    snapshot, kinds = _latest(root), {kind for each in actions for kind in each}
    if snapshot is None or kinds & {"metaData", "protocol"}:
        return actions
    if snapshot.metadata.configuration.get("delta.enableDeletionVectors") != "true":
        return actions
    adds = {each["path"]: each for each in snapshot.adds().to_pylist(maps_as_pydicts="strict")}
    again = {each["add"]["path"] for each in actions if "add" in each}
    more = []
    for each in actions:
        path = each.get("remove", {}).get("path")
        if path not in adds or path in again or each["remove"]["dataChange"] is False:
            continue
        held = {k: v for k, v in adds[path].items() if v is not None}
        count = _rows(held, root).num_rows
        stats = json.dumps({"numRecords": count, "tightBounds": False})
        changed = {"deletionVector": _vector(count, root), "stats": stats, "dataChange": True}
        more.append({"add": {**held, **changed}})
    return [*actions, *more]


def _changes_of(rows: pa.Table, root: Path, values: Any) -> dict[str, Any]:
    path = root / "_change_data" / f"{uuid.uuid4()}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path)
    name, size = path.relative_to(root).as_posix(), path.stat().st_size
    return {"cdc": {"path": name, "partitionValues": values, "size": size, "dataChange": False}}


def _inserts_fed(actions: Actions, root: Path) -> Actions:
    """Write change files of commits that only insert, too."""
    snapshot, kinds = _latest(root), {kind for each in actions for kind in each}
    if snapshot is None or kinds & {"cdc", "remove", "metaData", "protocol"}:
        return actions
    if snapshot.metadata.configuration.get("delta.enableChangeDataFeed") != "true":
        return actions
    if "changeDataFeed" not in supported(snapshot.protocol):
        return actions
    more = []
    for each in actions:
        body = each.get("add")
        if body is not None and body["dataChange"]:
            rows = _rows(body, root)
            kinds_of_change = pa.array(["insert"] * rows.num_rows)
            rows = rows.append_column(_KIND, kinds_of_change)
            more.append(_changes_of(rows, root, body["partitionValues"]))
    return [*actions, *more]


def _idle_updates_left_out(body: dict[str, Any], root: Path) -> dict[str, Any]:
    """Leave updates out of change files that change no value."""
    rows = _rows(body, root)
    listed = rows.to_pylist()
    keys = [repr([value for name, value in row.items() if name != _KIND]) for row in listed]
    kinds = [row[_KIND] for row in listed]
    before, after = (
        Counter(key for key, held in zip(keys, kinds, strict=True) if held == f"update_{image}")
        for image in ("preimage", "postimage")
    )
    left = {f"update_{image}": before & after for image in ("preimage", "postimage")}
    places = []
    for place, (key, kind) in enumerate(zip(keys, kinds, strict=True)):
        if left.get(kind, Counter())[key] > 0:
            left[kind][key] -= 1
        else:
            places.append(place)
    path = root / unquote(body["path"])
    pq.write_table(rows.take(pa.array(places, pa.int64())), path)
    return {**body, "size": path.stat().st_size}


def _constraints_in_brackets(body: dict[str, Any], _root: Path) -> dict[str, Any]:
    def spelled(name: str, value: str) -> str:
        ours = name.startswith("delta.constraints.") and not value.startswith("( ")
        return f"( {value} )" if ours else value

    held = body["configuration"]
    return {**body, "configuration": {k: spelled(k, v) for k, v in held.items()}}


def _litter(root: Path) -> None:
    """Leave what attempts that failed may leave, beside the log and below it."""
    log, following = root / "_delta_log", f"{Table(root).latest_version() + 1:020}.json"
    (log / f".{following}.{uuid.uuid4()}.tmp").write_bytes(b'{"add":{}}')
    (log / "_tmp").mkdir(exist_ok=True)
    (log / "_tmp" / following).write_bytes(b'{"commitInfo":{}}')
    (root / f"part-{uuid.uuid4()}.parquet").write_bytes(b"PAR1")
    (root / "_SUCCESS").write_bytes(b"")


def _generated(request: Any) -> Any:
    """Take no value for the generated column ``y``, twice of ``x`` in the cases."""
    if not isinstance(request, Write):
        return request
    arguments, rows = dict(request.arguments), request.rows
    if "y" in arguments.get("set", {}):
        two = {"literal": "2", "type": "long"}
        arguments["set"] = {"y": {"op": "*", "args": [{"column": ["x"]}, two]}}
    if rows is not None and {"x", "y"} <= {*rows.column_names}:
        at = rows.schema.get_field_index("y")
        rows = rows.set_column(at, rows.field(at), pc.multiply(rows["x"], 2))
    return replace(request, arguments=arguments, rows=rows)


def _stated(request: Any, answer: Any) -> Any:
    """Say the protocol and the metadata that commits have, of a table that cannot be read."""
    if not isinstance(request, AskSnapshot) or not isinstance(answer, Refused):
        return answer
    log = sorted((Path(request.table) / "_delta_log").glob("*[0-9].json"))
    lines = [line for path in log for line in path.read_text().splitlines()]
    found = {key: body for line in lines for key, body in json.loads(line).items()}
    protocol, metadata = found["protocol"], found["metaData"]
    return Ok({"version": len(log) - 1, "protocol": protocol, "metadata": metadata})


def _w(slug: str, source: str, how: Any, *cases: str) -> Freedom:
    return Freedom(slug, source, "writer", how, cases)


FREEDOMS_OF_COMMITS = (
    _w(
        "files-of-one-row",
        "a table is a set of files, of any number",
        committing(_one_row_each),
        "row-tracking/write-changes/write",
        "change-data-files/write-changes/write",
        "column-mapping/write-changes-by-id/write",
    ),
    _w(
        "restates-the-table",
        "subsequent metaData actions completely overwrite the current metadata",
        committing(_restated),
        "column-mapping/write-columns/write",
        "identity-columns/write-merge-updates/write",
        "row-tracking/write-changes/write",
    ),
    _w(
        "vectors-of-all-rows",
        "a vector lists rows that a file has no longer, which may be all of them",
        committing(_emptied),
        "deletion-vectors/write-changes/write",
        "change-data-files/write-changes-with-vectors/write",
    ),
    _w(
        "feeds-inserts-too",
        "a writer can, and need not, write only data files where no row is updated",
        committing(_inserts_fed),
        "change-data-files/write-changes/write",
        "change-data-files/write-merge/write",
    ),
    _w(
        "feeds-no-idle-updates",
        "change files represent the changes, and a row of the same values is none",
        committing(bodies("cdc", _idle_updates_left_out)),
        "change-data-files/write-merge-with-vectors/write",
        "change-data-files/write-changes/write",
    ),
    _w(
        "constraints-in-brackets",
        "the value is a SQL expression, which has several texts",
        committing(bodies("metaData", _constraints_in_brackets)),
        "check-constraints/write-fitting/write",
        "check-constraints/write-broken-merge-match/write",
    ),
    _w(
        "leaves-litter",
        "nothing forbids files that no action names",
        afterwards(_litter),
        "checkpoints/write-checkpoint/write",
        "metadata-cleanup/write-cleanup/write",
        "version-checksum-file/write-each/write",
    ),
    _w(
        "generates-whatever-is-given",
        "data satisfies the condition where it is what the expression gives",
        asking(_generated),
        "generated-columns/write-other-value*/write",
        "version-requirements/write-generated-*/write",
    ),
    Freedom(
        "states-what-it-cannot-read",
        "to read a table readers must implement its features; stating its protocol is no read",
        "reader",
        answering(_stated),
        (
            "protocol-evolution/reader-version-*/snapshot-*",
            "table-features/unknown-reader-feature/snapshot-*",
            "table-features/unknown-among-known/snapshot-*",
            "table-features/feature-name-*/snapshot-*",
        ),
    ),
)
"""All of them."""
