"""Turn what an engine says into a refusal: tables of its error classes and of its own words.

Implements the adapter contract. Only the classes that an engine documents as its errors are
refusals; whatever else it raises (a panic, a broken invariant) passes through and becomes an
``error`` outcome. A refusal gets a kind only where the engine's own words say one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.adapter import Answer, Kind, Ok, Refused, Stage

_MAX_MESSAGE = 2_000


class NotOfferedError(Exception):
    """The engine has no way to do what it is asked; says what it has instead, or that it has none.

    An adapter raises it before the engine is called. The answer is a refusal as unsupported.
    """


@dataclass(frozen=True, slots=True)
class Rule:
    """Which refusal an engine's message stands for.

    Attributes:
        pattern: expression that is searched for in class name and message, joined by ``": "``.
        kind: what the engine means by it.
        stage: when the engine says it, where that is known.
    """

    pattern: str
    kind: Kind | None
    stage: Stage | None = None


@dataclass(frozen=True, slots=True)
class Refusals:
    """The refusals of one engine.

    Attributes:
        errors: the classes by which the engine refuses in a controlled way.
        rules: tried in order; the first that matches gives kind and stage.
        noise: finds lines of a message that say nothing to a reader, as those of a stack trace.
        crashes: finds errors of such a class that are crashes all the same.
        untyped: the engine also refuses with an ``Exception`` of no class of its own, which no
            adapter and no mistake in one raises.
    """

    errors: tuple[type[BaseException], ...]
    rules: Sequence[Rule] = ()
    noise: str | None = None
    crashes: str | None = None
    untyped: bool = False

    def answer(self, call: Callable[[], Any], stage: Stage | None = None) -> Answer:
        """Make a call into the engine, and answer with what it gave or what it refused.

        Args:
            call: does the engine's work; its result is the payload.
            stage: the stage to report where no rule gives one.

        Returns:
            ``Ok`` or ``Refused``.

        Raises:
            BaseException: what the engine raises beyond its refusals.
        """
        try:
            return Ok(call())
        except NotOfferedError as error:
            return Refused("unsupported", stage, str(error))
        except Exception as error:
            if not isinstance(error, self.errors) and not (
                self.untyped and type(error) is Exception
            ):
                raise
            text = f"{type(error).__name__}: {error}"
            if self.crashes is not None and re.search(self.crashes, text):
                raise
            return self._refused(text, stage)

    def _refused(self, text: str, stage: Stage | None) -> Refused:
        if self.noise is not None:
            lines = [line for line in text.splitlines() if not re.search(self.noise, line)]
            text = "\n".join(lines)
        message = text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"
        for rule in self.rules:
            if re.search(rule.pattern, text):
                return Refused(rule.kind, rule.stage or stage, message)
        return Refused(None, stage, message)
