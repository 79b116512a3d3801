"""Bundles: a failure on a drawn history as a folder to be replayed anywhere.

See ``docs/formats.md``, "Bundles".
"""
