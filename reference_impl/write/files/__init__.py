"""Data files, deletion vectors and change files, staged for a commit."""
