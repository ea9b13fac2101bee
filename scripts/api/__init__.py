"""The commands as functions for Python programs."""
