"""What the kit knows of an operation of writers, in one entry.

See ``docs/formats.md``, "Write recipes".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from generators.oracle.delta_schema import Struct, from_json
from generators.oracle.model import Oracle
from generators.oracle.operations.arguments import Argument, Context, Step


@dataclass(frozen=True, slots=True)
class Operation:
    """What a writer does in one commit, as a value."""

    @property
    def commits(self) -> bool:
        """Whether it makes a version."""
        return True

    def change(self, schema: Struct) -> Struct:
        """Return the schema that it leaves, the same where it changes none."""
        return schema

    def apply(self, oracle: Oracle) -> None:
        """Let an oracle do it as part of its open version."""
        schema = self.change(oracle.schema)
        if schema is not oracle.schema:
            oracle.change_schema(schema)


@dataclass(frozen=True, slots=True)
class NoRowChange(Operation):
    """Change no row; ``version`` says whether a version is committed."""

    version: bool = True

    @property
    def commits(self) -> bool:
        """Whether it makes a version."""
        return self.version


@dataclass(frozen=True, slots=True)
class Entry:
    """All that the kit knows of an operation: recipes, adapters, the judge and guides read it.

    Attributes:
        name: its name in steps and in the adapter contract.
        arguments: its arguments by name.
        make: the class of the operation; ``None`` where no reader of rows can see its effect.
        oracle: what the oracle of a recipe does for it; ``None`` for what its step says.
        history: whether histories may have it.
        defines: whether its own schema says which columns the table has.
        replaces: whether the table that it leaves may be another one: no filter keeps earlier rows.
        drops_feature: whether it takes a table feature off the lists of the protocol.
        needs: the table feature that it needs of a writer, whatever its arguments.
        judges: the requirement that a step judges where the recipe does not name one.
        either: arguments of which at least one is given.
        capabilities: capabilities of adapters, each with whether a step asks for it.
        says: what it does, for the documentation.
    """

    name: str
    arguments: Mapping[str, Argument]
    make: type[Operation] | None = None
    oracle: Operation | None = None
    history: bool = False
    defines: bool = False
    replaces: bool = False
    drops_feature: bool = False
    needs: str | None = None
    judges: str | None = None
    either: tuple[str, ...] = ()
    capabilities: Mapping[str, Callable[[Step], bool]] = field(default_factory=dict)
    says: str = ""

    def step_of(self, operation: Operation, context: Context) -> dict[str, Any]:
        """Return the step of an operation of its class."""
        if self.defines:
            of: Any = operation
            context = replace(context, schema=of.schema)
        step: dict[str, Any] = {"operation": self.name}
        for name, argument in self.arguments.items():
            if argument.field is not None:
                value = argument.encoded(operation, context)
                if value or (argument.required and name not in self.either):
                    step[name] = value
        return step

    def read(self, context: Context) -> Operation:
        """Return the operation of the step of a context."""
        step = context.step
        if self.defines:
            context = replace(context, schema=from_json(step["schema"]))
        fields: dict[str, Any] = {}
        for name, argument in self.arguments.items():
            if name in step:
                for key, value in argument.read(step[name], context).items():
                    fields[key] = {**fields[key], **value} if key in fields else value
        assert self.make is not None
        return self.make(**fields)

    def seen_by(self, who: str) -> frozenset[str]:
        """Return the names of the arguments that ``adapter``, ``judge`` or ``history`` is given."""
        return frozenset(n for n, argument in self.arguments.items() if argument.seen == who)


def said_by_recipe(_step: Step) -> bool:
    """Return ``False``: no argument asks for the capability, but the recipe that needs it."""
    return False


OPERATIONS: Final[dict[str, Entry]] = {}
"""Every operation of writers by its name, in the order of the documentation."""

_Class = TypeVar("_Class", bound=type[Operation])


def operation(
    name: str, arguments: Mapping[str, Argument], /, **facts: Any
) -> Callable[[_Class], _Class]:
    """Enter a class into the table."""

    def enter(of: _Class) -> _Class:
        facts.setdefault("history", True)
        OPERATIONS[name] = Entry(name, arguments, of, **facts)
        return of

    return enter


def unseen(
    name: str,
    arguments: Mapping[str, Argument] | None = None,
    /,
    *,
    commits: bool = True,
    **facts: Any,
) -> None:
    """Enter an operation that no reader of rows can see."""
    OPERATIONS[name] = Entry(name, arguments or {}, None, NoRowChange(commits), **facts)
