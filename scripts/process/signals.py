"""SIGINT, SIGTERM and SIGHUP end a command by an exception: what it has started ends, temporary folders go away."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Iterator

from .interrupt import end_at_once

__all__ = ["Received", "Terminated", "terminable"]

#: Which signals we take, and from which handlers: whatever else somebody has decided (nohup has) stays.
_SIGNALS = {
    signal.SIGINT: (signal.default_int_handler, end_at_once),
    signal.SIGTERM: (signal.SIG_DFL,),
    signal.SIGHUP: (signal.SIG_DFL,),
}


class Terminated(BaseException):
    """The process was told to end. Not an Exception: nothing on the way to ``main`` may take it for an error."""


class Received:
    """The signal that has come, if one has: the exception it raised may reach ``main`` as another one.

    A library that is just being imported may make an ImportError of it.
    """

    number: int | None = None


@contextlib.contextmanager
def terminable() -> Iterator[Received]:
    """Raise KeyboardInterrupt at SIGINT, Terminated at SIGTERM and SIGHUP."""
    received = Received()

    def handle(number: int, frame: object) -> None:
        received.number = number
        # Amaranth warns of every part of a design whose elaboration has not ended.
        warnings.simplefilter("ignore")
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_DFL)  # the next one does not wait for the tidying up
        raise Terminated

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number, handler in before.items():
            if handler in _SIGNALS[number]:
                signal.signal(number, handle)
        yield received
    finally:
        for number, handler in before.items():
            if handler in _SIGNALS[number]:
                signal.signal(number, handler)
