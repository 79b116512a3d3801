"""Checksums of a hint over forms that break one rule of the canonical form each."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

_NUMBERS: Mapping[str, Callable[[Any], str]] = {
    "rounded": lambda number: str(round(number)),
    "grouped": "{:,}".format,
    "as doubles": lambda number: str(int(float(number))),
    "with exponents": "{:e}".format,
}
"""Other forms of numbers, by what they are called in the data."""

_LETTERS: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "stripped": str.strip,
}


def _surrogates(value: str) -> bytes:
    """Encode a text with each half of a pair of surrogates for itself."""
    units = value.encode("utf-16-be")
    halves = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return "".join(halves).encode(errors="surrogatepass")


def _text(value: str, how: Mapping[str, Any]) -> str:
    if how.get("as JSON"):
        value = json.dumps(value)[1:-1]
    if "letters" in how:
        value = _LETTERS[how["letters"]](value)
    if how.get("surrogates"):
        data = _surrogates(value)
    else:
        data = value.encode(how.get("encoding", "utf-8"))
    text = quote(data, safe="-._~" + how.get("unescaped", ""))
    if how.get("beyond ASCII"):
        change = unquote if how["beyond ASCII"] == "unescaped" else str.lower
        text = re.sub("(?:%[89A-F].)+", lambda found: change(found[0]), text)
    if how.get("twice"):
        text = quote(text, safe="-._~")
    if how.get("every"):
        text = "".join(f"%{byte:02X}" for byte in data)
    for mark in how.get("escaped", ""):
        text = text.replace(mark, f"%{ord(mark):02X}")
    if how.get("one digit"):
        text = re.sub("%0(.)", r"%\1", text)
    if how.get("lower case"):
        text = re.sub("%..", lambda found: found[0].lower(), text)
    text = text.replace("%20", how.get("space", "%20"))
    mark = how.get("mark", '"')
    return text if how.get("bare") else f"{mark}{text}{mark}"


def _scalar(value: Any, how: Mapping[str, Any]) -> str:
    if isinstance(value, bool) or value is None:
        word = {True: "true", False: "false", None: how.get("null", "null")}[value]
        if how.get("words as numbers") and value is not None:
            return str(int(value))
        return f'"{word}"' if how.get("quoted words") else word
    if isinstance(value, str):
        return "null" if how.get("empty as null") and not value else _text(value, how)
    if "numbers" in how:
        return _NUMBERS[how["numbers"]](value)
    return f"{value}.0" if how.get("fractions") else str(value)


_PLACE = {True: "in arrays", False: "outside of arrays"}


def _is(value: Any, kind: str | None) -> bool:
    return kind is None or isinstance(value, {"objects": dict, "arrays": list}[kind])


def _pairs(value: Any, path: tuple[str, ...], how: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, child in value.items():
            within = any(part.isdigit() for part in path)
            if key != "checksum" or (path and how.get("drop deep") not in (True, _PLACE[within])):
                bare = how.get("bare keys") or (path and how.get("bare deep keys"))
                name = key if bare else _text(key, {**how, "bare": False, **how.get("keys", {})})
                yield from _pairs(child, (*path, name), how)
    elif isinstance(value, list) and how.get("whole lists"):
        yield how.get("plus", "+").join(path), json.dumps(value, separators=(",", ":"))
    elif isinstance(value, list):
        if how.get("flat lists"):
            value = [each for one in value for each in (one if isinstance(one, list) else [one])]
        if how.get("no null elements"):
            value = [each for each in value if each is not None]
        for at, child in enumerate(value):
            within = any(not part.startswith('"') for part in path)
            other = how.get("within", within) == within and _is(child, how.get("of"))
            other = other and how.get("members", len(path) == 1) == (len(path) == 1)
            position = how.get("at", "{}").format(at) if other else str(at)
            yield from _pairs(child, (*path, position) if position else path, how)
    else:
        within = any(part.isdigit() for part in path)
        goes = how.get("below", len(path) > 1) == (len(path) > 1)
        goes = goes and how.get("in arrays", within) == within
        yield how.get("plus", "+").join(path), _scalar(value, how if goes else {})


def _follows(one: str, other: str) -> bool:
    """Return whether two paths part at the elements of an array."""
    parts = zip(one.split("+"), other.split("+"), strict=False)
    return next(a for a, b in parts if a != b).isdigit()


def wrong_checksum(document: Mapping[str, Any], how: Mapping[str, Any]) -> str:
    """Return the digest of a form, named by the rules that it breaks."""
    pairs = [*_pairs(dict(document), (), how)]
    if how.get("keep top"):
        pairs.append(('"checksum"', how["keep top"]))
    if how.get("no nulls"):
        pairs = [pair for pair in pairs if pair[1] != "null"]
    if how.get("by number"):
        pairs.sort(key=lambda pair: [each.zfill(2) for each in pair[0].split("+")])
    elif measured := how.get("shortest first"):
        every = "" if measured == "paths" else "+"
        pairs.sort(key=lambda pair: (pair[0].count(every), pair[0].encode()))
    elif encoding := how.get("sorted unescaped"):
        pairs.sort(key=lambda pair: unquote(pair[0]).encode(encoding))
    elif how.get("sorted at the top"):
        pairs.sort(key=lambda pair: pair[0].split("+")[0].encode())
    elif not how.get("unsorted"):
        pairs.sort(key=lambda pair: pair[0].encode(), reverse=bool(how.get("reversed")))
    spelt = [f"{key}{how.get('equals', '=')}{value}" for key, value in pairs]
    if "comma of arrays" in how:
        # A pair takes the joint before it along.
        spelt[1:] = [
            (how["comma of arrays"] if _follows(one[0], other[0]) else ",") + text
            for one, other, text in zip(pairs, pairs[1:], spelt[1:], strict=False)
        ]
        how = {**how, "comma": ""}
    text = how.get("comma", ",").join(spelt).join(how.get("ends", ("", "")))
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
