"""Looking up a requirement or a case: what it says, who obeys it, and what shows it."""

from conformance.explain.cli import run_explain_cli

__all__ = ["run_explain_cli"]
