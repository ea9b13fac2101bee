"""What is known of a cycle only later, worked out by hand from the contract (docs/design.md section 3)."""

from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.config import Coordination
from metronome.hdl.presets import TINY
from metronome.sim.machine.events import EVENT, NONE
from metronome.sim.show.trace.cycles import Cause, CycleStream, nothing_before


class Kept:
    def __init__(self):
        self.begun = self.finished = 0

    def begin(self):
        self.begun += 1
        self.parts = []

    def take(self, partitions):
        self.parts.append(partitions)

    def finish(self):
        self.finished += 1

    def of(self, name, partition=0):
        return np.concatenate([getattr(part[partition], name) for part in self.parts]).tolist()


def cycles_of(rows, config=TINY, chunk=100):
    """``rows``: for each cycle, and in it for each partition, the fields that are not as before the start."""
    events = np.concatenate([nothing_before(np.zeros(0, EVENT)) for _ in rows])
    for number, (event, values) in enumerate(zip(events, rows, strict=True)):
        event["cycle"] = number // config.schedulers
        for name, value in values.items():
            event[name] = value
        event["fetched"] = values.get("fetched", event["selected"])
    sink = Kept()
    stream = CycleStream(config, [sink])
    stream.begin()
    for first in range(0, len(events), chunk):
        stream.take(events[first : first + chunk])
    stream.finish()
    assert (sink.begun, sink.finished) == (1, 1)
    return sink


def nop(warp, **more):
    return {"selected": warp, "nop": 1} | more


def issue(warp, **more):
    return {"selected": warp} | more


def executed(warp, pc, **more):
    return {"executed": warp, "executed_pc": pc, "executed_word": pc + 1, "executed_mask": 3} | more


CHUNKS = pytest.mark.parametrize("chunk", [1, 2, 3, 5, 100])


@CHUNKS
def test_a_selection_gets_what_stage_x_shows_two_cycles_later(chunk):
    sink = cycles_of([issue(1), nop(0), executed(1, 0x80), issue(0), {}, {}, issue(1)], chunk=chunk)
    assert sink.of("pc") == [0x80, NONE, NONE, NONE, NONE, NONE, NONE]
    assert sink.of("word")[0] == 0x81
    assert sink.of("lanes")[0] == 3
    assert sink.of("events")[0][0] == 0
    assert [cycle for cycle, *_ in sink.of("events")] == list(range(7))


@CHUNKS
def test_where_a_nop_is_from(chunk):
    rows = [
        # The fetch of warp 1 in 2 misses, and that of warp 0 in 4.
        nop(0), nop(0), nop(1), nop(0, miss=1), nop(0), {"miss": 1},
        issue(0), issue(0), nop(1), nop(0), nop(0),
        nop(1), nop(1), nop(1),
    ]
    start, miss, redirect = Cause.START, Cause.MISS, Cause.REDIRECT
    assert cycles_of(rows, chunk=chunk).of("cause") == [
        start, start, start, start, start, 0, 0, 0, start, redirect, miss, start, start, miss,
    ]


@CHUNKS
def test_a_miss_is_that_of_the_fetch_before(chunk):
    config = replace(TINY, coordination=Coordination.BASELINE, fetch_policies=("lrr",))
    rows = [{"fetched": 1}, {"fetched": 0, "miss": 1}, {"miss": 1}, {"miss": 0}]
    assert cycles_of(rows, config, chunk=chunk).of("missed") == [NONE, 1, 0, NONE]


@pytest.mark.parametrize("chunk", [2, 4, 100])
def test_each_partition_has_cycles_of_its_own(chunk):
    config = replace(TINY, warps=4, schedulers=2)
    rows = [
        issue(2), nop(1),
        nop(0), issue(3, miss=1),
        executed(2, 0x80), {"miss": 1},
        {}, executed(3, 0x90),
    ]
    sink = cycles_of(rows, config, chunk)
    assert [part.warps for part in sink.parts[0]] == [range(0, 4, 2), range(1, 4, 2)]
    assert [part.partition for part in sink.parts[0]] == [0, 1]
    assert (sink.of("pc"), sink.of("pc", 1)) == ([0x80, NONE, NONE, NONE], [NONE, 0x90, NONE, NONE])
    assert (sink.of("cause"), sink.of("cause", 1)) == ([0, Cause.START, 0, 0], [Cause.START, 0, 0, 0])
    assert (sink.of("missed"), sink.of("missed", 1)) == ([NONE] * 4, [NONE, 1, 3, NONE])
    for partition in (0, 1):
        assert [cycle for cycle, *_ in sink.of("events", partition)] == [0, 1, 2, 3]


def test_a_run_that_begins_again_is_begun_again():
    sink = Kept()
    stream = CycleStream(TINY, [sink])
    events = np.concatenate([nothing_before(np.zeros(0, EVENT))] * 4)
    stream.begin()
    stream.take(events)
    stream.begin()
    stream.take(events[:3])
    stream.finish()
    assert len(sink.of("pc")) == 3


def test_nothing_is_nothing():
    sink = cycles_of([{}], chunk=1)
    assert sink.of("pc") == [NONE]
