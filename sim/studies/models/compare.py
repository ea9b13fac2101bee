"""The timing models compared with the machine: the estimate of each for a kernel, and its error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metronome.hdl.config import LINE_BYTES

from .cpi import Case, cpi_cycles, holds
from .hong_kim import HongKim
from .mix import Mix
from .parameters import Parameters

__all__ = ["KernelEstimates", "estimates", "hong_kim_of", "roofline"]


@dataclass(frozen=True, kw_only=True)
class KernelEstimates:
    """A kernel: measured cycles of its region, each model's estimate, and whether the Fermi study's model applies."""

    kernel: str
    cycles: int
    mix: Mix
    estimates: Mapping[str, float]
    holds: bool

    def error(self, model: str) -> float:
        """(estimate - measured) / measured."""
        return self.estimates[model] / self.cycles - 1

    def as_json(self) -> dict[str, Any]:
        """The JSON, with the numbers of instructions by kind, summed over all warps."""
        kinds = sorted({step.kind for steps in self.mix.warps for step in steps})
        return {
            "kernel": self.kernel, "cycles": self.cycles, "warps": len(self.mix.warps),
            "instructions": {kind: self.mix.count(kind) for kind in kinds}, "dependent": self.mix.dependent,
            "lines": self.mix.lines, "misses": self.mix.misses, "holds": self.holds,
            "models": {name: {"cycles": cycles, "error": self.error(name)} for name, cycles in self.estimates.items()},
        }


def hong_kim_of(mix: Mix, parameters: Parameters, *, cached: bool) -> HongKim:
    """The paper's inputs. ``cached``: the memory latency is the mean over hits and misses; else that of a miss."""
    warps = max(1, len(mix.warps))
    lines = mix.lines / mix.global_loads if mix.global_loads else 1.0
    hits = mix.hits / mix.lines if mix.lines and cached else 0.0
    return HongKim(
        issue_cycles=parameters.issue, mem_ld=hits * parameters.hit + (1 - hits) * parameters.miss,
        # The lookup handles one line per cycle; misses arrive as fast as memory allows.
        departure_uncoal=hits * parameters.issue + (1 - hits) * parameters.line,
        departure_coal=hits * parameters.issue + (1 - hits) * parameters.line,
        bandwidth=parameters.bandwidth, total_insts=mix.instructions / warps, mem_insts=mix.global_loads / warps,
        lines_per_load=lines, load_bytes=max(1.0, lines * LINE_BYTES * (1 - hits)), warps=warps,
    )


def roofline(mix: Mix, parameters: Parameters) -> float:
    """The larger of issue time and memory time alone (Williams 2009)."""
    return max(mix.instructions * parameters.issue, (mix.misses + mix.written) * parameters.line)


def estimates(kernel: str, cycles: int, mix: Mix, parameters: Parameters) -> KernelEstimates:
    """Apply every model to one kernel."""
    average = cpi_cycles(mix, parameters, Case.AVERAGE)
    return KernelEstimates(kernel=kernel, cycles=cycles, mix=mix, holds=holds(mix, parameters, average), estimates={
        "cpi best": cpi_cycles(mix, parameters, Case.BEST), "cpi average": average,
        "cpi worst": cpi_cycles(mix, parameters, Case.WORST),
        "mwp-cwp": hong_kim_of(mix, parameters, cached=False).cycles,
        "mwp-cwp cached": hong_kim_of(mix, parameters, cached=True).cycles,
        "roofline": roofline(mix, parameters),
    })
