"""Cases of protocol, metadata and schema."""
