"""Wrong readers of files and what they hold."""
