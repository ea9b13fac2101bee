"""Policies whose parameters a program changes (CSR mpolicy), against their references: in every state and on long runs.

A change is a word as docs/policies.md ("Changing them") has it: parameter, slot and value, good ones and bad ones.
"""

import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Value

from metronome.hdl.isa.csrs import PolicyParameter
from metronome.sim.machine.policies.plain import PolicyInputs
from tests.hdl.lib.simulate import maybe, simulate, simulated
from tests.hdl.policies.test_policies import Bench, all_inputs, locality_state, random_inputs
from tests.support.tiers import some_more

#: The parameters of each policy.
PARAMETERS = {
    "two_level": (PolicyParameter.GROUP_WARPS,),
    "ccws": (PolicyParameter.LOCALITY_BASE, PolicyParameter.LOCALITY_THROTTLE),
    "variable_rate": (PolicyParameter.SLOT, PolicyParameter.FRAME),
    "variable_rate_strict": (PolicyParameter.SLOT, PolicyParameter.FRAME),
}


def change(parameter: int, value: int, slot: int = 0) -> int:
    """The word of mpolicy."""
    return parameter << 24 | slot << 16 | value


def some_change(rng: random.Random, name: str, reference: Any) -> int:
    """Most are of the policy and near its limits; some are of another policy, or of none."""
    warps, slots = reference.warps, len(getattr(reference, "frame", ()))
    parameter = rng.choice(PARAMETERS[name]) if maybe(rng, 0.8) else rng.choice([0, 1, 2, 3, 4, 5, 6, 17, 255])
    greatest = {
        PolicyParameter.GROUP_WARPS: warps, PolicyParameter.LOCALITY_BASE: getattr(reference, "base", 1),
        PolicyParameter.LOCALITY_THROTTLE: getattr(reference, "throttle", 1), PolicyParameter.SLOT: warps - 1,
        PolicyParameter.FRAME: slots,
    }
    most = greatest.get(parameter, 9)
    value = rng.choice([rng.randint(0, most), rng.randint(0, most), most, most + 1, 0, most | 1 << 15, 0xFFFF])
    return change(parameter, value, rng.choice([rng.randrange(max(1, slots)), slots & 255, 255]))


def any_state(rng: random.Random, name: str, reference: Any) -> Any:
    """Any state that there can be, with any parameters."""
    warps, state = reference.warps, reference.reset()
    if name == "ccws":
        return locality_state(rng, reference)
    if name == "two_level":
        first = reference.first(rng.choice(reference.sizes))
        groups = range(len(first.lasts))
        lasts = tuple(g * first.size + rng.randrange(first.size) for g in groups)
        return replace(first, group=rng.choice(groups), lasts=lasts)
    slots = len(reference.frame)
    drawn = {
        "slot": rng.randrange(slots), "owners": tuple(rng.randrange(warps) for _ in range(slots)),
        "length": rng.randint(1, slots),
    }
    return replace(state, **drawn, **({"last": rng.randrange(warps)} if name == "variable_rate" else {}))


CASES = [
    *(("two_level", warps, {}) for warps in (1, 2, 3, 4, 6, 8)),
    *((name, len(rates), {"rates": rates}) for name in ("variable_rate", "variable_rate_strict")
      for rates in ((1,), (3,), (3, 1), (2, 1, 3), (5, 3, 1, 2))),
    ("ccws", 1, {"base": 3, "throttle": 2, "total_bits": 3}), ("ccws", 2, {"base": 7, "throttle": 2, "total_bits": 5}),
    ("ccws", 3, {"base": 5, "throttle": 3, "total_bits": 4}), ("ccws", 4, {"base": 2, "throttle": 8, "total_bits": 2}),
]
#: Of each policy one of few warps and one of more.
TESTED = [CASES[number] for number in (3, 4, 9, 13, 17, 18)]
LARGE = [
    ("two_level", 32, {}), ("two_level", 64, {"group_warps": 16}), ("variable_rate", 32, {}),
    ("variable_rate", 64, {"rates": (193, 1)}), ("variable_rate_strict", 32, {"rates": (9, 1, 5, 2)}),
    ("ccws", 8, {"base": 100, "throttle": 8}), ("ccws", 32, {"base": 1000, "throttle": 64}),
]


def label(case: tuple) -> str:
    name, warps, given = case
    values = ("+".join(map(str, value)) if isinstance(value, tuple) else str(value) for value in given.values())
    return "-".join([name, str(warps), *values])


