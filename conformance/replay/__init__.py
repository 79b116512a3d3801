"""Bundles: a failure on a drawn history as a folder to be replayed anywhere.

Serves ``docs/formats.md``, "Bundles".
"""
