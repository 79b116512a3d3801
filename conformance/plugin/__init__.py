"""The kit inside of pytest: session, summary, collection."""
