"""Wrong writers of files and what they hold."""
