"""How kernels scale over the SMs of a GPU, computed: the tables of docs/gpu.md, "Scaling".

``python -m tests.system.measure_scaling [--preset BASE] [--l2 none]``

Strong: the same work on more SMs. Weak: as many times the work. All cycles include start-up code and launches.
"""

import argparse
import sys

from metronome.hdl.gpu.config import GpuConfig, L2Kind
from metronome.hdl.presets import PRESETS
from metronome.sim.predict.gpu.predictor import predict_gpu
from metronome.sim.predict.predictor import Recordings, predict
from metronome.sim.program import kernels
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.run.types import RunRequest

SMS = (1, 2, 4, 8, 16)
#: Sizes of the strong table. In the weak one, the work of these kernels is proportional to the size.
SIZES = {
    "sgemm": 64, "conv_rows": 64, "psort": 256, "nn": 4096, "row_sums": 64, "vecadd": 4096, "saxpy": 4096,
    "transpose": 64, "sfilter": 64, "hotspot": 64,
}
WEAK = {"nn": 1024, "vecadd": 1024, "saxpy": 1024}


def cycles(config, kernel, size, sms, memory, recordings, l2):
    """Cycles of the whole run; with one SM those of a machine that is no GPU."""
    if sms == 1:
        launch = kernels.prepare(kernel, None, size, 1, config, Compiling())
        request = RunRequest(launch=launch, policy="lrr", memory=memory, max_cycles=100_000_000)
        result = predict(config, request, recordings=recordings).result
    else:
        gpu = GpuConfig(sm=config, sms=sms, l2=L2Kind(l2), l2_ways=16, l2_requests=64 if l2 == "divided" else 32)
        launch = kernels.prepare(kernel, None, size, 1, gpu.sm_of(0), Compiling(several_sms=True))
        request = RunRequest(launch=launch, policy="lrr", memory=memory, max_cycles=100_000_000)
        result = predict_gpu(gpu, request).result
    if result.status != "ended" or launch.check(result.memory):
        raise RuntimeError(f"{kernel}, size {size}, {sms} SMs, {memory}: {result.status}, or a wrong result")
    return result.total_cycles


def main(arguments=None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="BASE", choices=PRESETS)
    parser.add_argument("--l2", default="none", choices=list(L2Kind))
    asked = parser.parse_args(arguments)
    config, recordings = PRESETS[asked.preset], Recordings()
    for title, sizes in (("strong: cycles of 1 SM / cycles", SIZES), ("weak: cycles of 1 SM / cycles", WEAK)):
        print(f"{title}; fixed: {', '.join(map(str, SMS[1:]))}; dram: the same")
        for kernel, size in sizes.items():
            row = []
            for memory in ("fixed", "dram"):
                counts = [
                    cycles(config, kernel, size * (sms if sizes is WEAK else 1), sms, memory, recordings, asked.l2)
                    for sms in SMS
                ]
                row += [f"{counts[0] / each:.2f}" for each in counts[1:]]
            print(f"| {kernel}, {size} | {' | '.join(row)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
