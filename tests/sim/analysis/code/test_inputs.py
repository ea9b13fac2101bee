"""Inputs that stay in ranges: what is said of all of them holds for each, and none is tried that is outside."""

import dataclasses
import struct

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.scripts.options.ranges import ranges_of
from metronome.scripts.process.errors import UsageError
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.inputs import Inputs, Range
from metronome.sim.analysis.code.numbers import unsigned
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.programs import all_paths, bound_of, compiled, exceeded, machine, one_run, request_of

HEAD = """#include "metronome.h"
uint32_t inputs[16] = {1}; /* not zeroed at the start */
uint32_t out[64];
"""
#: As many turns as the input says: without a range there is no bound.
COUNTED = HEAD + """static void work(__attribute__((unused)) const void *arg) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < inputs[blockIdx.x & 15]; i++) sum = sum * 5 + i;
    out[blockIdx.x & 63] = sum; }
int main(void) { const uint32_t n = 12; return spawn_threads(1, &n, 0, work, 0); }
"""
ARGUED = HEAD + """static void work(const void *arg) {
    const uint32_t *const most = arg;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < most[1]; i++) sum = sum * 5 + i;
    out[blockIdx.x & 63] = sum; }
int main(void) { return spawn_threads(1, kernel_arguments(), 0, work, kernel_arguments()); }
"""


def _words(*words: int) -> bytes:
    return np.array(words, "<u4").tobytes()


@pytest.mark.slow
def test_words_of_a_variable(tmp_path):
    launch = compiled(tmp_path, COUNTED)
    ranges = ranges_of(launch, ["inputs=0..9"])
    _, most = all_paths(machine(TINY), launch, ranges)
    address, _ = launch.image.symbols["inputs"]
    (name,) = launch.loads
    for words, outside in (([9] * 16, False), ([0, 9] * 8, False), ([10] * 16, True)):
        assert exceeded(most, Inputs(launch, ranges).filled({name: _words(*words)})) == outside
    # Nine turns are said to be possible, and they are all that is said.
    slowest = one_run(machine(TINY), Inputs(launch, ranges).filled({name: _words(*[9] * 16)}))
    assert any(count == most[1].get(pc) and count >= 27 for pc, count in slowest[1].items())
    assert address % 4 == 0


@pytest.mark.slow
def test_a_word_of_the_arguments(tmp_path):
    launch = compiled(tmp_path, ARGUED)
    launch = dataclasses.replace(launch, arguments=struct.pack("<2I", 12, 3), loads={})
    assert bound_of(machine(TINY), launch).exact
    ranges = ranges_of(launch, ["arg[1]=1..7"])
    bound = bound_of(machine(TINY), launch, ranges=ranges)
    assert not bound.exact
    inputs = Inputs(launch, ranges)
    assert inputs.filled({"arg[1]=1..7": _words(7)}).arguments == struct.pack("<2I", 12, 7)
    search = Search(machine(TINY), request_of(launch), launch, 3, ranges)
    assert search.run(12).cycles <= bound.cycles
    seven = bound_of(machine(TINY), inputs.filled({"arg[1]=1..7": _words(7)}))
    assert search.observed.cycles == seven.cycles
    assert bound_of(machine(TINY), inputs.filled({"arg[1]=1..7": _words(60)})).cycles > bound.cycles


@pytest.mark.more
def test_nothing_outside_is_tried():
    config = machine(TINY)
    launch = kernel.prepare("psort", None, 8, 1, config)
    ranges = ranges_of(launch, ["source[0..3]=-5..5", "source[6]=7..7"])
    search = Search(config, request_of(launch), launch, 3, ranges)
    for candidate, _ in zip(search._candidates(60), range(60), strict=False):
        words = np.frombuffer(candidate["source"], "<i4")
        assert abs(words[:4]).max() <= 5 and words[6] == 7
    observed = search.run(60)
    assert observed.cycles <= bound_of(config, launch, ranges=ranges).cycles


@pytest.mark.parametrize(
    ("text", "interval", "inside", "outside"),
    [
        ("source=3..9", (3, 9), [3, 9], [2, 10, 0xFFFF_FFFF]),
        ("source=-9..-3", (0xFFFF_FFF7, 0xFFFF_FFFD), [0xFFFF_FFF7], [3, 0xFFFF_FFFE]),
        ("source=-1..1", (0, 0xFFFF_FFFF), [0xFFFF_FFFF, 0, 1], [2, 0x8000_0000]),
        ("source=0x10..0xffffffff", (16, 0xFFFF_FFFF), [0x8000_0000], [15]),
        ("source=0.5..2.0", (0x3F00_0000, 0x4000_0000), [0x3F80_0000], [0, 0x4000_0001, 0xBF80_0000]),
        ("source=-2.0..-0.5", (0xBF00_0000, 0xC000_0000), [0xBF80_0000], [0xC000_0001, 0x3F80_0000]),
        ("source=-1.0..1.0", (0, 0xBF80_0000), [0x8000_0000, 0, 0xBF80_0000], [0x3F80_0001, 0x7FC0_0000]),
    ],
)
def test_numbers(text, interval, inside, outside):
    real = "." in text.partition("=")[2].replace("..", " ")
    (found,) = ranges_of(kernel.prepare("psort", "float32" if real else "int32", 8, 1, TINY), [text])
    assert tuple(int(each[0]) for each in unsigned(found.interval)) == interval
    inner, outer = np.array(inside, np.uint32), np.array(outside, np.uint32)
    assert (found.confine(inner) == inner).all()
    moved = found.confine(outer)
    assert (moved != outer).all() and (found.confine(moved) == moved).all()
    assert all(interval[0] <= each <= interval[1] for each in moved.tolist())


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["source"], "write NAME=LOW..HIGH"),
        (["source=1-2"], "write NAME=LOW..HIGH"),
        (["source=9..3"], "9 is above 3"),
        (["source=-1..4294967295"], "32-bit integers"),
        (["source=0.0..1.0e39"], "finite"),
        (["source=0.0..9"], "source has int32 elements: write integers, not 0.0..9"),
        (["sauce=1..2"], "no buffer or variable is named 'sauce'"),
        (["source[8]=1..2"], "source has 8 words"),
        (["arg[0]=9..10"], "the argument of this launch is 8"),
        (["source=1..2", "source[3]=1..1"], "overlap: give each word one range"),
    ],
)
def test_refusals(texts, words):
    with pytest.raises(UsageError) as refused:
        ranges_of(kernel.prepare("psort", None, 8, 1, TINY), texts)
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_race_is_not_in_a_range(tmp_path):
    """A word that others store to meanwhile holds anything, whatever its range at the start."""
    text = HEAD + """static void work(__attribute__((unused)) const void *arg) {
        uint32_t sum = 0, most = *(volatile uint32_t *)&inputs[0] & 63;
        for (uint32_t i = 0; i < most; i++) sum = sum * 5 + i;
        out[blockIdx.x & 63] = sum;
        *(volatile uint32_t *)&inputs[0] = 50; }
    int main(void) { const uint32_t n = 12; return spawn_threads(1, &n, 0, work, 0); }
    """
    launch = compiled(tmp_path, text)
    ranges = ranges_of(launch, ["inputs=0..3"])
    assert isinstance(ranges[0], Range)
    explored, most = all_paths(machine(TINY), launch, ranges)
    assert explored.races
    assert all(max(its.values()) >= 63 * 3 for its in most)
