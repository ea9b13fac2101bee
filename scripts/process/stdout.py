"""Handling of write errors on standard output: a full disk prints one line, a closed pipe none; neither is a defect."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .errors import UsageError

__all__ = ["BrokenOutput", "guard_stdout"]


class BrokenOutput(Exception):
    """The reader of standard output has gone. Not an OSError, which libraries below would handle in their own ways."""


class _Guard:
    """Wrapper of the stream ``inner`` that turns its failures into BrokenOutput or UsageError."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, text: str) -> int:
        """Write to the stream."""
        return self._try(lambda: self._inner.write(text))

    def flush(self) -> None:
        """Flush the stream."""
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
        """Discard the rest of the stream's buffer: Python flushes it at exit, and would report the error again."""
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), self._inner.fileno())


@contextlib.contextmanager
def guard_stdout() -> Iterator[None]:
    """Turn failures of ``sys.stdout`` into BrokenOutput or UsageError; flush its buffer at the end.

    Raises
    ------
    UsageError
        At once if standard output is closed, or else as soon as it cannot be written.
    BrokenOutput
        If it is a pipe whose reader has gone.
    """
    if sys.stdout is None:
        raise UsageError("standard output is closed: send it to a file, or to /dev/null")
    guard = _Guard(sys.stdout)
    with contextlib.redirect_stdout(guard):
        yield
        guard.flush()
