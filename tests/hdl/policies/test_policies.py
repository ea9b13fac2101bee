"""Every policy's pick and state update against policies.md."""

from __future__ import annotations

import itertools
import random

import pytest
from amaranth.hdl import Module, Signal

from hdl.policies import POLICIES
from tests.hdl.lib.simulate import bit_list, evaluate, maybe, simulate, some_bit
from tests.hdl.policies.policy_reference import REFERENCE


def test_registry():
    assert set(POLICIES) == set(REFERENCE)
    assert all(policy.name == name for name, policy in POLICIES.items())


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("warps", [1, 2, 3, 4, 8, 32])
def test_pick(name, warps):
    """Every state and every eligible set up to 4 warps, random ones beyond."""
    policy = POLICIES[name](warps=warps)
    m = Module()
    state, eligible, pick = Signal(policy.state_layout()), Signal(warps), Signal(warps)
    m.d.comb += pick.eq(policy.pick(state, eligible))
    rng = random.Random(warps)
    if warps <= 4:
        cases = list(itertools.product(range(warps), range(1 << warps)))
    else:
        cases = [(rng.randrange(warps), rng.getrandbits(warps) & rng.getrandbits(warps) | some_bit(rng, warps))
                 for _ in range(400)] + [(last, 0) for last in range(warps)]

    async def testbench(ctx):
        for last, mask in cases:
            ctx.set(state.last, 1 << last)
            ctx.set(eligible, mask)
            expected = REFERENCE[name](last, set(bit_list(mask)), warps)
            assert ctx.get(pick) == (0 if expected is None else 1 << expected), f"last {last}, eligible {mask:#b}"

    evaluate(m, testbench)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_state(name, warps):
    """``last`` starts as W-1, follows what was selected, and stays where nothing was."""
    policy = POLICIES[name](warps=warps)
    m = Module()
    state = Signal(policy.state_layout(), init=policy.state_reset())
    selected = Signal(warps)
    policy.update(m, state, selected=selected)
    rng = random.Random(warps)

    async def testbench(ctx):
        last = 1 << (warps - 1)
        for _ in range(100):
            assert ctx.get(state.last) == last
            choice = some_bit(rng, warps) if maybe(rng, 0.7) else 0
            ctx.set(selected, choice)
            await ctx.tick()
            last = choice or last

    simulate(m, testbench)
