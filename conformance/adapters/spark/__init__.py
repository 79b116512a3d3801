"""Spark with Delta."""
