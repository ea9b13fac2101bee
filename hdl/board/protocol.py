"""The protocol of a board's serial line: the constants shared by the monitor and the host program.

docs/board.md describes the frames. All numbers are little-endian except the CRC, whose high byte goes first.
"""

from __future__ import annotations

import enum
import zlib

from amaranth.hdl import Cat, Value

from ..config import SmConfig

__all__ = ["CRC_START", "FILL_WORDS", "HEADER_BYTES", "MAX_WORDS", "PROTOCOL_VERSION", "Flag", "Info", "Mark", "Space",
           "crc_step", "machine_digest", "operation"]

#: Incremented whenever the format or the meaning of a frame changes.
PROTOCOL_VERSION = 1
#: The maximum number of words in a frame; a count of 0 stands for it.
MAX_WORDS = 256
#: Memory is filled in pieces of this many words.
FILL_WORDS = 256
#: The number of bytes of a request after its mark: operation, count, address and CRC.
HEADER_BYTES = 8
#: CRC-16 with the polynomial 0x1021, the high bit first, no inversion: `binascii.crc_hqx` of Python.
CRC_START, _CRC_POLYNOMIAL = 0xFFFF, 0x1021


class Mark(enum.IntEnum):
    """The first byte of a frame."""

    REQUEST = 0x4D
    DONE = 0x06
    #: The request was damaged: it had no effect except, perhaps, writes to memory. The host must send it again.
    REPEAT = 0x15


class Space(enum.IntEnum):
    """The address space of a request: the low bits of its operation."""

    MEMORY = 0
    REGISTERS = 1
    INFO = 2
    CONSOLE = 3


class Flag(enum.IntFlag):
    """The last byte of an answer, before its CRC."""

    #: There is no memory or register at the address of a word: reads return no valid data, writes have no effect.
    NOT_THERE = 1
    #: The operation is not defined, or does not allow this count.
    REFUSED = 2


class Info(enum.IntEnum):
    """Indices of the words of :attr:`Space.INFO`; two words for each region follow: first address and size in bytes."""

    VERSION = 0
    CLOCK_HZ = 1
    MACHINE = 2
    REGIONS = 3


def operation(space: Space, write: bool, fill: bool = False) -> int:
    """The operation byte of a request; with ``fill`` one word is written repeatedly."""
    return space | write << 2 | fill << 3


def machine_digest(config: SmConfig) -> int:
    """A 32-bit digest that distinguishes configurations."""
    return zlib.crc32(repr(config).encode())


def crc_step(crc: Value, byte: Value) -> Value:
    """The CRC after one more byte."""
    bits: list[Value | int] = [crc[place] for place in range(16)]
    for place in reversed(range(8)):
        top = bits[15] ^ byte[place]
        bits = [
            (bits[n - 1] if n else 0) ^ (top if _CRC_POLYNOMIAL >> n & 1 else 0) for n in range(16)
        ]
    return Cat(bits)
