"""The data pipeline on Spark: tables that Spark writes, and what Spark reads of the corpus."""
