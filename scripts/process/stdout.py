"""Standard output that may fail: a full disk is one line, a closed pipe is the reader's business, neither a defect."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .errors import UsageError

__all__ = ["BrokenOutput", "guard_stdout"]


class BrokenOutput(Exception):
    """Nobody reads standard output any more. Not an OSError: the libraries below would handle it in their own ways."""


class _Guard:
    """The stream ``inner``, whose failures are a BrokenOutput or a UsageError."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, text: str) -> int:
        """As that of the stream."""
        return self._try(lambda: self._inner.write(text))

    def flush(self) -> None:
        """As that of the stream."""
        self._try(self._inner.flush)

    def _try(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except BrokenPipeError:
            self._abandon()
            raise BrokenOutput from None
        except OSError as error:
            self._abandon()
            raise UsageError(f"cannot write to standard output: {error.strerror}") from None

    def _abandon(self) -> None:
        """Let what the stream still holds go nowhere: Python flushes it at exit, and would complain once more."""
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), self._inner.fileno())


@contextlib.contextmanager
def guard_stdout() -> Iterator[None]:
    """Let failures of ``sys.stdout`` be BrokenOutput or UsageError; what it holds is flushed at the end.

    Raises
    ------
    UsageError
        At once if standard output is closed, else as soon as it cannot be written.
    BrokenOutput
        If it is a pipe that nobody reads any more.
    """
    if sys.stdout is None:
        raise UsageError("standard output is closed: send it to a file, or to /dev/null")
    guard = _Guard(sys.stdout)
    with contextlib.redirect_stdout(guard):
        yield
        guard.flush()
