# amaranth: UnusedElaboratable=no
"""The warp scheduler against the reference policies, with one policy and with a strap."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import ClockDomain, Module, Value

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.scheduler import Scheduler
from metronome.hdl.policies import POLICIES
from metronome.hdl.presets import BASE
from metronome.sim.machine.policies.plain import POLICIES as REFERENCES
from metronome.sim.machine.policies.plain import PolicyInputs
from tests.hdl.lib.simulate import bit_list, maybe, simulate
from tests.hdl.policies.policy_reference import ReferenceScheduler
from tests.support.tiers import more_but, slow_then_more

CONFIGS = [
    BASE, replace(BASE, warps=1), replace(BASE, warps=3, policies=("gtlo", "lrr")), replace(BASE, warps=32),
    replace(BASE, policies=("lrr",)), replace(BASE, warps=8, policies=("gtlrr",)),
    replace(BASE, warps=8, policies=("gtlo",)),
]


def label(config: SmConfig) -> str:
    return f"{config.warps}-{'-'.join(config.policies)}"


@pytest.mark.parametrize("config", slow_then_more(CONFIGS, 2, 3), ids=label)
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


def random_inputs(rng: random.Random, config: SmConfig) -> PolicyInputs:
    def some() -> int:
        return rng.getrandbits(config.warps)

    return PolicyInputs(
        eligible=some() & (some() | some()), active=some() | some(), waiting=some() & some(),
        activated=some() & some() & some(), lanes=tuple(rng.randint(0, config.threads) for _ in range(config.warps)),
        fetched=tuple(rng.randint(0, config.buffer_depth) for _ in range(config.warps)),
        lost=some() if maybe(rng, 0.2) else 0,
        change=rng.randrange(7) << 24 | rng.randrange(8) << 16 | rng.choice([1, 2, 4, rng.randrange(45)])
        if config.policy_csr and maybe(rng, 0.3) else 0,
    )


def drive(ctx, dut: Scheduler, inputs: PolicyInputs) -> None:
    for field in ("eligible", "active", "waiting", "activated", "lost"):
        ctx.set(getattr(dut, field), getattr(inputs, field))
    if "change" in dut.signature.members:
        ctx.set(Value.cast(dut.change), inputs.change)
    for field in ("lanes", "fetched"):
        for w, value in enumerate(getattr(inputs, field)):
            ctx.set(getattr(dut, field)[w], value)


ALL = [
    (replace(BASE, warps=5, threads=2), tuple(POLICIES)),
    (replace(BASE, warps=8, threads=8), ("gtlrr", "gto", "icount", "prr")),
    (BASE, ("srr",)), (BASE, ("gto",)), (BASE, ("gto_dispatch",)), (BASE, ("pta",)), (replace(BASE, warps=1), ("prr",)),
    (replace(BASE, warps=8, group_warps=2, rates=(5, 0, 1, 2)), ("variable_rate", "two_level", "lrr")),
    (replace(BASE, rates=(2, 1, 3, 1)), ("variable_rate_strict",)),
    (replace(BASE, warps=3, locality_base=5, locality_throttle=40), ("ccws",)),
    (replace(BASE, policy_csr=True, rates=(2, 1, 3, 1), locality_base=5, locality_throttle=40),
     ("two_level", "variable_rate", "variable_rate_strict", "ccws", "lrr")),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "policies"), more_but(ALL, [ALL[0], ALL[-1]]),
    ids=lambda value: "-".join(value) if type(value) is tuple else "")
def test_every_policy_and_the_oracles(config, policies):
    """Every input reaches its policy; all follow what was selected; oracles see that state and change none of it."""
    seed = 1000 + config.warps + len(policies)
    rng = random.Random(seed)
    dut = Scheduler(config, policies=policies, oracles=2)
    m = Module()
    m.domains.sync = ClockDomain()
    m.submodules.dut = dut

    async def testbench(ctx):
        references = [REFERENCES[name].of(config) for name in policies]
        states = [reference.reset() for reference in references]
        chosen = idle = 0
        for cycle in range(400):
            if len(policies) > 1 and maybe(rng, 0.1):
                chosen = rng.randrange(len(policies))
                ctx.set(dut.policy, chosen)
            inputs = random_inputs(rng, config)
            drive(ctx, dut, inputs)
            others = [rng.getrandbits(config.warps) for _ in range(2)]
            for i, other in enumerate(others):
                ctx.set(dut.oracle_eligible[i], other)
            what = f"seed {seed}, cycle {cycle}, {policies[chosen]}, {states[chosen]}, {inputs}, oracles {others}"
            picks = [references[chosen].pick(states[chosen], replace(inputs, eligible=each))
                     for each in (inputs.eligible, *others)]
            found = [ctx.get(each) for each in (dut.select, dut.oracle_select[0], dut.oracle_select[1])]
            assert found == [0 if pick is None else 1 << pick for pick in picks], what
            assert ctx.get(dut.select_valid) == (picks[0] is not None), what
            if picks[0] is not None:
                assert ctx.get(dut.select_warp) == picks[0], what
            idle += bool(inputs.eligible) and picks[0] is None
            await ctx.tick()
            states = [reference.update(state, inputs, picks[0])
                      for reference, state in zip(references, states, strict=True)]
        assert (idle > 0) == (any(POLICIES[name].idles for name in policies) and config.warps > 1)

    simulate(m, testbench)


def test_policies_may_differ_from_the_configuration():
    """So that fetch and issue can have a scheduler each."""
    members = Scheduler(BASE, policies=("fixed",)).signature.members
    assert "policy" not in members
    assert not any(name.startswith("oracle") for name in members)


def test_strap_only_with_several_policies():
    assert "policy" in Scheduler(BASE).signature.members
    assert "policy" not in Scheduler(replace(BASE, policies=("gtlo",))).signature.members


def test_unknown_policy():
    with pytest.raises(ValueError, match=r"^policies must be among fixed, .*, ccws, not 'random'$"):
        Scheduler(replace(BASE, policies=("lrr", "random")))
