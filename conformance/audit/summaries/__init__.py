"""What checkpoints, compactions and checksums repeat of the log, field by field."""
