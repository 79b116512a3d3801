"""Cases of what writers do to columns and their rules."""
