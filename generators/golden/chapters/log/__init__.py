"""Cases of the log: commits, checkpoints, compactions, checksums."""
