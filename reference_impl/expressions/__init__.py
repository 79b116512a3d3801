"""SQL expressions: read under bounds, rendered for DuckDB, evaluated over Arrow."""
