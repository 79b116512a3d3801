"""The materialiser: rows and actions in, bytes of a table on disk out; nothing is read back."""
