"""The checksum of ``_last_checkpoint``, by the rules for canonical JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from reference_impl.log.last_checkpoint import canonical_json, json_checksum, parse_hint

SAMPLE = b"""{"k0":"'v 0'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}"""  # noqa: E501  as the text has it


def test_the_sample_of_the_text_has_its_digest() -> None:
    document = json.loads(SAMPLE)
    assert canonical_json(document) == (
        '"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,'
        '"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6",'
        '"k1"+"k3"+2+"k5"+2="v7"'
    )
    assert json_checksum(document) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"b": {"y": 1, "x": 2}, "a": 3}, '"a"=3,"b"+"x"=2,"b"+"y"=1'),
        ({"t": True, "f": False, "n": None}, '"f"=false,"n"=null,"t"=true'),
        ({"checksum": "x", "a": {"checksum": 1}}, '"a"+"checksum"=1'),
        ({"a": {}, "b": [], "c": 1}, '"c"=1'),
        ({"a": list(range(11))}, None),
        ({"é>": "é ~-._"}, '"%C3%A9%3E"="%C3%A9%20~-._"'),
    ],
)
def test_canonical_form(document: Any, expected: str | None) -> None:
    text = canonical_json(document)
    if expected is None:
        assert text.startswith('"a"+0=0,"a"+1=1,"a"+10=10,"a"+2=2')
    else:
        assert text == expected


def test_a_hint_with_its_own_checksum_is_trusted_and_numbers_keep_their_spelling() -> None:
    text = '{"version":4,"size":17,"tags":{"x":"1.50"},"ratio":%s}'
    for spelling in ("1.50", "1.5", "15e-1"):
        digest = _digest(spelling)
        sealed = (text % spelling)[:-1] + f',"checksum":"{digest}"}}'
        assert parse_hint(sealed.encode()) == 4
    assert len({_digest(spelling) for spelling in ("1.50", "1.5", "15e-1")}) == 3


def _digest(spelling: str) -> str:
    """Derive the digest apart from the code under test."""
    canonical = f'"ratio"={spelling},"size"=17,"tags"+"x"="1.50","version"=4'
    return hashlib.md5(canonical.encode(), usedforsecurity=False).hexdigest()
