"""One change to one module of the reference implementation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import reference_impl

PACKAGE = Path(reference_impl.__file__).parent


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change to one module.

    Attributes:
        module: path of the module below the package.
        line: number of its line, from 1.
        within: qualified name of the function or class that it is in, empty for neither.
        operator: the mutator of mutmut.
        was: the lines that are changed, in one.
        becomes: what they are changed to.
        executed: lines of which one is executed where the change is; none for what is executed
            when the module is imported.
        code: the changed module.
    """

    module: str
    line: int
    within: str
    operator: str
    was: str
    becomes: str
    executed: tuple[int, ...]
    code: str = field(repr=False, compare=False, default="")

    @property
    def id(self) -> str:
        """Name the mutant by what it changes, wherever the line stands."""
        said = [self.module, self.within, self.operator, self.was, self.becomes]
        return hashlib.sha256("\0".join(said).encode()).hexdigest()[:10]
