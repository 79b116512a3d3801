"""A log as it stands, with its faults as data."""
