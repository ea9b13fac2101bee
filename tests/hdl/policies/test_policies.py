"""Every hardware policy against its Python reference (sim/machine/policies/plain.py): picks and state updates.

That the reference says what policies.md says is the matter of tests/sim/machine/policies/test_policies_by_history.py.
"""

import dataclasses
import random
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module, Signal, Value
from amaranth.lib import data

import metronome.hdl.policies.gto
from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.control import change_layout
from metronome.hdl.policies import POLICIES, PolicyInputs
from metronome.sim.build.sources import ROOT
from metronome.sim.machine.policies import plain, with_parameters
from tests.hdl.lib.simulate import maybe, simulate, simulated
from tests.support.tiers import more_but, slow_then_more

DOCUMENT = ROOT / "docs" / "policies.md"
#: Small enough that every age of four warps can be tried, saturated ones included.
SMALL_AGE_BITS = 2
#: Small enough that every state of two warps of ccws can be tried.
SMALL_TOTAL_BITS = 1
#: Values of `lanes` and `fetched`: as many as warps, so that every order among four warps with its ties occurs.
COUNTS = 4

FIELDS = ("eligible", "active", "waiting", "activated", "lanes", "fetched", "lost", "change")
COUNTED = ("lanes", "fetched")
COUNT_BITS = 6


def parameters(name: str, warps: int, **given: Any) -> dict[str, Any]:
    """What the policy takes besides ``warps``: as ``given`` to a configuration, but small ages and totals."""
    if name == "ccws" and given:
        return given
    config = SmConfig(warps=warps, **given)
    return {
        "ccws": {"base": 1, "throttle": 1, "total_bits": SMALL_TOTAL_BITS},
        "gto": {"age_bits": SMALL_AGE_BITS}, "two_level": {"group_warps": config.two_level_group},
        "variable_rate": {"rates": config.slot_rates}, "variable_rate_strict": {"rates": config.slot_rates},
    }.get(name, {})


class Bench:
    """A hardware policy and its reference; :meth:`check` compares one cycle from one state."""

    def __init__(self, name: str, warps: int, *, writable: bool = False, **given: Any) -> None:
        """``given``: fields of the configuration that are parameters of the policy; ``writable``: programs do so."""
        others = parameters(name, warps, **given) | ({"writable": True} if writable else {})
        self.hardware = POLICIES[name](warps=warps, **others)
        self.reference = plain.POLICIES[name](warps=warps, **others)
        self.warps = warps
        self.layout = self.hardware.state_layout()
        self.state = Signal(self.layout, init=self.hardware.state_reset())
        # One signal, so that the simulator evaluates the pick once a cycle.
        self.fields: dict[str, data.Layout] = {
            field: data.ArrayLayout(COUNT_BITS if field in COUNTED else 1, warps) for field in FIELDS
        } | {"change": change_layout()}
        self.given = Signal(data.StructLayout(self.fields))
        self.inputs = PolicyInputs(change=self.given.change, **{
            field: [self.given[field][w] for w in range(warps)] if field in COUNTED else self.given[field].as_value()
            for field in FIELDS if field != "change"
        })
        #: What drives the inputs that the policy does not read.
        self.unread = dict.fromkeys(set(FIELDS) - set(self.reference.reads), 0)
        self.selected = Signal(warps)
        self.pick = Signal(warps)
        self.dut = m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.d.comb += self.pick.eq(self.hardware.pick(self.state, self.inputs))
        self.hardware.update(m, self.state, self.inputs, selected=self.selected)

    def registers(self, state) -> int:
        """The hardware's state as one number."""
        return sum(value << self.layout[field].offset for field, value in self.reference.registers(state).items())

    def drive(self, ctx, inputs: plain.PolicyInputs) -> None:
        values = dict(self.unread)
        for field in self.reference.reads:
            value = getattr(inputs, field)
            values[field] = sum(x << COUNT_BITS * w for w, x in enumerate(value)) if field in COUNTED else value
        layout = self.given.shape()
        ctx.set(Value.cast(self.given), sum(value << layout[field].offset for field, value in values.items()))

    async def check(self, ctx, state, inputs: plain.PolicyInputs, *, foreign: int | None = None, what: str = ""):
        """One cycle in which ``foreign`` was selected, if given, else the policy's pick; returns the new state."""
        what = f"{what}: {state}, {inputs}"
        self.drive(ctx, inputs)
        picked = self.reference.pick(state, inputs)
        pick = ctx.get(self.pick)
        assert pick == (0 if picked is None else 1 << picked), f"{what}: hardware picks {pick:#b}, expected {picked}"
        picked = picked if foreign is None else foreign
        ctx.set(self.selected, 0 if picked is None else 1 << picked)
        await ctx.tick()
        new = self.reference.update(state, inputs, picked)
        found = ctx.get(Value.cast(self.state))
        assert found == self.registers(new), f"{what}, selected {picked}: hardware goes to {found:#b}, expected {new}"
        return new


