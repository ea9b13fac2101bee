"""A program in which the oldest warp is not the one with the lowest number.

In other programs warp 0 starts all others at once, so age and number give the same order. Here warp 0 starts all, they
end, and the last of them starts all again, so that it is now the oldest. Then the last but one does so, and so on.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.csrs import Csr

from ...machine.memory.store import SparseMemory
from ...program.assembler import asm

__all__ = ["MOST_TURNS", "Handover", "handover"]

#: The maximum size.
MOST_TURNS = 500

#: Registers: a count, the warp's own number, its read address, operands.
_COUNT, _OWN, _AT, _A, _B, _C, _T = 5, 6, 7, 10, 11, 12, 28
#: The distance between the areas that two neighbouring warps read in a round; the maximum distance between its loads.
_PAGE, _LINE = 4096, 64
#: The offset of the first area from the start of the user area.
_DATA = 0x1_0000
_ROUNDS = 4


@dataclass(frozen=True)
class Handover:
    """The program, ready to be loaded."""

    image: bytes
    entry: int
    argument_address: int

    def load_into(self, memory: SparseMemory) -> None:
        """Put the program into memory; its data are zeros."""
        memory.write(self.entry, self.image)


def handover(config: SmConfig, size: int, seed: int) -> Handover:
    """Make a program with ``size`` iterations per warp and round, four times as many in the oldest; ``seed``: its code.

    Raises
    ------
    ValueError
        If the size is out of range.
    """
    if not 1 <= size <= MOST_TURNS:
        raise ValueError(f"the size of handover must be from 1 to {MOST_TURNS}, not {size}")
    rng, warps = random.Random(seed), config.warps
    # The warp that starts each round is its oldest. The first round has warp 0 as its oldest.
    oldest = [0, *list(reversed(range(1, warps)))[: _ROUNDS - 1]]
    program = asm.Program(config.memory_map.start)
    program.li(_T, 1)
    program.add(asm.csrw(Csr.MREGION, _T))
    for number, leader in enumerate(oldest):
        _start(program, warps, f"round{number}")
        program.label(f"round{number}")
        _work(program, size, rng, number, leader, config.memory_map.user + _DATA)
        if number + 1 < len(oldest):
            # All warps end except the one that starts the next round.
            program.li(_T, oldest[number + 1])
            program.branch(asm.beq, _OWN, _T, f"next{number}")
            program.add(asm.tmc(0))
            program.label(f"next{number}")
    program.add(asm.tmc(0))
    return Handover(program.assemble(), program.base, config.memory_map.user)


def _start(program: asm.Program, warps: int, entry: str) -> None:
    """Start all other warps at ``entry``, when they have ended; this warp continues."""
    program.li(_COUNT, warps)
    program.la(_T, entry)
    program.add(asm.wspawn(_COUNT, _T))


def _work(program: asm.Program, size: int, rng: random.Random, number: int, leader: int, data: int) -> None:
    """A loop of loads from lines that no other warp reads at the time, and arithmetic that sometimes waits for them."""
    program.add(asm.csrr(_OWN, Csr.WARP_ID))
    program.li(_A, rng.randrange(1, 1 << 11))
    program.li(_T, _PAGE)
    program.li(_AT, data + number * 64 * _PAGE)
    program.add(asm.mul(_T, _T, _OWN), asm.add(_AT, _AT, _T), asm.andi(_COUNT, _OWN, 3))
    program.add(asm.addi(_COUNT, _COUNT, size), asm.addi(_T, _OWN, -leader), asm.sltiu(_T, _T, 1))
    program.li(_B, 3 * size)
    program.add(asm.mul(_T, _T, _B), asm.add(_COUNT, _COUNT, _T))
    program.label(f"loop{number}")
    program.add(asm.lw(_B, 0, _AT))
    for _ in range(rng.randrange(3, 7)):
        program.add(rng.choice([asm.mul(_A, _A, _A), asm.addi(_A, _A, 3), asm.xor(_C, _C, _B), asm.add(_C, _A, _B)]))
    program.add(asm.add(_A, _A, _B), asm.addi(_AT, _AT, rng.choice([4, 16, _LINE])), asm.addi(_COUNT, _COUNT, -1))
    program.branch(asm.bne, _COUNT, 0, f"loop{number}")
