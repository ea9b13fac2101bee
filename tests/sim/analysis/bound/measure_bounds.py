"""Bounds against many runs, by hand: ``python -m tests.sim.analysis.bound.measure_bounds --preset TINY --observe 60``.

Every kernel that has a bound, on one preset: each policy, each prediction, ``fixed`` and ``tdm`` memory, caches on and
off. A row has the bound, the longest run that was found, their ratio, and the bounds of the other ways of composing.
A run above a bound that holds is printed, and the exit status is 1.
"""

import argparse
import dataclasses
import sys
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import PIPELINES, PRESETS
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.program import kernels as kernel
from metronome.sim.program.kernel_folders import kernels
from metronome.sim.run.runner import run
from tests.sim.analysis.programs import machine, request_of

POLICIES = ("lrr", "gtlrr", "gtlo", "srr", "prr")
CACHES: dict[str, dict[str, int]] = {
    "on": {}, "no dcache": {"dcache_bytes": 0}, "no icache": {"icache_bytes": 0},
    "small": {"dcache_bytes": 512, "dcache_ways": 2},
}


def _cases(options: argparse.Namespace) -> Iterator[tuple[SmConfig, str, str, str, str, str]]:
    preset = dataclasses.replace(PRESETS[options.preset], **PIPELINES[options.pipeline])
    for policy, prediction, memory, caches in product(
        options.policies, options.predictions, options.memories, options.caches
    ):
        config = dataclasses.replace(machine(preset, policy, prediction), **CACHES[caches])
        for name in options.kernels:
            yield config, policy, prediction, memory, caches, name


def _measure(case: tuple[SmConfig, str, str, str, str, str], options: argparse.Namespace, seed: int) -> dict[str, Any]:
    config, policy, _, memory, _, name = case
    launch = kernel.prepare(name, None, options.size, 1, config)
    request = request_of(launch, policy, memory)
    begun = time.monotonic()
    bound = longest_time(config, request, launch, compose=options.compose)
    taken = time.monotonic() - begun
    search = Search(config, request, launch, seed=seed)
    # Where all runs take the same time some are enough.
    observed = search.run(min(4, options.observe) if bound.exact else options.observe)
    search.confirm(lambda asked: run(config, asked), options.rtl)
    wrong = [each.method for each in bound.composed if each.holds and observed.cycles > each.cycles]
    if observed.cycles > bound.cycles or (bound.exact and observed.cycles != bound.cycles):
        wrong.append("the bound")
    return {"bound": bound, "observed": observed, "wrong": wrong, "seconds": taken}


def main() -> int:
    """Print a row for each case; 1 if a run was above its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="TINY")
    parser.add_argument("--pipeline", choices=PIPELINES, default="classic")
    parser.add_argument("--kernels", nargs="+", default=[each.name for each in kernels()])
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--predictions", nargs="+", default=["btfn", "not_taken", "private"])
    parser.add_argument("--memories", nargs="+", default=["fixed", "tdm"])
    parser.add_argument("--caches", nargs="+", default=["on"], choices=list(CACHES))
    parser.add_argument("--size", type=int)
    parser.add_argument("--observe", type=int, default=20)
    parser.add_argument("--rtl", type=int, default=0)
    parser.add_argument("--compose", action="store_true")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    runs = hardware = failed = 0
    for number, case in enumerate(_cases(options)):
        try:
            found = _measure(case, options, options.seed + number)
        except RefusedError as error:
            print(*case[1:], "refused:", error, flush=True)
            continue
        bound, observed = found["bound"], found["observed"]
        runs, hardware = runs + observed.runs, hardware + observed.hardware
        others = " ".join(f"[{each.method}: {each.cycles}]" for each in bound.composed) if options.compose else ""
        print(
            *case[1:], "exact" if bound.exact else "bound", bound.cycles, observed.cycles,
            f"{bound.cycles / max(1, observed.cycles):.3f}", f"{found['seconds']:.1f}s", others, flush=True,
        )
        if options.parts:
            print("   ", {name: cycles for name, cycles in bound.parts.items() if cycles})
        if found["wrong"]:
            failed += 1
            print("   WRONG:", *found["wrong"], flush=True)
    print(f"{runs} runs, {hardware} of them on the hardware, {failed} cases with a run above a bound")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