@pytest.mark.slow
@pytest.mark.parametrize("case", [
    pytest.param(case, marks=[pytest.mark.more if case in CASES else pytest.mark.long] * (case not in TESTED))
    for case in (*CASES, *LARGE)
], ids=label)
def test_some_states(case):
    """One cycle each from states drawn anywhere, with a change in every second one; and short runs behind it."""
    name, warps, given = case
    bench, rng = Bench(name, warps, writable=True, **given), random.Random(label(case))
    changed = set()

    async def testbench(ctx):
        assert ctx.get(Value.cast(bench.state)) == bench.registers(bench.reference.reset())
        for number in range(400 if warps < 8 else 100):
            state = any_state(rng, name, bench.reference)
            ctx.set(Value.cast(bench.state), bench.registers(state))
            for cycle in range(4):
                word = some_change(rng, name, bench.reference) if maybe(rng, 0.5) else 0
                inputs = replace(random_inputs(rng, warps), change=word)
                foreign = rng.randrange(warps) if maybe(rng, 0.2) else None
                before, state = state, await bench.check(
                    ctx, state, inputs, foreign=foreign, what=f"{label(case)}, case {number}, cycle {cycle}",
                )
                without = bench.reference.update(before, replace(inputs, change=0), foreign)
                if foreign is not None and state != without:
                    changed.add(word >> 24)

    simulate(bench.dut, testbench)
    assert changed == set(PARAMETERS[name]) or warps == 1, f"{label(case)}: {changed}"


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(["two_level", "variable_rate", "variable_rate_strict"], 1))
@simulated(lambda name: Bench(name, 2, writable=True, **({} if name == "two_level" else {"rates": (1, 1)})))
async def test_every_state_and_value(ctx, bench, name):
    """Two warps: every state, every set, every value of every parameter and the next ones, good and bad."""
    words = [0, change(PolicyParameter.SLOT, 1, 255)] + [
        change(parameter, value, slot) for parameter in PARAMETERS[name] for value in range(5)
        for slot in (range(4) if parameter == PolicyParameter.SLOT else [0])
    ]
    reads = tuple(field for field in bench.reference.reads if field != "change")
    for state, inputs, word in product(bench.reference.states(), all_inputs(reads, 2), words):
        ctx.set(Value.cast(bench.state), bench.registers(state))
        await bench.check(ctx, state, replace(inputs, change=word))


# What a change does, in words (docs/policies.md, "Changing them").


def test_a_new_size_begins_as_after_reset():
    bench = Bench("two_level", 4, writable=True)
    policy = bench.reference
    state = policy.update(policy.first(2), PolicyInputs(eligible=15), 1)
    assert state != policy.first(2)
    for size in (1, 2, 4):
        word = PolicyInputs(eligible=15, change=change(PolicyParameter.GROUP_WARPS, size))
        assert policy.update(state, word, 2) == policy.first(size)
    for size in (0, 3, 5, 8, 1 << 14):
        bad = PolicyInputs(eligible=15, change=change(PolicyParameter.GROUP_WARPS, size))
        assert policy.update(state, bad, 2) == policy.update(state, PolicyInputs(eligible=15), 2)


def test_a_slot_and_the_length_of_the_frame():
    """Frame 0 1 0 2 3; slot 2 goes to warp 3, then three slots are in use; slot 4 has begun by then."""
    policy = Bench("variable_rate", 4, writable=True, rates=(2, 1)).reference
    state, everybody = policy.reset(), PolicyInputs(eligible=15, active=15)
    assert state.owners == (0, 1, 0, 2, 3)
    found = []
    words = {1: change(PolicyParameter.SLOT, 3, 2), 8: change(PolicyParameter.FRAME, 3)}
    for cycle in range(16):
        found.append(policy.pick(state, everybody))
        state = policy.update(state, replace(everybody, change=words.get(cycle, 0)), found[-1])
    assert found == [0, 1, 3, 2, 3, 0, 1, 3, 2, 3, 0, 1, 3, 0, 1, 3]


def test_a_new_base_is_the_score_of_all():
    policy = Bench("ccws", 2, writable=True, base=9, throttle=4, total_bits=4).reference
    state = replace(policy.reset(), scores=(30, 12))
    inputs = PolicyInputs(eligible=3, active=3, change=change(PolicyParameter.LOCALITY_BASE, 5))
    lower = policy.update(state, inputs, 0)
    assert (lower.base, lower.throttle, lower.scores) == (5, 4, (5, 5))
    throttled = policy.update(state, replace(inputs, change=change(PolicyParameter.LOCALITY_THROTTLE, 1)), 0)
    assert (throttled.base, throttled.throttle, throttled.scores) == (9, 1, (29, 11))
    for parameter, value in product(PARAMETERS["ccws"], (0, 10, 0xFFFF)):
        ignored = policy.update(state, replace(inputs, change=change(parameter, value)), 0)
        assert ignored == policy.update(state, replace(inputs, change=0), 0)


@pytest.mark.parametrize("name", PARAMETERS)
def test_without_the_field_nothing_changes(name):
    """A reference that is not writable looks at no change, as the hardware, which has no such input."""
    bench, rng = Bench(name, 4), random.Random(name)
    assert "change" not in bench.reference.reads
    state = bench.reference.reset()
    for _ in range(50):
        inputs = replace(random_inputs(rng, 4), change=some_change(rng, name, bench.reference))
        assert bench.reference.update(state, inputs, 1) == bench.reference.update(state, replace(inputs, change=0), 1)
