"""The corpus of golden tables: its cases, its files, their digests."""
