"""JSON Schemas of every document of the Delta protocol and of the kit's own files."""
