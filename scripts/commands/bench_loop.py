"""Speeds that compare between machines: how much is done in the time of a loop in Python."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..process.backend import Backend
from ..process.progress import Report

__all__ = ["Loop", "loop_sentence", "measure_loop", "python_version"]

_TIMES = 3


@dataclass(frozen=True)
class Loop:
    """The times that the loop took, in seconds."""

    times: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The best of the times."""
        return min(self.times)

    def per_loop(self, per_second: float) -> float:
        """A speed per second as a speed per loop."""
        return per_second * self.seconds

    def fields(self) -> dict[str, Any]:
        """The fields of the JSON."""
        return {"loop_seconds": self.seconds, "loop_runs": list(self.times), "python": python_version()}


def python_version() -> str:
    """The version of Python, without its last number: each has another loop."""
    return ".".join(platform.python_version_tuple()[:2])


def loop_sentence(document: Mapping[str, Any]) -> str:
    """What "per loop" means, for people."""
    return (f"Per loop: in the time that Python takes to add up the numbers below 20 million, here "
            f"{document['loop_seconds']:.3f} s. Only speeds per loop compare between machines.")


def measure_loop(backend: Backend, progress: Report) -> Loop:
    """Time the loop."""
    progress("loop in Python")
    return Loop(tuple(backend.loop_time() for _ in range(_TIMES)))
