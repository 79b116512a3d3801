"""Bundles: a failure on a drawn history as a folder that anybody can replay.

Serves ``docs/formats.md``, "Bundles".
"""
