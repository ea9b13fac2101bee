"""Strict round robin: a load's result waits for a cycle in which nobody writes, and so its dependent for a turn."""

import dataclasses

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.bound.turns import Turns
from metronome.sim.analysis.code.costs import Costs, load_distance, shortest_write
from metronome.sim.predict.predictor import predict
from metronome.sim.program.assembler.asm import add
from tests.sim.analysis.programs import machine, request_of
from tests.support.programs import prepared
from tests.support.tiers import more_but

LOAD = load_distance(TINY)
CLOBBERED = '"r"(words) : "t0", "t1", "t2", "t3", "t4", "t5", "memory"'
#: One warp loads and adds, the others write in each of their turns for longer than that.
TEXT = f"""#include "metronome.h"
volatile uint32_t words[16] __attribute__((aligned(64))) = {{1}};
static void work(__attribute__((unused)) const void *arg) {{
    if (blockIdx.x < 2) asm volatile(".rept 40; lw t0, 0(%0); add t1, t0, t0; .endr" :: {CLOBBERED});
    else asm volatile(".rept 80; add t2, t1, t1; add t3, t1, t1; add t4, t1, t1; .endr" :: {CLOBBERED});
}}
int main(void) {{ const uint32_t n = simt_num_warps() * 2; return spawn_threads(1, &n, 0, work, 0); }}
"""


class _Issues:
    """The cycles in which warp 0 issues, and the pcs."""

    def begin(self):
        self.found = []

    def take(self, events):
        mine = events[(events["executed"] == 0)]
        self.found += zip(mine["cycle"].tolist(), mine["executed_word"].tolist(), strict=True)


def longest_gap(config, folder):
    """The most cycles from a load of warp 0 to the addition behind it, once all warps run."""
    launch = prepared(folder, TEXT, config)
    issues = _Issues()
    issues.begin()
    predict(config, request_of(launch, "srr"), watcher=issues)
    cycles = np.array([cycle for cycle, _ in issues.found])
    loads = np.array([word & 0xFFF == 0x283 for _, word in issues.found])
    gaps = np.diff(cycles)[loads[:-1]]
    return int(np.median(gaps)), int(gaps[20:-20].max())


@pytest.mark.slow
@pytest.mark.parametrize("warps", more_but(range(2, 9), [2, 3, 5]))
def test_a_dependent_of_a_load(warps, tmp_path):
    config = dataclasses.replace(machine(TINY, "srr"), warps=warps)
    _, gap = longest_gap(config, tmp_path)
    turns = Turns(shortest_write(TINY))
    turns.active = warps
    turns.load(5, 0, LOAD, own=True)
    bound = turns.take([5], warps)
    assert gap <= bound
    if warps >= 7:
        # The turn at which the load would have come is lost.
        assert gap == 2 * warps > -(-LOAD // warps) * warps


WRITES = Costs(TINY).of(add(6, 0, 0))


def test_turns():
    turns = Turns(shortest_write(TINY))
    turns.active = 8
    # 22 cycles are four rounds of 7 warps, but three of 8.
    assert turns.after(1) == 8 and turns.after(22) == 28
    # Whichever the turns are, one comes within a round.
    assert turns.later(22) == 29
    # Others write in all cycles from 86 to 90: the turn in which the load could have come is lost.
    turns.load(5, 80, 80 + LOAD, own=True)
    assert turns.take([5], 88) == 80 + 16
    # What a warp writes in its own turns may keep the port: the load comes behind a turn that is not used.
    turns.active = 2
    for writes, turn in ((0, 8), (1, 10), (2, 12), (3, 12)):
        turns.load(5, 0, LOAD, own=True)
        for _ in range(writes):
            turns.issue(WRITES)
        assert turns.take([5], 2) == turn
    turns.load(5, 0, LOAD, own=True)
    twin = turns.copy()
    twin.issue(WRITES)
    turns.join(twin)
    assert turns.take([5], 2) == 10
    assert turns.take([5], 2) == 2, "it is not waited for twice"


def gap_chain(started, left, latency, tmp_path):
    """The waits in the bound of 240 multiplications that depend on each other."""
    config = dataclasses.replace(machine(TINY, "srr"), warps=started, latency_mul=latency)
    launch = prepared(tmp_path, f"""#include "metronome.h"
static void work(__attribute__((unused)) const void *arg) {{
    if (blockIdx.x < {2 * left}) asm volatile(".rept 240; mul t0, t0, t0; nop; .endr" ::: "t0");
}}
int main(void) {{ const uint32_t n = simt_num_warps() * 2; return spawn_threads(1, &n, 0, work, 0); }}
""", config)
    bound = longest_time(config, request_of(launch, "srr"), launch, compose=True)
    return bound.composed[0].parts["waits"]


@pytest.mark.slow
@pytest.mark.parametrize(("started", "left", "latency"), [(3, 2, 7), *more_but([(4, 3, 8), (5, 2, 7)], [])])
def test_turns_of_fewer_warps_fall_between(started, left, latency, tmp_path):
    """Nine cycles are three rounds of three warps, and take five of two."""
    assert 240 * (2 + latency + 1) <= gap_chain(started, left, latency, tmp_path)
