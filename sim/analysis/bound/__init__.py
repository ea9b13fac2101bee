"""The longest time, from what is counted along the paths."""
