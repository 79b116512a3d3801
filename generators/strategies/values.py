"""Values of every type, their extremes among them.

Covers "Primitive Types" and "Partition Value Serialization".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal as DecimalValue
from typing import Any, Final

from hypothesis import strategies as st

from generators.oracle.delta_schema import Array, DataType, Decimal, Map, Primitive, Struct

INTEGER_BITS: Final[Mapping[str, int]] = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""Width of each integer type."""

SPECIAL_STRINGS: Final = (
    "",
    " ",
    "null",
    "NULL",
    "__HIVE_DEFAULT_PARTITION__",
    "a/b",
    "a:b",
    "100%",
    "%25",
    "a=b",
    "a b",
    "a+b",
    "a#b?c",
    "'quoted'",
    '"quoted"',
    "back\\slash",
    "line\nbreak",
    "tab\tstop",
    "\x00",
    "\x7f",
    "\u00e9",
    "e\u0301",
    "\u00df",
    "\u4f60\u597d",
    "\U0001f600",
    "\U0010ffff",
    "\ufeff",
    "x" * 33,
    "\U0001f600" * 33,
)
"""Strings that have broken readers: in paths, in statistics, in comparisons."""

_TEXT: Final = st.one_of(
    st.sampled_from(SPECIAL_STRINGS), st.text(st.characters(codec="utf-8"), max_size=12)
)


def _integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return st.one_of(
        st.integers(-3, 3), st.sampled_from((low, low + 1, high - 1, high)), st.integers(low, high)
    )


def _floats(width: int, *, nan: bool) -> st.SearchStrategy[float]:
    smallest = 2.0**-1074 if width == 64 else 2.0**-149
    special = [0.0, -0.0, 1.0, -1.5, smallest, float("inf"), float("-inf")]
    drawn = st.floats(width=64 if width == 64 else 32, allow_nan=False)
    choices: list[st.SearchStrategy[float]] = [st.sampled_from(special), drawn]
    if nan:
        choices.append(st.just(float("nan")))
    return st.one_of(*choices)


def _dates(first: int) -> st.SearchStrategy[date]:
    low = date(first, 1, 1)
    return st.one_of(
        st.sampled_from((date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), low, date.max)),
        st.dates(low),
    )


def _moments(first: int) -> st.SearchStrategy[datetime]:
    low = datetime(first, 1, 1)  # noqa: DTZ001  zone-less on purpose, added where it belongs
    special = (
        datetime(1970, 1, 1),  # noqa: DTZ001  as above
        datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001  as above
        datetime(2024, 3, 31, 1, 30, 0, 1),  # noqa: DTZ001  as above
        datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001  as above
        low,
    )
    return st.one_of(st.sampled_from(special), st.datetimes(low))


def _decimals(precision: int, scale: int) -> st.SearchStrategy[DecimalValue]:
    top = 10**precision - 1
    unscaled = st.one_of(st.integers(-9, 9), st.sampled_from((top, -top)), st.integers(-top, top))
    return unscaled.map(lambda value: _scaled(value, scale))


def _scaled(value: int, scale: int) -> DecimalValue:
    sign, digits = int(value < 0), tuple(int(each) for each in str(abs(value)))
    return DecimalValue((sign if value else 0, digits, -scale))


def _primitive(name: str, *, nan: bool, first_year: int) -> st.SearchStrategy[Any]:
    if name in INTEGER_BITS:
        return _integers(INTEGER_BITS[name])
    makers: Mapping[str, Callable[[], st.SearchStrategy[Any]]] = {
        "string": lambda: _TEXT,
        "boolean": st.booleans,
        "binary": lambda: st.one_of(st.just(b""), st.binary(max_size=8)),
        "float": lambda: _floats(32, nan=nan),
        "double": lambda: _floats(64, nan=nan),
        "date": lambda: _dates(first_year),
        "timestamp": lambda: _moments(first_year).map(lambda value: value.replace(tzinfo=UTC)),
        "timestamp_ntz": lambda: _moments(first_year),
        "void": st.none,
    }
    if name not in makers:
        raise ValueError(f"there are no values of type {name}")
    return makers[name]()


def values(
    data_type: DataType,
    *,
    nullable: bool = True,
    nan: bool = True,
    first_year: int = 1583,
    max_size: int = 3,
) -> st.SearchStrategy[Any]:
    """Values of a type.

    Args:
        data_type: the type.
        nullable: whether null is valid.
        nan: whether NaN is valid in float and double.
        first_year: the earliest year that is valid; years before 1583 fall under calendars that
            old writers disagreed about.
        max_size: the most items of an array, or entries of a map.
    """

    def inner(each: DataType, *, null: bool) -> st.SearchStrategy[Any]:
        return values(each, nullable=null, nan=nan, first_year=first_year, max_size=max_size)

    base: st.SearchStrategy[Any]
    match data_type:
        case Primitive(name):
            base = _primitive(name, nan=nan, first_year=first_year)
        case Decimal(precision, scale):
            base = _decimals(precision, scale)
        case Array(element, contains_null):
            base = st.lists(inner(element, null=contains_null), max_size=max_size)
        case Map(key, value, value_contains_null):
            pairs = st.tuples(inner(key, null=False), inner(value, null=value_contains_null))
            base = st.lists(pairs, max_size=max_size, unique_by=lambda pair: repr(pair[0]))
        case Struct(fields):
            base = st.fixed_dictionaries(
                {each.name: inner(each.type, null=each.nullable) for each in fields}
            )
    return st.one_of(st.none(), base) if nullable else base


def partition_values(
    data_type: DataType, *, nullable: bool = True, first_year: int = 1583
) -> st.SearchStrategy[Any]:
    """Values of a partition column: few, so that partitions meet again.

    Raises:
        ValueError: the type cannot partition a table.
    """
    if not isinstance(data_type, Primitive | Decimal) or data_type in (
        Primitive("void"),
        Primitive("variant"),
    ):
        raise ValueError(f"{data_type} cannot partition a table")
    return values(data_type, nullable=nullable, nan=True, first_year=first_year)
