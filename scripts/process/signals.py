"""SIGINT, SIGTERM and SIGHUP end a command by an exception, so child processes and temporary folders are cleaned up."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Iterator

from .interrupt import end_at_once

__all__ = ["ReceivedSignal", "Terminated", "terminable"]

#: Signals handled, and the handlers that may be replaced: any other handler stays (nohup sets one).
_SIGNALS = {
    signal.SIGINT: (signal.default_int_handler, end_at_once),
    signal.SIGTERM: (signal.SIG_DFL,),
    signal.SIGHUP: (signal.SIG_DFL,),
}


class Terminated(BaseException):
    """The process was terminated. Not an Exception, so that no handler below ``main`` takes it for an error."""


class ReceivedSignal:
    """The signal received, if any; ``main`` may see its exception as a different one.

    A library that is being imported may turn it into an ImportError.
    """

    number: int | None = None


@contextlib.contextmanager
def terminable() -> Iterator[ReceivedSignal]:
    """Raise KeyboardInterrupt at SIGINT, Terminated at SIGTERM and SIGHUP."""
    received = ReceivedSignal()

    def handle(number: int, frame: object) -> None:
        received.number = number
        # Amaranth warns of every part of a design whose elaboration has not ended.
        warnings.simplefilter("ignore")
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_DFL)  # the next signal does not wait for the cleanup
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
