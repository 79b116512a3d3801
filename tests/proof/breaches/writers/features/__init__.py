"""Wrong writers of table features."""
