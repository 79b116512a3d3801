"""Check statistics against the values that they describe: of columns, and inside of variants."""
