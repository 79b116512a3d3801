"""Wrong readers, by what they are about."""
