"""Random OpenCL kernels, compiled and run on the golden model, against an interpreter that no compiler takes part in.

    python -m tests.riscv_kernels.opencl.fuzz --seed 1 --count 2000

Kernel number s is that of seed s; `--show` prints it. Exit status 1 if one is wrong, or more than 5 % are refused.
"""

import argparse
import collections
import functools
import os
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.riscv_kernels.opencl.fuzz.check import Outcome, check_seed
from tests.riscv_kernels.opencl.fuzz.kernels import random_kernel

MOST_REFUSED = 0.05
_EVERY = 100


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.riscv_kernels.opencl.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--count", type=int, default=100, help="how many kernels (default: 100)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one for each processor)")
    parser.add_argument("--show", action="store_true", help="print the kernel of --seed, and run nothing")
    arguments = parser.parse_args()
    if arguments.show:
        kernel = random_kernel(arguments.seed)
        print(f"{kernel.source}/* local size {kernel.local}, {kernel.groups} groups, options {kernel.options!r} */")
        return 0
    folder = Path(tempfile.mkdtemp(prefix="opencl-fuzz-"))
    os.environ["METRONOME_CACHE"] = str(folder / "cache")
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    outcomes: list[Outcome] = []
    try:
        with ProcessPoolExecutor(arguments.jobs) as pool:
            for outcome in pool.map(functools.partial(check_seed, folder=folder), seeds):
                outcomes.append(outcome)
                if outcome.kind != "passed":
                    print(f"seed {outcome.seed}: {outcome.kind}: {outcome.text.replace(f'{folder}/', '')}", flush=True)
                if len(outcomes) % _EVERY == 0:
                    print(f"{len(outcomes)} of {arguments.count}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    kinds = collections.Counter(each.kind for each in outcomes)
    print(f"seeds {seeds.start} to {seeds.stop - 1}: {kinds['passed']} passed, {kinds['wrong']} wrong, "
          f"{kinds['refused']} refused ({100 * kinds['refused'] / len(outcomes):.1f} %)")
    return int(bool(kinds["wrong"]) or kinds["refused"] > MOST_REFUSED * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
