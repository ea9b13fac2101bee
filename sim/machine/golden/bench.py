"""Benchmark of the golden model: warp-instructions a second on a sorting loop with all lanes active."""

from __future__ import annotations

import time

import numpy as np

from metronome.hdl.config import SmConfig

from ..memory.store import SparseMemory
from .machine import Iss
from .records import EndStatus

__all__ = ["PROGRAM", "measure"]

#: Sorts one signed word for each hart by counting smaller ones, like the kernel psort: the input is at mscratch, and
#: the output follows it. Given as words because the golden model needs no assembler; a test assembles the text again.
PROGRAM = (
    (0xFC1021F3, "csrr gp, num_warps"),
    (0x00000297, "auipc t0, 0"),
    (0x00C28293, "addi t0, t0, 12"),
    (0x0051900B, "wspawn gp, t0"),
    (0xFFF00193, "li gp, -1"),
    (0x0001800B, "tmc gp"),
    (0xF14022F3, "csrr t0, mhartid"),
    (0x34002573, "csrr a0, mscratch"),
    (0xFC0025F3, "csrr a1, num_threads"),
    (0xFC102673, "csrr a2, num_warps"),
    (0x02C585B3, "mul a1, a1, a2"),
    (0x00259593, "slli a1, a1, 2"),
    (0x00A585B3, "add a1, a1, a0"),
    (0x00229613, "slli a2, t0, 2"),
    (0x00A60633, "add a2, a2, a0"),
    (0x00062603, "lw a2, 0(a2)"),
    (0x00000693, "li a3, 0"),
    (0x00000313, "li t1, 0"),
    (0x00052703, "loop: lw a4, 0(a0)"),
    (0x00C727B3, "slt a5, a4, a2"),
    (0x00C74833, "xor a6, a4, a2"),
    (0x00183813, "seqz a6, a6"),
    (0x005338B3, "sltu a7, t1, t0"),
    (0x01187833, "and a6, a6, a7"),
    (0x0107E7B3, "or a5, a5, a6"),
    (0x00F686B3, "add a3, a3, a5"),
    (0x00130313, "addi t1, t1, 1"),
    (0x00450513, "addi a0, a0, 4"),
    (0xFCB51CE3, "bne a0, a1, loop"),
    (0x00269393, "slli t2, a3, 2"),
    (0x00758E33, "add t3, a1, t2"),
    (0x00CE2023, "sw a2, 0(t3)"),
    (0x0000000B, "tmc zero"),
)


def measure(config: SmConfig | None = None, repeat: int = 1) -> float:
    """Return the warp-instructions a second of PROGRAM, the best of ``repeat`` runs; default: 32 warps of 32 threads.

    Raises
    ------
    RuntimeError
        If the result is not sorted.
    """
    config = SmConfig(warps=32, threads=32) if config is None else config
    n, source, start = config.harts, config.memory_map.user, config.memory_map.start
    keys = np.random.default_rng(1).integers(-1000, 1000, n).astype("<i4")
    best = 0.0
    for _ in range(repeat):
        memory = SparseMemory(config.memory_map)
        memory.write(start, np.array([word for word, _ in PROGRAM], "<u4").tobytes())
        memory.write(source, keys.tobytes())
        iss = Iss(config, memory)
        iss.launch(start, source)
        began = time.perf_counter()
        end = iss.run(1 << 40)
        seconds = time.perf_counter() - began
        result = np.frombuffer(memory.read(source + 4 * n, 4 * n), "<i4")
        if end.status is not EndStatus.ENDED or not np.array_equal(result, np.sort(keys)):
            raise RuntimeError(f"the rank sort gave a wrong result: {end}")
        best = max(best, end.executed / seconds)
    return best


if __name__ == "__main__":
    print(f"{measure(repeat=3):.0f} warp-instructions a second")
