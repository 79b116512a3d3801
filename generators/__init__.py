"""Generators of Delta tables: the oracle model, the materialiser, mutations and golden builders."""
