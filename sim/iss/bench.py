"""How fast the golden model runs: warp-instructions a second on a sorting loop, all lanes busy."""

from __future__ import annotations

import time

import numpy as np

from hdl.config import SmConfig
from hdl.presets import PAPER
from sim import asm
from sim.memory.store import SparseMemory

from .machine import Iss
from .records import EndStatus

__all__ = ["measure", "rank_sort"]

ZERO, GP, ID, SRC, END, KEY, VALUE, RANK, LESS, SAME, BEFORE, INDEX, OUT = 0, 3, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19


def rank_sort(n: int, source: int, target: int) -> bytes:
    """A program that sorts ``n`` signed words (one a thread, ``n`` at most the harts) by counting smaller ones.

    Like the kernel psort: every thread compares its element with all, then stores it at its rank.
    """
    p = asm.Program()
    p.add(asm.csrr(GP, 0xFC1))
    p.la(LESS, "worker")
    p.add(asm.wspawn(GP, LESS))
    p.label("worker")
    p.li(GP, -1)
    p.add(asm.tmc(GP), asm.csrr(ID, 0xF14))
    p.li(SRC, source)
    p.li(END, source + 4 * n)
    p.add(asm.slli(KEY, ID, 2), asm.add(KEY, KEY, SRC), asm.lw(KEY, 0, KEY))
    p.li(RANK, 0)
    p.li(INDEX, 0)
    p.label("loop")
    p.add(
        asm.lw(VALUE, 0, SRC), asm.slt(LESS, VALUE, KEY), asm.xor(SAME, VALUE, KEY), asm.sltiu(SAME, SAME, 1),
        asm.sltu(BEFORE, INDEX, ID), asm.and_(SAME, SAME, BEFORE), asm.or_(LESS, LESS, SAME),
        asm.add(RANK, RANK, LESS), asm.addi(INDEX, INDEX, 1), asm.addi(SRC, SRC, 4),
    )  # fmt: skip
    p.branch(asm.bne, SRC, END, "loop")
    p.li(OUT, target)
    p.add(asm.slli(RANK, RANK, 2), asm.add(OUT, OUT, RANK), asm.sw(KEY, 0, OUT), asm.tmc(ZERO))
    return p.assemble()


def measure(config: SmConfig = PAPER, repeat: int = 1) -> float:
    """Warp-instructions a second of a rank sort of one element a hart, the best of ``repeat`` runs.

    Raises
    ------
    RuntimeError
        If the result is not sorted.
    """
    n, source, target = config.harts, config.memory_map.user, config.memory_map.user + 0x8000
    keys = np.random.default_rng(1).integers(-1000, 1000, n).astype("<i4")
    best = 0.0
    for _ in range(repeat):
        memory = SparseMemory(config.memory_map)
        memory.write(config.memory_map.start, rank_sort(n, source, target))
        memory.write(source, keys.tobytes())
        iss = Iss(config, memory)
        began = time.perf_counter()
        end = iss.run(1 << 40)
        seconds = time.perf_counter() - began
        result = np.frombuffer(memory.read(target, 4 * n), "<i4")
        if end.status is not EndStatus.ENDED or not np.array_equal(result, np.sort(keys)):
            raise RuntimeError(f"the rank sort gave a wrong result: {end}")
        best = max(best, end.executed / seconds)
    return best


if __name__ == "__main__":
    print(f"{measure(repeat=3):.0f} warp-instructions a second")
