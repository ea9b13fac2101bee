# amaranth: UnusedElaboratable=no
"""The warp scheduler against the reference policies, with one policy and with a strap."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from amaranth.hdl import ClockDomain, Module

from hdl.config import SmConfig
from hdl.frontend.scheduler import Scheduler
from hdl.presets import BASE
from tests.hdl.lib.simulate import bit_list, maybe, simulate
from tests.hdl.policies.policy_reference import ReferenceScheduler

CONFIGS = [
    BASE,
    replace(BASE, warps=1),
    replace(BASE, warps=3, policies=("gtlo", "lrr")),
    replace(BASE, warps=32),
    replace(BASE, policies=("lrr",)),
    replace(BASE, warps=8, policies=("gtlrr",)),
    replace(BASE, warps=8, policies=("gtlo",)),
]


def label(config: SmConfig) -> str:
    return f"{config.warps}-{'-'.join(config.policies)}"


@pytest.mark.parametrize("config", CONFIGS, ids=label)
def test_random(config):
    """All policies see what was selected, so that the strap may change; a reset puts ``last`` back to W-1."""
    seed = 10 * config.warps + len(config.policies)
    rng = random.Random(seed)
    dut = Scheduler(config)
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.dut = dut

    async def testbench(ctx):
        reference = ReferenceScheduler(config.warps)
        policy = 0
        for cycle in range(400):
            if maybe(rng, 0.05) and len(config.policies) > 1:
                policy = rng.randrange(len(config.policies))
                ctx.set(dut.policy, policy)
            reset = maybe(rng, 0.03)
            eligible = rng.getrandbits(config.warps) & (rng.getrandbits(config.warps) | rng.getrandbits(config.warps))
            ctx.set(dut.eligible, eligible)
            ctx.set(domain.rst, reset)
            expected = reference.pick(config.policies[policy], set(bit_list(eligible)))
            what = f"seed {seed}, cycle {cycle}, {config.policies[policy]}, last {reference.last}, E {eligible:#b}"
            assert ctx.get(dut.select) == (0 if expected is None else 1 << expected), what
            assert ctx.get(dut.select_valid) == (expected is not None), what
            if expected is not None:
                assert ctx.get(dut.select_warp) == expected, what
            await ctx.tick()
            reference.update(expected)
            if reset:
                reference = ReferenceScheduler(config.warps)

    simulate(m, testbench)


def test_strap_only_with_several_policies():
    assert "policy" in Scheduler(BASE).signature.members
    assert "policy" not in Scheduler(replace(BASE, policies=("gtlo",))).signature.members


def test_unknown_policy():
    with pytest.raises(ValueError, match=r"^policies must be among fixed, lrr, .*, icount, not 'random'$"):
        Scheduler(replace(BASE, policies=("lrr", "random")))
