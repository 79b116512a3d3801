"""The folder that a run was started in, which an adapter may remove while it runs."""

from __future__ import annotations

from collections.abc import Generator

import pytest


class StartFolder:
    """Let a session end as usual whose folder is gone: pytest goes back there before it ends."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Look after the last case, however the run came to its end."""
        try:
            return (yield)
        finally:
            _stay(session)

    pytest_collection = pytest_runtestloop
    """Also look after the adapter has started, and after what else is loaded by then."""


def _stay(session: pytest.Session) -> None:
    config = session.config
    given = config.invocation_params
    left = next(each for each in (given.dir, *given.dir.parents) if each.is_dir())
    if left != given.dir:
        config.invocation_params = pytest.Config.InvocationParams(
            args=given.args, plugins=given.plugins, dir=left
        )
