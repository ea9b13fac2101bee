"""The runtime's library on the RTL in lock step: lanes and warps that print at a time, and the float functions."""

import numpy as np
import pytest

from metronome.sim.run.runner import RunRequest, run_many
from tests.riscv_kernels.iss_runs import RESULTS
from tests.riscv_kernels.libm import host
from tests.riscv_kernels.library_runs import CELL, Cases, Kind, prepare
from tests.riscv_kernels.measure_libm import pow_pairs
from tests.support.builds import TINY, named, on
from tests.system.rtl_programs import problems

#: Model and latency; random answers out of order.
MEMORIES = (("fixed", 20), ("random", 30))


def requests(launch, memories=MEMORIES):
    return [
        RunRequest(launch=launch, policy="lrr", memory=memory, latency=latency, check=True, seed=3)
        for memory, latency in memories
    ]


def check_lines(config, threads, memories):
    cases = Cases()
    for thread in range(threads):
        cases.add(Kind.WORD, "%3u: %x,", f"{thread:3}: {thread + 160:x},".encode(), thread, thread + 160)
    launch = cases.launch(config, console=True)
    for result in run_many(config, requests(launch, memories)):
        assert not problems(result), problems(result)
        lines = result.console.splitlines(keepends=True)
        ends = ("!\n", "odd\n")
        expected = [text.decode() + ends[thread % 2] for thread, text in enumerate(cases.expected)]
        assert sorted(lines) == sorted(expected)
        for thread, text in enumerate(expected):
            assert int.from_bytes(result.memory.read(RESULTS + CELL * thread, 4), "little") == len(text)


@on("TINY")
@pytest.mark.slow
def test_lines_of_lanes_and_warps_stay_whole():
    check_lines(TINY, 3, MEMORIES[:1])


@pytest.mark.more
@pytest.mark.parametrize("config", named("TINY", "BASE"))
def test_more_lines_stay_whole(config):
    check_lines(config, 2 * config.harts + 1, MEMORIES)


@pytest.mark.more
@on("TINY")
def test_float_functions():
    pairs = pow_pairs(np.random.default_rng(5), 5).values()
    x, y = (np.concatenate([pair[side][:3] for pair in pairs]).view(np.float32) for side in (0, 1))
    launch = prepare("functions", TINY, (len(x), TINY.harts), (x, y))
    for result in run_many(TINY, requests(launch, MEMORIES[1:])):
        assert not problems(result), problems(result)
        got = np.frombuffer(result.memory.read(RESULTS, 8 * len(x)), np.float32).reshape(2, -1)
        for name, values, arguments in (("powf", got[0], (x, y)), ("expf", got[1], (x,))):
            expected = host.evaluate(name, *arguments)
            same = (values.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(values) & np.isnan(expected))
            assert same.all(), (name, values, expected)


@pytest.mark.slow
@on("TINY")
def test_memory_strings_division_and_sums():
    """Lock step compares every register and store with the golden model's, which test_runtime_library.py checks."""
    rng = np.random.default_rng(6)
    numbers = rng.integers(0, 1 << 64, (5, 2), np.uint64)
    places = np.stack([rng.integers(0, 16, 5), rng.integers(0, 16, 5), rng.integers(0, 17, 5)], 1).astype(np.uint32)
    areas = rng.integers(97, 100, (5, 5, 64), np.uint8)
    areas[3:, :, 30:] = 0
    for result in run_many(TINY, requests(prepare("library", TINY, (5, 3), (numbers, areas, places)), MEMORIES[:1])):
        assert not problems(result), problems(result)
        assert result.exit_code == 0
