"""Metronome: a GPU streaming multiprocessor whose warp schedule can be computed before the program runs.

``run``, ``predict``, ``trace`` and ``wcet`` are the commands of the same names as functions (docs/python.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scripts.api.functions import (
        BoundOptions,
        BoundResult,
        Options,
        Prediction,
        Result,
        UsageError,
        predict,
        run,
        trace,
        wcet,
    )

__all__ = ["BoundOptions", "BoundResult", "Options", "Prediction", "Result", "UsageError", "predict", "run", "trace",
           "wcet"]


def __getattr__(name: str) -> Any:
    """Import the functions when they are first used: a command that needs none of them starts faster."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .scripts.api import functions

    return getattr(functions, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
