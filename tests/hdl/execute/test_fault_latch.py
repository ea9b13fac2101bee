"""FaultLatch on its own."""

from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.execute.faults import FaultLatch
from tests.hdl.lib.simulate import drive, simulated


def _fault(cause: int, warp: int) -> dict[str, int]:
    return {"cause": cause, "warp": warp, "pc": 0x8000_0000 + 4 * cause, "address": cause * 3}


@pytest.mark.parametrize(("execute", "lsu", "kept"), [(2, None, 2), (None, 5, 5), (3, 7, 7)])
@simulated(lambda: FaultLatch(SmConfig(warps=4, threads=1)))
async def test_fault_latch_keeps_the_first(ctx: Any, dut: FaultLatch, execute, lsu, kept):
    """Of two in one cycle the LSU's; later ones change nothing."""
    assert not ctx.get(dut.valid)
    for port, cause in (("execute", execute), ("lsu", lsu)):
        ctx.set(getattr(dut, f"{port}_valid"), cause is not None)
        ctx.set(getattr(dut, port), _fault(cause or 31, 1))
    await ctx.tick()
    for cause in (11, 26):
        assert ctx.get(dut.valid)
        fault = ctx.get(dut.fault)
        assert {name: fault[name] for name in ("cause", "warp", "pc", "address")} == _fault(kept, 1)
        drive(ctx, dut, execute_valid=1, lsu_valid=1, execute=_fault(cause, 2), lsu=_fault(cause, 3))
        await ctx.tick()