def all_inputs(reads: tuple[str, ...], warps: int) -> Iterator[plain.PolicyInputs]:
    """Every value of what a policy reads."""
    counts = list(product(range(COUNTS), repeat=warps))
    values = [counts if field in COUNTED else range(1 << warps) for field in reads]
    return (plain.PolicyInputs(**dict(zip(reads, each, strict=True))) for each in product(*values))


def random_inputs(rng: random.Random, warps: int) -> plain.PolicyInputs:
    """Any sets at all, often sparse ones; few different counts, so that ties are common."""
    def some() -> int:
        return rng.getrandbits(warps) & rng.choice([rng.getrandbits(warps), (1 << warps) - 1])

    most = rng.choice([2, 5, 33])
    return plain.PolicyInputs(
        eligible=some(), active=some(), waiting=some(), activated=some() if maybe(rng, 0.3) else 0,
        lanes=tuple(rng.randrange(most) for _ in range(warps)),
        fetched=tuple(rng.randrange(most) for _ in range(warps)), lost=some() if maybe(rng, 0.2) else 0,
    )


def test_registries():
    assert list(POLICIES) == list(plain.POLICIES)
    for registry in (POLICIES, plain.POLICIES):
        assert all(policy.name == name for name, policy in registry.items())


def test_ages_have_the_same_width():
    assert metronome.hdl.policies.gto.AGE_BITS == plain.AGE_BITS


def check_everything(bench: Bench, *, twice: bool = True) -> None:
    """All states, all values of all that the policy reads; ``twice``, or by turns, its own pick and somebody else's."""
    seed = warps = bench.warps
    rng = random.Random(seed)

    async def testbench(ctx):
        assert ctx.get(Value.cast(bench.state)) == bench.registers(bench.reference.reset())
        cases = 0
        for state, inputs in product(bench.reference.states(), all_inputs(bench.reference.reads, warps)):
            both = None, rng.randrange(warps)
            for foreign in both if twice else [rng.choice(both)]:
                ctx.set(Value.cast(bench.state), bench.registers(state))
                await bench.check(ctx, state, inputs, foreign=foreign, what=f"seed {seed}")
                cases += 1
        assert cases >= 2 << warps

    simulate(bench.dut, testbench)


def locality_state(rng: random.Random, policy: Any) -> with_parameters.Locality:
    """Any state of ccws, one near the ends of its registers as often as not."""
    def some(least: int, most: int) -> int:
        near = [least, min(least + 1, most), max(most - 1, least), most]
        return rng.choice([rng.choice(near), rng.randint(least, most)])

    total = (1 << policy.total_bits) - 1
    left = rng.choice([some(0, policy.steps + 1), some(0, policy.steps + 1), 1]) if maybe(rng, 0.8) else 0
    base = some(1, policy.base) if policy.writable else policy.base
    throttle = some(1, policy.throttle) if policy.writable else policy.throttle
    # The product of both factors is in the dividend from the second cycle on.
    dividend, cutoff = some(0, total) * policy.throttle, policy.base * some(0, policy.warps)
    factors = (dividend, cutoff) if left == policy.steps + 1 else (dividend * cutoff, 0)
    divisor = some(1, total)

    def score() -> int:
        """Return any score, or one near the result of the division, below which it may fall."""
        near = factors[0] // divisor + rng.randrange(3)
        return some(base, policy.most) if maybe(rng, 0.5) else max(base, min(policy.most, near))

    return with_parameters.Locality(
        some(0, policy.warps - 1), tuple(score() for _ in range(policy.warps)), base, throttle,
        rng.getrandbits(policy.warps), rng.getrandbits(policy.warps), some(0, total), some(0, total),
        *((left, factors[0], divisor, factors[1]) if left else (0, 0, 0)),
    )


