"""From the answer of an implementation to an outcome."""
