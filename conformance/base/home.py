"""Where the kit is installed, and which version of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parents[1]
"""The folder of ``conformance``, with the data that it ships."""

PROJECT: Final = PACKAGE.parent
"""The folder that holds the kit's packages: a checkout, or ``site-packages``."""


def kit_version() -> str:
    """Return the version of the installed kit."""
    # An audit in text does not say it, and the import takes as long as a small log.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("delta-tck")
    except PackageNotFoundError:
        return "0"
