"""Adapters: one module per implementation under test."""
