"""Wrong writers, by what they are about."""
