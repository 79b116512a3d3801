"""Run ``python -m conformance.audit TABLE``."""

import sys

from conformance.audit.cli import run_audit_cli

sys.exit(run_audit_cli(sys.argv[1:]))
