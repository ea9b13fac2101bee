"""Estimated misses against those of ordered channels, by hand.

``python -m tests.sim.analysis.access_order.measure_misses``.

Every kernel that has a listing, on several data caches, with several policies, on ``fixed``, ``dram`` and ``tdm``
memory, on the predictor: the misses of each pc, and the order of all lookups. What differs is printed, and makes the
exit status 1.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.policies import POLICIES
from metronome.hdl.presets import PRESETS
from metronome.sim.analysis.access_order.analyzer import analyze
from metronome.sim.analysis.access_order.estimate import CacheSize, estimate_of
from metronome.sim.analysis.access_order.measured_misses import Lookups, Verified, measured
from metronome.sim.analysis.access_order.ordered import ordered_machine, with_order
from metronome.sim.analysis.access_order.records import Listing
from metronome.sim.predict.model import policies
from metronome.sim.predict.predictor import Recordings, predict
from metronome.sim.program.kernels import Launch, kernels, prepare
from metronome.sim.run.types import RunRequest
from tests.sim.analysis.access_order.test_analyzer import KERNELS
from tests.system.scheme_builds import MATRIX_KERNELS

#: Bytes and ways.
CACHES = ((16384, 4), (512, 2), (1024, 4), (0, 1), (2048, 8), (128, 1))
#: Ordered channels exclude two.
NAMES = tuple(name for name in POLICIES if name in policies.NAMES and name not in ("prr", "ccws"))


class Events:
    """A watcher (:class:`sim.run.types.Watcher`) that keeps everything."""

    def begin(self) -> None:
        self.parts: list[np.ndarray] = []

    def take(self, events: np.ndarray) -> None:
        self.parts.append(events.copy())


def machine(preset: SmConfig, size: CacheSize, **fields: int) -> SmConfig:
    """With ordered channels and this data cache."""
    return ordered_machine(preset, policies=NAMES, dcache_bytes=size.bytes, dcache_ways=size.ways, **fields)


def difference(
    config: SmConfig, launch: Launch, listing: Listing, request: RunRequest, recordings: Recordings | None = None
) -> tuple[Verified, int]:
    """What differs in a predicted run, and its cycles in the region."""
    events = Events()
    asked = replace(request, launch=with_order(launch, listing, config))
    result = predict(config, asked, watcher=events, recordings=recordings).result
    if result.status != "ended":
        raise RuntimeError(f"{launch.name}: {result.status}, {result.fault}")
    found = measured(listing, Lookups.of_prediction(np.concatenate(events.parts)))
    return Verified.of(estimate_of(listing, config), found), result.counters["cycles"]


def _cases(options: argparse.Namespace) -> Iterator[tuple[str, CacheSize, str, str]]:
    for name in options.kernels:
        for size in (CacheSize(*each) for each in CACHES):
            for policy in NAMES if options.all else NAMES[:3]:
                for memory in ("fixed", "dram", "tdm"):
                    yield name, size, policy, memory


def main() -> int:
    """Print a row for each kernel; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="TINY")
    parser.add_argument("--size", type=int, default=30, help="of kernels on matrices a sixth")
    parser.add_argument("--kernels", nargs="+", default=[each.name for each in kernels() if each.name in KERNELS])
    parser.add_argument("--all", action="store_true", help="every policy, not three")
    parser.add_argument("--seed", type=int, default=19)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    rng, recordings, wrong, runs = random.Random(options.seed), Recordings(), 0, 0
    last = ""
    for name, size, policy, memory in _cases(options):
        config = machine(
            PRESETS[options.preset], size, channel_depth=rng.choice([4, 10, 16]), dcache_mshrs=rng.choice([1, 2, 8]),
        )
        number = options.size // 6 if name in MATRIX_KERNELS else options.size
        launch = prepare(name, None, number, 1, config)
        request = RunRequest(launch=launch, policy=policy, memory=memory, latency=rng.choice([1, 20, 100]))
        found, _ = difference(config, launch, analyze(config, request, launch), request, recordings)
        runs += 1
        if found.mismatches:
            wrong += 1
            print(name, size, policy, memory, found, flush=True)
        if name != last:
            print(f"{name}, {runs} runs", flush=True)
            last = name
    print(f"{runs} runs, {wrong} of them with another miss or another order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
