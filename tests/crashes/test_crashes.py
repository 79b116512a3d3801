"""A writer whose storage goes wrong at any step leaves the table as before or as after."""
