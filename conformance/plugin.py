"""Pytest plugin of the kit: without ``--impl`` it does nothing."""
