"""Programs that need an FPU: refused for a machine without one, by the first instruction of F in their functions."""

from __future__ import annotations

import struct

from metronome.hdl.isa.csrs import FLOAT_CSRS
from metronome.hdl.isa.table import INSTRUCTIONS, ImmFormat

from .elf import ElfImage

__all__ = ["float_instruction", "needs_fpu"]


def float_instruction(word: int) -> str | None:
    """Return the mnemonic if the word needs an FPU: an instruction of F, or an access to fflags, frm or fcsr."""
    row = next((row for row in INSTRUCTIONS if word & row.mask == row.match), None)
    if row is None or not (row.fp or (row.imm is ImmFormat.CSR and word >> 20 in FLOAT_CSRS)):
        return None
    return row.mnemonic


def needs_fpu(image: ElfImage) -> str | None:
    """Return the first instruction of the image that needs an FPU, with its place, in words; None if there is none.

    Only code of functions is searched, because the rest of a segment may be data. An image without function symbols,
    such as a raw one, is not searched at all: its float instructions are illegal when they execute.
    """
    for first, end, name in image.functions:
        for pc in range(first, end, 4):
            word = _word(image, pc)
            mnemonic = None if word is None else float_instruction(word)
            if mnemonic is not None:
                line = image.source_line(pc)
                return f"{mnemonic} at {pc:#010x} in {image.function_at(pc) or name}{f' ({line})' if line else ''}"
    return None


def _word(image: ElfImage, pc: int) -> int | None:
    for segment in image.segments:
        if segment.address <= pc and pc + 4 <= segment.address + len(segment.data):
            return int(struct.unpack_from("<I", segment.data, pc - segment.address)[0])
    return None
