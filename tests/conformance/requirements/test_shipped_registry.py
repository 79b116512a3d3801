"""The shipped rows: whole, well worded and in step with the adapters' words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conformance.requirements.registry import DEFAULT_FOLDER, Registry, load_registry

# Rows that were ever published. The number only grows, and an id is retired, never dropped.
ROWS = 893

FIRST_AND_LAST = {
    "SNAP": 8, "DATA": 6, "DVFILE": 3, "CDFF": 9, "LOG": 7, "CKPT": 32, "SIDE": 5, "COMP": 13,
    "LAST": 4, "LASTS": 12, "SUM": 18, "CRC": 42, "META": 15, "FA": 22, "ADD": 15, "REM": 16,
    "CDC": 19, "TXN": 6, "PROTO": 12, "CINFO": 4, "DOM": 18, "SCA": 7, "CKM": 9, "REC": 23,
    "TF": 23, "FEAT": 5, "CM": 35, "DV": 5, "DVDESC": 22, "DVFMT": 11, "DVSTO": 8, "DVD": 26,
    "ICE1": 12, "ICE2": 23, "NTZ": 2, "V2F": 1, "RT": 54, "VPC": 3, "CLUS": 14, "ICT": 17,
    "WNEW": 2, "WCON": 5, "WLOG": 4, "CKC": 27, "CKPT-V2": 5, "CKPT-V1": 2, "CKPT-N": 13,
    "CLEAN": 15, "APP": 5, "INV": 7, "CHK": 11, "GEN": 5, "DFT": 10, "IDN": 16, "WVER": 7,
    "RVER": 3, "STAT": 17, "PART": 14, "SCH": 38, "CKSCH": 13, "PQ": 18, "CAT": 21, "VAR": 12,
    "SHRED": 6, "TW": 13, "PROP": 8, "VOID": 7, "RFC": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def test_no_row_is_lost(registry: Registry) -> None:
    assert len(registry) >= ROWS
    published = {
        f"{prefix}-{number:03d}"
        for prefix, last in FIRST_AND_LAST.items()
        for number in range(1, last + 1)
    }
    assert len(published) == ROWS
    assert published - {row.id for row in registry} == set()


def test_the_shipped_registry_is_read_once(registry: Registry) -> None:
    assert load_registry() is registry


@pytest.mark.parametrize(("revision", "least"), [("2021", 260), ("2025", 760), ("upstream", 850)])
def test_every_revision_has_its_rows(registry: Registry, revision: str, least: int) -> None:
    rows = registry.for_revision(revision)
    assert len(rows) >= least
    assert all(row.retired is None for row in rows)


def test_rows_of_the_texts_at_hand_are_pinned_to_a_sentence(registry: Registry) -> None:
    shown_only = [
        row.id
        for row in registry
        if set(row.revisions) != {"upstream"} and row.retired is None and not row.clause_digest
    ]
    # The text shows these by a diagram, by a table of bare words or not at all.
    assert len(shown_only) <= 16


def test_statements_are_sentences(registry: Registry) -> None:
    untidy = [
        row.id
        for row in registry
        if not re.fullmatch(r"[_\"A-Za-z][^\n]*[.\"]", row.statement) or "  " in row.statement
    ]
    assert untidy == []


def test_statements_differ(registry: Registry) -> None:
    statements = [row.statement for row in registry]
    assert len(statements) == len(set(statements))


def test_rulings_are_there_where_the_text_is_disputed(registry: Registry) -> None:
    contested = [row for row in registry if row.contested]
    assert {row.id for row in contested} >= {
        "PART-002",
        "PART-009",
        "TF-016",
        "CLUS-007",
        "LOG-007",
    }
    assert all(len({item.name for item in row.contested}) >= 2 for row in contested)


def test_what_an_upstream_row_replaces_does_not_bind_upstream(registry: Registry) -> None:
    replaced = [row for row in registry if row.superseded_by is not None]
    assert replaced
    for row in replaced:
        assert row.superseded_by is not None
        assert registry[row.superseded_by].holds_in("upstream"), row.id
        assert not row.holds_in("upstream"), row.id


def test_a_reader_notices_only_what_readers_can_be_asked_for(registry: Registry) -> None:
    assert all(row.notice for row in registry)
    assert all("reader" in row.notice for row in registry if row.role == "reader")


def test_every_chapter_of_the_corpus_is_a_chapter_of_the_registry(registry: Registry) -> None:
    corpus = Path(__file__).parents[3] / "golden-tables"
    chapters = {path.parent.parent.name for path in corpus.glob("*/*/case.json")}
    assert chapters - set(registry.chapters) == set()


def test_every_id_in_the_corpus_is_an_id_of_the_registry(registry: Registry) -> None:
    corpus = Path(__file__).parents[3] / "golden-tables"
    named = {
        (path.name, name)
        for pattern in ("*/*/case.json", "*/*/specs/*.json", "*/*/questions/*.json")
        for path in corpus.glob(pattern)
        for name in json.loads(path.read_text())["requirements"]
    }
    assert {(file, name) for file, name in named if name not in registry} == set()


def test_files_are_formatted_alike() -> None:
    written = DEFAULT_FOLDER / "proved.yaml"  # by a command, a line per proof
    for path in set(DEFAULT_FOLDER.glob("*.yaml")) - {written}:
        text = path.read_text()
        assert text.endswith("\n"), path.name
        assert "\t" not in text, path.name
        assert max(len(line) for line in text.splitlines()) <= 110, path.name
