"""Run the pipeline: ``python -m conformance.pipeline JOB …``, or by path for ``spark-submit``."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # A script is found before all else in its own folder, whose modules are named as jobs are.
    here = Path(__file__).resolve().parent
    sys.path[:] = [each for each in sys.path if not each or Path(each).resolve() != here]
    if str(here.parents[1]) not in sys.path:
        sys.path.append(str(here.parents[1]))
    from conformance.pipeline.cli import run_pipeline_cli

    raise SystemExit(run_pipeline_cli(sys.argv[1:]))
