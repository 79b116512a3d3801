"""Wrong readers of table features."""
