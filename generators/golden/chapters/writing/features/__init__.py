"""Cases of writing under table features."""
