"""Adapters that tests put under judgement; importable by a worker process."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from conformance.adapter import (
    READ_OPERATIONS,
    Answer,
    Claims,
    Description,
    Ok,
    Refused,
    Request,
    Scan,
    Snapshot,
    Txn,
    Write,
)

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


class Scripted:
    """Answer as the last part of the table's path says."""

    def describe(self) -> Description:
        claims = Claims(1, 2, operations=READ_OPERATIONS | {"append"})
        return Description("scripted", "1.0", claims)

    def run(self, request: Request) -> Answer:
        match request:
            case Scan():
                return _scan(request)
            case Write(rows=rows):
                return Ok({"version": None if rows is None else rows.num_rows})
            case Txn(app_id=app_id):
                return Ok(2**60 if app_id == "big" else None)
            case Snapshot(version=version):
                return Ok({"version": version})
            case _:
                return Ok(object())

    def close(self) -> None:
        print("closed", file=sys.stderr)  # noqa: T201  read back through the kit


def _scan(request: Scan) -> Answer:
    act: dict[str, Callable[[], object]] = {
        "crash": lambda: os._exit(3),
        "kill": lambda: os.kill(os.getpid(), 9),
        "hang": lambda: time.sleep(600),
        "print": lambda: os.write(1, b"a banner\n"),
        "exit": lambda: sys.exit("left early"),
        "raise": lambda: 1 // 0,
    }
    word = request.table.rpartition("/")[2]
    if word == "refuse":
        return Refused("invalid_table", "load", "no")
    act.get(word, lambda: None)()
    return Ok(ROWS)


class Renewed(Scripted):
    """Answer with its process; get over divisions by zero, and over nothing else."""

    def run(self, request: Request) -> Answer:
        return Ok(os.getpid()) if isinstance(request, Txn) else super().run(request)

    def renew(self, error: BaseException) -> object:
        return 1 // isinstance(error, ZeroDivisionError) == 1


def create() -> Scripted:
    """Return the scripted adapter."""
    return Scripted()


def renewed() -> Renewed:
    """Return the adapter that restarts itself."""
    return Renewed()


def never() -> Scripted:
    """Fail to start."""
    raise RuntimeError("the engine is not here")


class Told:
    """Answer what ``answers.json`` in the table's folder says."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self.asked: list[Request] = []

    def describe(self) -> Description:
        return Description("told", "1.0", self.claims)

    def run(self, request: Request) -> Answer:
        self.asked.append(request)
        table = Path(request.table)
        name = type(request).__name__.lower()
        answer = json.loads((table / "answers.json").read_text()).get(name, {})
        if "raise" in answer:
            raise RuntimeError(answer["raise"].replace("<table>", request.table))
        if "exit" in answer:
            os._exit(answer["exit"])
        if "sleep" in answer:
            time.sleep(answer["sleep"])
        if "alter" in answer:
            (table / answer["alter"]).write_text("here I was")
        if "refused" in answer:
            kind, message = answer["refused"]
            message = message.replace("<table>", request.table)
            return Refused(kind, "load", message.replace("<folder>", str(table.parent)))
        if "ok" in answer:
            return Ok(answer["ok"])
        return Ok(pa.Table.from_pylist(answer.get("rows", TOLD_ROWS), TOLD_SCHEMA))

    def close(self) -> None:
        pass


TOLD_SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
TOLD_ROWS = [{"id": 2, "name": None}, {"id": 1, "name": "a"}]
EVERYTHING = Claims(
    1,
    2,
    operations=READ_OPERATIONS,
    capabilities=frozenset({"scan.version", "scan.columns", "snapshot.version"}),
)


def told() -> Told:
    """Return the scripted adapter."""
    return Told(EVERYTHING)


class Careful(Told):
    """The scripted adapter, which also refuses what is not there."""

    def run(self, request: Request) -> Answer:
        if not Path(request.table, "answers.json").exists():
            return Refused("not_found", "load", "no table")
        return super().run(request)


def careful() -> Careful:
    """Return the careful adapter."""
    return Careful(EVERYTHING)


def _claiming(**claims: frozenset[str]) -> Told:
    return Told(replace(EVERYTHING, **claims))


def misspelled() -> Told:
    """Return an adapter with a typo in each kind of claim."""
    return _claiming(
        operations=frozenset({"read"}),
        capabilities=frozenset({"scan.versions"}),
        reader_features=frozenset({"deletionVector"}),
        writer_features=frozenset({"apendOnly"}),
    )


def silent() -> Told:
    """Return an adapter that claims nothing."""
    return _claiming(operations=frozenset(), capabilities=frozenset())


def scanner() -> Told:
    """Return an adapter that claims scans of the latest version and nothing else."""
    return _claiming(operations=frozenset({"scan"}), capabilities=frozenset())


def versionless() -> Told:
    """Return an adapter that reads and writes, and takes no version of any table."""
    operations = READ_OPERATIONS | {"append"}
    return Told(replace(EVERYTHING, reader_version=0, writer_version=0, operations=operations))


class Shrinking(Claims):
    """Claims that are fewer once they were written down."""

    def as_document(self) -> dict[str, Any]:
        """Say all, and claim scans alone from then on."""
        document = super().as_document()
        object.__setattr__(self, "operations", frozenset({"scan"}))
        return document


def shrinking() -> Told:
    """Return an adapter that claims less once its claims are written down."""
    given = {each.name: getattr(EVERYTHING, each.name) for each in fields(EVERYTHING)}
    return Told(Shrinking(**given))


class Vandal(Scripted):
    """The scripted adapter, which writes to a file that the test names."""

    def run(self, request: Request) -> Answer:
        Path(os.environ["DELTA_TCK_VANDAL"]).write_text("{ }")
        return super().run(request)


class Leaver(Told):
    """The scripted adapter, which ends the process of the kit."""

    def run(self, _: Request) -> Answer:
        os._exit(0)


def leaver() -> Leaver:
    """Return the adapter that leaves."""
    return Leaver(EVERYTHING)
