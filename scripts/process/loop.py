"""Reference loop in Python whose time measures the speed of a machine, so that speeds can be compared."""

import time

__all__ = ["loop_time"]


def _loop() -> None:
    x = 0
    for i in range(20_000_000):
        x += i


def loop_time() -> float:
    """Return the seconds that the loop takes now."""
    began = time.perf_counter()
    _loop()
    return time.perf_counter() - began
