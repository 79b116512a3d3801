"""Which version of the kit is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["kit_version"]


def kit_version() -> str:
    """Return the version of the installed kit."""
    try:
        return version("delta-tck")
    except PackageNotFoundError:
        return "0"
