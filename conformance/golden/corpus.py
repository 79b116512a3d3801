"""Load the corpus: every file of it is checked before any case runs.

See the section "Case" of ``docs/formats.md``. What is wrong in a file is reported with the
file and the line or JSON pointer; with one bad file nothing is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import schemas
from conformance.base.faults import CorpusError
from conformance.base.home import PACKAGE, PROJECT
from conformance.base.outcomes import Hazard
from conformance.base.terminal import printable
from conformance.base.untrusted import DocumentError, name_fault, parse_json, read_bytes
from conformance.golden.cases import (
    ROW_TYPES,
    Accepted,
    Case,
    Contested,
    Expectation,
    Expected,
    ExpectedError,
    Spec,
    rows_files,
    rows_in,
)
from conformance.golden.tree import check_named, check_tree, count_rows, fingerprint
from generators.file_digests import digest_of, digest_of_case
from generators.spec_files import spec_files

_T = TypeVar("_T")

_COMMON: Final = frozenset(
    {"type", "of", "title", "description", "requirement", "requirements", "hazard", "needs"}
    | {"expected", "error", "contested"}
)

_MANIFEST: Final = "manifest.json"


def default_corpus_path() -> Path:
    """Return the corpus that is shipped with the package, or that stands beside it."""
    shipped = PACKAGE / "corpus"
    return shipped if shipped.is_dir() else PROJECT / "golden-tables"


@dataclass(frozen=True)
class Corpus:
    """All cases under one folder.

    Attributes:
        root: the folder.
        cases: the cases in the order of their ids.
        unread: ids of the specs of other cases, which were not asked for.
    """

    root: Path
    cases: tuple[Case, ...]
    unread: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """Digest every path and byte, so that two results can be known to be comparable."""
        return f"sha256:{digest_of(self.root)}"

    def marks(self, cases: Collection[str]) -> Mapping[str, int]:
        """Return a number for each case, which is another one once its files were written to.

        That holds where the content is restored, too, and for a corpus without digests.
        """
        return {name: hash(frozenset(fingerprint(self.root / name).items())) for name in cases}

    def refuse_altered(self, cases: Collection[str]) -> None:
        """Refuse cases that are not as they were built: other tables have other answers.

        Raises:
            CorpusError: one has not the digest that the manifest has of it.
        """
        listed = _listed(self.root)
        for name in sorted(listed.keys() & set(cases)):
            digest = listed[name].get("digest")
            if digest is not None and digest != digest_of_case(self.root / name):
                raise CorpusError(
                    self.root / name,
                    "is not as it was built, by the digest in manifest.json: a file is missing, "
                    "added or altered",
                )


def load_corpus(
    root: Path | None = None, *, validate: bool = True, wanted: Callable[[str], bool] | None = None
) -> Corpus:
    """Load every case under a folder, or those of which a spec is wanted.

    Args:
        root: the folder; the shipped corpus when ``None``.
        validate: refuse what is no regular file, and check every document against its schema
            first, so that messages name the place.
        wanted: says of the id of a spec whether it is asked for; by default all are.

    Raises:
        CorpusError: the folder holds no case, a file is malformed, or something of the corpus
            leads out of it.
    """
    shipped = root is None
    root = default_corpus_path() if root is None else root
    if not root.is_dir():
        raise CorpusError(root, "no such folder; --tck-corpus names the folder of golden tables")
    if validate:
        check_tree(root)
    paths = sorted(root.glob("*/*/case.json"))
    if not paths:
        raise CorpusError(root, "no <chapter>/<case>/case.json below it")
    if shipped and not (root / _MANIFEST).is_file():
        raise CorpusError(root / _MANIFEST, "no such file, which lists the golden tables")
    _refuse_part(root, {_identity(root, path) for path in paths})
    asked: list[Path] = []
    unread: list[str] = []
    for path in paths:
        if wanted is None or any(map(wanted, ids := _ids_of_specs(root, path))):
            asked.append(path)
        else:
            unread += ids
    return Corpus(root, tuple(_Loader(root, validate=validate).cases(asked)), tuple(unread))


def _identity(root: Path, path: Path) -> str:
    return path.parent.relative_to(root).as_posix()


def _ids_of_specs(root: Path, path: Path) -> list[str]:
    case = _identity(root, path)
    return [f"{case}/{spec.stem}" for spec in spec_files(path.parent)]


def _refuse_part(root: Path, found: set[str]) -> None:
    """Refuse a folder that lacks cases of its manifest, as a checkout in part does."""
    missing = sorted(_listed(root).keys() - found)
    if missing:
        names = ", ".join(missing[:3])
        message = f"lists {len(missing)} cases that are not there, as {names}"
        raise CorpusError(root / _MANIFEST, message)


def _listed(root: Path) -> dict[str, dict[str, Any]]:
    """Return what the manifest of a corpus says of each case; nothing where there is none."""
    manifest = root / _MANIFEST
    if not manifest.is_file():
        return {}
    try:
        return {
            name: {**entry} for name, entry in parse_json(read_bytes(manifest))["cases"].items()
        }
    except (DocumentError, LookupError, TypeError, AttributeError) as error:
        raise CorpusError(manifest, f"no manifest of cases: {error}") from error


@dataclass(frozen=True, slots=True)
class _Loader:
    root: Path
    validate: bool

    def cases(self, paths: Iterable[Path]) -> Iterator[Case]:
        for path in paths:
            yield self._whole(path, self._case)

    def _whole(self, path: Path, load: Callable[[Path], _T]) -> _T:
        """Load one file; a missing or malformed field is reported with the file."""
        try:
            return load(path)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorpusError(path, f"a field is missing or of another type: {error!r}") from error

    def _read(self, path: Path, schema: str) -> dict[str, Any]:
        try:
            document = parse_json(read_bytes(path))
        except DocumentError as error:
            raise CorpusError(path, str(error), error.place) from error
        if not isinstance(document, dict):
            raise CorpusError(path, "not a JSON object")
        if self.validate:
            for violation in schemas.errors(schema, document):
                raise CorpusError(path, violation.message, f"#{violation.path}")
        return document

    def _case(self, path: Path) -> Case:
        document = self._read(path, "kit/case")
        folder = path.parent
        identity = _identity(self.root, path)
        if document["id"] != identity:
            raise CorpusError(
                path, f"id {document['id']!r} is not its folder's {identity!r}", "#/id"
            )
        check_named(path, document, folder / "delta")
        paths = spec_files(folder)
        if not paths:
            raise CorpusError(folder, "the case asks nothing")
        return Case(
            id=identity,
            title=printable(document["title"]),
            features=frozenset(document["features"]),
            requirements=tuple(document["requirements"]),
            revisions=frozenset(document["revision"]),
            table=folder / "delta",
            specs=tuple(self._whole(spec, partial(self._spec, identity)) for spec in paths),
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
            title=printable(document["title"]),
            requirements=tuple(document["requirements"]),
            parameters={k: v for k, v in document.items() if k not in _COMMON},
            expectation=self._expectation(path, kind, document, folder),
            needs=frozenset(document.get("needs", ())),
            hazard=_hazard(path, document.get("hazard")),
            requirement=document.get("requirement"),
        )

    def _expectation(
        self, path: Path, kind: str, document: Mapping[str, Any], folder: Path
    ) -> Expectation:
        if "contested" not in document:
            return self._answer(path, kind, document, folder)
        return Contested(
            tuple(
                Accepted(
                    entry["name"],
                    entry["source"],
                    self._answer(path, kind, entry, folder / _slug(path, entry["name"])),
                    tuple(entry.get("steps", ())),
                )
                for entry in document["contested"]["accepted"]
            ),
            bool(document["contested"].get("open", False)),
        )

    def _answer(
        self, path: Path, kind: str, document: Mapping[str, Any], folder: Path
    ) -> Expected | ExpectedError:
        if "error" in document:
            error = document["error"]
            return ExpectedError(error["kind"], error["stage"], error.get("requirement"))
        if kind not in ROW_TYPES:
            return Expected(document["expected"])
        rows = folder / "expected_data"
        usual = rows / "part-0.parquet"
        if not usual.exists() and not any(rows.glob("*.parquet")):
            raise CorpusError(path, f"expected rows are missing: {rows}", "#/expected")
        if self.validate:
            found = sum(count_rows(path, part) for part in rows_files(rows))
            if found != document["expected"].get("rowCount", found):  # a recipe counts none
                raise CorpusError(path, f"{found} rows are expected and not rowCount", "#/expected")
        return Expected(document["expected"], partial(rows_in, rows))


def _slug(path: Path, name: str) -> str:
    fault = name_fault(name)
    if fault:
        raise CorpusError(path, fault, "#/contested/accepted")
    return name


def _hazard(path: Path, name: str | None) -> Hazard | None:
    if name is None:
        return None
    try:
        return Hazard(name)
    except ValueError as error:
        raise CorpusError(path, f"hazard is not one of {', '.join(Hazard)}", "#/hazard") from error
