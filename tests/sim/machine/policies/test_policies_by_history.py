"""The Python policies against policies.md: each pick as policy_histories.py tells it, and who starves."""

import dataclasses
import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from metronome.hdl.config import SmConfig
from metronome.sim.machine.policies.plain import POLICIES, PolicyInputs
from tests.sim.machine.policies.policy_histories import TOLD, History, in_set
from tests.support.tiers import slow_then_more


def made(name: str, warps: int, **parameters: int):
    """The policy with these parameters; without any, as a configuration has it by default."""
    return POLICIES[name](warps=warps, **parameters) if parameters else POLICIES[name].of(SmConfig(warps=warps))


class Warps:
    """Random warps as an SM has them: eligible ones are active and do not wait; an activation counts a cycle later."""

    def __init__(self, rng: random.Random, warps: int) -> None:
        self.rng, self.warps = rng, warps
        self.active, self.waiting, self.eligible = rng.getrandbits(warps), 0, rng.getrandbits(warps)

    def some(self, probability: float) -> int:
        return sum(1 << w for w in range(self.warps) if self.rng.random() < probability)

    def cycle(self) -> PolicyInputs:
        """Readiness and waiting change slowly, so that greedy runs and long waits come about."""
        rng, warps = self.rng, self.warps
        activated = self.some(0.1) & ~self.active
        self.waiting = (self.waiting ^ self.some(0.1)) & self.active
        self.eligible ^= self.some(0.3)
        inputs = PolicyInputs(
            eligible=self.eligible & self.active & ~self.waiting, active=self.active, waiting=self.waiting,
            activated=activated, lanes=tuple(rng.randrange(5) for _ in range(warps)),
            fetched=tuple(rng.randrange(5) for _ in range(warps)), lost=self.some(0.05),
        )
        self.active = (self.active & ~self.some(0.02)) | activated
        return inputs


def test_every_policy_is_told():
    assert set(TOLD) == set(POLICIES)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("warps", slow_then_more([4, 1, 3, 32, 2, 8], 1, 3))
def test_as_told(name, warps):
    seed = 300 + warps
    rng = random.Random(seed)
    policy, stimulus, history = made(name, warps), Warps(rng, warps), History(warps)
    state = policy.reset()
    selections = 0
    # Telling takes time in proportion to the square of the cycles, and to the warps.
    for cycle in range(90 if name == "ccws" and warps > 8 else 250):
        inputs = stimulus.cycle()
        picked = policy.pick(state, inputs)
        assert picked == TOLD[name](history, inputs), f"seed {seed}, cycle {cycle}: {state}, {inputs}"
        assert picked is None or in_set(inputs.eligible, picked), f"seed {seed}, cycle {cycle}: outside of E"
        state = policy.update(state, inputs, picked)
        history.inputs.append(inputs)
        history.picked.append(picked)
        selections += picked is not None
    assert selections > 10, "the run was idle"


@pytest.mark.parametrize("name", POLICIES)
def test_pure(name):
    """States are immutable, and a pick with another eligible set (an oracle's) changes nothing."""
    rng = random.Random(7)
    policy, stimulus = made(name, 4), Warps(rng, 4)
    state = policy.reset()
    for _ in range(100):
        inputs = stimulus.cycle()
        picked, before = policy.pick(state, inputs), hash(state)
        policy.pick(state, dataclasses.replace(inputs, eligible=rng.getrandbits(4)))
        new = policy.update(state, inputs, picked)
        assert policy.pick(state, inputs) == picked
        assert hash(state) == before
        assert policy.update(state, inputs, picked) == new
        state = new


@pytest.mark.parametrize("name", POLICIES)
def test_reset_is_a_state(name):
    small = {"gto": {"age_bits": 2}, "ccws": {"base": 1, "throttle": 1, "total_bits": 1}}
    policy = made(name, 2 if name == "ccws" else 3, **small.get(name, {}))
    states = list(policy.states())
    assert policy.reset() in states
    assert len(set(states)) == len(states)
    registers = {tuple(policy.registers(state).items()) for state in states}
    assert len(registers) == len(states), "two states with the same registers"


