"""Policies from a file on the hardware and as predicted: random programs.

``python -m tests.system.measure_policy_files --programs 200``

All policies of ``policies_of_users.py`` are in one machine. Each runs so many random programs, half of them SIMT
programs and half memory programs. Every unit in every cycle, every issue, all counters and memory are compared.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from metronome.hdl.config import SmConfig
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.machine.policies.files import load
from metronome.sim.run.runner import RunRequest, run
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import TINY
from tests.system.measure_prediction import HARDER
from tests.system.memory_programs import MemoryProgram
from tests.system.prediction import differences
from tests.system.rtl_programs import RawProgram

FILE = Path(__file__).with_name("policies_of_users.py")
NAMES = ("Highest", "Backwards", "FewestLanes", "MostFetched", "Alternate", "EveryCycle", "SkipWaiting", "Youngest",
         "Half", "Lazy")


def machine() -> SmConfig:
    """TINY with four warps and all policies of the file."""
    return replace(TINY, warps=4, policies=tuple(load(f"{FILE}:{name}") for name in NAMES))


def compared(config: SmConfig, policy: str, numbers: range, seed: int) -> Iterator[str]:
    """A line for each program on which hardware and prediction differ."""
    for number in numbers:
        rng = Random(f"{seed}/{policy}/{number}")
        kind = (RandomProgram, MemoryProgram)[number % 2]
        program = kind(rng, config, blocks=rng.randrange(3, 9)).program
        memory, latency, memory_seed = rng.choice(HARDER)
        request = RunRequest(
            launch=RawProgram(program.assemble()), policy=policy, memory=memory, latency=latency,
            memory_options=MemoryOptions(adversarial=memory_seed < 0), seed=max(memory_seed, 0), max_cycles=300_000,
            trace=True,
        )
        title = f"seed {seed}, {policy}, {kind.__name__} {number}, {memory} {latency} {memory_seed}"
        yield from (f"{title}: {line}" for line in differences(config, request, run(config, request))[:1])


def main(arguments: list[str]) -> int:
    """Compare; the status is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200, help="for each policy")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    config, wrong = machine(), 0
    for policy in config.policies:
        lines = list(compared(config, policy, range(given.programs), given.seed))
        print(f"{policy}: {given.programs} programs, {len(lines)} not as predicted", flush=True)
        for line in lines[:3]:
            print(f"  {line}", flush=True)
        wrong += len(lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
