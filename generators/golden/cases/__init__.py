"""How a golden case is described and published."""
