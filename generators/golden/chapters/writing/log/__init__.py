"""Cases of what writers do to the log."""
