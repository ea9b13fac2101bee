"""The cycles of every kernel with and without hints in its branches, with each prediction that knows them.

``python -m tests.system.measure_hints --preset BASE``

All runs are predicted, with the preset's first policy and the default size. The profile of the hints is that of other
inputs, as always (docs/prediction.md).
"""

import argparse
import math
import sys

from metronome import predict
from metronome.hdl.config import Prediction
from metronome.sim.program.kernels import kernels


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="BASE")
    parser.add_argument("--memory", default="fixed")
    asked = parser.parse_args()
    predictions = (Prediction.BTFN, Prediction.PRIVATE)
    print("kernel: cycles with btfn; divided by those with hints, private, private and hints")
    gains: list[list[float]] = [[], [], []]
    for kernel in kernels():
        cycles = [
            predict(kernel.name, machine=asked.preset, prediction=prediction, hints=hints, memory=asked.memory).cycles
            for prediction in predictions for hints in (False, True)
        ]
        ratios = [cycles[0] / each for each in cycles[1:]]
        for gain, ratio in zip(gains, ratios, strict=True):
            gain.append(ratio)
        print(f"{kernel.name}: {cycles[0]}; {', '.join(f'{ratio:.3f}' for ratio in ratios)}", flush=True)
    means = [math.exp(sum(map(math.log, gain)) / len(gain)) for gain in gains]
    print(f"geometric mean: {', '.join(f'{mean:.3f}' for mean in means)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
