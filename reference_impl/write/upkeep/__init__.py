"""Vacuum, log cleanup, compaction and checkpoints on request."""