def test_gto_saturates():
    """At its greatest an age stays; saturated warps are equal, and the lowest number goes first."""
    policy = POLICIES["gto"](warps=3, age_bits=2)
    state = policy.reset()
    for cycle in range(6):
        assert policy.pick(state, PolicyInputs(eligible=0b100)) == 2
        state = policy.update(state, PolicyInputs(eligible=0b110), 2)
        assert state.ages[1] == min(cycle + 1, 3)
    state = dataclasses.replace(state, last=0, ages=(0, 3, 3))
    assert policy.pick(state, PolicyInputs(eligible=0b110)) == 1
    assert policy.pick(dataclasses.replace(state, ages=(0, 2, 3)), PolicyInputs(eligible=0b110)) == 2


def test_prr_waits_for_its_warp_alone():
    """The turn passes over warps that are not active or wait for others, and over nobody else."""
    policy = POLICIES["prr"](warps=4)
    state = policy.reset()
    picks = []
    for eligible, waiting in [(0b1111, 0b0010), (0b1011, 0b0010), (0b1011, 0b0010), (0b1011, 0b0110), (0b1011, 0)]:
        inputs = PolicyInputs(eligible=eligible, active=0b1111, waiting=waiting)
        picks.append(policy.pick(state, inputs))
        state = policy.update(state, inputs, picks[-1])
    assert picks == [0, None, None, None, 3], "warp 2 held the turn until it waited for others"


# Starvation: the table of docs/policies.md, shown on four warps.

WARPS = 4
Stimulus = Callable[[int, list[int | None]], PolicyInputs]


def cycle_inputs(eligible: int, **others) -> PolicyInputs:
    """All active, and alike but for ``others``."""
    return PolicyInputs(**{
        "eligible": eligible, "active": (1 << WARPS) - 1, "lanes": (4,) * WARPS, "fetched": (2,) * WARPS, **others,
    })


def all_but_recent(picks: list[int | None]) -> int:
    """Every warp is eligible but in the cycle after its selection, as after a branch."""
    return sum(1 << w for w in range(WARPS) if w not in picks[-1:])


#: What the warps do, and which policies then leave out warp 3, which is always eligible where it says nothing else.
STARVATION: dict[str, tuple[Stimulus, set[str]]] = {
    "always eligible": (lambda cycle, picks: cycle_inputs(0b1111), {"fixed", "lo", "pta"}),
    "a warp runs without end": (
        lambda cycle, picks: cycle_inputs(0b1111 if cycle else 0b0001),
        {"fixed", "lo", "pta", "gtlrr", "gtlo", "gto", "gto_dispatch", "two_level"},
    ),
    "a selection is followed by a pause": (
        lambda cycle, picks: cycle_inputs(all_but_recent(picks)),
        {"fixed", "lo", "pta", "gtlo", "gto_dispatch"},
    ),
    "a pause, and most lanes and fewest instructions in warp 3": (
        lambda cycle, picks: cycle_inputs(all_but_recent(picks), lanes=(1, 1, 1, 4), fetched=(2, 2, 2, 1)),
        {"fixed", "lo", "gtlo", "gto_dispatch"},
    ),
    "a pause, and fewest lanes and most instructions in warp 3": (
        lambda cycle, picks: cycle_inputs(all_but_recent(picks), lanes=(4, 4, 4, 1), fetched=(2, 2, 2, 4)),
        {"fixed", "lo", "pta", "gtlo", "gto_dispatch", "icount"},
    ),
    "warp 3 alone, eligible in all but every fourth cycle, the others at a barrier": (
        lambda cycle, picks: cycle_inputs(0b1000 if cycle % 4 != 3 else 0, waiting=0b0111),
        {"srr"},
    ),
    "a selection is followed by a pause, and the others than warp 3 lose locality without end": (
        lambda cycle, picks: cycle_inputs(all_but_recent(picks), lost=0b0111),
        {"fixed", "lo", "pta", "gtlo", "gto_dispatch", "ccws"},
    ),
    "warp 0 is active, waits for nobody and is never eligible": (
        lambda cycle, picks: cycle_inputs(0b1110 & all_but_recent(picks)),
        {"fixed", "lo", "pta", "gtlo", "gto_dispatch", "prr"},
    ),
}


