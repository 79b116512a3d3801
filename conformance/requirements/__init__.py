"""The registry of requirements, where they are cited, and what covers them."""
