"""Which version of the kit is installed."""

from __future__ import annotations


def kit_version() -> str:
    """Return the version of the installed kit."""
    # An audit in text does not say it, and the import takes as long as a small log.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("delta-tck")
    except PackageNotFoundError:
        return "0"
