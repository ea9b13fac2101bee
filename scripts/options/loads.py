"""The option ``--load ADDR=FILE``, which places the bytes of a file in memory before the start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from metronome.hdl.config import MemoryMap

from ..process.errors import UsageError
from .common import input_file

__all__ = ["Load", "parse_loads"]


@dataclass(frozen=True)
class Load:
    """The bytes of ``file``, to be placed at ``address``."""

    text: str
    address: int
    file: Path

    def read(self, memory_map: MemoryMap) -> bytes:
        """Return the bytes.

        Raises
        ------
        UsageError
            If they do not all fit in memory, or the file is empty or cannot be read.
        """
        try:
            # Check before reading: a file may be larger than the memory of this computer.
            size = self.file.stat().st_size
            if not memory_map.first <= self.address <= self.address + size <= memory_map.end:
                raise UsageError(
                    f"--load {self.text}: {size} bytes from {self.address:#010x} are not all in memory, which is"
                    f" {memory_map.first:#x} to {memory_map.end - 1:#010x}"
                )
            data = self.file.read_bytes()
        except OSError as error:
            raise UsageError(f"--load {self.text}: cannot read the file: {error.strerror}") from None
        if not data:
            raise UsageError(f"--load {self.text}: the file is empty: name another one")
        return data


def _parse(text: str) -> Load:
    match = re.fullmatch(r"([^=]+)=(.+)", text, re.DOTALL)
    if match is None:
        raise UsageError(f"--load {text}: write ADDR=FILE")
    try:
        address = int(match[1], 0)
    except ValueError:
        raise UsageError(f"--load {text}: ADDR must be a number such as 0x20000, not {match[1]!r}") from None
    return Load(text, address, input_file(f"--load {text}", match[2]))


def parse_loads(texts: list[str]) -> list[Load]:
    """Return every --load of a command line after checking that its file is readable.

    Raises
    ------
    UsageError
        For a text of another form, or a file that cannot be read.
    """
    return [_parse(text) for text in texts]
