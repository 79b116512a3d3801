"""Implementations that are wrong on purpose, each breaking one requirement, and their proof."""
