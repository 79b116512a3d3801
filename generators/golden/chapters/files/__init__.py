"""Cases of data files and what the log says of them."""
