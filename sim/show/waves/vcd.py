"""A reader for the VCD that Verilator writes, in file order: names first, then changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

__all__ = ["Variable", "Vcd", "cut_unfinished"]

_SCOPE = re.compile(rb"\s*\$scope \w+ (\S+) \$end")
_VAR = re.compile(rb"\s*\$var (\w+) (\d+) (\S+) (\S+)(?: (\[\S+\]))? \$end")
#: Bytes read from the end of a file at a time.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Variable:
    """A signal. ``code``: its name in changes; always equal signals share one. ``bits``: ``[7:0]``, or empty."""

    scope: tuple[str, ...]
    name: str
    width: int
    code: bytes
    bits: str

    @property
    def path(self) -> str:
        """The full hierarchical name, with dots between the parts."""
        return ".".join((*self.scope, self.name))


class Vcd:
    """A VCD file, from its beginning."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.timescale = "1ps"
        #: In file order.
        self.variables: list[Variable] = []
        scope: list[str] = []
        for line in file:
            if match := _VAR.match(line):
                _, width, code, name, bits = match.groups(default=b"")
                self.variables.append(Variable(tuple(scope), name.decode(), int(width), code, bits.decode()))
            elif match := _SCOPE.match(line):
                scope.append(match[1].decode())
            elif b"$upscope" in line:
                scope.pop()
            elif b"$timescale" in line:
                self.timescale = line.split()[1].decode()
            elif b"$enddefinitions" in line:
                return

    def changes(self) -> Iterator[tuple[int | None, bytes, bytes]]:
        """Return (time, empty, empty) if time advances, and (None, code, bits as text) for each signal that changes."""
        for line in self._file:
            first = line[:1]
            if first == b"b":
                bits, code = line[1:].split()
                yield None, code, bits
            elif first == b"#":
                yield int(line[1:]), b"", b""
            elif first in b"01xz" and first:
                yield None, line[1:].strip(), first


def cut_unfinished(path: Path) -> None:
    """Delete the last time step, which may lack changes, if the simulation that wrote the file has died."""
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        tail = b""
        while end > 0 and b"\n#" not in tail:
            start = max(0, end - _CHUNK)
            file.seek(start)
            tail = file.read(end - start) + tail[: len(b"\n#")]
            end = start
        if b"\n#" in tail:
            file.truncate(end + tail.rindex(b"\n#") + 1)
