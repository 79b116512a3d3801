"""Pytest plugin of the kit: ``pytest --impl=NAME`` judges an implementation.

Without ``--impl`` it only adds its options. With it, and without paths, it collects the suite that
is shipped with the package, from whatever directory pytest runs. Each case is one test item; the
kit's own outcome travels in the item's properties, and the exit status is the kit's
(:mod:`conformance.status`).
"""

from __future__ import annotations

import pytest

from conformance.options import add_options, destination

__all__ = ["pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Begin a judging session when an implementation is named."""
    if config.getoption(destination("--impl")):
        from conformance.session import start  # noqa: PLC0415  keeps other pytest runs quick

        start(config)
