"""PassedOver against the cycles in which each warp was eligible and selected."""

import random
from typing import Any

import pytest

from metronome.hdl.observe.starvation import PassedOver
from tests.hdl.lib.simulate import drive, simulated
from tests.support.tiers import some_slow

CYCLES = 8


@pytest.mark.parametrize("warps", some_slow([1, 4], 1))
@simulated(lambda warps: PassedOver(warps=warps, cycles=CYCLES))
async def test_against_the_history(ctx: Any, dut: PassedOver, warps):
    """Never before CYCLES cycles, always after 2 * CYCLES, and only while the warp has not been selected since."""
    rng = random.Random(warps)
    seen = {"early": 0, "late": 0, "over": 0}
    #: Per warp, the first cycle since its last selection in which it was eligible.
    since: list[int | None] = [None] * warps
    was = 0
    for cycle in range(6000):
        flags = ctx.get(dut.passed_over)
        for w, first in enumerate(since):
            what = f"seed {warps}, cycle {cycle}, warp {w}, passed over since {first}"
            waited = 0 if first is None else cycle - first
            flag = flags >> w & 1
            assert not flag or waited > CYCLES, what
            assert flag or waited <= 2 * CYCLES, what
            assert flag or not was >> w & 1 or first is None, f"{what}: the flag went without a selection"
            seen["early"] += bool(flag and waited < 2 * CYCLES)
            seen["late"] += flag
            seen["over"] += bool(not flag and was >> w & 1)
        was = flags
        eligible = sum((rng.random() < 0.2) << w for w in range(warps))
        choices = [w for w in range(warps) if eligible >> w & 1]
        select = 1 << rng.choice(choices) if choices and rng.random() < 0.2 else 0
        drive(ctx, dut, eligible=eligible, select=select)
        for w in range(warps):
            if select >> w & 1:
                since[w] = None
            elif eligible >> w & 1 and since[w] is None:
                since[w] = cycle
        await ctx.tick()
    assert min(seen.values()) > 20, seen


@pytest.mark.parametrize("cycles", [0, 1, 3, 1000])
def test_bad_cycles(cycles):
    with pytest.raises(ValueError, match=f"a power of two of at least 2, not {cycles}"):
        PassedOver(warps=2, cycles=cycles)
