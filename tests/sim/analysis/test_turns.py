"""Strict round robin: a load's result waits for a cycle in which nobody writes, and so its dependent for a turn."""

import dataclasses

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.analysis.costs import LOAD
from metronome.sim.analysis.turns import Turns
from metronome.sim.kernel import prepare_source
from metronome.sim.prediction.predictor import predict
from tests.sim.analysis.programs import machine, request_of

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
    path = folder / "program.c"
    path.write_text(TEXT)
    launch = prepare_source(path, config=config)
    issues = _Issues()
    issues.begin()
    predict(config, request_of(launch, "srr"), watcher=issues)
    cycles = np.array([cycle for cycle, _ in issues.found])
    loads = np.array([word & 0xFFF == 0x283 for _, word in issues.found])
    gaps = np.diff(cycles)[loads[:-1]]
    return int(np.median(gaps)), int(gaps[20:-20].max())


@pytest.mark.slow
@pytest.mark.parametrize("warps", [2, 3, 4, 5, 6, 7, 8])
def test_a_dependent_of_a_load(warps, tmp_path):
    config = dataclasses.replace(machine(TINY, "srr"), warps=warps)
    _, gap = longest_gap(config, tmp_path)
    turns = Turns()
    turns.active = warps
    turns.last = 0
    bound = turns.take(1, LOAD, writes=True)
    assert gap <= bound
    if warps >= 7:
        # The turn at which the load would have come is lost.
        assert gap == 2 * warps > -(-LOAD // warps) * warps


def test_turns():
    turns = Turns()
    turns.active = 8
    turns.last = 0
    assert turns.take(1, None, writes=True) == 8
    # 22 cycles are four rounds of 7 warps, but three of 8.
    assert turns.take(30, None, writes=False) == 8 + 28
    # Behind a turn that was not used the port was free, so the load has come.
    assert turns.take(37, 39, writes=True) == 36 + 8
    # One that comes later than that: it waits for its warp's next unused turn.
    assert turns.take(45, 47, writes=True) == 44 + 16
    twin = turns.copy()
    twin.take(80, None, writes=True)
    assert turns.join(twin) == 7 and turns.last == twin.last
