"""The golden cases, one module per part of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Final, Literal

from generators.golden.cases.catalog import Chapter, Definition
from generators.golden.chapters import crossed, files, log, reading, tables, writing

__all__ = ["all_chapters", "all_definitions"]

_PACKAGES: Final = (crossed, files, log, reading, tables, writing)
"""Where the modules are; every chapter that one of them has under a public name is built, or a
tuple of them."""


def all_chapters() -> Iterator[Chapter]:
    """Return the chapters that the kit's own materialiser writes."""
    for package in _PACKAGES:
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(import_module(found.name)).items():
                held = value if isinstance(value, tuple) else (value,)
                if not name.startswith("_"):
                    yield from (each for each in held if isinstance(each, Chapter))


def all_definitions(builder: Literal["kit", "deltalake"] = "kit") -> list[Definition]:
    """Return the cases of a builder; raises :class:`ValueError` when an id is taken twice."""
    if builder == "deltalake":
        # Only here, because this builder needs its engine to be installed.
        from generators.golden.chapters.delta_rs import DEFINITIONS  # noqa: PLC0415

        return list(DEFINITIONS)
    definitions = [each for chapter in all_chapters() for each in chapter]
    ids = [each.info.id for each in definitions]
    if len(set(ids)) != len(ids):
        raise ValueError(f"case ids are taken twice: {sorted(i for i in ids if ids.count(i) > 1)}")
    return definitions
