"""The canonical form of ``_last_checkpoint``, and forms that break one of its rules each.

Covers "JSON checksum". A wrong checksum says nothing by itself; where it is that of a form
which breaks one rule, that rule is what its writer took otherwise.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import chain, combinations, pairwise
from typing import Any, Final
from urllib.parse import quote

from conformance.audit.grammar.uris import lenient_path
from reference_impl.limits import budget, exceeded

_UNRESERVED: Final = "-._~"

_SHARE: Final = 4
"""A canonical form has at most this share of the longest hint."""

_MAX_CHARACTERS: Final = 1 << 16
"""Characters of a canonical form that is tried in all other notations; most have hundreds."""

_BEYOND_ASCII: Final = re.compile("(?:%[89A-F][0-9A-F])+")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _text(value: str, *, safe: str = _UNRESERVED) -> str:
    return f'"{quote(value, safe=safe, errors="replace")}"'


def _escaped(value: str, *, encoding: str = "utf-8", every: bool = False) -> str:
    data = value.encode(encoding, errors="replace")
    if every:
        return '"' + "".join(f"%{byte:02X}" for byte in data) + '"'
    return f'"{quote(data, safe=_UNRESERVED)}"'


def _beyond(value: str, *, marks: tuple[str, ...]) -> str:
    """Spell a text with marks escaped that need not be."""
    text = _text(value)
    for mark in marks:
        text = text.replace(mark, f"%{ord(mark):02X}")
    return text


def _beyond_ascii(value: str, *, change: Callable[[str], str]) -> str:
    """Write a text with the escapes of what is beyond ASCII otherwise."""
    return _BEYOND_ASCII.sub(lambda found: change(found[0]), _text(value))


def _surrogates(value: str) -> str:
    """Spell a text with each half of a pair of surrogates encoded for itself."""
    units = value.encode("utf-16-be", errors="surrogatepass")
    halves = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return f'"{quote(_bytes("".join(halves)), safe=_UNRESERVED)}"'


def _literal(value: bool | None) -> str:
    return {None: "null", True: "true", False: "false"}[value]


def _as_double(text: str) -> str:
    """Write a double as Java does."""
    value = float(text)
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return repr(value)
    digits, _, power = f"{Decimal(repr(value)):E}".partition("E")
    return f"{digits if '.' in digits else digits + '.0'}E{int(power)}"


_PLAIN_FROM: Final = 1e-3
_PLAIN_TO: Final = 1e7
"""Between them Java writes doubles without an exponent."""


def _shortest(text: str) -> str:
    """Write a number that went through a double: without a fraction where it has none."""
    value = float(text)
    return str(int(value)) if value.is_integer() else repr(value)


def _reformatted(number: Any, *, form: Callable[[str], str], whole: bool) -> str:
    """Write a number in another form, where it has that; whole ones too, or the others alone."""
    text = str(number)
    if text.lstrip("-").isdigit() and not whole:
        return text
    try:
        # A few characters can be a number of a thousand million digits.
        return form(text) if abs(Decimal(text).adjusted()) < _DIGITS else text
    except (ArithmeticError, ValueError):
        return text


_DIGITS: Final = 400
"""Digits of a number that may be written in another form; a double has no more."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A way to spell a document.

    Attributes:
        literal: spells true, false and null.
        number: spells a number.
        text: spells a string.
        key: spells the key of a member.
        below: whether ``literal``, ``number``, ``text`` and ``key`` go for members below the top
            alone, or for those at it; for all where it is ``None``.
        listing: whether ``literal``, ``number`` and ``text`` go for what is within an array alone,
            or for what is not; for all where it is ``None``.
        position: spells the position of an element; ``None`` leaves it out of the path.
        nested: whether ``position`` goes for what is within an element of an array alone, or for
            what is not; for all where it is ``None``.
        members: whether ``position`` goes for arrays that are members of the document alone, or for
            those that lie deeper; for all where it is ``None``.
        elements: the types of the elements whose position ``position`` gives.
        listed: gives the elements of an array; ``None`` spells the array as one value.
        between: joins the keys of a path; what is callable makes it of them.
        equals: joins a path and its value.
        comma: joins the pairs; what is callable makes it of the paths before and after it.
        ends: what stands before the first pair, and after the last one.
        order: sorts the pairs; as they stand for ``None``.
        dropped: says whether a member is left out, by its key, whether it is at the top, and
            whether it is within an array.
        nulls: whether nulls have a pair.
    """

    literal: Callable[[Any], str] = _literal
    number: Callable[[Any], str] = str
    text: Callable[[str], str] = _text
    key: Callable[[str], str] | None = None
    below: bool | None = None
    listing: bool | None = None
    position: Callable[[int], str | None] = str
    nested: bool | None = None
    members: bool | None = None
    elements: tuple[type, ...] = (object,)
    listed: Callable[[list[Any]], list[Any] | None] = lambda value: value
    between: str | Callable[[list[str]], str] = "+"
    equals: str = "="
    comma: str | Callable[[str, str], str] = ","
    ends: tuple[str, str] = ("", "")
    order: Callable[[tuple[str, str]], Any] | None = lambda pair: _bytes(pair[0])
    dropped: Callable[[str, bool, bool], bool] = lambda key, top, _: top and key == "checksum"
    nulls: bool = True

    def format(self, document: dict[str, Any]) -> str:
        left = budget().limits.hint // _SHARE
        pairs = []
        for pair in self._pairs(document, []):
            # Every leaf repeats the keys above it.
            left -= len(pair[0]) + len(pair[1])
            if left < 0:
                raise exceeded("hint", "what its checksum goes over is many times its size")
            pairs.append(pair)
        if self.order is not None:
            pairs.sort(key=self.order)
        spelt = [f"{path}{self.equals}{value}" for path, value in pairs]
        if isinstance(self.comma, str):
            return self.comma.join(spelt).join(self.ends)
        joints = [self.comma(one[0], other[0]) for one, other in pairwise(pairs)]
        return "".join(chain.from_iterable(zip(spelt, [*joints, ""], strict=True))).join(self.ends)

    def _pairs(
        self, value: Any, path: list[str], *, nested: bool = False
    ) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            for key, child in value.items():
                if not self.dropped(key, not path, nested):
                    below = [*path, self._name(key, below=bool(path))]
                    yield from self._pairs(child, below, nested=nested)
        elif isinstance(value, list) and (elements := self.listed(value)) is not None:
            here = self.nested in (None, nested) and self.members in (None, len(path) == 1)
            spelt = self.position if here else str
            for at, child in enumerate(elements):
                position = (spelt if isinstance(child, self.elements) else str)(at)
                below = path if position is None else [*path, position]
                yield from self._pairs(child, below, nested=True)
        elif self.nulls or value is not None:
            joined = self.between.join if isinstance(self.between, str) else self.between
            other = self.listing not in (None, nested)
            yield joined(path), self._scalar(value, below=len(path) > 1, other=other)

    def _name(self, key: str, *, below: bool) -> str:
        return (self.key or self.text)(key) if self.below in (None, below) else _text(key)

    def _scalar(self, value: Any, *, below: bool, other: bool = False) -> str:
        if other or self.below not in (None, below):
            return _CANONICAL._scalar(value, below=below)  # noqa: SLF001  it is of this class
        if value is None or isinstance(value, bool):
            return self.literal(value)
        if isinstance(value, list):
            return json.dumps(value, separators=(",", ":"), default=lambda of: json.loads(str(of)))
        return self.text(value) if isinstance(value, str) else self.number(value)


_CANONICAL: Final = _Form()
_OTHER_ENCODINGS: Final = ("latin-1", "cp1252", "ascii", "utf-16-be", "utf-16-le", "utf-8-sig")
"""Encodings that are not UTF-8."""

_SPARED_CHARACTERS: Final = (
    *("-._~:/", "-._~!*'()", "-._~!*'();,/?:@&=+$#"),
    "-._~" + "".join(map(chr, range(0x20))),
    *(f"-._~{chr(each)}" for each in range(0x20, 0x7F) if not chr(each).isalnum()),
)
"""Characters that functions of common libraries leave as they are, controls, and each mark for
itself."""

_MARKS: Final = tuple(some for count in range(1, 5) for some in combinations(_UNRESERVED, count))
"""Marks that are never encoded, and that functions of common libraries encode."""

_JOINTS: Final = (
    *filter(lambda each: not each.isalnum() and each not in '%"', map(chr, range(0x09, 0x7F))),
    *("", "==", "=>", "->", "::", ":=", ": ", " = ", "= ", " ="),
    *("++", " + ", "+ ", " +", ", ", ",\n", "; "),
)
"""What may stand between two parts in the place of what has to."""

_ORDERED: Final = ("SUM-008", "SUM-010")
"""Rules of which both are broken where positions are sorted as numbers."""


def _flat(value: list[Any]) -> Iterator[Any]:
    for each in value:
        yield from _flat(each) if isinstance(each, list) else (each,)


def _counted(path: str) -> list[tuple[int, bytes]]:
    parts = path.split("+")
    return [(int(part), b"") if part.isdecimal() else (-1, _bytes(part)) for part in parts]


def _dropped_below(key: str, top: bool, nested: bool, *, within: bool) -> bool:
    """Leave checksums out at the top, and below it within arrays alone or outside of them."""
    return key == "checksum" and (top or nested == within)


def _positions_apart(path: list[str], form: str) -> str:
    """Join a path by plus signs, but for the positions of elements, which have a form."""
    rest = (form.format(each) if each.isdigit() else f"+{each}" for each in path[1:])
    return "".join([*path[:1], *rest])


def _comma_within(before: str, after: str, *, joint: str, lists: bool, within: bool) -> str:
    """Join the pairs of one member, or those of different elements of an array, otherwise."""
    parts = zip(before.split("+"), after.split("+"), strict=False)
    found = ((number, one[0]) for number, one in enumerate(parts) if one[0] != one[1])
    apart = next(found, (0, ""))
    alike = apart[1].isdigit() if lists else apart[0] > 0
    return joint if alike == within else ","


_JOINTS_OF_PATHS: Final[tuple[str | Callable[[list[str]], str], ...]] = (
    *(*_JOINTS, "%2B", "%20"),
    lambda path: path[-1],
    *(partial(_positions_apart, form=each) for each in ("[{}]", ".{}", "/{}")),
    lambda path: "+".join(path[:2]) + "".join(f".{each}" for each in path[2:]),
    *(
        lambda path, joint=joint: f'"{joint.join(each.strip(chr(34)) for each in path)}"'
        for joint in "+./"
    ),
)
"""What wrong writers make a path of; the last ones quote it as a whole."""

_UNESCAPED_KEYS: Final[tuple[Callable[[str], str], ...]] = (
    lambda key: _text(key)[1:-1],
    lambda key: f'"{key}"',
    lambda key: key,
)
_SPELT: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    *(("SUM-015", partial(_escaped, encoding=each)) for each in _OTHER_ENCODINGS),
    ("SUM-015", _surrogates),
    *(("SUM-016", partial(_text, safe=each)) for each in _SPARED_CHARACTERS),
    ("SUM-016", lambda text: _text(text).replace("%20", "+")),
    ("SUM-016", partial(_beyond_ascii, change=lenient_path)),
    ("SUM-017", partial(_escaped, every=True)),
    *(("SUM-017", partial(_beyond, marks=each)) for each in _MARKS),
    ("SUM-018", lambda text: _lower(_text(text))),
    ("SUM-018", partial(_beyond_ascii, change=str.lower)),
    ("SUM-018", lambda text: re.sub("%0(.)", r"%\1", _text(text))),
)
"""What wrong writers make of a text, with the rule of percent escapes that it breaks."""

_KEYS: Final[tuple[Callable[[str], str], ...]] = (
    *_UNESCAPED_KEYS,
    lambda key: f"'{_text(key)[1:-1]}'",
    lambda key: _text(_text(key)[1:-1]),
    *(lambda key, change=each: _text(change(key)) for each in (str.lower, str.upper, str.strip)),
    *(spelt for _rule, spelt in _SPELT),
)
"""What wrong writers make of keys whose values they spell right; those of one level alone, too."""

_TEXTS: Final[tuple[Callable[[str], str], ...]] = (
    lambda value: _text(json.dumps(value)[1:-1]),
    lambda value: _text(f'"{value}"')[1:-1],
    lambda value: _text(_text(value)[1:-1]),
    lambda value: f"'{_text(value)[1:-1]}'",
    lambda value: _text(value) if value else "null",
    *(lambda text, change=each: _text(change(text)) for each in (str.lower, str.upper, str.strip)),
)
"""What wrong writers make of texts: escaped as JSON, quotes too, twice, between other quotes;
null where it is empty, in other letters, without spaces around it."""

_NUMBERS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: f'"{text}"',
    lambda text: repr(float(text)),
    _as_double,
    _shortest,
    lambda text: str(int(Decimal(text))),
    lambda text: str(round(Decimal(text))),
    lambda text: str(round(Decimal(text), 1)),
    lambda text: str(round(Decimal(text), 2)),
    lambda text: f"{Decimal(text).normalize():f}",
    lambda text: f"{Decimal(text):,}",
    *(lambda text, of=each: of.format(Decimal(text)) for each in ("{:e}", "{:E}", "{:f}", "{:+f}")),
    *(lambda text, of=each: of.format(float(text)) for each in ("{:e}", "{:E}", "{:f}", "{:g}")),
    *(lambda text, power=each: f"{text}{power}" for each in ("e0", "E0")),
)
"""What wrong writers make of numbers: texts, doubles, rounded, grouped, with exponents."""

_POSITIONS: Final[tuple[Callable[[int], str | None], ...]] = (
    lambda at: f'"{at}"',
    lambda at: str(at + 1),
    lambda at: f"[{at}]",
    lambda _at: "",
    lambda _at: None,
    *(f"{{:0{width}}}".format for width in (2, 3, 4)),
)
"""What wrong writers make of positions; of those of arrays within arrays, or of some elements,
alone, too."""

_NULLS: Final = ("", '""', '"null"', "NULL", "Null", "None", '"None"', "nil", "0", "{}", "[]")
_TRUTHS: Final = (
    *(('"true"', '"false"'), ("True", "False"), ("TRUE", "FALSE"), ('"True"', '"False"')),
    *(("1", "0"), ('"1"', '"0"'), ("t", "f"), ("yes", "no")),
)


def _otherwise(value: bool | None, *, null: str, truths: tuple[str, str]) -> str:
    return null if value is None else truths[not value]


_LITERALS: Final[tuple[Callable[[Any], str], ...]] = tuple(
    partial(_otherwise, null=null, truths=truths)
    for null, truths in (
        *((null, ("true", "false")) for null in _NULLS),
        *(("null", truths) for truths in _TRUTHS),
        *(("None", ("True", "False")), ('"None"', ('"True"', '"False"'))),
        *(("NULL", ("TRUE", "FALSE")), ('"null"', ('"true"', '"false"'))),
        *(("", ("True", "False")), ("0", ("1", "0"))),
    )
)
"""What wrong writers make of nulls, of true and false, and of both."""

_SPELT_OTHERWISE: Final[tuple[tuple[str, _Form], ...]] = (
    *(("SUM-002", replace(_CANONICAL, literal=each)) for each in _LITERALS),
    *(
        ("SUM-003", replace(_CANONICAL, number=partial(_reformatted, form=each, whole=whole)))
        for each in _NUMBERS
        for whole in (True, False)
    ),
    ("SUM-004", replace(_CANONICAL, text=lambda value: _text(value)[1:-1], key=_text)),
    ("SUM-004", replace(_CANONICAL, text=lambda value: f'"{value}"', key=_text)),
    *(
        ("SUM-004", replace(_CANONICAL, text=each, key=own))
        for each in _TEXTS
        for own in (None, _text)
    ),
    *(
        (each, replace(_CANONICAL, text=lambda value: f'"{value}"'))
        for each in ("SUM-004", "SUM-005")
    ),
    *(("SUM-005", replace(_CANONICAL, key=each)) for each in _KEYS),
    # A rule of texts may be broken in all of them, in values alone, or in keys alone.
    *(
        (rule, replace(_CANONICAL, text=each, key=own))
        for rule, each in _SPELT
        for own in (None, _text)
    ),
    *((rule, replace(_CANONICAL, key=each)) for rule, each in _SPELT),
)
"""Forms that spell values or keys otherwise, everywhere."""

_WRONG_FORMS: Final[tuple[tuple[str, _Form], ...]] = (
    *_SPELT_OTHERWISE,
    *(
        (rule, replace(form, below=below))
        for rule, form in _SPELT_OTHERWISE
        for below in (False, True)
    ),
    # Of those that spell keys right: values within arrays alone, or outside of them.
    *(
        (rule, replace(form, listing=listing))
        for rule, form in _SPELT_OTHERWISE
        if (form.key or form.text) is _text
        for listing in (False, True)
    ),
    ("SUM-002", replace(_CANONICAL, nulls=False)),
    *(("SUM-006", replace(_CANONICAL, between=each)) for each in _JOINTS_OF_PATHS),
    *(("SUM-007", replace(_CANONICAL, equals=each)) for each in (*_JOINTS, "%3D")),
    ("SUM-008", replace(_CANONICAL, order=None)),
    ("SUM-008", replace(_CANONICAL, order=lambda pair: pair[0].casefold())),
    ("SUM-008", replace(_CANONICAL, order=lambda pair: [*(-byte for byte in _bytes(pair[0])), 1])),
    ("SUM-008", replace(_CANONICAL, order=lambda pair: _bytes("=".join(pair)))),
    ("SUM-008", replace(_CANONICAL, order=lambda pair: _bytes(pair[1]))),
    ("SUM-008", replace(_CANONICAL, order=lambda pair: (len(pair[0]), _bytes(pair[0])))),
    ("SUM-008", replace(_CANONICAL, order=lambda pair: (pair[0].count("+"), _bytes(pair[0])))),
    # What is below the top in the order in which it stands.
    ("SUM-008", replace(_CANONICAL, order=lambda pair: _bytes(pair[0].partition("+")[0]))),
    # The paths as they are before they are encoded, by characters and by units of UTF-16.
    ("SUM-008", replace(_CANONICAL, order=lambda pair: lenient_path(pair[0]))),
    ("SUM-008", replace(_CANONICAL, order=lambda pair: lenient_path(pair[0]).encode("utf-16-be"))),
    *(("SUM-009", replace(_CANONICAL, comma=each)) for each in _JOINTS),
    *(("SUM-009", replace(_CANONICAL, ends=each)) for each in (("", ","), (",", ""), (",", ","))),
    *(
        (
            "SUM-009",
            replace(_CANONICAL, comma=partial(_comma_within, joint=joint, lists=a, within=b)),
        )
        for joint in ("", ";", "; ", ", ", "&", "+", "|", "\n", " ")
        for a in (True, False)
        for b in (True, False)
    ),
    *(
        ("SUM-010", replace(_CANONICAL, position=each, nested=nested))
        for each in _POSITIONS
        for nested in (None, True, False)
    ),
    *(
        ("SUM-010", replace(_CANONICAL, position=each, members=members))
        for each in _POSITIONS
        for members in (True, False)
    ),
    *(
        ("SUM-010", replace(_CANONICAL, position=each, elements=kinds))
        for each in _POSITIONS
        for kinds in ((dict,), (list,), (dict, list))
    ),
    ("SUM-010", replace(_CANONICAL, listed=lambda _value: None)),
    ("SUM-010", replace(_CANONICAL, listed=lambda value: [*_flat(value)])),
    ("SUM-010", replace(_CANONICAL, listed=lambda value: [v for v in value if v is not None])),
    *((each, replace(_CANONICAL, order=lambda pair: _counted(pair[0]))) for each in _ORDERED),
    ("SUM-011", replace(_CANONICAL, dropped=lambda _key, _top, _nested: False)),
    ("SUM-012", replace(_CANONICAL, dropped=lambda key, _top, _nested: key == "checksum")),
    (
        "SUM-012",
        replace(_CANONICAL, dropped=lambda key, _top, _nested: key.casefold() == "checksum"),
    ),
    *(
        ("SUM-012", replace(_CANONICAL, dropped=partial(_dropped_below, within=within)))
        for within in (True, False)
    ),
)
"""Forms that break a rule, with the requirement of the rule."""


def _lower(text: str) -> str:
    head, *rest = text.split("%")
    return "".join([head, *(f"%{each[:2].lower()}{each[2:]}" for each in rest)])


def canonical_form(document: dict[str, Any]) -> str:
    """Return the text whose MD5 is the checksum of ``_last_checkpoint``.

    Raises:
        LimitExceeded: it is too long.
    """
    return _CANONICAL.format(document)


def digest(text: str) -> str:
    """Return the MD5 of a text, as the checksum states it."""
    return hashlib.md5(text.encode(errors="replace"), usedforsecurity=False).hexdigest()


def broken_rules(document: dict[str, Any], stated: str) -> list[str]:
    """Name the rules of which a wrong checksum breaks one, where that can be found.

    Raises:
        LimitExceeded: as :func:`canonical_form`.
    """
    right = canonical_form(document)
    if len(right) > _MAX_CHARACTERS:
        return []
    # A checksum cannot contain itself: a writer that keeps the member had nothing in it.
    found = [
        requirement
        for requirement, form in _WRONG_FORMS
        for nothing in (("", None, "0" * 32) if requirement == "SUM-011" else ("",))
        if (text := form.format({**document, "checksum": nothing})) != right
        and digest(text) == stated
    ]
    return list(dict.fromkeys(found))
