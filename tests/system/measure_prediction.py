"""Hardware and prediction compared on every kernel: policies, predictions, memories, caches, stacks; random programs.

``python -m tests.system.measure_prediction --preset TINY --preset BASE --each 4 --programs 300``

A configuration is a preset with a branch prediction, with or without data cache, I-cache and interleaved stacks: 24 a
preset, each a build. On each every kernel runs in both types, ``--each`` times: the policies in turn, and with each the
memories in turn, so that over all kernels and configurations every pair of the two comes. ``--programs`` is the number
of random SIMT programs, that of random memory programs, and that of random programs of jumps. What is compared: every
unit in every cycle, every issue, all that is counted, memory. The status is 1 if anything differs.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from random import Random

from metronome.hdl.config import Prediction, SmConfig
from metronome.hdl.policies import POLICIES
from metronome.hdl.presets import PIPELINES, PRESETS
from metronome.sim.machine import settings
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.system.jump_programs import JumpProgram
from tests.system.memory_programs import MemoryProgram
from tests.system.prediction import differences
from tests.system.rtl_programs import RawProgram

SEED = 20_261_124
#: Problem size, side of a matrix.
SIZES = {"TINY": (11, 3), "BASE": (37, 6), "MID": (133, 9), "PAPER": (300, 12)}
MATRICES = {"sgemm", "transpose", "conv3", "sfilter", "sgemm_group", "hotspot", "hotspot3d",
            "conv_rows", "conv_columns", "gaussian", "nw", "srad"}
#: Model, latency, seed.
MEMORIES = [("fixed", latency, 1) for latency in (1, 20, 100)] + [
    ("random", 60, seed) for seed in range(5)
] + [("dram", 1, 1), ("tdm", 1, 1)]
#: For random programs also one that answers in the worst order that it can think of.
HARDER = [*MEMORIES, ("random", 3, -1), ("random", 500, -1)]


#: Sizes of the predictors of private, in turn: the recommended ones, each predictor alone, all, small and large ones.
PREDICTORS = [
    {}, {"jump_targets": 0, "branch_runs": 0}, {"return_stack": 0, "branch_runs": 0, "jump_targets": 16},
    {"return_stack": 0, "jump_targets": 0}, {"return_stack": 0, "jump_targets": 0, "branch_runs": 0, "two_bit": 8},
    {"two_bit": 16}, {"return_stack": 1, "jump_targets": 1, "branch_runs": 2, "two_bit": 1},
    {"return_stack": 16, "jump_targets": 4, "branch_runs": 16, "two_bit": 64},
]


@dataclass(frozen=True)
class Case:
    """A configuration with its name; ``number`` shifts what runs on it."""

    name: str
    preset: str
    config: SmConfig
    number: int


def cases(preset: str, pipeline: str, fields: dict[str, str]) -> Iterator[Case]:
    """Those of a preset: each prediction, with and without caches and interleaved stacks."""
    choices = itertools.product(Prediction, (True, False), (True, False), (True, False))
    for number, (prediction, dcache, icache, interleaved) in enumerate(choices):
        sizes = PREDICTORS[number % len(PREDICTORS)] if prediction is Prediction.PRIVATE else {}
        config = replace(
            PRESETS[preset], policies=tuple(POLICIES), prediction=prediction, interleave_stacks=interleaved,
            **({} if dcache else {"dcache_bytes": 0}), **({} if icache else {"icache_bytes": 0}),
            **PIPELINES[pipeline], **sizes,
        )
        config = settings.replaced(config, {field: settings.parse(field, text) for field, text in fields.items()})
        without = [name for name, there in (("data cache", dcache), ("I-cache", icache), ("interleaving", interleaved))
                   if not there]
        sized = "".join(f", {field} {entries}" for field, entries in sizes.items())
        given = "".join(f", {field}={text}" for field, text in fields.items())
        name = f"{preset} {pipeline} {prediction}{sized}{given}"
        name += f", without {', '.join(without)}" if without else ""
        yield Case(name, preset, config, number)


def requests_of(case: Case, each: int) -> Iterator[tuple[str, RunRequest]]:
    """What runs on it, with a title."""
    turn = 7 * case.number
    for kernel in kernels():
        size = SIZES[case.preset][kernel.name in MATRICES]
        for dtype in kernel.types:
            launch = prepare(kernel.name, dtype, size, 1, case.config)
            for _ in range(each):
                policy, (memory, latency, seed) = list(POLICIES)[turn % len(POLICIES)], MEMORIES[turn % len(MEMORIES)]
                turn += 1
                yield f"{case.name}, {kernel.name} {dtype} {size}, {policy}, {memory} {latency} {seed}", RunRequest(
                    launch=launch, policy=policy, memory=memory, latency=latency, seed=seed, trace=True,
                )


def compare_kernels(case: Case, each: int) -> tuple[str, int, int, list[str]]:
    """The name of the case, runs, their cycles, and the first difference of each run that has one."""
    asked = list(requests_of(case, each))
    bad: list[str] = []
    cycles = 0

    def take(at: int, result: object) -> None:
        nonlocal cycles
        title, request = asked[at]
        cycles += result.total_cycles
        bad.extend(f"{title}: {line}" for line in differences(case.config, request, result)[:1])
        result.events = None

    run_many(case.config, [request for _, request in asked], on_result=take)
    return case.name, len(asked), cycles, bad


def compare_programs(case: Case, kind: type[RandomProgram], numbers: range) -> tuple[str, int, int, list[str]]:
    """The same of random programs, each in a process of its own: some read registers that nobody has written."""
    bad, cycles = [], 0
    for number in numbers:
        rng = Random(f"{SEED}/{kind.__name__}/{number}")
        program = kind(rng, case.config, blocks=rng.randrange(3, 9)).program
        memory, latency, seed = rng.choice(HARDER)
        request = RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(list(POLICIES)), memory=memory, latency=latency,
            memory_options=MemoryOptions(adversarial=seed < 0), seed=max(seed, 0), max_cycles=300_000, trace=True,
        )
        result = run(case.config, request)
        cycles += result.total_cycles
        title = f"{case.name}, {kind.__name__} {number}, {request.policy}, {memory} {latency} {seed}"
        bad += [f"{title}: {line}" for line in differences(case.config, request, result)[:1]]
    return f"{case.name}, {kind.__name__}", len(numbers), cycles, bad


def main(arguments: list[str]) -> int:
    """Compare what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", action="append", choices=SIZES, help="repeatable; default: TINY")
    parser.add_argument("--predictions", nargs="+", choices=list(Prediction), help="only these")
    parser.add_argument("--pipeline", choices=PIPELINES, default="classic")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="of the machine; repeatable")
    parser.add_argument("--each", type=int, default=len(POLICIES), help="runs of a kernel on a configuration")
    parser.add_argument("--every", type=int, default=1, help="take every N-th of a preset's configurations")
    parser.add_argument("--programs", type=int, default=0, help="random programs of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    chosen = [
        case for preset in given.preset or ["TINY"]
        for case in cases(preset, given.pipeline, dict(text.split("=", 1) for text in given.set))
        if case.config.prediction in (given.predictions or Prediction)
    ][:: given.every]
    print(f"seed {SEED}, {len(chosen)} configurations", flush=True)
    began, runs, all_cycles, wrong = time.monotonic(), 0, 0, []
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        waiting = [pool.submit(compare_kernels, case, given.each) for case in chosen if given.each]
        for kind in (RandomProgram, MemoryProgram, JumpProgram):
            share = [range(at, given.programs, len(chosen)) for at in range(len(chosen))]
            waiting += [pool.submit(compare_programs, case, kind, numbers)
                        for case, numbers in zip(chosen, share, strict=True) if numbers]
        for future in waiting:
            name, count, cycles, bad = future.result()
            print(f"{name}: {count} runs, {cycles} cycles, {len(bad)} not as predicted", flush=True)
            for line in bad[:3]:
                print(f"  {line}", flush=True)
            runs, all_cycles, wrong = runs + count, all_cycles + cycles, wrong + bad
    minutes = (time.monotonic() - began) / 60
    print(f"all: {runs} runs, {all_cycles} cycles, {len(wrong)} not as predicted ({minutes:.0f} min)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
