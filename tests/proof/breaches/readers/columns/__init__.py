"""Wrong readers of columns and their types."""
