"""The engines that compute the cycles of a run."""

import enum

__all__ = ["CannotPredictError", "Engine"]


class Engine(enum.StrEnum):
    """``rtl``: the simulated hardware. ``predict``: the model of its timing, which supports only ``swas``."""

    RTL = "rtl"
    PREDICT = "predict"


class CannotPredictError(ValueError):
    """A run that cannot be predicted; the message is one line."""
