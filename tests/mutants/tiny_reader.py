"""A small reader of plain tables with a switch for each way to be wrong.

It shares no code with the reference implementation: JSON commits, classic checkpoints, partition
values, paths. Without a fault it claims reader version 1 and refuses the rest; what it cannot do
it raises. With a fault it does one thing wrong, quietly.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.adapter import (
    Answer,
    Claims,
    Description,
    Files,
    Ok,
    Refused,
    Request,
    Scan,
    Snapshot,
    Txn,
)
from generators.oracle.delta_schema import arrow_schema, from_json

COMMIT = re.compile(r"(\d{20})\.json")
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
KNOWN = {"add", "remove", "metaData", "protocol", "txn", "commitInfo", "domainMetadata", "cdc"}
KNOWN_FIELDS = {
    *("path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "tags"),
    *("deletionVector", "baseRowId", "defaultRowCommitVersion", "clusteringProvider"),
}


class RefusalError(Exception):
    """What the reader says no to."""

    def __init__(self, kind: Any, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class State:
    """What replay leaves."""

    adds: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    txns: dict[str, int] = field(default_factory=dict)


class TinyReader:
    """Read plain tables, with at most one fault."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    def describe(self) -> Description:
        features = {"ignores-deletion-vectors": frozenset({"deletionVectors"})}
        claims = Claims(
            3 if self.fault in features else 1,
            0,
            reader_features=features.get(self.fault, frozenset()),
            operations=frozenset({"scan", "snapshot", "files", "txn"}),
            capabilities=frozenset({"scan.version", "snapshot.version", "files.version"}),
        )
        return Description("tiny", "1", claims)

    def close(self) -> None:
        pass

    def run(self, request: Request) -> Answer:
        try:
            match request:
                case Scan(table, version):
                    return Ok(self.scan(Path(table), version))
                case Snapshot(table, version):
                    state = self.load(Path(table), version)
                    return Ok({"protocol": state.protocol, "metadata": state.metadata})
                case Files(table, version):
                    return Ok(list(self.load(Path(table), version).adds.values()))
                case Txn(table, app_id, version):
                    return Ok(self.load(Path(table), version).txns.get(app_id))
                case _:  # no claim covers it: that it is asked is the suite's fault
                    raise NotImplementedError(type(request).__name__)
        except RefusalError as refusal:
            return Refused(refusal.kind, None, str(refusal))

    # The log.

    def load(self, table: Path, version: int | None) -> State:
        log = table / "_delta_log"
        names = [path.name for path in log.iterdir()] if log.is_dir() else []
        commits = {int(m[1]): m[0] for name in names if (m := COMMIT.fullmatch(name))}
        sets = self.checkpoints(names)
        latest = max([*commits, *sets], default=None)
        if latest is None:
            raise RefusalError("not_found", "no table")
        target = self.target(version, latest)
        start, parts = self.start(log, sets, target)
        wanted = range(start + 1, target + 1)
        missing = [number for number in wanted if number not in commits]
        if missing and self.fault != "skips-gaps":
            kind = "not_found" if target not in commits else "invalid_table"
            raise RefusalError(kind, f"version {missing[0]} is missing")
        state = State()
        for part in parts:
            for row in pq.ParquetFile(log / part).read().to_pylist(maps_as_pydicts="lossy"):
                self.apply(state, {k: v for k, v in row.items() if v is not None})
        if self.fault == "ignores-commits-after-checkpoint" and parts:
            wanted = range(0)
        for number in wanted:
            for line in (
                (log / commits[number]).read_text().splitlines() if number in commits else ()
            ):
                self.apply(state, self.parse(line))
        self.check(state)
        return state

    def target(self, version: int | None, latest: int) -> int:
        if version is None or self.fault == "reads-latest-always":
            return latest
        if self.fault == "off-by-one-version":
            return max(version - 1, 0)
        if version > latest:
            raise RefusalError("not_found", f"no version {version}")
        return version

    def checkpoints(self, names: list[str]) -> dict[int, list[str]]:
        if self.fault == "ignores-checkpoints":
            return {}
        found: dict[tuple[int, int], list[str]] = {}
        for name in sorted(names):
            if m := CHECKPOINT.fullmatch(name):
                found.setdefault((int(m[1]), int(m[3] or 1)), []).append(name)
        whole = {v: part for (v, count), part in found.items() if len(part) == count}
        if self.fault == "takes-incomplete-checkpoints":
            whole = {v: part for (v, _), part in found.items()}
        if self.fault == "reads-the-first-part-only":
            return {v: part[:1] for v, part in whole.items()}
        return whole

    def start(self, log: Path, sets: dict[int, list[str]], target: int) -> tuple[int, list[str]]:
        hint = log / "_last_checkpoint"
        if self.fault == "trusts-the-hint" and hint.exists():
            version = int(json.loads(hint.read_text())["version"])
            return version, sets[version]
        version = max((v for v in sets if v <= target), default=-1)
        return version, sets.get(version, [])

    def parse(self, line: str) -> dict[str, Any]:
        try:
            action = json.loads(line)
        except ValueError as error:
            if self.fault == "passes-over-broken-lines":
                return {}
            raise RefusalError("invalid_table", str(error)) from error
        if self.fault == "refuses-unknown-actions" and set(action) - KNOWN:
            raise RefusalError("invalid_table", f"unknown action {sorted(action)}")
        add = action.get("add", {})
        if self.fault == "refuses-unknown-fields" and set(add) - KNOWN_FIELDS:
            raise RefusalError("invalid_table", f"unknown fields {sorted(add)}")
        return dict(action)

    def key(self, path: str) -> str:
        if self.fault == "never-decodes-paths":
            return path
        decoded = unquote(path)
        if self.fault == "decodes-paths-twice":
            decoded = unquote(decoded)
        return decoded

    def apply(self, state: State, action: dict[str, Any]) -> None:
        for name, body in action.items():
            match name:
                case "protocol" | "metaData":
                    setattr(state, {"metaData": "metadata"}.get(name, name), body)
                case "txn":
                    self.transact(state, body)
                case "add":
                    self.add(state, self.key(body["path"]), body)
                case "remove":
                    self.remove(state, self.key(body["path"]))

    def transact(self, state: State, body: dict[str, Any]) -> None:
        version = body["version"]
        if self.fault == "highest-transaction-wins":
            version = max(version, state.txns.get(body["appId"], version))
        state.txns[body["appId"]] = version

    def add(self, state: State, key: str, body: dict[str, Any]) -> None:
        if self.fault == "stale-add-wins" and key in state.adds:
            return
        if self.fault == "removed-stays-removed" and key in state.gone:
            return
        state.adds[key] = body

    def remove(self, state: State, key: str) -> None:
        state.gone.add(key)
        if self.fault == "ignores-removes":
            return
        if self.fault == "folds-the-case-of-paths":
            state.adds = {k: v for k, v in state.adds.items() if k.lower() != key.lower()}
        if self.fault == "removes-by-file-name":
            name = key.rpartition("/")[2]
            state.adds = {k: v for k, v in state.adds.items() if k.rpartition("/")[2] != name}
        state.adds.pop(key, None)

    def check(self, state: State) -> None:
        if state.protocol is None or state.metadata is None:
            raise RefusalError("invalid_table", "no protocol or no metadata")
        if self.fault == "ignores-the-protocol":
            return
        version = state.protocol["minReaderVersion"]
        features = set(state.protocol.get("readerFeatures") or ())
        if self.fault == "ignores-deletion-vectors":
            features -= {"deletionVectors"}
        if self.fault == "ignores-reader-features":
            features = set()
        if version not in (1, 3) or features:
            raise RefusalError("unsupported", f"version {version}, features {sorted(features)}")

    # The data.

    def scan(self, table: Path, version: int | None) -> pa.Table:
        state = self.load(table, version)
        assert state.metadata is not None
        partitioned = state.metadata["partitionColumns"]
        target = arrow_schema(from_json(json.loads(state.metadata["schemaString"])))
        tables = [
            self.file(table / key, add, target, partitioned) for key, add in state.adds.items()
        ]
        rows = pa.concat_tables([target.empty_table(), *tables])
        if self.fault == "drops-rows-with-nulls":
            rows = rows.drop_null()
        if self.fault == "drops-doubled-rows":
            flat = {repr(row): row for row in rows.to_pylist()}
            rows = pa.Table.from_pylist(list(flat.values()), target)
        return rows

    def file(
        self, path: Path, add: dict[str, Any], target: pa.Schema, partitioned: list[str]
    ) -> pa.Table:
        if not path.exists():
            raise RefusalError("invalid_table", f"no file {path.name}")
        data = pq.ParquetFile(path).read()
        values = dict(add["partitionValues"] or {})
        if self.fault == "takes-partition-values-from-directories":
            values = dict(part.split("=", 1) for part in path.parts[:-1] if "=" in part)
        columns = []
        for item in target:
            if item.name in partitioned:
                value = self.value(values.get(item.name), item.type)
                column = pa.array([value] * data.num_rows, item.type)
            elif item.name in data.column_names:
                column = data.column(item.name).cast(item.type)
            elif self.fault == "fills-missing-columns-with-zero" and pa.types.is_integer(item.type):
                column = pa.array([0] * data.num_rows, item.type)
            else:
                column = pa.nulls(data.num_rows, item.type)
            columns.append(column)
        return pa.table(columns, schema=target)

    def value(self, text: str | None, kind: pa.DataType) -> Any:
        if text is None and self.fault == "gives-empty-strings-for-null" and kind == pa.string():
            return ""
        if text is None or text == "":
            return None
        if pa.types.is_timestamp(kind):
            return self.moment(text, kind)
        readers: tuple[tuple[Any, Any], ...] = (
            (pa.types.is_integer, int),
            (pa.types.is_floating, float),
            (pa.types.is_boolean, lambda t: t.lower() == "true"),
            (pa.types.is_date, date.fromisoformat),
            (pa.types.is_decimal, Decimal),
            (pa.types.is_binary, lambda t: t.encode("utf-8")),
        )
        for test, read in readers:
            if test(kind):
                return read(text)
        return text

    def moment(self, text: str, kind: pa.TimestampType) -> datetime:
        moment = datetime.fromisoformat(text)
        if kind.tz is None:
            return moment.replace(tzinfo=None)
        local = self.fault == "reads-timestamps-as-local"
        zone = timezone(timedelta(hours=1)) if local else UTC
        return moment.replace(tzinfo=zone) if moment.tzinfo is None or local else moment