def check_some(bench: Bench, rng: random.Random, *, cases: int) -> None:
    """Of the states and inputs of ccws some, with its own pick and with somebody else's."""
    async def testbench(ctx):
        for case in range(cases):
            state, inputs = locality_state(rng, bench.reference), random_inputs(rng, bench.warps)
            ctx.set(Value.cast(bench.state), bench.registers(state))
            foreign = rng.randrange(bench.warps) if maybe(rng, 0.3) else None
            await bench.check(ctx, state, inputs, foreign=foreign, what=f"case {case}")

    simulate(bench.dut, testbench)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("warps", [*slow_then_more([1, 2, 3], 1, 2), pytest.param(4, marks=pytest.mark.long)])
def test_every_state_and_input(name, warps):
    if name == "ccws" and warps > 1:
        check_some(Bench(name, warps), random.Random(warps), cases=2000)
    else:
        check_everything(Bench(name, warps))


@pytest.mark.long  # 5120 states and 256 inputs; above has 2000 of them
def test_every_state_and_input_of_ccws():
    check_everything(Bench("ccws", 2), twice=False)


@pytest.mark.slow
@pytest.mark.parametrize(("warps", "base", "throttle", "total_bits"), [
    (2, 7, 1, 5), (4, 2, 8, 2), *more_but([(1, 3, 2, 3), (2, 1, 4, 2), (3, 5, 3, 4), (8, 100, 8, 20)], []),
    pytest.param(32, 40, 64, 20, marks=pytest.mark.long),
])
def test_some_states_of_ccws(warps, base, throttle, total_bits):
    """From states drawn anywhere in a division, with scores and totals near their ends as often as not."""
    bench = Bench("ccws", warps, base=base, throttle=throttle, total_bits=total_bits)
    check_some(bench, random.Random(f"{warps}/{base}"), cases=2000 if warps < 8 else 400)


#: Policies with parameters that a configuration does not have by default: warps, and its fields.
OTHERS = [
    *(("two_level", warps, {"group_warps": size}) for warps, size in ((2, 1), (3, 1), (4, 1), (4, 4), (6, 2), (6, 3))),
    *((name, len(rates), {"rates": rates}) for name in ("variable_rate", "variable_rate_strict")
      for rates in ((3,), (3, 1), (1, 4), (2, 1, 3), (5, 3, 1, 2))),
    ("variable_rate", 3, {"rates": (0, 2, 1)}), ("variable_rate", 4, {"rates": (1, 0)}),
]


def with_values(case: tuple) -> str:
    name, warps, given = case
    return f"{name}-{warps}-{given}"


@pytest.mark.parametrize("case", [
    pytest.param(case, marks=[[], [], [], [pytest.mark.slow], [pytest.mark.long]][min(case[1], 4)]) for case in OTHERS
], ids=with_values)
def test_every_state_and_input_with_other_parameters(case):
    name, warps, given = case
    check_everything(Bench(name, warps, **given))


