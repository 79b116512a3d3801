"""A pytest plugin that lets the session go on in a child where an adapter could end it early.

Imports nothing but pytest until it is needed: every pytest run on a machine with the kit loads it.
"""

from __future__ import annotations

from typing import Final

import pytest

from conformance.options import destination

__all__ = ["Supervisor"]


class Supervisor:
    """Run the session in a child process where the adapter is not in a process of its own."""

    NAME: Final = "delta-tck-supervisor"

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int | None:
        """Give the status of the child, or leave the session to pytest."""
        config.pluginmanager.unregister(name=self.NAME)
        if not _endangered(config):
            return None
        from conformance.lifetime import can_supervise, supervised  # noqa: PLC0415  see above

        if not can_supervise():
            return None
        return supervised(lambda: int(config.hook.pytest_cmdline_main(config=config)))


def _endangered(config: pytest.Config) -> bool:
    if hasattr(config, "workerinput"):
        return False  # the main process notices that a test process of xdist ends
    impl = config.getoption(destination("--impl"))
    isolation = config.getoption(destination("--isolation"))
    return bool(impl) and isolation == "none" and not impl.startswith("cmd:")
