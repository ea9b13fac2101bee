"""Options of one run and their limits, shared by the subcommands that run kernels."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.sim.machine.engines import Engine
from metronome.sim.machine.limits import MAX_CYCLES, MAX_SEED
from metronome.sim.machine.memory.names import DRAM_MODELS, MEMORY_MODELS
from metronome.sim.program.kernel_names import C_TYPES

from ..process.errors import UsageError
from .common import choose, positive, within

if TYPE_CHECKING:
    from metronome.sim.machine.memory import registry

__all__ = ["CheckOption", "EngineOption", "InputOptions", "LatencyOption",
           "MaxCyclesOption", "MemoryOptions", "SeedOption", "SizeOption", "TypeOption", "check_run_options",
           "engine_of", "memory_latency", "memory_options", "size_and_seed", "type_of"]


TypeOption = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help=f"{' or '.join(C_TYPES)}; default: the kernel's first one.")
]
SizeOption = Annotated[int | None, typer.Option("--size", metavar="N", help="The kernel's problem size.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="The seed of the inputs and of random memory.")]
LatencyOption = Annotated[
    int | None,
    typer.Option(
        "--latency", metavar="CYCLES", help="Latency of fixed memory, and the maximum of random memory; default 20.",
    ),
]
MaxCyclesOption = Annotated[int, typer.Option("--max-cycles", metavar="N", help="Stop a run after this many cycles.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Compare every instruction with the golden model.")]

EngineOption = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="rtl (default), or predict: computed (docs/predict.md); swas only."),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Selection of a kernel's inputs."""

    dtype: TypeOption = None
    size: SizeOption = None
    seed: SeedOption = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """The memory outside the SM."""

    memory: Annotated[
        str, typer.Option("--memory", metavar="MODEL", help=f"The memory model: {', '.join(MEMORY_MODELS)}.")
    ] = "fixed"
    latency: LatencyOption = None
    timing: Annotated[
        str | None,
        typer.Option("--timing", metavar="NAME", help=f"DRAM timing of {' and '.join(DRAM_MODELS)} (docs/memory.md)."),
    ] = None
    memory_clock: Annotated[
        str | None,
        typer.Option("--memory-clock", metavar="RATIO", help="Memory clocks a cycle, for dram and tdm: 1, 2, 3/2."),
    ] = None
    bank_hash: Annotated[
        str | None,
        typer.Option(
            "--bank-hash", metavar="NAME", help="How dram and tdm map rows to banks: xor (default), none.",
        ),
    ] = None


def check_run_options(inputs: InputOptions, memory: MemoryOptions, max_cycles: int) -> tuple[str, str | None]:
    """Return the memory model and the type with their official spelling; refuse numbers out of range.

    Raises
    ------
    UsageError
        With the option and its valid values.
    """
    within("--max-cycles", max_cycles, 1, MAX_CYCLES)
    size_and_seed(inputs.size, inputs.seed)
    return choose("--memory", memory.memory, MEMORY_MODELS), type_of(inputs.dtype)


def size_and_seed(size: int | None, seed: int) -> None:
    """Refuse a size or seed out of range."""
    within("--seed", seed, 0, MAX_SEED)
    positive("--size", size)


def type_of(name: str | None) -> str | None:
    """Return the type of ``--type``; None is the kernel's own. Raises UsageError for an unknown one."""
    return None if name is None else choose("--type", name, tuple(C_TYPES))


def engine_of(name: str | None) -> Engine:
    """Return the engine of ``--engine``; by default the hardware. Raises UsageError for an unknown one."""
    return Engine.RTL if name is None else Engine(choose("--engine", name, list(Engine)))


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def memory_latency(memory: str, latency: int | None) -> int:
    """Return the latency in cycles, or the default; dram and tdm have no such number and ignore it.

    Raises
    ------
    UsageError
        For a latency out of range, or one given for a memory that has its own.
    """
    from metronome.sim.machine.memory.options import memory_latency as checked
    from metronome.sim.machine.settings import ConfigError

    try:
        return checked(memory, latency, _option)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def memory_options(memory: str, asked: MemoryOptions) -> registry.MemoryOptions:
    """See :func:`sim.machine.memory.options.memory_options`; an error becomes a UsageError."""
    from metronome.sim.machine.memory.options import memory_options as made
    from metronome.sim.machine.settings import ConfigError

    try:
        return made(
            memory, timing=asked.timing, memory_clock=asked.memory_clock, bank_hash=asked.bank_hash, label=_option,
        )
    except ConfigError as error:
        raise UsageError(str(error)) from None
