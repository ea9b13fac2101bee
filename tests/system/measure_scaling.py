"""How kernels scale over the SMs of a GPU, computed: the tables and the picture of docs/gpu.md, "Speed".

``python -m tests.system.measure_scaling`` writes them, and scaling.json, in two minutes.
With ``--preset`` or ``--l2`` it prints the tables of another machine instead.

Strong: the same work on more SMs. Weak: as many times the work. All cycles include start-up code and launches.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from metronome.hdl.gpu.config import GpuConfig, L2Kind
from metronome.hdl.presets import PRESETS
from metronome.sim.predict.gpu.predictor import predict_gpu
from metronome.sim.predict.predictor import Recordings, predict
from metronome.sim.program import kernels
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.run.types import RunRequest

__all__ = ["DATA", "SIZES", "SMS", "WEAK", "Counts", "counts"]

DATA = Path(__file__).with_name("scaling.json")
SMS = (1, 2, 4, 8, 16)
MEMORIES = ("fixed", "dram")
#: Sizes of the strong table. In the weak one, the work of these kernels is proportional to the size.
SIZES = {
    "sgemm": 64, "conv_rows": 64, "psort": 256, "nn": 4096, "row_sums": 64, "vecadd": 4096, "saxpy": 4096,
    "transpose": 64, "sfilter": 64, "hotspot": 64,
}
WEAK = {"nn": 1024, "vecadd": 1024, "saxpy": 1024}


class Counts(NamedTuple):
    """Cycles of a whole run, and the lines to and from memory; None if the memory does not count them."""

    cycles: int
    lines: int | None


def counts(
    kernel: str, size: int, sms: int, memory: str, *, preset: str = "BASE", l2: str = "none",
    recordings: Recordings | None = None,
) -> Counts:
    """Predict a run; with one SM that of a machine that is no GPU. Raises RuntimeError for a wrong result."""
    config = PRESETS[preset]
    asked: dict[str, Any] = {"policy": "lrr", "memory": memory, "max_cycles": 100_000_000}
    if sms == 1:
        launch = kernels.prepare(kernel, None, size, 1, config, Compiling())
        result = predict(config, RunRequest(launch=launch, **asked), recordings=recordings).result
    else:
        gpu = GpuConfig(sm=config, sms=sms, l2=L2Kind(l2), l2_ways=16, l2_requests=64 if l2 == "divided" else 32)
        launch = kernels.prepare(kernel, None, size, 1, gpu.sm_of(0), Compiling(several_sms=True))
        result = predict_gpu(gpu, RunRequest(launch=launch, **asked)).result
    if result.status != "ended" or launch.check(result.memory):
        raise RuntimeError(f"{kernel}, size {size}, {sms} SMs, {memory}: {result.status}, or a wrong result")
    moved = result.memory_statistics
    return Counts(result.total_cycles, None if moved is None else int(moved["reads"] + moved["writes"]))


def measure(preset: str, l2: str) -> dict[str, dict[str, Any]]:
    """The data of both tables: for each kernel its size and, by memory, the counts for each number of SMs."""
    recordings = Recordings()
    data: dict[str, dict[str, Any]] = {}
    for name, sizes in (("strong", SIZES), ("weak", WEAK)):
        data[name] = {}
        for kernel, size in sizes.items():
            data[name][kernel] = {"size": size} | {
                memory: [
                    counts(kernel, size * (sms if sizes is WEAK else 1), sms, memory, preset=preset, l2=l2,
                           recordings=recordings)
                    for sms in SMS
                ]
                for memory in MEMORIES
            }
            print(f"{name}: {kernel}", file=sys.stderr, flush=True)
    return data


def _text(data: dict[str, dict[str, Any]]) -> str:
    """The data as JSON, a line for each kernel."""
    parts = []
    for name, rows in data.items():
        lines = ",\n".join(f'  "{kernel}": {json.dumps(row)}' for kernel, row in rows.items())
        parts.append(f' "{name}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(arguments: list[str] | None = None) -> int:
    """Measure; write the data, the tables and the picture, or print the tables."""
    # The docs' modules read the data of this one.
    from tests.docs import scaling, tables

    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="BASE", choices=PRESETS)
    parser.add_argument("--l2", default="none", choices=list(L2Kind))
    asked = parser.parse_args(arguments)
    data = measure(asked.preset, asked.l2)
    if (asked.preset, asked.l2) != ("BASE", "none"):
        print(scaling.strong(data), scaling.weak(data), sep="\n\n")
        return 0
    DATA.write_text(_text(data), "utf-8")
    scaling.PICTURE.write_text(scaling.picture(scaling.read()), "utf-8")
    tables.write("gpu.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
