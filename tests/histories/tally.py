"""What random histories made use of, counted, so that nothing that the writer does goes untried.

The operations are those that a table has, by its own list of methods; the features are those
that the registry says are written. Neither list is kept here: what is new in the writer is
missed here until a history reaches it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from reference_impl import Snapshot, Table
from reference_impl.model.features import WRITABLE_FEATURES, active, supported
from reference_impl.types.model import DataType, children
from schemas.features import FEATURES

Tally = Counter[str]

_READ: Final = frozenset({"snapshot", "history", "changes", "latest_version"})
_KINDS: Final = (
    "matched update",
    "matched delete",
    "not_matched insert",
    "not_matched_by_source update",
    "not_matched_by_source delete",
)


def wanted() -> frozenset[str]:
    """Return everything that histories have to reach."""
    operations = {
        f"operation {name}"
        for name, _ in inspect.getmembers(Table, inspect.isfunction)
        if not name.startswith("_") and name not in _READ
    }
    features = {f"feature {name}" for name in WRITABLE_FEATURES}
    clauses = {f"clause {kind}{how}" for kind in _KINDS for how in ("", " on condition")}
    styles = {
        f"checkpoint {style}"
        for style in ("classic", "multi-part", "v2 json with sidecars", "v2 parquet")
    }
    others = {"restore of another schema", "field in a struct, renamed"}
    return frozenset(operations | features | clauses | styles | others)


def missed(tally: Tally) -> list[str]:
    """Return what histories have to reach and did not."""
    return sorted(wanted() - {name for name, count in tally.items() if count})


def report(tally: Tally) -> str:
    """Return the counts as text, a line for each."""
    return "\n".join(f"{count:6} {name}" for name, count in sorted(tally.items()))


class Counted:
    """A table that counts the operations that it carried out, and those that it refused."""

    def __init__(self, table: Table, tally: Tally) -> None:
        """Take the table, and where to count."""
        self._table, self._tally = table, tally

    def __getattr__(self, name: str) -> Any:
        """Return what the table has, an operation with a counter around it."""
        found = getattr(self._table, name)
        if not callable(found) or name in _READ:
            return found
        return self._counting(name, found)

    def _counting(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            try:
                answer = work(*given, **named)
            except Exception:
                self._tally[f"{name}, refused"] += 1
                raise
            self._tally[f"operation {name}"] += 1
            return answer

        return counted


def in_use(snapshot: Snapshot) -> Iterator[str]:
    """Return the features that a version has in force and makes use of."""
    for name in supported(snapshot.protocol):
        uses = _USES.get(name, lambda _: True)
        if (
            name in FEATURES
            and active(snapshot.protocol, snapshot.metadata, name)
            and uses(snapshot)
        ):
            yield name


def _keyed(key: str) -> Callable[[Snapshot], bool]:
    return lambda snapshot: any(key in column.metadata for column in snapshot.schema.fields)


def _typed(name: str) -> Callable[[Snapshot], bool]:
    return lambda snapshot: name in map(str, _types(snapshot.schema))


def _types(of: DataType) -> Iterator[DataType]:
    yield of
    for _, inner in children(of):
        yield from _types(inner)


_USES: Final[Mapping[str, Callable[[Snapshot], bool]]] = {
    "invariants": _keyed("delta.invariants"),
    "generatedColumns": _keyed("delta.generationExpression"),
    "identityColumns": _keyed("delta.identity.start"),
    "allowColumnDefaults": _keyed("CURRENT_DEFAULT"),
    "timestampNtz": _typed("timestamp_ntz"),
    "variantType": _typed("variant"),
    "variantShredding": _typed("variant"),
    "checkConstraints": lambda snapshot: any(
        key.startswith("delta.constraints.") for key in snapshot.metadata.configuration
    ),
    "columnMapping": lambda snapshot: "delta.columnMapping.mode" in snapshot.metadata.configuration,
    "v2Checkpoint": lambda snapshot: (
        snapshot.metadata.configuration.get("delta.checkpointPolicy") == "v2"
    ),
    "typeWidening": lambda snapshot: "delta.typeChanges" in snapshot.metadata.schema_string,
    "clustering": lambda snapshot: (
        "[[" in snapshot.domain_metadata["delta.clustering"].configuration
    ),
    "domainMetadata": lambda snapshot: any(
        not name.startswith("delta.") for name in snapshot.domain_metadata
    ),
}
"""How a table makes use of a feature that may also be listed and nothing more."""
