"""What the cycles of a run come from."""

import enum

__all__ = ["CannotPredictError", "Engine"]


class Engine(enum.StrEnum):
    """``rtl``: the hardware, simulated. ``predict``: the model of its time, which knows ``swas`` only."""

    RTL = "rtl"
    PREDICT = "predict"


class CannotPredictError(ValueError):
    """A run that cannot be predicted; one line."""
