"""Blocks that a rule or a unit of the GPU hands to the SMs: the table of docs/gpu.md, "Dispatch".

``python -m tests.system.measure_dispatch [--sms 4]``

Cycles of the hardware, with start-up code and launches. Those of one SM are predicted, which is exact.
"""

import argparse
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
KERNELS = {"sgemm": 64, "psort": 256, "conv_rows": 64, "diverge": 512}
#: Threads of a block -> number of blocks.
SHAPES = {1: 1024, 4: 64, 8: 64, 16: 64}
#: Every so many-th block has four times the work; 1: all have the same.
UNEVEN = (1, 4, 7)


def programs(config, compiling):
    """Each program's name and launch."""
    for name, size in KERNELS.items():
        yield f"{name}, {size}", prepare(name, None, size, 1, config, compiling)
    for threads, blocks in SHAPES.items():
        for every in UNEVEN:
            numbers = {"THREADS": threads, "BLOCKS": blocks, "STEPS": 200, "EVERY": every, "HEAVY": min(every, 4)}
            flags = tuple(f"-D{name}={value}" for name, value in numbers.items())
            shape = "even" if every == 1 else f"uneven ({every})"
            yield (f"{blocks} blocks of {threads}, {shape}",
                   prepare_source(PROGRAM, None, config, replace(compiling, flags=flags)))


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
