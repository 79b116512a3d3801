"""What the machine may do: operations on rows, on columns and on the table as a whole."""
