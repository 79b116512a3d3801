"""Load the corpus: every file of it is checked before any case runs.

Serves the section "Case" of ``docs/formats.md``. What is wrong in a file is reported with the
file and the line or JSON pointer; a corpus with one bad file judges nobody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import schemas
from conformance.cases import (
    ROW_TYPES,
    Accepted,
    Case,
    Contested,
    Expectation,
    Expected,
    ExpectedError,
    Spec,
    rows_in,
)
from conformance.faults import CorpusError
from conformance.file_digests import digests
from conformance.outcomes import Hazard
from generators.spec_files import spec_files

__all__ = ["Corpus", "default_corpus_path", "load_corpus"]

_T = TypeVar("_T")

_COMMON: Final = frozenset(
    {"type", "of", "title", "description", "requirement", "requirements", "hazard", "needs"}
    | {"expected", "error", "contested"}
)


def default_corpus_path() -> Path:
    """Give the corpus that is shipped with the package, or that stands beside it."""
    package = Path(__file__).resolve().parent
    shipped = package / "corpus"
    return shipped if shipped.is_dir() else package.parent / "golden-tables"


@dataclass(frozen=True)
class Corpus:
    """All cases under one folder.

    Attributes:
        root: the folder.
        cases: the cases in the order of their ids.

    """

    root: Path
    cases: tuple[Case, ...]

    @cached_property
    def digest(self) -> str:
        """Digest every path and byte, so that two results can be known to be comparable."""
        total = hashlib.sha256()
        found = digests(self.root)
        for name in sorted(found, key=lambda each: each.split("/")):
            total.update(name.encode() + b"\0" + found[name])
        return f"sha256:{total.hexdigest()}"


def load_corpus(root: Path | None = None, *, validate: bool = True) -> Corpus:
    """Load every case under a folder.

    Args:
        root: the folder; the shipped corpus when ``None``.
        validate: hold every file against its schema first, so that messages name the place.

    Raises:
        CorpusError: the folder holds no case, or a file is malformed.

    """
    root = default_corpus_path() if root is None else root
    if not root.is_dir():
        raise CorpusError(root, "no such folder; --corpus names the folder of golden tables")
    cases = tuple(_Loader(root, validate=validate).cases())
    if not cases:
        raise CorpusError(root, "no <chapter>/<case>/case.json below it")
    return Corpus(root, cases)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a key is doubled among {[key for key, _ in pairs]}")
    return found


@dataclass(frozen=True, slots=True)
class _Loader:
    root: Path
    validate: bool

    def cases(self) -> Iterator[Case]:
        for path in sorted(self.root.glob("*/*/case.json")):
            yield self._whole(path, self._case)

    def _whole(self, path: Path, load: Callable[[Path], _T]) -> _T:
        """Load one file, a field that is missing or bent being the file's fault."""
        try:
            return load(path)
        except (KeyError, TypeError, AttributeError) as error:
            raise CorpusError(path, f"a field is missing or of another type: {error!r}") from error

    def _read(self, path: Path, schema: str) -> dict[str, Any]:
        try:
            document = json.loads(path.read_bytes(), object_pairs_hook=_unique)
        except json.JSONDecodeError as error:
            raise CorpusError(path, error.msg, f"{error.lineno}:{error.colno}") from error
        except (OSError, ValueError) as error:
            raise CorpusError(path, str(error)) from error
        if not isinstance(document, dict):
            raise CorpusError(path, "not a JSON object")
        if self.validate:
            for violation in schemas.errors(schema, document):
                raise CorpusError(path, violation.message, f"#{violation.path}")
        return document

    def _case(self, path: Path) -> Case:
        document = self._read(path, "kit/case")
        folder = path.parent
        identity = folder.relative_to(self.root).as_posix()
        if document["id"] != identity:
            raise CorpusError(
                path, f"id {document['id']!r} is not its folder's {identity!r}", "#/id"
            )
        paths = spec_files(folder)
        if not paths:
            raise CorpusError(folder, "the case asks nothing")
        return Case(
            id=identity,
            title=document["title"],
            features=frozenset(document["features"]),
            requirements=tuple(document["requirements"]),
            revisions=frozenset(document["revision"]),
            table=folder / "delta",
            specs=tuple(self._whole(spec, partial(self._spec, identity)) for spec in paths),
            provenance=document["provenance"],
            file_times=document.get("file_times", {}),
            root=document.get("root"),
            placeholders=tuple(document.get("placeholders", ())),
        )

    def _spec(self, case_id: str, path: Path) -> Spec:
        document = self._read(path, "kit/spec")
        kind = str(document.get("of", document["type"]))
        folder = path.parent.parent / "expected" / path.stem
        return Spec(
            id=f"{case_id}/{path.stem}",
            type=kind,
            title=document["title"],
            requirements=tuple(document["requirements"]),
            parameters={k: v for k, v in document.items() if k not in _COMMON},
            expectation=_expectation(path, kind, document, folder),
            needs=frozenset(document.get("needs", ())),
            hazard=_hazard(path, document.get("hazard")),
            requirement=document.get("requirement"),
        )


def _hazard(path: Path, name: str | None) -> Hazard | None:
    if name is None:
        return None
    try:
        return Hazard(name)
    except ValueError as error:
        raise CorpusError(path, f"hazard is not one of {', '.join(Hazard)}", "#/hazard") from error


def _expectation(path: Path, kind: str, document: Mapping[str, Any], folder: Path) -> Expectation:
    if "contested" not in document:
        return _answer(path, kind, document, folder)
    return Contested(
        tuple(
            Accepted(
                entry["name"], entry["source"], _answer(path, kind, entry, folder / entry["name"])
            )
            for entry in document["contested"]["accepted"]
        ),
        bool(document["contested"].get("open", False)),
    )


def _answer(
    path: Path, kind: str, document: Mapping[str, Any], folder: Path
) -> Expected | ExpectedError:
    if "error" in document:
        error = document["error"]
        return ExpectedError(
            error["kind"], error["stage"], error.get("requirement"), error.get("errorCode", "")
        )
    if kind not in ROW_TYPES:
        return Expected(document["expected"])
    rows = folder / "expected_data"
    usual = rows / "part-0.parquet"
    if not usual.exists() and not any(rows.glob("*.parquet")):
        raise CorpusError(path, f"expected rows are missing: {rows}", "#/expected")
    return Expected(document["expected"], partial(rows_in, rows))
