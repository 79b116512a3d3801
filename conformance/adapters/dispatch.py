"""An adapter from two tables of functions: what an engine reads, and what it writes.

Implements the adapter contract. An operation is claimed exactly when its function is in a table, so
a claim cannot drift from what the adapter does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.adapter import Answer, Claims, Description, Refused, Request, Write, operation_of
from conformance.adapters.refusals import Refusals


def _nothing() -> None:
    """Release nothing."""


def _not_renewed(_: BaseException) -> bool:
    """Leave the engine as it is, which may be broken by whatever it raised."""
    return False


@dataclass(frozen=True, slots=True)
class EngineAdapter:
    """Runs requests with the functions of one engine.

    Attributes:
        name: the engine's short name.
        engine_version: the release that answers.
        claims: what the engine claims, apart from operations: those are the tables' keys.
        refusals: which of the engine's errors are refusals.
        reads: for each reading operation, request in and payload out.
        writes: for each writing operation, request in and payload out.
        release: ends the engine.
        renew: after an error that is no refusal, makes the engine as if it had just been
            started, and says whether it is.
    """

    name: str
    engine_version: str
    claims: Claims
    refusals: Refusals
    reads: Mapping[str, Callable[[Any], Any]]
    writes: Mapping[str, Callable[[Write], Any]]
    release: Callable[[], None] = _nothing
    renew: Callable[[BaseException], bool] = _not_renewed

    def describe(self) -> Description:
        """Return name, versions and claims."""
        claims = replace(self.claims, operations=frozenset({*self.reads, *self.writes}))
        return Description(name=self.name, engine_version=self.engine_version, claims=claims)

    def run(self, request: Request) -> Answer:
        """Execute one request with the engine.

        Raises:
            Exception: what the engine raises that is not one of its refusals.
        """
        operation = operation_of(request)
        writing = isinstance(request, Write)
        calls: Mapping[str, Callable[[Any], Any]] = self.writes if writing else self.reads
        call = calls.get(operation)
        if call is None:
            return Refused("unsupported", None, f"{self.name} has no operation {operation}")
        return self.refusals.answer(lambda: call(request), "commit" if writing else None)

    def close(self) -> None:
        """End the engine."""
        self.release()