def run_policy(name: str, stimulus: Stimulus, cycles: int, **parameters: int) -> list[int | None]:
    policy = made(name, WARPS, **parameters)
    state, picks = policy.reset(), []
    for cycle in range(cycles):
        inputs = stimulus(cycle, picks)
        picks.append(policy.pick(state, inputs))
        state = policy.update(state, inputs, picks[-1])
    return picks


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("scenario", STARVATION)
def test_who_starves(scenario, name):
    """Warp 3 is left out for 500 cycles, or it is not left out for more than 40."""
    stimulus, starving = STARVATION[scenario]
    picks = run_policy(name, stimulus, 500)
    if name in starving:
        # After the greedy policies' first pick, which is of warp W-1 where all begin alike.
        assert 3 not in picks[40:]
    else:
        served = [cycle for cycle, w in enumerate(picks) if w == 3]
        assert max(b - a for a, b in pairwise([0, *served, len(picks)])) <= 40


def test_gto_starves_where_ages_saturate():
    """Two warps with runs as long as the greatest age pass the turn to each other; with wider ages warp 2 gets it."""
    def runs_of_four(cycle: int, picks: list[int | None]) -> PolicyInputs:
        ended = len(picks) >= 4 and len(set(picks[-4:])) == 1
        return cycle_inputs(0b0111 & ~(1 << picks[-1]) if ended else 0b0111 if cycle else 0b0001)

    assert 2 not in run_policy("gto", runs_of_four, 2000, age_bits=2)[20:]
    picks = run_policy("gto", runs_of_four, 2000, age_bits=4)
    assert 600 < picks.count(2) < 700


#: Policies with a bound on the wait of a warp that stays eligible: W-1 of what is counted.
BOUNDED = {"lrr": "selections", "gtlrr": "runs", "gto": "runs", "srr": "cycles", "prr": "selections"}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("warps", [2, 3, 4, 8])
def test_wait_is_bounded(name, warps):
    """The bounds of docs/policies.md, and that they are reached: none of them is slack."""
    seed = 500 + warps
    rng = random.Random(seed)
    policy = made(name, warps)
    state, previous, longest = policy.reset(), None, 0
    waits = [0] * warps
    active = (1 << warps) - 1
    eligible = active
    for cycle in range(6000):
        # A warp that is not served stays eligible, mostly; the one that was, often does not.
        flips = sum(1 << w for w in range(warps) if rng.random() < (0.3 if w == previous else 0.02))
        eligible = (eligible ^ flips) | (rng.getrandbits(warps) & rng.getrandbits(warps) & active)
        inputs = PolicyInputs(eligible=eligible, active=active)
        picked = policy.pick(state, inputs)
        for w in range(warps):
            if w == picked or not in_set(eligible, w):
                waits[w] = 0
            elif BOUNDED[name] == "cycles" or (BOUNDED[name] == "selections" and picked is not None):
                waits[w] += 1
            elif BOUNDED[name] == "runs":
                waits[w] += picked != previous or waits[w] == 0
            longest = max(longest, waits[w])
            assert waits[w] <= warps - 1, f"seed {seed}, cycle {cycle}: warp {w} waits for {waits[w]} {BOUNDED[name]}"
        state, previous = policy.update(state, inputs, picked), picked
    assert longest == warps - 1, f"seed {seed}"
