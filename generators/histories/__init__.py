"""Histories of tables as data: drawn once, kept in files, read back without drawing anything.

See ``docs/formats.md``, "Histories".
"""
