"""From the rows and clauses of a caller to the rows of data files."""
