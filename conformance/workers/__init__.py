"""Processes that answer for an implementation, and the messages between."""
