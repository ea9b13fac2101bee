"""What the subcommands that run kernels take alike: the options of one run, and their limits."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import MAX_LATENCY, choose, positive, within

__all__ = [
    "CheckOption",
    "LatencyOption",
    "MaxCyclesOption",
    "MemoryOption",
    "SeedOption",
    "SizeOption",
    "check_run_options",
]

#: The testbench counts cycles in 64 bits, and needs room above the last one.
MAX_CYCLES = 2**62
MEMORIES, LATER_MEMORIES = ("fixed", "random"), ("dram", "tdm")
#: The SM has no FPU yet; the golden model executes the float32 kernels.
TYPES, LATER_TYPES = ("int32",), ("float32",)

SizeOption = Annotated[int | None, typer.Option("--size", metavar="N", help="The kernel's problem size.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="For the inputs and for random memory.")]
MemoryOption = Annotated[
    str, typer.Option("--memory", metavar="MODEL", help=f"The memory model: {' or '.join(MEMORIES)}.")
]
LatencyOption = Annotated[int, typer.Option("--latency", metavar="CYCLES", help="Memory latency.")]
MaxCyclesOption = Annotated[int, typer.Option("--max-cycles", metavar="N", help="Stop a run after this many cycles.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Compare with the golden model, every instruction.")]


def check_run_options(
    *, memory: str, dtype: str | None, size: int | None, seed: int, latency: int, max_cycles: int,
) -> None:
    """Refuse what this version does not have, names that no version has, and numbers out of range.

    Raises
    ------
    UsageError
        Naming the option and what it may be.
    """
    choose("--memory", memory, MEMORIES, LATER_MEMORIES)
    if dtype is not None:
        choose("--type", dtype, TYPES, LATER_TYPES)
    within("--latency", latency, 1, MAX_LATENCY)
    within("--max-cycles", max_cycles, 1, MAX_CYCLES)
    within("--seed", seed, 0)
    positive("--size", size)
