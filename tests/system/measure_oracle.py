"""The benchmarks of Crouzet 2024 with each prediction, and with an oracle that predicts every branch and jump right.

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
        launch = kernels.prepare(kernel, SPEC["type"], SPEC["size"][kernel], 1, PAPER)
        for policy in ("lrr", "gtlrr", "gtlo"):
            request = RunRequest(launch=launch, policy=policy, memory="dram", max_cycles=SPEC["max_cycles"])
            for prediction, oracle in [*((name, False) for name in Prediction), (Prediction.PRIVATE, True)]:
                config = replace(PAPER, prediction=prediction)
                job = job_of(config, request)
                memory = unpack_memory(config, job.pages)
                streams = recordings.of(config, request, job, memory)
                run = PredictionRun(config, request, job, memory.copy(), streams, oracle=oracle)
                run.run(lambda cycle: None)
                found = result_of(config, request, run, streams.memory.copy(), 0).counters
                numbers = [found[name] for name in ("cycles", "nops", "wrong_branches", "wrong_returns", "wrong_jumps")]
                print(f"{kernel}, {policy}, {'oracle' if oracle else prediction}: {', '.join(map(str, numbers))}",
                      flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
