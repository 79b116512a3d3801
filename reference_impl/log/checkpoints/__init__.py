"""Checkpoints and their sidecars, read with bounds (section Checkpoints)."""
