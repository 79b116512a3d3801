"""The text form of partition values (section Partition Value Serialization).

What the section leaves open is accepted: a timestamp without zone, no seconds in the form of
ISO 8601, how many digits a fraction of a second has up to six, how a number that is not finite is
written, a sign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from conformance.audit.grammar.types import BITS, decimal_of

TEXT_REQUIREMENTS: Final[Mapping[str, str]] = {
    "date": "PART-005",
    "timestamp": "PART-006",
    "timestamp_ntz": "PART-011",
    "boolean": "PART-013",
}
"""The requirement that gives a type its text form; numbers have PART-004, and any text is a
string or a binary value."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_NOT_FINITE: Final = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_DATE: Final = re.compile(r"([+-]?[0-9]{4,6})-([0-9]{2})-([0-9]{2})")
_TIME: Final = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,6})?"
_SPACED: Final = re.compile(rf"({_DATE.pattern}) {_TIME}")
_UTC: Final = r"(?:Z|[+-]00:?00)"
_ISO: Final = re.compile(
    rf"({_DATE.pattern})(?:[T ]{_TIME}{_UTC}?|T([0-9]{{2}}):([0-9]{{2}}){_UTC})"
)
_END_OF_DAY: Final = re.compile(r"T24(?=(?::?00(?::?00(?:[.,]0+)?)?)?(?:Z|[+-]))")
_LEAP: Final = re.compile(r"(T[0-9]{2}(:?)[0-9]{2}\2)60(?=[.,Z+-])")
_SINGLE_DIGIT: Final = re.compile(r"(?<![0-9.])[0-9](?![0-9])", re.ASCII)
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MAX_DIGITS: Final = 40
"""Characters of a whole number, at most."""

_MAX_CHARACTERS: Final = 400
"""Characters that no number or point in time needs."""


def _whole(bits: int) -> Callable[[str], str | None]:
    limit = 1 << (bits - 1)

    def fault(text: str) -> str | None:
        if _INTEGER.fullmatch(text) is None:
            return "is not a whole number"
        return None if -limit <= int(text) < limit else f"does not fit {bits} bits"

    return fault


def _fraction(text: str) -> str | None:
    fits = _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text)
    return None if fits else "is not a number"


def _boolean(text: str) -> str | None:
    return None if text in ("true", "false") else "is neither true nor false"


def _in_calendar(year: str, month: str, day: str) -> bool:
    number, at = int(year), int(month)
    leap = number % 4 == 0 and (number % 100 != 0 or number % 400 == 0)
    most = _DAYS[at - 1] if 1 <= at <= len(_DAYS) else 0
    return 1 <= int(day) <= (28 if at == 2 and not leap else most)


def _date(text: str) -> str | None:
    found = _DATE.fullmatch(text)
    if found is None:
        return "is not year-month-day"
    return None if _in_calendar(*found.groups()) else "is no day of the calendar"


def _moment(pattern: re.Pattern[str], form: str) -> Callable[[str], str | None]:
    def fault(text: str) -> str | None:
        found = pattern.fullmatch(text)
        if found is None:
            return f"is not {form}"
        _, year, month, day, *times = found.groups()
        # ISO 8601 may leave the seconds out.
        hour, minute, second = (*filter(None, times), "00")[:3]
        clock = int(hour) < 24 and int(minute) < 60 and int(second) < 60
        if _in_calendar(year, month, day) and clock:
            return None
        return "is no moment of the calendar"

    return fault


_FAULTS: Final[Mapping[str, Callable[[str], str | None]]] = {
    **{name: _whole(bits) for name, bits in BITS.items()},
    "float": _fraction,
    "double": _fraction,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _moment(_ISO, "year-month-day hour:minute:second, nor ISO 8601 in UTC"),
    "timestamp_ntz": _moment(_SPACED, "year-month-day hour:minute:second"),
}


def _decimal(text: str, precision: int, scale: int) -> str | None:
    try:
        value = Decimal(text) if _NUMBER.fullmatch(text) else None
    except InvalidOperation:
        value = None
    if value is None:
        return "is not a decimal number"
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    kept = "".join(map(str, digits)).rstrip("0")
    places = len(digits) - len(kept) + exponent
    fits = value == 0 or (-places <= scale and len(kept) + places <= precision - scale)
    return None if fits else f"has more digits than decimal({precision},{scale}) holds"


def fault_of(text: str, declared: str) -> str | None:
    """Return what is wrong with a partition value; ``None`` where its text is valid for the type.

    Args:
        text: as the log has it. Empty text is a null value of any type.
        declared: the name of the column's primitive type.
    """
    sized = decimal_of(declared)
    check = _FAULTS.get(declared)
    if text == "" or (sized is None and check is None):
        return None
    if len(text) > _MAX_CHARACTERS:
        return f"has {len(text)} characters"
    if sized is not None:
        return _decimal(text, *sized)
    return check(text) if check else None


def _instant(text: str) -> str | None:
    """Return an instant in UTC in the form of the section, which names ISO 8601 with all its forms.

    Editions of that standard write the end of a day as 24:00, and all have a second 60. What is
    returned has the form alone, not the instant. ``None`` for a text that is no such instant.
    """
    text = _END_OF_DAY.sub("T00", _LEAP.sub(r"\g<1>59", text))
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.isoformat() if found.utcoffset() == timedelta(0) else None


def padded(text: str, declared: str) -> str:
    """Return a value in the form that its type mostly has; one that has another form as it is.

    The section shows padded values in its examples, and its forms do not say how many digits a
    month has, nor which representation of a number is the one.
    """
    if declared == "timestamp":
        # Small letters are an agreement of those who exchange them, and no form is excluded.
        text = text.upper()
        if (instant := _instant(text)) is not None:
            return instant
    if declared in BITS:
        number = Decimal(text) if len(text) <= _MAX_DIGITS and _NUMBER.fullmatch(text) else None
        small = number is not None and number.adjusted() < _MAX_DIGITS and number == int(number)
        return str(int(number)) if number is not None and small else text
    return _SINGLE_DIGIT.sub(r"0\g<0>", text) if declared in TEXT_REQUIREMENTS else text
