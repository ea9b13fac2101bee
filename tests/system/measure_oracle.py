"""The benchmarks of Crouzet 2024 with each prediction, with hints, and with an oracle that predicts every jump right.

``python -m tests.system.measure_oracle``

Sizes and machine are those of the experiment `paper`. All runs are computed, with `swas`; the oracle is the limit of
any prediction. Joins still redirect: no prediction covers them.
"""

import sys
import tomllib
from dataclasses import replace

from metronome.hdl.config import Prediction
from metronome.hdl.presets import PAPER
from metronome.sim.predict.predictor import Recordings, prepare, result_of
from metronome.sim.predict.running import PredictionRun
from metronome.sim.program import kernels
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.run.jobs import job_of
from metronome.sim.run.types import RunRequest, unpack_memory
from tests.docs.pages import ROOT

SPEC = tomllib.loads((ROOT / "sim/studies/sweep/named/paper.toml").read_text("utf-8"))


def main() -> int:
    """Print cycles, NOPs and wrong predictions of the region."""
    prepare()
    recordings = Recordings()
    print("kernel, policy, prediction: cycles, NOPs, wrong branches, wrong returns, wrong jumps")
    for kernel in SPEC["kernel"]:
        plain, hinted = (
            kernels.prepare(kernel, SPEC["type"], SPEC["size"][kernel], 1, PAPER, Compiling(hints=hints))
            for hints in (False, True)
        )
        cases = [
            *((name, name, plain) for name in Prediction), ("oracle", Prediction.PRIVATE, plain),
            *((f"{name} with hints", name, hinted) for name in (Prediction.BTFN, Prediction.PRIVATE)),
        ]
        for policy in ("lrr", "gtlrr", "gtlo"):
            for name, prediction, launch in cases:
                request = RunRequest(launch=launch, policy=policy, memory="dram", max_cycles=SPEC["max_cycles"])
                config = replace(PAPER, prediction=prediction)
                job = job_of(config, request)
                memory = unpack_memory(config, job.pages)
                streams = recordings.of(config, request, job, memory)
                run = PredictionRun(config, request, job, memory.copy(), streams, oracle=name == "oracle")
                run.run(lambda cycle: None)
                found = result_of(config, request, run, streams.memory.copy(), 0).counters
                numbers = [found[each] for each in ("cycles", "nops", "wrong_branches", "wrong_returns", "wrong_jumps")]
                print(f"{kernel}, {policy}, {name}: {', '.join(map(str, numbers))}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
