"""``python -m conformance`` is ``delta-tck``."""

from conformance.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
