"""The plugin under the name that installations made before its move know it by.

The plugin is the module ``delta_tck_pytest`` beside the kit's packages.
"""

from __future__ import annotations

from delta_tck_pytest import pytest_addoption, pytest_cmdline_main, pytest_configure

__all__ = ["pytest_addoption", "pytest_cmdline_main", "pytest_configure"]
