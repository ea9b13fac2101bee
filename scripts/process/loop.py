"""A loop in Python, whose time says how fast a machine is: speeds are compared by it."""

import time

__all__ = ["loop_time"]


def _loop() -> None:
    x = 0
    for i in range(20_000_000):
        x += i


def loop_time() -> float:
    """The seconds that the loop takes now."""
    began = time.perf_counter()
    _loop()
    return time.perf_counter() - began
