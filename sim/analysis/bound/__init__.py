"""The longest execution time of a program, from the costs of its paths."""
