"""Golden tables that Spark writes."""
