"""Compile C sources and prepare memory for the start of a program."""
