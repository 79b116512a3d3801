"""Changes of schema, properties and protocol."""
