"""Random programs that are hard on the fetch: short pieces of code, scattered over more lines than a small I-cache has.

Warps take other branches and are held up by divisions, so their misses, jumps and redirects meet in any order.
"""

import random

from metronome.hdl.config import SmConfig
from metronome.sim.program.assembler import asm
from tests.hdl.sm_harness import finish, spawn

__all__ = ["FetchProgram"]

ROUNDS, BITS, CHOICE, LONG = 5, 6, 7, 8


class FetchProgram:
    """``blocks``: pieces; each warp goes through all of them, in the order of the jumps and not of the addresses."""

    def __init__(self, rng: random.Random, config: SmConfig, blocks: int) -> None:
        self.program = p = asm.Program(config.memory_map.start)
        self._rng = rng
        spawn(p, config.warps, "all")
        p.label("all")
        p.add(*asm.li(ROUNDS, 2), asm.csrr(BITS, 0xCC1), *asm.li(CHOICE, rng.getrandbits(20) | 1))
        p.add(asm.addi(BITS, BITS, 3), asm.mul(BITS, BITS, CHOICE))
        p.jal(0, "piece0")
        for number in rng.sample(range(blocks), blocks):
            self._piece(number, blocks)

    def _piece(self, number: int, blocks: int) -> None:
        p, rng = self.program, self._rng
        p.label(f"piece{number}")
        self._words(12)
        for place in range(rng.randrange(3)):
            label = f"{number}_{place}"
            if rng.random() < 0.4:
                p.add(asm.addi(CHOICE, 0, rng.randrange(1, 4)))
                p.label(label)
                self._words(6)
                p.add(asm.addi(CHOICE, CHOICE, -1))
                p.branch(asm.bne, CHOICE, 0, label)
            else:
                p.add(asm.srli(CHOICE, BITS, rng.randrange(12)), asm.andi(CHOICE, CHOICE, 1))
                p.branch(asm.bne, CHOICE, 0, label)
                self._words(8)
                p.label(label)
        if rng.random() < 0.7:
            # What is fetched behind the jump is of the next line, and is squashed as it misses.
            while p.here % 64 < 48:
                p.add(asm.nop())
            p.add(*[asm.nop()] * rng.randrange(4))
        if number + 1 < blocks:
            p.jal(0, f"piece{number + 1}")
        else:
            p.add(asm.addi(ROUNDS, ROUNDS, -1))
            p.branch(asm.bne, ROUNDS, 0, "piece0")
            finish(p)
        if rng.random() < 0.3:
            self._words(20)

    def _words(self, most: int) -> None:
        """Up to ``most`` instructions."""
        rng = self._rng
        held_up = [asm.div(LONG, BITS, ROUNDS), asm.addi(LONG, LONG, 1)] if rng.random() < 0.1 else []
        self.program.add(*held_up, *[asm.addi(9, 9, 1)] * rng.randrange(most))
