"""SIGTERM and SIGHUP end a command as an interrupt does: the simulation is ended and temporary folders go away."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

__all__ = ["Terminated", "terminable"]

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(BaseException):
    """The process was told to end. Not an Exception: nothing on the way to ``main`` may take it for an error."""


def _terminate(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # the next one does not wait for the tidying up
    raise Terminated


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated at SIGTERM and SIGHUP, unless somebody else has decided what they do (nohup has)."""
    ours = []
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
