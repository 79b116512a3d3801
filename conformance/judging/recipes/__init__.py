"""Judging what a writer leaves behind, step by step."""
