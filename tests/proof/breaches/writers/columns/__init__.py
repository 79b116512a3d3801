"""Wrong writers of columns and their types."""
