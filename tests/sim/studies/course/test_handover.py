"""The program in which age and number are not the same order."""

from dataclasses import replace

import pytest

from metronome.hdl.presets import MID, TINY
from metronome.sim.machine.golden import EndStatus, Iss
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.studies.course.handover import MOST_TURNS, handover


class Starts:
    """Who starts whom on the golden model."""

    def __init__(self):
        self.seen = []

    def spawn(self, issuer, mask, started):
        self.seen.append((issuer, started))

    def __getattr__(self, name):
        return lambda *args, **options: None


@pytest.mark.parametrize(("config", "issuers"), [(TINY, [0, 1]), (replace(TINY, warps=1), [0]), (MID, [0, 7, 6, 5])])
def test_another_warp_starts_all_in_each_round(config, issuers):
    program, memory = handover(config, 1, 2), SparseMemory(config.memory_map)
    program.load_into(memory)
    iss = Iss(config, memory)
    iss.launch(program.entry, program.argument_address)
    iss.watch = Starts()
    while any(iss.active):
        ready = [warp for warp in range(config.warps) if iss.active[warp] and iss.waiting[warp] is None]
        assert iss.step(ready[0]).fault is None
    others = list(range(config.warps))
    assert iss.watch.seen == [(issuer, [w for w in others if w != issuer]) for issuer in issuers]


@pytest.mark.parametrize("size", [1, MOST_TURNS])
def test_it_ends(size):
    program, memory = handover(TINY, size, 1), SparseMemory(TINY.memory_map)
    program.load_into(memory)
    iss = Iss(TINY, memory)
    iss.launch(program.entry, program.argument_address)
    assert iss.run(1 << 20).status is EndStatus.ENDED


def test_the_seed_makes_another_program():
    assert len({handover(TINY, 4, seed).image for seed in range(4)}) == 4
    assert handover(TINY, 4, 1) == handover(TINY, 4, 1)


@pytest.mark.parametrize("size", [0, MOST_TURNS + 1])
def test_sizes_out_of_range(size):
    with pytest.raises(ValueError, match=f"the size of handover must be from 1 to 500, not {size}"):
        handover(TINY, size, 1)


def test_whoever_ends_and_is_started_again_has_ended():
    program, memory = handover(MID, 1, 2), SparseMemory(MID.memory_map)
    program.load_into(memory)
    iss = Iss(MID, memory)
    iss.launch(program.entry, program.argument_address)
    ends, again = 0, 0
    while any(iss.active):
        # The highest first, so that warp 0 ends last, while another waits to start it again.
        warp = max(w for w in range(MID.warps) if iss.active[w] and iss.waiting[w] is None)
        commit = iss.step(warp)
        ends += commit.ended
        again += commit.ended and iss.active[warp]
    # All eight end in the last of four rounds, and all but the next issuer in each before it.
    assert (ends, again) == (8 + 3 * 7, 3)
