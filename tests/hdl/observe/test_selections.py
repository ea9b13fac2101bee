"""The observer's assertions on what the policies select, for issue and for fetch."""

from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.probe import ASSERTIONS
from metronome.hdl.observe.observer import Observer
from tests.hdl.lib.simulate import Simulation

SEVERAL, NOT_ELIGIBLE = (1 << next(bit for bit, text in enumerate(ASSERTIONS) if part in text)
                         for part in ("more than one warp", "not eligible"))
#: Eligible warps, selected warps, whether any is selected, and the assertions that this raises.
CYCLES = [(0b111, 0b010, 1, 0), (0b101, 0, 0, 0), (0b111, 0b011, 1, SEVERAL), (0b101, 0b010, 1, NOT_ELIGIBLE),
          (0b001, 0b011, 1, SEVERAL | NOT_ELIGIBLE), (0b101, 0, 1, NOT_ELIGIBLE)]
STAGES = {"issue": ("eligible", "select", "select_valid"), "fetch": ("fetch_eligible", "fetch", "fetch_valid")}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_what_a_policy_may_not_select(stage):
    dut = Observer(SmConfig(warps=3, threads=1, probe=False, all_counters=False))
    simulation = Simulation(dut)
    for *values, raised in CYCLES:

        async def testbench(ctx: Any, values=values, raised=raised) -> None:
            ctx.set(dut.control.active, 0b111)
            for field, value in zip(stage, values, strict=True):
                ctx.set(dut.front[field], value)
            await ctx.tick()
            assert ctx.get(dut.assertions) & (SEVERAL | NOT_ELIGIBLE) == raised

        simulation.run(testbench)
