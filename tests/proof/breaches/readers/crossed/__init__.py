"""Wrong readers of what meets: features and layouts of the log."""
