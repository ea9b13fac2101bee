"""Blocks that a rule or a unit of the GPU hands to the SMs: the table of docs/gpu.md, "Dispatch".

``python -m tests.system.measure_dispatch [--sms 4]``

Cycles of the hardware, with start-up code and launches. Those of one SM are predicted, which is exact.
"""

import argparse
import itertools
import sys
from dataclasses import replace

from metronome.hdl.gpu.config import Dispatch, GpuConfig
from metronome.hdl.presets import BASE
from metronome.sim.build.sources import ROOT
from metronome.sim.predict.predictor import Recordings, predict
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import prepare, prepare_source
from metronome.sim.run.gpu.runner import run_many_gpu
from metronome.sim.run.types import RunRequest

PROGRAM = ROOT / "tests" / "riscv_kernels" / "dispatch" / "blocks.c"
KERNELS = {"sgemm": 64, "psort": 256, "conv_rows": 128, "diverge": 2048}
#: Threads of a block; all grids have this many blocks.
THREADS, BLOCKS = (4, 8, 16), 64
#: Times the work that every fourth block has; 1: all have the same.
HEAVY = (1, 4)


def programs(config, compiling):
    """Each program's name and launch."""
    for name, size in KERNELS.items():
        yield f"{name}, {size}", prepare(name, None, size, 1, config, compiling)
    for threads, heavy in itertools.product(THREADS, HEAVY):
        numbers = {"THREADS": threads, "BLOCKS": BLOCKS, "STEPS": 1000, "EVERY": 4, "HEAVY": heavy}
        flags = tuple(f"-D{name}={value}" for name, value in numbers.items())
        name = f"{BLOCKS} {'even' if heavy == 1 else 'uneven'} blocks of {threads}"
        yield name, prepare_source(PROGRAM, None, config, replace(compiling, flags=flags))


def main(arguments=None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sms", type=int, default=4)
    asked, recordings = parser.parse_args(arguments), Recordings()

    def request(launch):
        return RunRequest(launch=launch, policy="lrr", max_cycles=100_000_000)

    columns = [[predict(BASE, request(launch), recordings=recordings).result
                for _, launch in programs(BASE, Compiling())]]
    for dispatch in Dispatch:
        gpu = GpuConfig(sm=BASE, sms=asked.sms, dispatch=dispatch)
        launches = programs(gpu.sm_of(0), Compiling().for_gpu(gpu))
        columns.append(run_many_gpu(gpu, [request(launch) for _, launch in launches]))
    for (name, _), one, *others in zip(programs(BASE, Compiling()), *columns, strict=True):
        if any((each.status, each.exit_code) != ("ended", 0) for each in (one, *others)):
            raise RuntimeError(f"{name}: {[each.status for each in (one, *others)]}")
        speeds = [f"{one.total_cycles / each.total_cycles:.2f}" for each in others]
        print(f"| {name} | {one.total_cycles} | {' | '.join(speeds)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
