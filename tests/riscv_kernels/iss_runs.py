"""Running programs on the golden model, for the tests of the software side."""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.sim.machine.golden import EndStatus, Iss, IssEnd
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch, load_into

PROGRAMS = Path(__file__).parent / "programs"
RESULTS = 0x0002_0000
LIMIT = 20_000_000


@dataclass
class Run:
    """One finished run."""

    end: IssEnd
    memory: SparseMemory
    iss: Iss

    @property
    def exit_code(self) -> int:
        return self.word(0x88)

    def word(self, address: int) -> int:
        return int.from_bytes(self.memory.read(address, 4), "little")

    def words(self, address: int, count: int) -> np.ndarray:
        return np.frombuffer(self.memory.read(address, 4 * count), np.uint32)


def dirty_registers(iss: Iss, seed: int) -> None:
    """isa.md leaves the registers undefined at reset: no program may count on zeros."""
    rng = np.random.default_rng(seed)
    everything = (1 << iss.config.threads) - 1
    for warp in range(iss.config.warps):
        for register in range(1, 64):
            values = rng.integers(0, 1 << 32, iss.config.threads, np.uint32)
            iss.poke(warp, register, everything, values)


def run_launch(launch: Launch, config: SmConfig) -> Run:
    memory = SparseMemory(config.memory_map)
    load_into(launch, memory)
    iss = Iss(config, memory)
    iss.launch(launch.entry, launch.argument_address)
    dirty_registers(iss, seed=1)
    return Run(iss.run(LIMIT), memory, iss)


def finished(launch: Launch, config: SmConfig) -> Run:
    """A run that has to end by itself, with exit code 0."""
    run = run_launch(launch, config)
    where = launch.image.source_line(run.end.fault.pc) if run.end.fault else ""
    assert run.end.status is EndStatus.ENDED, f"{launch.name}: {run.end} {where}"
    assert run.exit_code == 0, f"{launch.name}: exit code {run.exit_code}"
    return run


def failures(launch: Launch, config: SmConfig, what: str) -> list[str]:
    """What is wrong after a run: a line each, with ``what`` it takes to run it again."""
    run = run_launch(launch, config)
    found = launch.check(run.memory)
    if run.end.status is not EndStatus.ENDED:
        found.append(f"{run.end} at {run.end.fault and launch.image.source_line(run.end.fault.pc)}")
    if run.exit_code:
        found.append(f"exit code {run.exit_code}")
    return [f"{what} {config.warps}x{config.threads}: {line}" for line in found]


def run_program(source: Path, config: SmConfig, arguments: tuple[int, ...] = (), flags: tuple[str, ...] = ()) -> Run:
    """Build one C file with the runtime and run it. Its argument block: the results' address, then ``arguments``."""
    image = load_elf(build_elf([source], name=source.stem, flags=flags), config.memory_map)
    launch = Launch(
        name=source.stem, image=image, memory_map=config.memory_map,
        arguments=struct.pack(f"<{1 + len(arguments)}I", RESULTS, *arguments),
    )
    run = run_launch(launch, config)
    if run.end.fault is not None:
        where = image.source_line(run.end.fault.pc)
        raise AssertionError(f"{source.name} faulted at {where}: {run.end.fault}")
    assert run.end.status is EndStatus.ENDED, f"{source.name}: {run.end}"
    return run
