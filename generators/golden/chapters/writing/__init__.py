"""Cases of writers."""
