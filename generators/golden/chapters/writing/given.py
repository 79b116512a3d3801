"""What is done to the tables that recipes are given, and which of their files are looked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from generators.golden.cases.case import CaseWriter
from generators.materialise.builder import TableBuilder
from generators.materialise.data.deletion_vectors import decode_uuid_name, vector_file_name
from generators.materialise.log.files import LOG_DIRECTORY, read_commit, write_commit
from generators.materialise.log.protocols import Protocol

_LONG_AGO: Final = 1_500_000_000_000
"""2017-07-14, in ms since the epoch: whatever may expire has expired since."""


def vector_files(builder: TableBuilder, version: int) -> set[str]:
    """Return the vector files, without a folder of their own, that a version needs."""
    vectors = [body.get("deletionVector") for body in builder.states[version].adds.values()]
    return {
        vector_file_name(decode_uuid_name(each["pathOrInlineDv"])[1])
        for each in vectors
        if each is not None and each["storageType"] == "u"
    }


def old_files(case: CaseWriter) -> Callable[[TableBuilder], list[str]]:
    """Make every file of the table old, and return those that the last version needs."""

    def kept(builder: TableBuilder) -> list[str]:
        adds = builder.states[builder.version].adds
        root = case.delta
        files = [unquote(path) for path, _ in adds]
        bins = vector_files(builder, builder.version)
        for path in root.rglob("*"):
            if path.is_file():
                case.file_time(path.relative_to(root).as_posix(), _LONG_AGO)
        return sorted([*files, *bins])

    return kept


def removed_files(builder: TableBuilder) -> list[str]:
    """Return the data files that the last version does not need any more."""
    live = {path for path, _ in builder.states[builder.version].adds}
    ever = {path for version in range(builder.version) for path, _ in builder.states[version].adds}
    return sorted(map(unquote, ever - live))


def go_over(case: CaseWriter, protocol: Protocol) -> None:
    """Have the last commit of a table change its protocol."""
    version = max(int(path.stem) for path in (case.delta / LOG_DIRECTORY).glob("*.json"))
    first, *others = read_commit(case.delta, version)
    write_commit(case.delta, version, [first, {"protocol": protocol.body()}, *others])
    case.redescribe(protocol=protocol.body())


def aged(case: CaseWriter) -> Callable[[TableBuilder], list[str]]:
    """Make every file of the table old, and return the data files that are live."""

    def live(builder: TableBuilder) -> list[str]:
        for path in case.delta.rglob("*"):
            if path.is_file():
                case.file_time(path.relative_to(case.delta).as_posix(), _LONG_AGO)
        return sorted({path for path, _ in builder.states[builder.version].adds})

    return live


_ANOTHER: Final = "fromAnotherWorld"


def by_another(case: CaseWriter, *versions: int) -> Callable[[TableBuilder], bool]:
    """Name an unknown implementation as the clustering provider of the files of versions."""

    def clustered(_: TableBuilder) -> bool:
        for version in versions:
            lines = read_commit(case.delta, version)
            for line in lines:
                if "add" in line:
                    line["add"]["clusteringProvider"] = _ANOTHER
            write_commit(case.delta, version, lines)
        return True

    return clustered


def described_files(case: CaseWriter) -> None:
    """Give the table a name and a description, and its files tags and a clustering provider."""
    for path in (case.delta / LOG_DIRECTORY).glob("*.json"):
        lines = read_commit(case.delta, int(path.stem))
        for line in lines:
            if "metaData" in line:
                line["metaData"] |= {"name": "people", "description": "who is where"}
            if "add" in line:
                line["add"] |= {"tags": {"team": "a"}, "clusteringProvider": "fromAnotherWorld"}
            if "remove" in line:
                line["remove"].pop("deletionTimestamp", None)
        write_commit(case.delta, int(path.stem), lines)
