"""Answers as text, as JSON and as a page.

What engines and tables say in messages is printed and escaped as untrusted text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.base.terminal import printable, shortened
from conformance.report.page import STYLE, escaped

Answer = Mapping[str, Sequence[Mapping[str, Any]]]
"""Title of each table of an answer, and its rows; all rows of a table have the same columns."""

_WIDEST: Final = 72


def _text(answer: Answer) -> Iterator[str]:
    for title, rows in answer.items():
        yield f"{title}: {len(rows)}"
        if rows:
            cells = [[name.replace("_", " ") for name in rows[0]]]
            cells += [[_short(value) for value in row.values()] for row in rows]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                yield ("  " + "  ".join(padded)).rstrip()


def _short(value: Any) -> str:
    return shortened("-" if value is None else printable(str(value)), _WIDEST)


def _json(answer: Answer) -> Iterator[str]:
    yield json.dumps({title: list(rows) for title, rows in answer.items()}, indent=1)


def _html(answer: Answer) -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8>"
    yield "<meta name=viewport content='width=device-width'>"
    yield f"<title>Delta protocol conformance</title><style>{STYLE}</style>"
    yield "<h1>Delta protocol conformance</h1>"
    for title, rows in answer.items():
        yield f"<h2>{escaped(title)}: {len(rows)}</h2>"
        if rows:
            names = (escaped(name.replace("_", " ")) for name in rows[0])
            yield f"<table><tr>{''.join(f'<th>{name}' for name in names)}"
            for row in rows:
                values = ("" if value is None else escaped(str(value)) for value in row.values())
                yield f"<tr>{''.join(f'<td>{value}' for value in values)}"
            yield "</table>"
    yield "</html>"


FORMS: Final[Mapping[str, Callable[[Answer], Iterator[str]]]] = {
    "text": _text,
    "json": _json,
    "html": _html,
}
"""How an answer is given."""
