"""What can go wrong with the simulation itself."""

__all__ = ["SimulationError"]


class SimulationError(Exception):
    """The simulation process itself went wrong; the text ends with the tail of its log."""
