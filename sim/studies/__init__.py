"""Studies that need many runs."""
