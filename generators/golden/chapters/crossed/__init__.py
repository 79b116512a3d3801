"""Cases by a matrix: kinds of tables by courses of operations, and by ways to ask."""
