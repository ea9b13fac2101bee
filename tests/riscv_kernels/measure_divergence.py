"""Random programs in ordinary C on the golden model, against a host compiler with a sanitizer.

``python -m tests.riscv_kernels.measure_divergence 1 3000`` takes the seeds 1 to 3000, on all cores: each program at
-O1, -O2 and -Os on TINY, BASE and MID. ``--everything`` takes every branch for divergent, ``--memory`` leaves the pass
no register, ``--by-turns`` one of the levels for each program. ``--hardware`` runs each at one of the levels on the
RTL in lock step, on TINY and BASE by turns. A line for each that is wrong; the exit status is 1 if there is one.
``--time`` measures how long the pass takes instead.
"""

import argparse
import contextlib
import itertools
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from metronome.hdl.presets import BASE, TINY
from metronome.sim.program import divergence
from tests.riscv_kernels import plain_runs


def _check_on_hardware(seed: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return plain_runs.check_on_hardware(seed, Path(folder), (TINY, BASE)[seed % 2])


def _check(task: tuple[int, bool, bool, bool]) -> list[str]:
    seed, everything, memory, by_turns = task
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as modes:
        if everything:
            modes.enter_context(plain_runs.everything_divergent())
        if memory:
            modes.enter_context(plain_runs.values_in_memory())
        try:
            levels = [plain_runs.level_by_turns(seed)] if by_turns else plain_runs.LEVELS
            return plain_runs.check_program(seed, Path(folder), levels)
        except Exception:
            return [f"seed {seed}: {traceback.format_exc()}"]
        finally:
            _forget_programs()


def measure_time(seeds: range) -> None:
    """Print the CPU time of the pass for each program and level, and the lines of assembly it has: code and labels."""
    original, slowest = divergence.insert_divergence, 0.0

    def timed(texts: Sequence[str], **options: Any) -> list[str]:
        nonlocal slowest
        lines = [line.strip() for text in texts for line in text.split("\n")]
        code = sum(bool(line) and (not line.startswith((".", "#")) or line.endswith(":")) for line in lines)
        begin = time.process_time()
        after = original(texts, **options)
        seconds = time.process_time() - begin
        slowest = max(slowest, 2000 * seconds / code)
        print(f"seed {seed} {level}: {code} lines, {seconds:.2f} s", flush=True)
        return after

    with tempfile.TemporaryDirectory() as folder:
        os.environ["METRONOME_CACHE"] = folder
        divergence.insert_divergence = timed
        for seed, level in itertools.product(seeds, plain_runs.LEVELS):
            plain_runs.launch_of(plain_runs.write_program(seed, Path(folder))[0], level, 0)
    print(f"at most {slowest:.2f} s for 2000 lines")


def _begin(folder: str) -> None:
    """Each worker has a cache of its own."""
    os.environ["METRONOME_CACHE"] = f"{folder}/{os.getpid()}"


def _forget_programs() -> None:
    """Keep the C library in the cache, not the programs."""
    for built in Path(os.environ["METRONOME_CACHE"], "kernels").glob("*"):
        if not (built / "library.a").exists():
            shutil.rmtree(built)


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--everything", action="store_true", help="take every branch for divergent")
    parser.add_argument("--memory", action="store_true", help="what the pass adds lies in memory")
    parser.add_argument("--by-turns", action="store_true", help="each at one of the levels")
    parser.add_argument("--hardware", action="store_true", help="on the RTL in lock step")
    parser.add_argument("--time", action="store_true", help="how long the pass takes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    seeds = range(options.first, options.last + 1)
    if options.time:
        measure_time(seeds)
        return 0
    tasks: list[Any] = [(seed, options.everything, options.memory, options.by_turns) for seed in seeds]
    check: Callable[[Any], list[str]] = _check
    if options.hardware:
        check, tasks = _check_on_hardware, list(seeds)
        for seed in seeds[:2]:  # builds both machines, once for all
            check(seed)
    begin, wrong = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        start = (None, ()) if options.hardware else (_begin, (folder,))
        pool = stack.enter_context(multiprocessing.Pool(options.jobs, *start))
        for done, lines in enumerate(pool.imap(check, tasks), 1):
            for line in lines:
                print(line, flush=True)
            wrong += bool(lines)
            if done % 100 == 0:
                print(f"{done} of {len(tasks)}, {wrong} wrong, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{len(tasks)} programs, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