@pytest.mark.long  # a minute each; test_random_runs has one such run of every policy
@pytest.mark.parametrize("case", [
    ("two_level", 32, {}), ("two_level", 32, {"group_warps": 4}), ("two_level", 64, {"group_warps": 16}),
    *((name, warps, {"rates": rates}) for name in ("variable_rate", "variable_rate_strict")
      for warps, rates in ((32, ()), (32, (9, 1, 5, 2)), (64, (193, 1)))),
    ("ccws", 8, {"base": 100, "throttle": 8}), ("ccws", 32, {"base": 100, "throttle": 8}),
], ids=with_values)
def test_a_thousand_random_runs(case):
    """Of 40 cycles each, from any state on: one of those that ``states`` has."""
    name, warps, given = case
    bench, rng = Bench(name, warps, **given), random.Random(warps)
    size = getattr(bench.reference, "size", 1)

    def any_state() -> Any:
        if name == "ccws":
            return locality_state(rng, bench.reference)
        state = bench.reference.reset()
        drawn: dict[str, Any] = {
            "size": size, "group": rng.randrange(warps // size),
            "lasts": tuple(g * size + rng.randrange(size) for g in range(warps // size)),
            "slot": rng.randrange(len(getattr(bench.reference, "frame", [0]))), "last": rng.randrange(warps),
            "owners": getattr(state, "owners", ()), "length": getattr(state, "length", 0),
        }
        return dataclasses.replace(state, **{field.name: drawn[field.name] for field in dataclasses.fields(state)})

    async def testbench(ctx):
        for run in range(1000):
            state = any_state()
            ctx.set(Value.cast(bench.state), bench.registers(state))
            for cycle in range(40):
                foreign = rng.randrange(warps) if maybe(rng, 0.1) else None
                what = f"seed {warps}, run {run}, cycle {cycle}"
                inputs = random_inputs(rng, warps)
                state = await bench.check(ctx, state, inputs, foreign=foreign, what=what)

    simulate(bench.dut, testbench)


def test_the_table_of_the_documentation():
    """It has the policies of the registry in their order, with the inputs that they read."""
    table = re.compile(r"^\| `(\w+)` (?:\|[^|\n]*){2}\|([^|\n]*)(?:\|[^|\n]*){2}\|$", re.MULTILINE)
    rows = table.findall(DOCUMENT.read_text("utf-8"))
    assert [name for name, _ in rows] == list(POLICIES)
    for name, reads in rows:
        assert ("eligible", *re.findall(r"`(\w+)`", reads)) == plain.POLICIES[name].reads, name


@pytest.mark.parametrize(("name", "warps"), [
    pytest.param(name, warps, marks=getattr(pytest.mark, "long" if (name, warps) == ("ccws", 32) else mark))
    for warps, mark in {1: "more", 2: "more", 3: "slow", 8: "more", 32: "more"}.items() for name in POLICIES
])
@simulated(lambda name, warps: Bench(name, warps))
async def test_random_runs(ctx, bench, warps):
    """From reset on, with the policy's own picks and with those that another policy made."""
    seed = 100 + warps
    rng = random.Random(seed)
    state = bench.reference.reset()
    assert ctx.get(Value.cast(bench.state)) == bench.registers(state)
    for cycle in range(500):
        foreign = rng.randrange(warps) if maybe(rng, 0.1) else None
        inputs = random_inputs(rng, warps)
        state = await bench.check(ctx, state, inputs, foreign=foreign, what=f"seed {seed}, cycle {cycle}")


@pytest.mark.parametrize("name", POLICIES)
@simulated(lambda name: Bench(name, 4))
async def test_only_what_is_declared_is_read(ctx, bench, name):
    """``reads`` of the reference is true of the hardware: no other input changes the pick or the next state."""
    rng = random.Random(name)
    state = bench.reference.reset()
    for cycle in range(200):
        bench.unread = {field: rng.getrandbits(bench.fields[field].size) for field in sorted(bench.unread)}
        state = await bench.check(ctx, state, random_inputs(rng, 4), what=f"seed {name}, cycle {cycle}")


@pytest.mark.parametrize("name", POLICIES)
def test_idles(name):
    """``idles`` is declared exactly where a reachable state leaves an eligible warp unselected."""
    policy = plain.POLICIES[name](warps=3, **parameters(name, 3))
    found = any(
        inputs.eligible and policy.pick(state, inputs) is None
        for state in policy.states() for inputs in all_inputs(policy.reads, 3)
    )
    assert found == POLICIES[name].idles
