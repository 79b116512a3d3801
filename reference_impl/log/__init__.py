"""The files of a log: their names, the listing, commits line by line."""
