"""What ``metronome run`` does otherwise on a GPU of several SMs: refusals, and the outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metronome.hdl.config import MemoryMap
from metronome.hdl.gpu.config import GpuConfig
from metronome.sim.run.gpu.outcome import GpuParts

from ..process.errors import UsageError
from .result import Outcome

if TYPE_CHECKING:
    from metronome.sim.program.kernels import Launch

    from .asking import RunOptions

__all__ = ["GpuOutcome", "of_program", "refuse_with_sms"]

#: A function of programs that are compiled for several SMs (riscv_kernels/runtime/runtime.c).
_FOR_SEVERAL = "__sm_main"


@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuOutcome(GpuParts, Outcome):
    """A finished run on several SMs with its request and its exit status."""


def refuse_with_sms(options: RunOptions, gpu: GpuConfig, outputs: Sequence[str]) -> None:
    """Raise UsageError for what only one SM has; ``outputs``: the options of traces."""
    watch, shown = options.watch, options.shown
    asked = {
        **dict.fromkeys(outputs, True), "--memcheck": bool(watch.memcheck), "--strict-races": watch.strict_races,
        "--per-warp": shown.per_warp, "--profile": shown.profile,
    }
    for option, given in asked.items():
        if given:
            raise UsageError(f"{option} is for one SM: leave it out with {gpu.sms} SMs")


def of_program(gpu: GpuConfig, launch: Launch, memory_map: MemoryMap) -> GpuConfig:
    """Return the GPU with the program's memory.

    Raises
    ------
    UsageError
        For a program with our runtime that was built for one SM: each SM would run all of it.
    """
    from metronome.sim.program.kernels import RUNTIME_SYMBOL

    if RUNTIME_SYMBOL in launch.image.symbols and _FOR_SEVERAL not in launch.image.symbols:
        raise UsageError(f"{launch.name} was built for one SM: name its source, which is then compiled for {gpu.sms}")
    return replace(gpu, sm=replace(gpu.sm, memory_map=memory_map))
