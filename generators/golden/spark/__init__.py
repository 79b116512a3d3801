"""The data pipeline on Spark: tables that Spark writes, and Spark's word on the whole corpus."""
