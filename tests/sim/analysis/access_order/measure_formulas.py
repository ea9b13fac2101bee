"""The published formulas beside the exact time, with a list.

``python -m tests.sim.analysis.access_order.measure_formulas``.

A row has the kernel, the data cache, the misses in loads, the cycles of every run, and how much more or less the
segments of Huangfu 2017 say without and with that miss rate. The last rows have the means of these by cache.
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import replace

from metronome.hdl.presets import PRESETS
from metronome.sim.analysis.access_order.estimate import CacheSize, estimate_of
from metronome.sim.analysis.access_order.ordered import ordered_launch, ordered_machine
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.program import kernels as kernel
from metronome.sim.program.kernel_folders import kernels
from metronome.sim.run.types import RunRequest
from tests.sim.analysis.access_order.test_analyzer import KERNELS

#: As in Huangfu 2017: bytes and ways.
CACHES = ((16384, 4), (32768, 8), (65536, 16))


def main() -> int:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="MID")
    parser.add_argument("--memory", default="fixed")
    parser.add_argument("--kernels", nargs="+", default=KERNELS)
    options = parser.parse_args()
    types = {each.name: each.types[0] for each in kernels()}
    means: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for size, ways in CACHES:
        config = ordered_machine(PRESETS[options.preset], dcache_bytes=size, dcache_ways=ways)
        cache = CacheSize.of(config)
        for name in options.kernels:
            launch = kernel.prepare(name, types[name], None, 1, config)
            request = RunRequest(launch=launch, policy="lrr", memory=options.memory)
            launch, listing = ordered_launch(config, request, launch)
            assert listing is not None
            rate = estimate_of(listing, config).total.miss_rate or 0.0
            bound = longest_time(config, replace(request, launch=launch), launch, compose=True, miss_rate=rate)
            assert bound.exact
            over = [each.cycles / bound.cycles - 1 for each in bound.composed]
            means[str(cache)].append(tuple(over))
            print(name, cache, f"misses {rate:.1%}", bound.cycles, *(f"{each:+.1%}" for each in over), flush=True)
    for text, rows in means.items():
        print("mean", text, *(f"{sum(column) / len(column):+.1%}" for column in zip(*rows, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
