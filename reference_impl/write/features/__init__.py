"""What table features ask of a writer."""
