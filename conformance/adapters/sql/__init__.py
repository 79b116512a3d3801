"""What adapters that speak SQL share."""
