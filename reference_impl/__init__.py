"""Reference implementation of the Delta transaction-log protocol."""
