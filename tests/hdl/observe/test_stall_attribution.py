"""StallAttribution and Sticky on their own."""

import random
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.observe.counters import StallAttribution
from metronome.hdl.observe.watch import Sticky
from tests.hdl.lib.simulate import simulated

#: The masks that decide, by the record that has them.
RECORDS = {"active": "control", "waiting": "control", "fetch_waits": "front", "buffer_empty": "front",
           "unresolved": "front", "head_nop": "front"}


def _warp_reason(state: dict[str, int], head: int) -> StallReason:
    """A warp that waits is waiting whatever else; a NOP at the head is always ready."""
    if not state["active"]:
        return StallReason.NONE
    if state["waiting"]:
        return StallReason.BARRIER
    if state["unresolved"]:
        return StallReason.CONTROL
    if state["fetch_waits"]:
        return StallReason.ICACHE
    if state["buffer_empty"]:
        return StallReason.BUFFER
    return StallReason.NONE if state["head_nop"] else StallReason(head)


@pytest.mark.parametrize("warps", [1, 3, 4])
@simulated(lambda warps: StallAttribution(SmConfig(warps=warps, threads=1)))
async def test_attribution(ctx: Any, dut: StallAttribution, warps):
    """Every warp's reason, and the lowest number among them as the SM's."""
    rng = random.Random(warps)
    seen = set()
    for number in range(400):
        states = [{name: int(rng.random() < (0.7 if name == "active" else 0.25)) for name in RECORDS}
                  for _ in range(warps)]
        heads = [rng.randrange(6) for _ in range(warps)]
        halt, selected = rng.random() < 0.05, rng.random() < 0.2
        eligible = rng.randrange(1, 1 << warps) if rng.random() < 0.2 else 0
        for name, record in RECORDS.items():
            ctx.set(getattr(dut, record)[name], sum(state[name] << w for w, state in enumerate(states)))
        ctx.set(dut.issue.head_reason, heads)
        ctx.set(dut.front.eligible, eligible)
        ctx.set(dut.halt, halt)
        ctx.set(dut.front.select_valid, selected)
        reasons = [_warp_reason(state, head) for state, head in zip(states, heads, strict=True)]
        expected = min((r for r in reasons if r is not StallReason.NONE), default=StallReason.IDLE)
        expected = StallReason.POLICY if eligible else expected
        expected = StallReason.NONE if selected else StallReason.IDLE if halt else expected
        seen.add(expected)
        assert [ctx.get(dut.reason[w]) for w in range(warps)] == reasons, f"seed {warps}, case {number}: {states}"
        assert ctx.get(dut.stall) == expected, f"seed {warps}, case {number}: {states} {heads}"
        await ctx.delay(1e-6)
    assert seen == set(StallReason)


@simulated(lambda: Sticky(width=6))
async def test_sticky(ctx: Any, dut: Sticky):
    rng = random.Random(1)
    expected = 0
    for _ in range(100):
        bits = 1 << rng.randrange(6) if rng.random() < 0.2 else 0
        ctx.set(dut.bits, bits)
        assert ctx.get(dut.seen) == expected
        expected |= bits
        await ctx.tick()
    assert expected == 0b111111
