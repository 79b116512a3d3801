"""Run ``python -m generators.golden``, the same command as ``python -m generators golden``."""

import sys

from generators.golden.cli import main

sys.exit(main())
