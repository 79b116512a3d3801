"""Requirements are cited where the reference implementation obeys them."""

from __future__ import annotations

from conformance.explain.sources import named_in
from conformance.requirements.registry import load_registry

NOT_OBEYED = {
    "CAT-013": "no catalog is committed to",
    "CAT-014": "no catalog is committed to",
    **dict.fromkeys(
        ("CRC-022", "CRC-023", "CRC-024", "CRC-025", "CRC-028", "CRC-029"),
        "no histogram is written",
    ),
    "DFT-007": "the writer takes values, and no SQL of inserts",
    "DOM-017": "a rule for the design of a feature",
    "DOM-018": "a rule for the design of a feature",
    "DVD-021": "no aggregate is computed from bounds",
    "DVFMT-009": "there is one serialization",
    **dict.fromkeys(("VAR-011", "VAR-012"), "paths inside of a variant get no bounds"),
    "SCH-027": "a rule of what others may name their keys",
}
"""Requirements that no code of the reference implementation can obey, and why."""


NOT_FOLLOWED = {
    "CM-006": "column mapping that writers alone list is honoured too: without it columns are null",
    **dict.fromkeys(
        ("CKPT-028", "CKPT-N-008", "CKPT-N-010", "CKPT-N-012"), "the caller chooses the form"
    ),
    **dict.fromkeys(("CRC-035", "CRC-040", "CRC-041"), "no reader validates checksum files"),
    "DOM-011": "domains are supported",
    "DVD-007": "OPTIMIZE picks every file with a vector",
    "DVD-009": "manifests are written by the writer alone",
    "DVD-016": "commits record no metrics",
    **dict.fromkeys(("DVD-023", "DVD-024", "DVD-025", "DVD-026"), "a measure, for benchmarks"),
    "IDN-007": "no operation changes them",
    "PART-009": "the log does not say in which zone; UTC is taken",
    "RT-054": "ids and versions are always kept",
    "SCH-020": "void columns are read as null",
    "STAT-004": "bounds prune alike, whether tight or wide",
    **dict.fromkeys(("TF-010", "TF-011"), "an upgrade lists all that the legacy versions imply"),
}
"""SHOULD of readers and writers that no line follows, and why."""


def test_every_should_is_cited_at_the_code() -> None:
    cited = named_in("reference_impl")
    assert {
        row.id
        for row in load_registry()
        if row.level == "SHOULD" and row.role != "file" and not row.retired and row.id not in cited
    } == NOT_FOLLOWED.keys()


def test_every_must_is_cited_at_the_code() -> None:
    cited = named_in("reference_impl")
    assert {
        row.id
        for row in load_registry()
        if row.level == "MUST" and row.retired is None and row.id not in cited
    } == NOT_OBEYED.keys()


def test_code_cites_requirements_that_there_are() -> None:
    registry = load_registry()
    unknown = {name: places[0] for name, places in named_in("reference_impl").items()}
    assert {name: place for name, place in unknown.items() if name not in registry} == {}
