"""The bytes that go to and from the dispatch unit of a GPU whose run is predicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.gpu.config import BLOCK_BITS, Dispatch, GpuConfig

from ...machine.engines import CannotPredictError
from ...machine.events import NONE
from ..model.dispatch import DYNAMIC, NO_DISPATCH, STATIC
from .sm_run import GpuSmRun

__all__ = ["DispatchUnit", "dispatch_settings"]

_WORD = BLOCK_BITS // 8
_KINDS = {Dispatch.NONE: NO_DISPATCH, Dispatch.STATIC: STATIC, Dispatch.DYNAMIC: DYNAMIC}


def dispatch_settings(gpu: GpuConfig) -> dict[str, int]:
    """Return the parameters of the unit, by their names in the model."""
    if gpu.dispatch is Dispatch.NONE:
        return {"kind": NO_DISPATCH}
    return {"kind": _KINDS[gpu.dispatch], "line": gpu.dispatch_address // LINE_BYTES}


class DispatchUnit:
    """Gives the SMs the lines with their blocks, as memory does, and the unit the size of each grid.

    ``unit``, ``ports``: the state of :mod:`..model.dispatch`.
    """

    def __init__(self, gpu: GpuConfig, sms: Sequence[GpuSmRun], unit: np.void, ports: np.ndarray) -> None:
        self._sms, self._unit, self._ports = sms, unit, ports
        self._of_lanes = 1 << gpu.sm.mem_tag_bits - 1

    def move(self) -> None:
        """Follow what has moved in the cycle that has ended.

        Raises
        ------
        CannotPredictError
            If an SM fetches instructions from the line of the unit.
        """
        unit = self._unit
        if not unit["kind"]:
            return
        for sm, port in zip(self._sms, self._ports[:, 0], strict=True):
            if port["taken"]:
                if not port["tag"] & self._of_lanes:
                    raise CannotPredictError(
                        f"SM {sm.config.core_id} fetches instructions from {int(unit['line']) * LINE_BYTES:#x}: the "
                        "dispatch unit answers with the number of a block, which is no instruction"
                    )
                sm.arrive(int(port["tag"]), int(port["number"]).to_bytes(_WORD, "little") * (LINE_BYTES // _WORD))
        if unit["launches"] != NONE:
            stored = self._sms[int(unit["launches"])].stored(int(unit["entry"]))
            unit["blocks"] = int.from_bytes(stored[:_WORD], "little")
