"""Writing checkpoints (section Checkpoints)."""
