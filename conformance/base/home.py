"""Where the kit is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parents[1]
"""The folder of ``conformance``, with the data that it ships."""

PROJECT: Final = PACKAGE.parent
"""The folder that holds the kit's packages: a checkout, or ``site-packages``."""
