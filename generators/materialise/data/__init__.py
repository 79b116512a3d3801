"""Data files, vectors and statistics of generated tables."""
