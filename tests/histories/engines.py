"""The engines that read what the writer leaves."""

ENGINES = {"deltalake": "deltalake", "duckdb": "duckdb_extension_delta", "polars": "polars"}
"""Adapter, and the module without which it does not start."""
