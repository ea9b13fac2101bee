"""The lanes that a report of a fault names."""

import random

import numpy as np
import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.machine.golden import Iss
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm
from metronome.sim.run.gpu.lanes import fault_lanes
from metronome.sim.run.lane_words import in_words, lanes_of
from tests.support.builds import BASE

BASES, OTHERS = 5, 6
PLACE = 0x2_0000


@pytest.mark.parametrize(("lanes", "text"), [
    ([3], "lane 3"), ([0, 1], "lanes 0-1"), ([0, 2, 3, 4, 7], "lanes 0, 2-4, 7"), ([30, 31], "lanes 30-31"),
])
def test_in_words(lanes, text):
    assert in_words(lanes) == text
    assert lanes_of(sum(1 << lane for lane in lanes)) == lanes


def faulted(word, bases, others, mask):
    """The fault of ``word`` in the golden model, and the lanes found for it."""
    memory = SparseMemory(BASE.memory_map)
    start = BASE.memory_map.start
    memory.write(start, word.to_bytes(4, "little") + asm.tmc(0).to_bytes(4, "little"))
    iss = Iss(BASE, memory)
    iss.launch(start, 0)
    iss.set_masks(np.array([0]), (mask >> np.arange(BASE.threads) & 1).astype(bool)[None])
    every = (1 << BASE.threads) - 1
    iss.poke(0, BASES, every, np.array(bases, np.uint32))
    iss.poke(0, OTHERS, every, np.array(others, np.uint32))
    fault = iss.step(0).fault
    return fault, [] if fault is None else fault_lanes(fault, word, iss.lanes_of(0), mask)


@pytest.mark.parametrize(("word", "bases", "mask", "cause", "lanes"), [
    (asm.lw(7, -4, BASES), [PLACE, PLACE + 2, PLACE + 2, PLACE + 2], 0b1011, "LOAD_MISALIGNED", [1, 3]),
    (asm.sw(OTHERS, -2048, BASES), [PLACE, PLACE, PLACE, PLACE + 3], 0b1111, "STORE_MISALIGNED", [3]),
    (asm.sb(OTHERS, -2047, BASES), [PLACE, PLACE, 2048, PLACE], 0b1111, "STORE_ACCESS", [2]),
    (asm.lb(7, 2047, BASES), [0x1_0000_0000 - 2047, PLACE, PLACE, 0x1_0000_0000 - 2047], 0b1111, "LOAD_ACCESS", [0, 3]),
    (asm.flw(7, 1, BASES), [PLACE + 3, PLACE, 7, 3], 0b1111, "LOAD_MISALIGNED", [1]),
    (asm.jalr(0, BASES, 8), [PLACE, PLACE, PLACE + 4, PLACE], 0b1111, "DIVERGENT_BRANCH", [2]),
    (0xFFFF_FFFF, [0] * 4, 0b0110, "ILLEGAL_INSTRUCTION", [1, 2]),
])
def test_the_lanes_of_a_fault(word, bases, mask, cause, lanes):
    fault, found = faulted(word, bases, [9] * 4, mask)
    assert (fault.cause, found) == (FaultCause[cause], lanes)


def test_the_lanes_that_disagree_about_a_branch():
    rng = random.Random(48)
    signed = {asm.beq: int.__eq__, asm.bne: int.__ne__, asm.blt: int.__lt__, asm.bge: int.__ge__}
    for case in range(300):
        branch = rng.choice([asm.beq, asm.bne, asm.blt, asm.bge, asm.bltu, asm.bgeu])
        near = [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]
        first, second = [rng.choice(near) for _ in range(4)], [rng.choice(near) for _ in range(4)]
        mask = rng.randrange(1, 16)
        fault, found = faulted(branch(BASES, OTHERS, 8), first, second, mask)
        if branch in signed:
            values = [[value - (value >> 31 << 32) for value in each] for each in (first, second)]
            taken = [signed[branch](*pair) for pair in zip(*values, strict=True)]
        else:
            taken = [(a < b) == (branch is asm.bltu) for a, b in zip(first, second, strict=True)]
        active = lanes_of(mask)
        expected = [lane for lane in active if taken[lane] != taken[active[0]]]
        assert (fault is None) == (not expected), case
        assert fault is None or found == expected, (case, branch.__name__, first, second, mask)
