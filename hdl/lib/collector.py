"""Python's garbage collector, out of the way of elaboration."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cyclic garbage collection in the context; afterwards as it was before.

    Elaboration makes millions of objects that all live to its end: at the PAPER size the collector, which walks over
    them again and again and finds nothing, takes a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
