"""The outcome of a run on a GPU: what differs from that of one SM."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect

from ...machine.gpu_settings import gpu_values
from ..outcome import Outcome

if TYPE_CHECKING:  # the command line imports this even if nothing is run
    from .types import GpuRunResult

__all__ = ["GpuParts"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuParts(Outcome):
    """A finished run on several SMs; ``config`` is that of SM 0, and ``result`` a GpuRunResult."""

    gpu: GpuConfig

    @property
    def sms(self) -> int:
        """Number of SMs."""
        return self.gpu.sms

    @property
    def _of_gpu(self) -> GpuRunResult:
        return cast("GpuRunResult", self.result)

    def fault(self) -> dict[str, Any] | None:
        """The reason that the machine stopped for, with the SM and the lanes (None: not known), or None."""
        fault = super().fault()
        return None if fault is None else {
            "sm": self._of_gpu.fault_sm, "lanes": self._of_gpu.fault_lanes, **fault}

    def hang(self) -> list[str] | None:
        """A line for each warp of each SM with the reason it waits; None unless the run was cut off."""
        if self.result.status not in ("hang", "deadlock"):
            return None
        return [
            f"SM {number}, {warp.describe(self.place(warp.pc))}"
            for number, warps in enumerate(self._of_gpu.sm_hang) for warp in warps
        ]

    def of_gpu(self) -> list[tuple[str, str]]:
        """The interconnect, the dispatch and the L2, and what the latter has counted."""
        gpu = self.gpu
        slots = f", slots of {gpu.slot_cycles}" if gpu.interconnect is Interconnect.TDM else ""
        rows = [("interconnect", f"{gpu.interconnect}{slots}")]
        if gpu.dispatch is not Dispatch.NONE:
            rows.append(("dispatch", gpu.dispatch.value))
        if gpu.l2_parts:
            rows.append(("L2", f"{gpu.l2}, {gpu.l2_bytes} bytes, {gpu.l2_ways} ways, {gpu.l2_requests} requests"))
        return rows + [(f"L2: {name}", str(count)) for name, count in (self._of_gpu.l2 or {}).items()]

    def as_json(self) -> dict[str, Any]:
        """The fields of a run on one SM; ``config`` has those of the GPU, ``sms`` the counters of each SM."""
        whole = super().as_json()
        whole["config"] |= gpu_values(self.gpu)
        return whole | {"sms": self._of_gpu.sm_counters, "l2": self._of_gpu.l2}
