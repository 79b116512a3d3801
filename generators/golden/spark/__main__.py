"""Run the pipeline: ``python -m generators.golden.spark [write] [read] [--only CASE]``."""

from __future__ import annotations

import sys

from generators.golden.spark.pipeline import main

sys.exit(main(sys.argv[1:]))
