"""The files of one golden case: description, questions, answers.

See `docs/formats.md`, "Case". A builder receives a :class:`CaseWriter`, lays a table below
:attr:`CaseWriter.delta` and writes down what must be read from it. The layout is that of the
Delta Acceptance Testing workloads, so their harnesses walk the corpus too.

A builder in short::

    def build(case: CaseWriter) -> None:
        ...                                     # write the table below case.delta
        case.describe(schema, protocol, metadata, log)
        case.read("latest", schema, rows, title="...")
        case.refuse("read", "v3", Refusal("not_found", "load", "SNAP-002"), version=3, title="...")

Nothing here reads a table: every expectation is an argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pyarrow.parquet as pq

from generators.golden.cases.filters import Filter
from generators.materialise.data.arrow_rows import Row, arrow_table
from generators.oracle.delta_schema import Field, Struct
from generators.placeholders import found_in
from generators.spec_files import spec_folder
from schemas.features import FEATURES, find

REVISIONS: Final = ("2021", "2025", "upstream")
"""The protocol revisions, oldest first."""

_LISTS: Final = 7
"""The writer version whose protocol lists features."""

Kind: TypeAlias = Literal["unsupported", "invalid_table", "not_found", "constraint", "conflict"]
Stage: TypeAlias = Literal["load", "plan", "read", "commit"]

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")
_TITLE_LIMIT: Final = 70

_COUNTS: Final = ("numAddFiles", "numRemoveFiles", "sizeInBytes", "numCommits", "numActions")
"""Counts that ``table_info.json`` always has."""

_ERROR_CODES: Final[Mapping[tuple[str, str], str]] = {
    ("unsupported", "load"): "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    ("unsupported", "read"): "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    ("invalid_table", "load"): "DELTA_LOG_INVALID",
    ("invalid_table", "plan"): "DELTA_LOG_INVALID",
    ("invalid_table", "read"): "DELTA_DATA_INVALID",
    ("not_found", "load"): "DELTA_VERSION_NOT_FOUND",
    ("not_found", "read"): "FAILED_READ_FILE.DBR_FILE_NOT_EXIST",
}


class CaseError(ValueError):
    """A builder contradicts the case format; names the case and the rule."""


@dataclass(frozen=True, slots=True)
class CaseInfo:
    """What a case is about, before anything is built.

    Attributes:
        id: ``<chapter>/<case>``, permanent.
        title: what holds, present tense, at most 70 characters.
        requirements: ids of the registry that the case judges; every spec cites them unless
            it names its own.
        features: table features that a reader has to honour to read the table; ``None`` for those
            of the protocols that the case is described with.
        revisions: protocol revisions under which the case applies, where they have its features.
        builder: who wrote the table: ``kit``, ``deltalake`` or ``spark``.
        derivation: ``clause`` when the expectation follows from the text, else ``observed``.
        tool_versions: versions of the tools that wrote the bytes.
        root: name of the directory to copy the table to, for cases about the table's own path.
        file_times: path below the table root to modification time in ms since the epoch.
        located: the log says where the table lies, by placeholders.
    """

    id: str
    title: str
    requirements: tuple[str, ...]
    features: tuple[str, ...] | None = None
    revisions: tuple[str, ...] = REVISIONS
    builder: Literal["kit", "deltalake", "spark"] = "kit"
    derivation: Literal["clause", "observed"] = "clause"
    tool_versions: Mapping[str, str] = field(default_factory=dict)
    root: str | None = None
    file_times: Mapping[str, int] = field(default_factory=dict)
    located: bool = False

    def __post_init__(self) -> None:
        """Check the info against the format; raises :class:`CaseError`."""
        parts = self.id.split("/")
        if len(parts) != 2 or not all(_SLUG.match(part) for part in parts):
            raise CaseError(f"{self.id}: a case id is <chapter>/<case>, both of them slugs")
        _require_title(self.id, self.title)
        if not self.requirements:
            raise CaseError(f"{self.id}: a case names the requirements that it judges")
        for name in self.features or ():
            # Who refuses the table for want of a feature that no reader needs would not be judged.
            if name not in FEATURES or FEATURES[name].kind != "reader_writer":
                raise CaseError(f"{self.id}: {name} is no feature of readers")

    @property
    def chapter(self) -> str:
        """The first half of the id."""
        return self.id.split("/")[0]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An expected refusal.

    Attributes:
        kind: why the reader refuses.
        stage: the latest stage at which it has to.
        requirement: id of the clause that the refusal obeys.
        code: error class for harnesses that compare one; derived from kind and stage if empty.
        of: operations of a recipe of which each step may be refused so, where the text leaves it
            open; none for the last step alone.
    """

    kind: Kind
    stage: Stage
    requirement: str
    code: str = ""
    of: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the wire form, the ``error`` of a spec."""
        code = self.code or _ERROR_CODES.get((self.kind, self.stage), "DELTA_ERROR")
        return {
            "errorCode": code,
            "kind": self.kind,
            "stage": self.stage,
            "requirement": self.requirement,
        }


@dataclass(frozen=True, slots=True)
class Accepted:
    """One of the answers that a contested question accepts.

    Attributes:
        name: slug of the answer.
        source: who reads the protocol so.
        rows: the rows of that answer, for row questions.
        expected: the document of that answer, for other questions; beside rows, what stands in
            place of their count.
        refusal: the refusal, when refusing is the answer.
        schema: the schema of the rows, when it is not that of the question.
        steps: numbers of the steps of a recipe that may be refused so; none for the last one.
    """

    name: str
    source: str
    rows: Sequence[Row] | None = None
    expected: Mapping[str, Any] | None = None
    refusal: Refusal | None = None
    schema: Struct | None = None
    steps: tuple[int, ...] = ()


class CaseWriter:
    """Write one case below a directory.

    Attributes:
        info: what the case is about.
        directory: the case's own directory.
        delta: the table root, where the builder writes the table.
        judged: slugs of specs to the one requirement that they judge, where that is not the first
            of those that they name.
    """

    def __init__(self, info: CaseInfo, directory: Path) -> None:
        """Start an empty case; the directory must not hold one yet."""
        self.info = info
        self.directory = directory
        self.delta = directory / "delta"
        self.delta.mkdir(parents=True)
        self.judged: dict[str, str] = {}
        self._slugs: dict[str, str | None] = {}
        self._features = set(info.features or ())
        self._table_info: dict[str, Any] | None = None
        self._given = False
        self._file_times: dict[str, int] = dict(info.file_times)

    def file_time(self, path: str, milliseconds: int) -> None:
        """Ask for the modification time of a file below the table root when the case runs."""
        self._file_times[path] = milliseconds

    def describe(  # noqa: PLR0913  one argument per field of the format
        self,
        *,
        schema: Mapping[str, Any],
        protocol: Mapping[str, Any],
        configuration: Mapping[str, str],
        log_info: Mapping[str, int],
        data_layout: Mapping[str, int] | None = None,
        protocols: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Set the content of ``table_info.json``, and the features that readers have to honour.

        Args:
            schema: the table schema as a JSON document; of an invalid table, the intended one.
            protocol: the protocol action's body, likewise.
            configuration: the table properties.
            log_info: counts of the log, as ``lastCheckpointVersion``. Those that every log has
                are 0 unless given, the others absent.
            data_layout: partition or clustering counts, empty for neither.
            protocols: the bodies of protocols of earlier versions.
        """
        if self.info.features is None:
            self._features = set[str]().union(*map(_for_readers, (protocol, *protocols)))
        self._table_info = {
            "name": self.info.id.replace("/", "-"),
            "description": self.info.title,
            "schema": dict(schema),
            "protocol": dict(protocol),
            "properties": dict(configuration),
            "logInfo": {**dict.fromkeys(_COUNTS, 0), **log_info},
            "dataLayout": dict(data_layout or {}),
            "tags": [self.info.chapter],
        }

    def redescribe(self, *, protocol: Mapping[str, Any]) -> None:
        """Set the protocol in ``table_info.json`` to that of a commit that a case changed."""
        self._table_info = {**(self._table_info or {}), "protocol": dict(protocol)}

    def read(  # noqa: PLR0913  one argument per field of the format
        self,
        slug: str,
        schema: Struct,
        rows: Iterable[Row],
        *,
        title: str,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002  the word of the wire
        **options: Any,
    ) -> None:
        """Write a ``read`` spec.

        Args:
            slug: name of the spec, unique in the case.
            schema: the table schema at that version.
            rows: all rows of that version; projection and filter are applied here.
            title: what holds, present tense.
            columns: top-level columns to read; all when ``None``.
            filter: rows to keep.
            options: ``version`` or ``timestamp``, and those of :meth:`spec`.
        """
        kept = [row for row in rows if filter is None or filter.keeps(row)]
        parameters: dict[str, Any] = {}
        if columns is not None:
            parameters["columns"] = list(columns)
            schema = schema.select(*columns)
        if filter is not None:
            parameters["filter"] = filter.tree
            parameters["predicate"] = filter.sql
        self._write_rows(slug, schema, kept)
        expected = {"rowCount": len(kept)}
        self.spec("read", slug, title=title, expected=expected, parameters=parameters, **options)

    def row_spec(  # noqa: PLR0913  one argument per field of the format
        self,
        type: Literal["row_ids", "changes", "aggregate", "write"],  # noqa: A002  the word of the wire
        slug: str,
        schema: Struct,
        rows: Sequence[Row],
        *,
        title: str,
        parameters: Mapping[str, Any],
        **options: Any,
    ) -> None:
        """Write another spec whose answer is rows; ``schema`` has the metadata columns too."""
        self._write_rows(slug, schema, rows)
        count = {"versions": parameters["versions"]} if type == "write" else {"rowCount": len(rows)}
        rest = {key: value for key, value in parameters.items() if key != "versions"}
        self.spec(type, slug, title=title, expected=count, parameters=rest, **options)

    def refuse(
        self,
        type: str,  # noqa: A002  the word of the wire
        slug: str,
        refusal: Refusal,
        *,
        title: str,
        **options: Any,
    ) -> None:
        """Write a spec of any type that has to be refused."""
        self.spec(type, slug, title=title, error=refusal.document(), **options)

    def contest(  # noqa: PLR0913  one argument per field of the format
        self,
        type: str,  # noqa: A002  the word of the wire
        slug: str,
        accepted: Sequence[Accepted],
        *,
        title: str,
        schema: Struct | None = None,
        open: bool = False,  # noqa: A002  the word of the wire
        **options: Any,
    ) -> None:
        """Write a spec whose answer the text leaves open; every accepted answer has a source.

        No reading of the text supports an answer outside of the list, and such an answer fails,
        but where it is ``open``: the text does not determine the answer.

        Its wire type is ``contested`` and the question's own type stands in ``of``: a harness
        that knows reads and snapshots only must pass over a question without one answer.

        Raises:
            CaseError: an accepted answer has rows, and there is no schema; or one answer alone is
                accepted, so that it is demanded.
        """
        if len(accepted) < 2 and not open:
            raise CaseError(f"{self.info.id}/{slug}: what is contested has two answers, or is open")
        answers = []
        for each in accepted:
            answer: dict[str, Any] = {"name": each.name, "source": each.source}
            if each.refusal is not None:
                answer["error"] = each.refusal.document()
                if each.steps:
                    answer["steps"] = list(each.steps)
            elif each.rows is not None:
                columns = each.schema or schema
                if columns is None:
                    raise CaseError(f"{self.info.id}/{slug}: rows need a schema")
                self._write_rows(f"{slug}/{each.name}", columns, list(each.rows))
                answer["expected"] = dict(each.expected or {"rowCount": len(each.rows)})
            else:
                answer["expected"] = dict(each.expected or {})
            answers.append(answer)
        parameters = {**options.pop("parameters", {}), "of": type}
        contested: dict[str, Any] = {"accepted": answers}
        if open:
            contested["open"] = True
        self.spec(
            "contested", slug, title=title, contested=contested, parameters=parameters, **options
        )

    def contest_read(
        self,
        title: str,
        schema: Struct,
        *accepted: Accepted,
        slug: str = "read-latest",
        **options: Any,
    ) -> None:
        """Write a ``read`` spec whose answer the text leaves open; see :meth:`contest`."""
        self.contest("read", slug, accepted, title=title, schema=schema, **options)

    def spec(  # noqa: PLR0913  one argument per field of the format
        self,
        type: str,  # noqa: A002  the word of the wire
        slug: str,
        *,
        title: str,
        expected: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
        contested: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        version: int | None = None,
        timestamp: str | None = None,
        requirement: str | None = None,
        requirements: Sequence[str] = (),
        hazard: str | None = None,
        needs: Sequence[str] = (),
        ratified: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one spec file; exactly one of expected, error and contested is given.

        With ``ratified``, what a catalog answers, the wire type is ``catalog``, and in a case
        with placeholders it is ``located``; the question's own type stands in ``of``, as in a
        contested one. Harnesses that know neither must pass over it.

        Raises:
            CaseError: the slug is taken or malformed, the title is too long, or the answer is
                not exactly one.
        """
        place = f"{self.info.id}/{slug}"
        if not _SLUG.match(slug) or slug in self._slugs:
            raise CaseError(f"{place}: a spec's slug is well-formed and unique in its case")
        _require_title(place, title)
        answers = {"expected": expected, "error": error, "contested": contested}
        given = {key: value for key, value in answers.items() if value is not None}
        if len(given) != 1:
            raise CaseError(f"{place}: exactly one of {', '.join(answers)} is given")
        requirement = requirement or self.judged.get(slug)
        self._slugs[slug] = requirement
        self._given = self._given or "given" in (parameters or {})
        needs = (*needs, *self._needed((parameters or {}).get("of", type), parameters or {}))
        handed_in: dict[str, Any] = {} if ratified is None else {"ratified": dict(ratified)}
        hidden = "located" if self.info.located else "catalog" if handed_in else ""
        if hidden and type != "contested":
            handed_in["of"], type = type, hidden  # noqa: A001  the word of the wire
        document: dict[str, Any] = {
            "type": type,
            "title": title,
            "requirements": list(requirements or self.info.requirements),
            **({} if requirement is None else {"requirement": requirement}),
            **(parameters or {}),
            **handed_in,
            **{key: dict(value) for key, value in given.items()},
        }
        optional = {
            "version": version,
            "timestamp": timestamp,
            "hazard": hazard,
            "needs": list(needs) or None,
        }
        document |= {key: value for key, value in optional.items() if value is not None}
        path = self.directory / spec_folder(type) / f"{slug}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(document_text(document), encoding="utf-8")

    def finish(self, cross_checked: Sequence[Mapping[str, Any]] = ()) -> None:
        """Write ``case.json`` and ``table_info.json``; the case is complete after it.

        Args:
            cross_checked: what other engines said when they read the case.

        Raises:
            CaseError: the builder wrote no spec or did not describe the table.
        """
        if not self._slugs or self._table_info is None:
            raise CaseError(f"{self.info.id}: a case has a described table and a spec at least")
        info = self.info
        unasked = sorted(self.judged.keys() - self._slugs.keys())
        if unasked:
            raise CaseError(f"{info.id}: no spec is called {unasked[0]}")
        late = sorted(slug for slug, own in self.judged.items() if self._slugs[slug] != own)
        if late:
            message = f"the spec {late[0]} was written before it was said what it judges"
            raise CaseError(f"{info.id}: {message}")
        placeholders = found_in(self.delta)
        if bool(placeholders) is not info.located:
            raise CaseError(f"{info.id}: a case is located when its table has placeholders")
        document: dict[str, Any] = {
            "id": info.id,
            "title": info.title,
            "features": sorted(self._features),
            "requirements": list(info.requirements),
            "provenance": {
                "derivation": info.derivation,
                "builder": info.builder,
                "tool_versions": dict(info.tool_versions),
                "cross_checked": [dict(each) for each in cross_checked],
            },
            "revision": [each for each in info.revisions if self._known_in(each)],
        }
        if self._file_times:
            document["file_times"] = dict(self._file_times)
        if info.root is not None:
            document["root"] = info.root
        if placeholders:
            document["placeholders"] = placeholders
        for name, content in (("case", document), ("table_info", self._table_info)):
            path = self.directory / f"{name}.json"
            path.write_text(document_text(content), encoding="utf-8")

    def _needed(self, question: str, parameters: Mapping[str, Any]) -> Iterator[str]:
        """Name what no clause asks of all who do what a question asks for and read its table."""
        properties = (self._table_info or {}).get("properties", {})
        if question == "changes" and properties.get("delta.columnMapping.mode", "none") != "none":
            yield "changes.column_mapping"
        steps = [*parameters.get("before", ()), *parameters.get("operations", ())]
        if any('"delta.invariants"' in json.dumps(step.get("schema")) for step in steps):
            yield "append.invariants"

    def _known_in(self, revision: str) -> bool:
        """Return whether a revision has the features that readers and writers have to honour."""
        since = [FEATURES[name].since for name in self._features]
        if self._given and (self._table_info or {})["protocol"].get("minWriterVersion") == _LISTS:
            # Who goes by a text without lists of features writes to no table that has them.
            since.append("2025")
        return all(REVISIONS.index(each) <= REVISIONS.index(revision) for each in since)

    def _write_rows(self, place: str, schema: Struct, rows: Sequence[Row]) -> None:
        path = self.directory / "expected" / place / "expected_data" / "part-0.parquet"
        path.parent.mkdir(parents=True)
        table = arrow_table(_readable(schema), rows)
        # Without the embedded Arrow schema every reader derives types and field names from the
        # Parquet schema alone, as the format promises.
        pq.write_table(table, path, store_schema=False, compression="snappy")


def document_text(document: Mapping[str, Any]) -> str:
    """Return a JSON document as the corpus writes it: sorted keys, two spaces, final newline."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _readable(schema: Struct) -> Struct:
    """Drop column metadata, which is no part of an answer."""
    return Struct(tuple(Field(each.name, each.type, each.nullable) for each in schema))


def _for_readers(protocol: Mapping[str, Any]) -> set[str]:
    """Return the features of a protocol that a reader has to honour, without unknown ones."""
    listed = protocol.get("readerFeatures")
    if listed is None:
        version = protocol.get("minReaderVersion", 1)
        return {each.name for each in FEATURES.values() if 0 < each.legacy_reader <= version}
    return {each.name for each in map(find, listed) if each is not None}


def _require_title(place: str, title: str) -> None:
    if not title or len(title) > _TITLE_LIMIT or title.endswith("."):
        raise CaseError(f"{place}: a title is 1 to {_TITLE_LIMIT} characters, no final stop")
