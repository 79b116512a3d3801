"""Cases of rules that hold for every operation."""
