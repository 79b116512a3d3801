"""Log files of generated tables."""
