"""Errors of the simulation itself."""

__all__ = ["SimulationError"]


class SimulationError(Exception):
    """The simulation process failed; the text ends with the tail of its log."""
