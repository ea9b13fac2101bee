"""Random plain programs: what a host compiler makes of them, and what the golden model does."""

import dataclasses
import random
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import BASE, MID, TINY
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program import divergence
from metronome.sim.program.compiler import elf_cache as toolchain
from metronome.sim.program.divergence import places
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from metronome.sim.run.runner import RunRequest, run
from tests.riscv_kernels.iss_runs import RESULTS, run_launch
from tests.riscv_kernels.plain_programs import WORDS, random_plain_program

__all__ = ["LEVELS", "MACHINES", "check_on_hardware", "check_program", "everything_divergent", "host_results",
           "values_in_memory"]

LEVELS = ("-O1", "-O2", "-Os")
MACHINES = (TINY, BASE, MID)
MEMORY_MAP = BASE.memory_map
#: No multiple of any machine's lanes. A machine runs two rounds and a part of a third, at most all.
THREADS = 70

_HOST = ("-shared", "-fPIC", "-DHOST", "-O1", "-w", "-ffp-contract=off", "-fsanitize=undefined",
         "-fno-sanitize-recover=all")
#: In a process of its own, since the sanitizer ends it.
_CALL = """
import ctypes, sys
library, threads, words, u = ctypes.CDLL(sys.argv[1]), *map(int, sys.argv[2:])
results = (ctypes.c_uint32 * (threads * words))()
for index in range(threads):
    library.one(ctypes.c_uint32(index), ctypes.c_uint32(u), ctypes.byref(results, 4 * words * index))
sys.stdout.buffer.write(bytes(results))
"""


def host_results(source: Path, u: int, threads: int = THREADS) -> np.ndarray:
    """What the host's compiler makes of it: uint32 (threads, words). Anything undefined is a CalledProcessError."""
    library = source.with_suffix(".so")
    subprocess.run([sys.executable, "-m", "ziglang", "cc", *_HOST, "-o", str(library), str(source)], check=True)
    arguments = [str(library), *map(str, (threads, WORDS, u))]
    done = subprocess.run([sys.executable, "-c", _CALL, *arguments], check=True, capture_output=True, timeout=60)
    return np.frombuffer(done.stdout, np.uint32).reshape(threads, WORDS)


def threads_on(config: SmConfig) -> int:
    """How many threads a program has on this machine."""
    return min(THREADS, 5 * config.warps * config.threads // 2 - 1)


def launch_of(source: Path, level: str, u: int) -> Launch:
    """The program built, with arguments but for the number of threads."""
    elf = toolchain.build_elf([source], name=source.stem, flags=(level, "-w", "-ffp-contract=off"))
    return Launch(
        name=source.stem, image=load_elf(elf, MEMORY_MAP), memory_map=MEMORY_MAP,
        arguments=struct.pack("<3I", RESULTS, 0, u),
    )


def check_program(
    seed: int, folder: Path, levels: Sequence[str] = LEVELS, machines: Sequence[SmConfig] = MACHINES
) -> list[str]:
    """A line for each build and machine on which the program of this seed does something else than on the host."""
    source, u = write_program(seed, folder)
    expected = host_results(source, u)
    lines = []
    for level in levels:
        launch = launch_of(source, level, u)
        lines += [f"seed {seed} {level} {line}" for config in machines for line in _wrong(launch, config, expected)]
    return lines


def with_threads(launch: Launch, threads: int) -> Launch:
    """The launch for so many threads."""
    results, _, u = struct.unpack("<3I", launch.arguments)
    return dataclasses.replace(launch, arguments=struct.pack("<3I", results, threads, u))


def write_program(seed: int, folder: Path) -> tuple[Path, int]:
    """The source of the program of this seed, and what it is given."""
    rng = random.Random(seed)
    source = folder / f"plain{seed}.c"
    source.write_text(random_plain_program(rng))
    return source, rng.getrandbits(6)


def level_by_turns(seed: int) -> str:
    """One level for each seed."""
    return LEVELS[seed % len(LEVELS)]


def check_on_hardware(seed: int, folder: Path, config: SmConfig) -> list[str]:
    """The program of this seed, at one of the levels, on the RTL in lock step: at most one line."""
    source, u = write_program(seed, folder)
    level = level_by_turns(seed)
    threads = threads_on(config)
    launch = with_threads(launch_of(source, level, u), threads)
    result = run(config, RunRequest(launch=launch, policy="lrr", check=True, max_cycles=5_000_000))
    what = f"seed {seed} {level} on the RTL"
    if result.status != "ended":
        return [f"{what}: {result.status} {result.fault or ''} {result.mismatches[:1] or ''}"]
    got = np.frombuffer(result.memory.read(RESULTS, 4 * WORDS * threads), np.uint32).reshape(threads, WORDS)
    wrong = np.argwhere(got != host_results(source, u, threads))
    return [f"{what}: thread, word: {wrong[:6].tolist()}"] if len(wrong) else []


def _wrong(launch: Launch, config: SmConfig, expected: np.ndarray) -> list[str]:
    """What is wrong on this machine: at most one line."""
    machine = f"{config.warps}x{config.threads}"
    threads = threads_on(config)
    run = run_launch(with_threads(launch, threads), config)
    if run.end.fault is not None:
        return [f"{machine}: {launch.image.source_line(run.end.fault.pc)}: {run.end.fault}"]
    if run.end.status is not EndStatus.ENDED:
        return [f"{machine}: {run.end}"]
    got = run.words(RESULTS, WORDS * threads).reshape(threads, WORDS)
    wrong = np.argwhere(got != expected[:threads])
    if len(wrong):
        return [f"{machine}: thread, word: {wrong[:6].tolist()}"]
    return [f"{machine}: a split was left without its join"] if run.iss.stack.pointer.any() else []


@contextmanager
def everything_divergent() -> Iterator[None]:
    """The pass takes every branch for divergent."""
    with _replaced(divergence, "insert_divergence", _with_everything):
        yield


def _with_everything(original):
    return lambda texts, **options: original(texts, everything=True, **options)


@contextmanager
def values_in_memory() -> Iterator[None]:
    """The pass finds no register for what it adds."""
    with _replaced(places, "FREE", lambda _: ()):
        yield


@contextmanager
def _replaced(module, name, make) -> Iterator[None]:
    original = getattr(module, name)
    setattr(module, name, make(original))
    try:
        yield
    finally:
        setattr(module, name, original)
