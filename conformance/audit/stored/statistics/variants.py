"""Check bounds of what is inside of variants (sections Variant Data Type and Per-file Statistics).

Only the upstream text has such bounds: leaves of variants, by their paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.findings import Finding, finding
from conformance.audit.grammar.variants import bounds_of
from conformance.audit.stored.data_file import DataFile
from conformance.audit.stored.places import SchemaPlace
from conformance.base.variants import Leaf, Step, Variant, VariantError, variant
from reference_impl.limits import budget

_SIDES: Final = ("minValues", "maxValues")
_MAX_DEPTH: Final = 50
"""Steps of a path; what lies deeper is not judged."""

_TYPE_NAMES: Final = (
    (at.is_boolean, "boolean"), (at.is_integer, "exact number"), (at.is_decimal, "exact number"),
    (at.is_float64, "double"), (at.is_float32, "float"), (at.is_date, "date"),
    (at.is_string, "string"), (at.is_large_string, "string"), (at.is_binary, "binary"),
    (at.is_large_binary, "binary"), (at.is_time, "time"), (at.is_fixed_size_binary, "uuid"),
)  # fmt: skip
_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


class _NoLeafError(ValueError):
    """Something else than a leaf lies at a path."""


def wrong_variant_bounds(
    opened: DataFile, column: SchemaPlace, values: pa.ChunkedArray, bounds: tuple[Any, Any]
) -> Iterator[Finding]:
    """Yield findings about bounds of a column of variants.

    Args:
        opened: the file.
        column: the column.
        values: all of its rows: structs of ``metadata``, ``value``, and what is shredded.
        bounds: what ``minValues`` and ``maxValues`` say of it.
    """
    found: list[dict[tuple[Step, ...], Leaf]] = []
    for side, stated in zip(_SIDES, bounds, strict=True):
        try:
            found.append(_stated(stated))
        except VariantError as error:
            yield finding("VAR-010", opened.path, f"{side} of {column.name}: {error}")
            return
    low, high = found
    for path in sorted(low.keys() | high.keys(), key=str):
        kinds = [each[path].kind for each in found if path in each]
        if len({*kinds}) > 1:
            message = f"{column.name} at {_text(path)} is bound by {' and '.join(map(_one, kinds))}"
            yield finding("VAR-012", opened.path, message)
        elif len(path) <= _MAX_DEPTH:
            yield from _of_path(opened, column, values, path, (low.get(path), high.get(path)))


def _stated(bound: Any) -> dict[tuple[Step, ...], Leaf]:
    """Return the leaves of a bound; of those that a checkpoint has by type none."""
    return bounds_of(bound) if isinstance(bound, str) else {}


def _text(path: Sequence[Step]) -> str:
    return "$" + "".join(f"[{step!r}]" for step in path)


def _one(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _of_path(
    opened: DataFile,
    column: SchemaPlace,
    values: pa.ChunkedArray,
    path: tuple[Step, ...],
    bounds: tuple[Leaf | None, Leaf | None],
) -> Iterator[Finding]:
    place = f"{column.name} at {_text(path)}"
    try:
        held = _held(values, path)
        live = held if opened.deleted is None else _held(opened.live(values), path)
    except _NoLeafError:
        message = f"{place} has bounds, and there is an object or an array in a row"
        yield finding("VAR-011", opened.path, message)
        return
    except VariantError as error:
        yield finding("VAR-003", opened.path, f"{place}: {error}", severity="warning")
        return
    kinds = sorted({leaf.kind for leaf in held if leaf is not None})
    if len(kinds) > 1:
        message = f"{place} has bounds, and values of several types: {', '.join(kinds)}"
        yield finding("VAR-011", opened.path, message)
        return
    for side, bound in zip(_SIDES, bounds, strict=True):
        if bound is None or not kinds:
            continue
        if bound.kind != kinds[0]:
            message = f"{side} of {place} is {_one(bound.kind)}, the values are of type {kinds[0]}"
            yield finding("VAR-011", opened.path, message)
        elif (value := _beyond(live, bound.value, side)) is not None:
            requirement = "STAT-012" if opened.tight else "STAT-013"
            relation = "below" if side == _SIDES[0] else "above"
            message = f"{side} of {place} is {bound.value}, but the file has {value}, {relation} it"
            hint = "readers that skip by statistics lose rows"
            yield finding(requirement, opened.path, message, hint)


def _beyond(leaves: Sequence[Leaf | None], bound: Any, side: str) -> Any:
    """Return a value that a bound does not bind; ``None`` for none."""
    known = [leaf.value for leaf in leaves if leaf is not None and not _nan(leaf.value)]
    if not known or _nan(bound):
        return None
    extreme = min(known) if side == _SIDES[0] else max(known)
    broken = extreme < bound if side == _SIDES[0] else extreme > bound
    return extreme if broken else None


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _held(values: pa.ChunkedArray, path: tuple[Step, ...]) -> list[Leaf | None]:
    return [leaf for chunk in values.chunks for leaf in _leaves(chunk, path)]


def _leaves(values: pa.StructArray, path: tuple[Step, ...]) -> list[Leaf | None]:
    """Return what each row has at a path; ``None`` for nothing, and for nulls.

    Raises:
        _NoLeafError: an object or an array.
        VariantError: a variant is malformed.
    """
    budget().check_time()
    parts = _parts(values)
    return _group(parts, parts["metadata"].to_pylist(), path)


def _parts(values: pa.StructArray) -> dict[str, pa.Array]:
    return dict(zip(values.type.names, values.flatten(), strict=True))


def _group(
    parts: Mapping[str, pa.Array], names: Sequence[bytes | None], path: tuple[Step, ...]
) -> list[Leaf | None]:
    """Look for a path in the columns of a variant, or of what is shredded out of one."""
    plain = parts["value"].to_pylist() if "value" in parts else [None] * len(names)
    typed = parts.get("typed_value")
    found = [
        None if metadata is None or value is None else _leaf(variant(metadata, value).at(path))
        for metadata, value in zip(names, plain, strict=True)
    ]
    if typed is None:
        return found
    shredded = _shredded(typed, names, path)
    return [
        inner if inner is not None else rest for inner, rest in zip(shredded, found, strict=True)
    ]


def _shredded(
    typed: pa.Array, names: Sequence[bytes | None], path: tuple[Step, ...]
) -> list[Leaf | None]:
    nothing: list[Leaf | None] = [None] * len(typed)
    if at.is_struct(typed.type):
        if not path:
            return _nested(typed)
        inner = _parts(typed).get(str(path[0])) if isinstance(path[0], str) else None
        if inner is None or not at.is_struct(inner.type):
            return nothing
        return _group(_parts(inner), names, path[1:])
    if at.is_list(typed.type) or at.is_large_list(typed.type):
        # Items by their positions have no columns of their own.
        return nothing if path else _nested(typed)
    return nothing if path else _typed(typed)


def _nested(typed: pa.Array) -> list[Leaf | None]:
    if typed.null_count < len(typed):
        raise _NoLeafError
    return [None] * len(typed)


def _leaf(found: Variant | None) -> Leaf | None:
    if found is None:
        return None
    if found.nested:
        raise _NoLeafError
    return found.leaf()


def _typed(typed: pa.Array) -> list[Leaf | None]:
    of = typed.type
    if isinstance(of, pa.BaseExtensionType):
        typed, of = typed.storage, of.storage_type
    scale = 1
    if at.is_timestamp(of):
        kind = "timestamp" if of.tz is not None else "timestamp without time zone"
        typed, scale = typed.view(pa.int64()), _NANOSECONDS[of.unit]
    else:
        kind = next((name for test, name in _TYPE_NAMES if test(of)), str(of))
        if kind == "time":
            typed, scale = typed.view(pa.int64()), _NANOSECONDS[of.unit]
        elif kind == "date":
            typed = typed.view(pa.int32())
        elif kind == "string":
            typed = typed.cast(pa.large_binary())
    return [
        None if v is None else Leaf(kind, v * scale if scale > 1 else v) for v in typed.to_pylist()
    ]
