"""What a run consists of: golden, generated and mutated items."""
