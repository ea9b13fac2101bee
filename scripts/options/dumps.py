"""The option ``--dump SYMBOL|ADDR:BYTES=FILE``, which writes a region of memory to a file after the run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from metronome.hdl.config import MemoryMap
from metronome.sim.machine.settings import near

from ..output.outputs import require_writable, write_file
from ..process.errors import UsageError

__all__ = ["Dump", "DumpRequest", "parse_dumps"]

#: Limit for one dump, whose bytes are all in memory at once.
MAX_BYTES = 256 << 20
_SYNTAX = "SYMBOL=FILE, SYMBOL:BYTES=FILE or ADDR:BYTES=FILE"


class ReadableMemory(Protocol):
    """A readable memory, such as :class:`sim.machine.memory.store.SparseMemory`."""

    def read(self, addr: int, n: int) -> bytes:
        """Return ``n`` bytes from ``addr``."""


@dataclass(frozen=True)
class Dump:
    """``size`` bytes from ``address``, to be written to ``file``."""

    address: int
    size: int
    file: Path

    def write(self, memory: ReadableMemory) -> None:
        """Write the whole file, or raise UsageError."""
        write_file(self.file, memory.read(self.address, self.size))


def _number(text: str) -> int | None:
    """Return a decimal, 0x, 0o or 0b number, or None."""
    try:
        return int(text, 0)
    except ValueError:
        return None


def _unknown(name: str, symbols: Collection[str], buffers: Collection[str]) -> str:
    """Return the message for a name that is not a symbol."""
    if not buffers:
        return f"the program has no symbol {name!r}{near(name, symbols)}"
    hint = near(name, buffers) or near(name, symbols)
    return f"unknown buffer or symbol {name!r}{hint}: the buffers are {', '.join(buffers)}"


@dataclass(frozen=True)
class DumpRequest:
    """A dump as requested: its symbol is looked up when the program is known."""

    text: str
    place: str
    #: BYTES as given, and the number.
    count: str | None
    size: int | None
    file: Path

    def resolve(
        self, symbols: Mapping[str, tuple[int, int]], memory_map: MemoryMap, buffers: Collection[str] = ()
    ) -> Dump:
        """Return the addresses of the dump.

        Parameters
        ----------
        symbols
            Name -> (address, size in bytes); a size of 0 is unknown.
        memory_map
            The range of addresses that memory has.
        buffers
            The symbols that are buffers of a kernel.

        Raises
        ------
        UsageError
            For an unknown symbol, an unknown size, more bytes than the symbol has, or bytes outside memory.
        """
        address, size = _number(self.place), self.size
        if address is None:
            if self.place not in symbols:
                raise UsageError(f"--dump {self.text}: {_unknown(self.place, symbols, buffers)}")
            address, symbol_size = symbols[self.place]
            size = size if size is not None else symbol_size
            if size == 0:
                raise UsageError(f"--dump {self.text}: the size of {self.place} is unknown: add :BYTES")
            if 0 < symbol_size < size:
                raise UsageError(
                    f"--dump {self.text}: {self.place} has only {symbol_size} bytes: leave out :{self.count}, or write "
                    f"{address:#x}:{self.count} to include the memory after it"
                )
        assert size is not None, "parse_dumps has asked for the size of an address"
        if size > MAX_BYTES:
            raise UsageError(f"--dump {self.text}: {size} bytes are too many: at most {MAX_BYTES} in one dump")
        if not memory_map.first <= address <= address + size <= memory_map.end:
            raise UsageError(
                f"--dump {self.text}: {size} bytes from {address:#010x} are not all in memory, which is"
                f" {memory_map.first:#x} to {memory_map.end - 1:#010x}"
            )
        return Dump(address, size, self.file)


def _parse(text: str) -> DumpRequest:
    match = re.fullmatch(r"([^=:]+)(?::([^=:]*))?=(.+)", text, re.DOTALL)
    if match is None:
        raise UsageError(f"--dump {text}: write {_SYNTAX}")
    place, count, file = match.groups()
    size = None if count is None else _number(count)
    address = _number(place)
    if address is not None and address < 0:
        raise UsageError(f"--dump {text}: ADDR must be at least 0, not {place}")
    if (count is not None or address is not None) and (size is None or size < 1):
        raise UsageError(f"--dump {text}: BYTES must be a number of at least 1: write {_SYNTAX}")
    return DumpRequest(text, place, count, size, require_writable(file, f"--dump {text}", ".bin"))


def parse_dumps(texts: list[str]) -> list[DumpRequest]:
    """Return every --dump of a command line after checking that its file is writable.

    Raises
    ------
    UsageError
        For a text of another form, or a file that cannot be written.
    """
    return [_parse(text) for text in texts]
