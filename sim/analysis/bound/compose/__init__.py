"""Composition of the costs of all warps into one time, in several ways (docs/wcet.md)."""
