"""Wrong writers of the log."""
