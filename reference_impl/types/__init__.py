"""Delta data types: the model, the schema string, and their Arrow counterparts."""
