"""Texts of the protocol, and modules that are counted, are untrusted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.base.untrusted import DocumentError
from conformance.explain.cli import run_explain_cli
from conformance.requirements.citations import CitationError, cited_in_source
from conformance.requirements.clauses import ClauseIndex, quotes, read_protocol, sentences
from conformance.requirements.drift import run_drift_cli

FILES: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "gigabytes": lambda path: (path.touch(), os.truncate(path, 2**33))[0],
    "not UTF-8": lambda path: path.write_bytes(b"\xff") and None,
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_a_file_that_is_no_text_is_refused_by_name(
    tmp_path: Path, make: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.md"
    make(path)
    with pytest.raises(DocumentError, match=r"text\.md"):
        read_protocol(path)
    assert run_drift_cli([str(path)]) == 2
    assert run_explain_cli(["CKPT-007", f"--text={path}"]) == 4
    assert capsys.readouterr().err.count("text.md") == 2


TEXTS = {
    "comments that nobody ends": "<!--" * 100_000,
    "links in links": "[" * 50_000 + "a" + "](b)" * 50_000,
    "marks on a letter": "a" + "\u0300\u0316" * 100_000,
    "a number of 5,000 digits": "&#" + "9" * 5000 + ";",
    "quotes": "> " * 100_000,
    "emphasis": "*_" * 100_000,
    "brackets": "[" * 200_000,
    "round ones": "[a](b" * 40_000,
    "tags": "<a " * 60_000,
    "fences": "```\n" * 50_000,
    "cells": "|" * 200_000,
    "escapes": "\\" * 200_000,
    "entities": "&amp;" * 50_000,
    "one word": "a" * 1_000_000,
    "long forms of one letter": "\ufdfa" * 50_000,
    "half of a surrogate pair": "&#xd800;" * 100_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_is_read_in_time_in_proportion_to_its_length(text: str) -> None:
    clause = "A writer must obey."
    (code,) = sentences(clause)
    assert not ClauseIndex.of(f"{clause}\n\n{text}").missing([code])
    assert quotes(f"{clause}\n\n{text}", [code]) == {code: clause}
    "".join(sentences(text).values()).encode()


MODULES: dict[str, Any] = {
    "parentheses": "x=" + "(" * 5000 + ")" * 5000,
    "attributes": "x=a" + ".b" * 100_000,
    "minus": "x=" + "-" * 100_000 + "1",
    "digits": "x=" + "9" * 5000,
    "a NUL": "x=1\0",
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "gigabytes": FILES["gigabytes"],
}


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_a_module_that_cannot_be_read_is_refused_by_name(tmp_path: Path, module: Any) -> None:
    path = tmp_path / "x.py"
    if callable(module):
        module(path)
    else:
        path.write_text(module)
    with pytest.raises(CitationError, match=r"x\.py"):
        list(cited_in_source(tmp_path))
