"""Speeds that are comparable between machines: the work done in the time of a loop in Python."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["loop_fields", "loop_sentence", "python_version", "with_loops"]

_SECOND, _LOOP = "_per_second", "_per_loop"


def loop_fields(times: Sequence[float]) -> dict[str, Any]:
    """Return the JSON fields for the loop's time in seconds: the best time counts."""
    return {"loop_seconds": min(times), "loop_runs": list(times), "python": python_version()}


def with_loops(figures: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return the figures with a speed per loop beside each speed per second, at any depth; a loop takes ``seconds``."""
    found: dict[str, Any] = {}
    for name, value in figures.items():
        found[name] = with_loops(value, seconds) if isinstance(value, Mapping) else value
        if name.endswith(_SECOND):
            found[name.removesuffix(_SECOND) + _LOOP] = value * seconds
    return found


def python_version() -> str:
    """Return the version of Python without its patch number: each version runs the loop at its own speed."""
    return ".".join(platform.python_version_tuple()[:2])


def loop_sentence(document: Mapping[str, Any]) -> str:
    """Define "per loop" for the reader, with the loop's best and worst time."""
    best, *_, worst = sorted(document["loop_runs"])
    return (f"Per loop: in the time that Python takes to add up the numbers below 20 million, here {best:.3f} s "
            f"(at most {worst:.3f} s). Only speeds per loop compare between machines.")
