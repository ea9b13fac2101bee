"""Programs with buffers, for the tests of the runtime's library."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from tests.riscv_kernels.iss_runs import PROGRAMS, RESULTS, finished

#: Where input buffers begin; the results are below.
INPUTS = 0x0100_0000


def place(buffers: Sequence[bytes | np.ndarray]) -> tuple[list[int], dict[str, tuple[int, bytes]]]:
    """The addresses of the buffers, and what Launch takes."""
    addresses: list[int] = []
    placed = {}
    address = INPUTS
    for number, buffer in enumerate(buffers):
        data = bytes(buffer)
        addresses.append(address)
        placed[str(number)] = (address, data)
        address += (len(data) + 63) // 64 * 64 + 64
    return addresses, placed


def prepare(program: str, config: SmConfig, words: Sequence[int], buffers: Sequence[bytes | np.ndarray] = ()) -> Launch:
    """A program of the folder; its argument block is the results' address, ``words``, and the buffers' addresses."""
    image = load_elf(build_elf([PROGRAMS / f"{program}.c"], name=program), config.memory_map)
    addresses, placed = place(buffers)
    arguments = struct.pack(f"<{1 + len(words) + len(addresses)}I", RESULTS, *words, *addresses)
    return Launch(name=program, image=image, memory_map=config.memory_map, arguments=arguments, buffers=placed)


class Kind(IntEnum):
    """What formats.c passes: of a case's words the low one, both as 64 bits, a float, a double; and so on."""

    WORD = 0
    LONG = 1
    SINGLE = 2
    DOUBLE = 3
    #: Width and precision, then a float.
    STARRED = 4
    TWO_WORDS = 5


#: A result: the length, then so many bytes of text.
CELL, ROOM = 272, 268
CASE = struct.Struct("<6I")
#: Texts for %s and puts, at their offsets from INPUTS.
TEXTS = b"hello\0\0odd\0"


def rounded(number):
    return float(np.float32(number))


def float_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def double_words(value):
    return struct.unpack("<2I", struct.pack("<d", value))


class Cases:
    """Cases of formats.c, and what each is to print."""

    def __init__(self):
        self.formats = bytearray(TEXTS)
        self.cases = []
        self.expected = []

    def add(self, kind, conversion, expected, low=0, high=0, extra=0, room=ROOM):
        offset = len(self.formats)
        self.formats += conversion.encode() + b"\0"
        self.cases.append((kind, room, offset, low & 0xFFFF_FFFF, high & 0xFFFF_FFFF, extra & 0xFFFF_FFFF))
        self.expected.append(expected)

    def add_float(self, conversion, value):
        self.add(Kind.SINGLE, conversion, (conversion % rounded(value)).encode(), float_bits(value))

    def launch(self, config, console=False):
        packed = b"".join(
            CASE.pack(kind, room, INPUTS + offset, low, high, extra)
            for kind, room, offset, low, high, extra in self.cases
        )
        # The texts come first, so that their addresses are known here; main finds the cases in its last argument.
        launch = prepare("formats", config, (len(self.cases), int(console)), (bytes(self.formats), packed))
        words = struct.unpack(f"<{len(launch.arguments) // 4}I", launch.arguments)
        return replace(launch, arguments=struct.pack("<5I", *words[:3], words[4], INPUTS + TEXTS.index(b"odd")))

    def problems(self, config):
        done = finished(self.launch(config), config)
        found = []
        for number, (case, expected) in enumerate(zip(self.cases, self.expected, strict=True)):
            cell = done.memory.read(RESULTS + CELL * number, CELL)
            length, room = int.from_bytes(cell[:4], "little"), case[1]
            text = cell[4:].split(b"\0")[0]
            shown = expected[:room - 1] if room else b""
            if (length, text) != (len(expected), shown):
                found.append(f"case {number} {case}: {length} {text!r}, expected {len(expected)} {shown!r}")
            if any(cell[4 + min(len(shown) + bool(room), room):]):
                found.append(f"case {number} {case}: written behind the end")
        return found
