"""A simulated board as a serial line: a process that communicates over pipes."""

from __future__ import annotations

import os
import select
import subprocess
import time

from ...build.processes import start, undisturbed
from .link import BoardError

__all__ = ["PipeTransport"]

class PipeTransport:
    """See :class:`sim.fpga.board.link.Transport`; ``command`` is the simulation with its arguments."""

    def __init__(self, command: list[str], name: str, patience: float) -> None:
        self.name = name
        #: Seconds to wait for an answer.
        self.patience = patience
        with undisturbed():
            self._process = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def write(self, content: bytes) -> None:
        """Send."""
        try:
            while content:
                content = content[os.write(self._input, content) :]
        except OSError:
            raise self._gone() from None

    def read(self, count: int, seconds: float) -> bytes:
        """Read ``count`` bytes, or fewer."""
        end, content = time.monotonic() + seconds, b""
        while len(content) < count:
            ready, _, _ = select.select([self._output], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                break
            part = os.read(self._output, count - len(content))
            if not part:
                raise self._gone()
            content += part
        return content

    def seconds(self, count: int) -> float:
        """The same time for any number of bytes: the read ends sooner if the simulation does."""
        return self.patience

    def rest(self) -> None:
        """Discard the rest of an answer; a pipe loses nothing."""
        while self.read(4096, 0.2):
            pass

    def close(self) -> None:
        """End the simulation."""
        self._process.terminate()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _gone(self) -> BoardError:
        return BoardError(f"{self.name}: the simulation has ended, with status {self._process.wait()}")
