"""Cases of what writers do to files."""
