"""Run ``python -m conformance.guides``: write the generated parts of every guide."""

from __future__ import annotations

import sys

from conformance.guides import main

if __name__ == "__main__":
    sys.exit(main())
