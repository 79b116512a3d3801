"""Checks of commits and of the state that they lead to."""
