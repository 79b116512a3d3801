"""The job ``explore``: judge implementations by newly drawn histories.

See ``docs/pipeline.md``.
"""

from __future__ import annotations

from conformance.pipeline.explore.job import run_explore_job

__all__ = ["run_explore_job"]
