"""Wrong readers of the log."""
