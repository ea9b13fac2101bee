"""What the subcommands that run kernels take alike: the options of one run, and their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from metronome.sim.machine.engines import Engine
from metronome.sim.machine.limits import MAX_CYCLES, MAX_SEED
from metronome.sim.machine.memory.names import MEMORY_MODELS

from ..process.errors import UsageError
from .common import choose, positive, within

if TYPE_CHECKING:
    from metronome.sim.machine.memory.registry import MemoryOptions

__all__ = [
    "BankHashOption",
    "CheckOption",
    "EngineOption",
    "ForecastOption",
    "LatencyOption",
    "MaxCyclesOption",
    "MemcheckOption",
    "MemoryClockOption",
    "MemoryOption",
    "OptionalMemoryOption",
    "SeedOption",
    "SizeOption",
    "StrictRacesOption",
    "TimingOption",
    "TypeOption",
    "check_run_options",
    "engine_of",
    "memory_latency",
    "memory_options",
]

TYPES = ("int32", "float32")

TypeOption = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="int32 or float32; default: the kernel's first one.")
]
SizeOption = Annotated[int | None, typer.Option("--size", metavar="N", help="The kernel's problem size.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="For the inputs and for random memory.")]
MemoryOption = Annotated[
    str, typer.Option("--memory", metavar="MODEL", help=f"The memory model: {', '.join(MEMORY_MODELS)}.")
]
OptionalMemoryOption = Annotated[
    str | None, typer.Option("--memory", metavar="MODEL", help=f"The memory model: {', '.join(MEMORY_MODELS)}.")
]
LatencyOption = Annotated[
    int | None,
    typer.Option("--latency", metavar="CYCLES", help="Latency of fixed memory, at most of random memory; default 20."),
]
TimingOption = Annotated[
    str | None, typer.Option("--timing", metavar="NAME", help="DRAM timing of dram and tdm (docs/memory.md).")
]
MemoryClockOption = Annotated[
    str | None,
    typer.Option("--memory-clock", metavar="RATIO", help="Memory clocks a cycle, for dram and tdm: 1, 2, 3/2."),
]
BankHashOption = Annotated[
    str | None,
    typer.Option("--bank-hash", metavar="NAME", help="How dram and tdm spread rows over banks: xor (default), none."),
]
MaxCyclesOption = Annotated[int, typer.Option("--max-cycles", metavar="N", help="Stop a run after this many cycles.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Compare with the golden model, every instruction.")]

EngineOption = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="rtl (default), or predict: computed (docs/predict.md); swas only."),
]
ForecastOption = Annotated[
    bool, typer.Option("--forecast", help="Beside each run what is known of it before (docs/predict.md).")
]
MemcheckOption = Annotated[
    bool | None,
    typer.Option("--memcheck/--no-memcheck", help="Watch every access to memory (docs/memcheck.md); on with --check."),
]
StrictRacesOption = Annotated[
    bool,
    typer.Option("--strict-races", help="Warps that store the same value to a word fail, too: else that is a note."),
]


def check_run_options(
    *, memory: str, dtype: str | None, size: int | None, seed: int, max_cycles: int,
) -> tuple[str, str | None]:
    """The memory model and the type, their names as they are spelt; numbers out of range are refused.

    Raises
    ------
    UsageError
        Naming the option and what it may be.
    """
    within("--max-cycles", max_cycles, 1, MAX_CYCLES)
    within("--seed", seed, 0, MAX_SEED)
    positive("--size", size)
    return choose("--memory", memory, MEMORY_MODELS), None if dtype is None else choose("--type", dtype, TYPES)


def engine_of(name: str | None) -> Engine:
    """The engine of ``--engine``; by default the hardware. Raises UsageError for an unknown one."""
    return Engine.RTL if name is None else Engine(choose("--engine", name, list(Engine)))


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def memory_latency(memory: str, latency: int | None) -> int:
    """The latency in cycles, or the usual one; dram and tdm, which have no such number, do not look at it.

    Raises
    ------
    UsageError
        For a latency out of range, or given for a memory that has its own.
    """
    from metronome.sim.machine.memory.options import memory_latency as checked
    from metronome.sim.machine.settings import ConfigError

    try:
        return checked(memory, latency, _option)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def memory_options(
    memory: str, timing: str | None = None, clock: str | None = None, bank_hash: str | None = None,
) -> MemoryOptions:
    """See :func:`sim.machine.memory.options.memory_options`; what is wrong is a UsageError."""
    from metronome.sim.machine.memory.options import memory_options as made
    from metronome.sim.machine.settings import ConfigError

    try:
        return made(
            memory, timing=timing, memory_clock=clock, bank_hash=bank_hash,
            label=_option,
        )
    except ConfigError as error:
        raise UsageError(str(error)) from None
