"""What a person looks at after a run: a page over several results files, and their difference."""

from __future__ import annotations

from conformance.report.cli import run_diff_cli, run_report_cli

__all__ = ["run_diff_cli", "run_report_cli"]
