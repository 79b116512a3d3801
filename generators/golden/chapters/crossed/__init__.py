"""Cases of writing by a matrix: every kind of table, taken through every course of operations."""
