"""A run, which executes warps in groups, ends in the same state as single steps in any warp order."""

import random

import numpy as np
import pytest

from metronome.hdl.config import SmConfig
from metronome.sim.machine.golden import EndStatus
from tests.sim.machine.golden.iss_harness import load, state_of, step_all
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.tiers import slow_then_more

SIZES = [(1, 4), (2, 2), (4, 4), (8, 8), (5, 2)]


def launch(seed):
    rng = random.Random(seed)
    warps, threads = SIZES[seed % len(SIZES)]
    config = SmConfig(warps=warps, threads=threads)
    return load(RandomProgram(rng, config, floats=rng.random() < 0.7).program, config), rng


@pytest.mark.parametrize("seed", slow_then_more(range(60), 5, 20))
def test_run_and_step_agree(seed):
    iss, _ = launch(seed)
    end = iss.run(1_000_000)
    assert end.status is EndStatus.ENDED, f"seed {seed}: {end}"
    other, rng = launch(seed)
    stepped = step_all(other, rng, 1_000_000)
    assert stepped == end, f"seed {seed}"
    assert state_of(other) == state_of(iss), f"seed {seed}"
    differences = list(iss.memory.differences(other.memory))
    assert not differences, f"seed {seed}: {differences}"


@pytest.mark.parametrize("seed", range(10))
def test_a_run_in_pieces_and_steps_in_between_agree(seed):
    """Limits stop a run anywhere, and steps continue it."""
    iss, _ = launch(seed)
    whole = iss.run(1_000_000)
    other, rng = launch(seed)
    executed = 0
    while not other.ended:
        executed += other.run(rng.randrange(1, 50)).executed
        end = step_all(other, rng, rng.randrange(20))
        executed += end.executed
    assert executed == whole.executed, f"seed {seed}"
    assert state_of(other) == state_of(iss), f"seed {seed}"


@pytest.mark.parametrize("seed", range(10))
def test_commits_tell_every_change(seed):
    """Registers and stores rebuilt from the commits alone equal the machine's."""
    iss, rng = launch(seed)
    shadow = np.zeros_like(iss.regs)
    memory, local = iss.memory.copy(), bytearray(iss.config.local_bytes)
    commits = []
    step_all(iss, rng, 1_000_000, commits)
    base = iss.config.memory_map.local
    for commit in commits:
        active = [lane for lane in range(iss.config.threads) if commit.mask >> lane & 1]
        assert active, f"seed {seed}: a commit without lanes at {commit.pc:#x}"
        if commit.rd is not None:
            shadow[commit.warp, commit.rd, active] = commit.values[active]
        if commit.store is not None:
            addrs, data, size, mask = commit.store
            assert mask == commit.mask
            for lane in active:
                addr, raw = int(addrs[lane]), int(data[lane]).to_bytes(4, "little")[:size]
                if addr >= base:
                    local[addr - base : addr - base + size] = raw
                else:
                    memory.write(addr, raw)
    assert np.array_equal(shadow, iss.regs), f"seed {seed}"
    assert memory.equal(iss.memory) and local == iss.local.data.tobytes(), f"seed {seed}"


@pytest.mark.slow
def test_the_programs_do_what_they_are_for():
    """Over the seeds: divergent splits, loops, barriers, local and global accesses, and partial masks all occur."""
    seen = set()
    for seed in range(20):
        iss, rng = launch(seed)
        commits = []
        step_all(iss, rng, 1_000_000, commits)
        for commit in commits:
            seen.add((commit.instr & 0x7F, commit.instr >> 12 & 7 if commit.instr & 0x7F == 0x0B else None))
            if commit.instr & 0x707F == 0x200B and commit.mask.bit_count() > 1:
                after = [other.mask for other in commits if other.warp == commit.warp and other.pc == commit.pc + 4]
                seen.add("diverged" if any(mask != commit.mask for mask in after) else "together")
            if commit.store is not None:
                seen.add("local" if commit.store[0][commit.mask.bit_length() - 1] >= 0xFFFF0000 else "global")
    assert {(0x0B, funct3) for funct3 in range(6)} | {"diverged", "together", "local", "global"} <= seen
