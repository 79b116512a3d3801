"""From the live files of a snapshot to rows in the table's types."""
