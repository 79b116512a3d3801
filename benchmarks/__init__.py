"""Measurements of the reference implementation beside its peers, as ratios of one session."""
