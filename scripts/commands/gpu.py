"""``metronome run`` on a GPU of several SMs: refusals, and the outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from metronome.hdl.config import MemoryMap
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.sim.machine.memory.names import SEPARATING_MODELS
from metronome.sim.run.gpu.outcome import GpuParts

from ..process.errors import UsageError
from .result import Outcome

if TYPE_CHECKING:
    from metronome.sim.program.kernels import Launch

__all__ = ["NOTE", "GpuOutcome", "of_program", "refuse_with_sms", "separation_note"]

#: The beginning of a line that is a note.
NOTE = "metronome: note: "
#: A function of programs that are compiled for several SMs (riscv_kernels/runtime/runtime.c).
_FOR_SEVERAL = "__sm_main"


@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuOutcome(GpuParts, Outcome):
    """A finished run on several SMs with its request and its exit status."""


def refuse_with_sms(gpu: GpuConfig, asked: Mapping[str, bool]) -> None:
    """Raise UsageError for an option that only one SM has; ``asked``: whether each of these is given."""
    for option, given in asked.items():
        if given:
            raise UsageError(f"{option} is for one SM: leave it out with {gpu.sms} SMs")


def separation_note(gpu: GpuConfig, memory: str) -> str | None:
    """Return a note that SMs are not separated, if their slots ask for it and something else does not keep it."""
    if gpu.interconnect is not Interconnect.TDM:
        return None
    if gpu.dispatch is Dispatch.DYNAMIC:
        what, instead = "--dispatch dynamic", "--dispatch static or none"
    elif gpu.l2 is L2Kind.SHARED:
        what, instead = "--l2 shared", "--l2 divided or none"
    elif memory not in SEPARATING_MODELS:
        what, instead = f"--memory {memory}", f"--memory {' or '.join(SEPARATING_MODELS)}"
    else:
        return None
    return f"{NOTE}{what} does not separate the SMs: with tdm, use {instead} (docs/gpu.md)\n"


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
