"""What a Parquet footer and its pages claim, checked before anything is decoded."""
