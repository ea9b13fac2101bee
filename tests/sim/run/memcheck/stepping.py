"""Programs under the memory checker on the golden model alone, stepped in a random order of warps."""

import random

import numpy as np

from metronome.sim.run.memcheck import MemCheck, declared, results
from tests.support.programs import launched

LIMIT = 100_000


def step(launch, config, seed=1, *, strict=False):
    """The findings of a run, to its end or to a fault, and the machine that it has left."""
    iss = launched(launch, config)
    # isa.md: registers are undefined at the start.
    values = np.random.default_rng(seed)
    for register in range(1, 64):
        for warp in range(config.warps):
            iss.poke(warp, register, -1, values.integers(0, 1 << 32, config.threads, np.uint32))
    iss.watch = checker = MemCheck(iss, declared(launch, config), strict=strict)
    rng = random.Random(seed)
    for cycle in range(LIMIT):
        warps = [warp for warp in range(config.warps) if iss.active[warp] and iss.waiting[warp] is None]
        if not warps:
            break
        checker.cycle = cycle
        commit = iss.step(rng.choice(warps))
        if commit.fault is not None:
            return told(checker, launch, config), iss
        checker.commit(commit.warp, commit.pc, commit.mask, commit.instr, commit.rd)
    assert iss.ended, f"not ended after {LIMIT} instructions, or a deadlock: {iss.waits()}"
    return told(checker, launch, config), iss


def told(checker, launch, config):
    """The findings, as if the host read all buffers."""
    read = [(address, address + len(data)) for address, data in launch.buffers.values()]
    return checker.findings + results(checker.leftovers(), read, launch, config)
