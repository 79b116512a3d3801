"""What data files hold, against what the log says of them (sections Data Files and Schema)."""
