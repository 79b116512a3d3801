"""Build the corpus, keep its manifest, and prove that a rebuild agrees with it.

``golden-tables/manifest.json`` has, per case, the builder and the digest of every byte. A build
replaces a case only when its logical content changed, so that another version of a library does
not churn the corpus; what other engines said about a case (``cross_checked``) survives it.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from generators.file_digests import digest_of_case
from generators.golden.cases.canonical import differences, question_digest
from generators.golden.cases.case import CaseWriter, document_text
from generators.golden.cases.catalog import Definition
from generators.golden.cases.replay import replay_differences

CORPUS: Final = Path(__file__).resolve().parents[2] / "golden-tables"
"""The corpus of a source checkout."""

PROTOCOL_REVISION: Final = "2025"
"""The protocol revision whose text the expectations were derived from."""

_KIT_TOOLS: Final = ("pyarrow", "pyroaring")


@dataclass(frozen=True, slots=True)
class Drift:
    """A case whose files on disk are not what its builder gives.

    Attributes:
        case_id: the case, or the name of what is wrong in the corpus folder.
        details: one line per difference.
    """

    case_id: str
    details: tuple[str, ...]


def build_case(definition: Definition, corpus: Path, *, observed: Path | None) -> Path:
    """Build one case below an empty corpus folder and return its directory.

    Args:
        definition: the case.
        corpus: the folder that gets ``<chapter>/<case>``.
        observed: an older build, whose ``cross_checked`` records are kept while
            they are about the same bytes.
    """
    info = definition.info
    if info.builder == "kit":
        info = replace(info, tool_versions={name: _version(name) for name in _KIT_TOOLS})
    directory = corpus / info.id
    writer = CaseWriter(info, directory)
    definition.build(writer)
    writer.finish(_cross_checks(observed, question_digest(directory)))
    return directory


def build_corpus(
    definitions: Iterable[Definition], corpus: Path = CORPUS, *, force: bool = False
) -> list[str]:
    """Build cases into the corpus; returns the ids of those whose files changed.

    Args:
        definitions: what to build.
        corpus: the corpus folder.
        force: replace cases even when a rebuild agrees with them.
    """
    changed = []
    with tempfile.TemporaryDirectory() as scratch:
        for definition in definitions:
            present = corpus / definition.info.id
            fresh = build_case(definition, Path(scratch), observed=present)
            if present.exists() and not force and not differences(present, fresh):
                continue
            shutil.rmtree(present, ignore_errors=True)
            present.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(fresh, present)
            changed.append(definition.info.id)
    return changed


def check_corpus(definitions: Sequence[Definition], corpus: Path = CORPUS) -> list[Drift]:
    """Rebuild cases beside the corpus and compare; returns what drifted.

    Every case of the corpus is checked against the digest in the manifest, so a table that cannot
    be rebuilt here (another engine wrote it) is still known to be the one that was committed.
    """
    manifest = read_manifest(corpus)["cases"]
    with tempfile.TemporaryDirectory() as scratch:

        def rebuilt(definition: Definition, present: Path) -> list[str]:
            return differences(present, build_case(definition, Path(scratch), observed=present))

        drifts = _drifts(definitions, corpus, rebuilt)
    present_ids = set(_case_ids(corpus))
    for case_id in sorted(present_ids | manifest.keys()):
        if case_id not in manifest:
            drifts.append(Drift(case_id, ("in the corpus, not in the manifest",)))
        elif case_id not in present_ids:
            drifts.append(Drift(case_id, ("in the manifest, not in the corpus",)))
        elif digest_of_case(corpus / case_id) != manifest[case_id]["digest"]:
            drifts.append(Drift(case_id, ("its bytes are not those in the manifest",)))
    return drifts


def check_written(definitions: Sequence[Definition], corpus: Path) -> list[Drift]:
    """Replay tables that another engine wrote and compare; returns what drifted.

    Args:
        definitions: cases whose tables need no feature to be replayed.
        corpus: the corpus folder.
    """
    return _drifts(definitions, corpus, lambda _, present: replay_differences(present))


def _drifts(
    definitions: Sequence[Definition],
    corpus: Path,
    compare: Callable[[Definition, Path], list[str]],
) -> list[Drift]:
    drifts = []
    for definition in definitions:
        present = corpus / definition.info.id
        there = present.exists()
        found = compare(definition, present) if there else ["not in the corpus: build it"]
        if found:
            drifts.append(Drift(definition.info.id, tuple(found)))
    return drifts


def read_manifest(corpus: Path = CORPUS) -> dict[str, Any]:
    """Return the manifest; without one, that of an empty corpus."""
    path = corpus / "manifest.json"
    if not path.exists():
        return {"revision": PROTOCOL_REVISION, "cases": {}}
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest


def write_manifest(corpus: Path) -> Path:
    """Write the manifest of the corpus as it is on disk and return its path."""
    cases = {}
    for case_id in _case_ids(corpus):
        case = json.loads((corpus / case_id / "case.json").read_text(encoding="utf-8"))
        provenance = case["provenance"]
        cases[case_id] = {
            "builder": provenance["builder"],
            "digest": digest_of_case(corpus / case_id),
            "tool_versions": provenance["tool_versions"],
        }
    path = corpus / "manifest.json"
    document = {"revision": PROTOCOL_REVISION, "cases": cases}
    path.write_text(document_text(document), encoding="utf-8")
    return path


def _case_ids(corpus: Path) -> Iterator[str]:
    for path in sorted(corpus.glob("*/*/case.json")):
        yield path.parent.relative_to(corpus).as_posix()


@cache
def _version(name: str) -> str:
    return importlib.metadata.version(name)


def _cross_checks(observed: Path | None, present: str) -> list[dict[str, Any]]:
    """Return what engines said of these very bytes; a record of an older table says nothing."""
    if observed is None or not (observed / "case.json").exists():
        return []
    case = json.loads((observed / "case.json").read_text(encoding="utf-8"))
    records: list[dict[str, Any]] = case["provenance"]["cross_checked"]
    return [record for record in records if record.get("digest") == present]
