"""The policies with parameters: frames, special cases that are other policies, and who waits how long."""

import random
from itertools import product

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.policies.variable_rate import slots_of
from metronome.sim.machine.policies.plain import POLICIES, PolicyInputs
from metronome.sim.machine.policies.with_parameters import frame_of
from tests.sim.machine.policies.policy_histories import every_second_slot

SEED = 20_261_124


def random_rates(rng):
    """From few slots to as many as there may be."""
    rates = [rng.choice((0, 1, rng.randrange(1, 8), rng.randrange(1, 60))) for _ in range(rng.randrange(1, 9))]
    return tuple(rates) if any(rates) and sum(rates) <= 256 else random_rates(rng)


def drawn(count):
    rng = random.Random(SEED)
    return [random_rates(rng) for _ in range(count)]


# Frames.

SMALL = [rates for warps in (1, 2, 3) for rates in product(range(5), repeat=warps) if any(rates)]


def test_hardware_and_reference_have_the_same_frames():
    for rates in [*SMALL, *drawn(60)]:
        assert tuple(slots_of(rates)) == frame_of(rates), f"seed {SEED}, {rates}"


def test_every_slot_lies_in_its_part_of_the_frame():
    """Warp w has r of n slots, the k-th from k n / r, rounded down, to before (k + 1) n / r, rounded up."""
    for rates in [*SMALL, *drawn(60)]:
        frame = frame_of(rates)
        assert len(frame) == sum(rates)
        for w, rate in enumerate(rates):
            mine = [slot for slot, owner in enumerate(frame) if owner == w]
            assert len(mine) == rate
            for k, slot in enumerate(mine):
                assert k * len(frame) // rate <= slot < -((k + 1) * len(frame) // -rate), f"seed {SEED}, {rates}, {w}"


@pytest.mark.parametrize("warps", range(1, 65))
def test_by_default_every_second_slot_is_warp_0s(warps):
    assert list(frame_of(SmConfig(warps=warps, threads=1).slot_rates)) == every_second_slot(warps)


def test_frames_on_paper():
    """Those of docs/policies.md."""
    assert frame_of((2, 1, 1, 1)) == (0, 1, 0, 2, 3)
    assert frame_of((3, 1, 1, 1)) == (0, 1, 0, 2, 0, 3)
    assert frame_of((1, 1, 1, 1)) == (0, 1, 2, 3)


# What is another policy.


def random_inputs(rng, warps, **others):
    def some():
        return rng.getrandbits(warps) & rng.choice((rng.getrandbits(warps), -1))

    return PolicyInputs(**{"eligible": some(), "active": some(), **others})


def picks(name, warps, inputs, **given):
    policy = POLICIES[name].of(SmConfig(warps=warps, **given))
    state, found = policy.reset(), []
    for each in inputs:
        found.append(policy.pick(state, each))
        state = policy.update(state, each, found[-1])
    return found


@pytest.mark.parametrize("warps", [1, 2, 4, 6, 8])
def test_the_ends_of_two_level(warps):
    """One group is loose round robin, groups of one warp are the greedy one."""
    rng = random.Random(f"{SEED}/{warps}")
    inputs = [random_inputs(rng, warps) for _ in range(300)]
    assert picks("two_level", warps, inputs, group_warps=warps) == picks("lrr", warps, inputs)
    assert picks("two_level", warps, inputs, group_warps=1) == picks("gtlrr", warps, inputs)


@pytest.mark.parametrize("warps", [1, 2, 4, 6, 8])
def test_equal_rates_are_strict_round_robin_over_all_warps(warps):
    rng = random.Random(f"{SEED}/{warps}")
    inputs = [random_inputs(rng, warps, active=(1 << warps) - 1) for _ in range(300)]
    assert picks("variable_rate_strict", warps, inputs, rates=(1,)) == picks("srr", warps, inputs)


def test_the_frame_begins_again_when_no_warp_is_active():
    inputs = [PolicyInputs(eligible=15 * bool(active), active=active) for active in (15, 15, 15, 0, 0, 15, 15, 15)]
    for name in ("variable_rate", "variable_rate_strict"):
        assert picks(name, 4, inputs) == [0, 1, 0, None, None, 0, 1, 0]


def test_slots_that_are_given_away_go_round():
    """Figure 47 with warp 0 waiting: the others share its slots, in turn, besides having their own."""
    inputs = [PolicyInputs(eligible=0b1110, active=15)] * 12
    assert picks("variable_rate", 4, inputs) == [1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]
    assert picks("variable_rate_strict", 4, inputs) == [None, 1, None, 2, None, 3] * 2


# Who waits how long (docs/policies.md, "Starvation").


def longest_distance(frame, w):
    """Between two slots of the warp that follow each other, going round."""
    mine = [slot for slot, owner in enumerate(frame) if owner == w]
    return max((b - a) % len(frame) or len(frame) for a, b in zip(mine, mine[1:] + mine[:1], strict=True))


def test_distances_of_slots():
    """At most 2 n / r, rounded up; n for a warp with one slot."""
    for rates in [*SMALL, *drawn(60)]:
        frame = frame_of(rates)
        for w, rate in enumerate(rates):
            if rate:
                most = len(frame) if rate == 1 else -(-2 * len(frame) // rate)
                assert longest_distance(frame, w) <= most, f"seed {SEED}, {rates}, {w}"


@pytest.mark.parametrize("name", ["variable_rate", "variable_rate_strict"])
@pytest.mark.parametrize("rates", [(3, 1, 1, 1), (1, 1, 1, 1), (5, 3, 2, 1), (7, 1, 1, 1, 1, 1, 1, 1)])
def test_a_warp_with_a_slot_waits_for_its_next_one_at_most(name, rates):
    """Every warp that stays eligible; and where the others are eligible too, it does wait so long."""
    warps, frame = len(rates), frame_of(rates)
    policy = POLICIES[name](warps=warps, rates=rates)
    rng = random.Random(f"{SEED}/{rates}")
    state, active = policy.reset(), (1 << warps) - 1
    waits, longest, previous, eligible = [0] * warps, [0] * warps, None, active
    for cycle in range(1500):
        flips = sum(1 << w for w in range(warps) if rng.random() < (0.3 if w == previous else 0.02))
        # All of them for a while, then some.
        eligible = active if cycle % 200 < 100 else eligible ^ flips
        picked = policy.pick(state, PolicyInputs(eligible=eligible, active=active))
        for w in range(warps):
            waits[w] = waits[w] + 1 if eligible >> w & 1 and w != picked else 0
            longest[w] = max(longest[w], waits[w])
            assert waits[w] < longest_distance(frame, w), f"seed {SEED}, cycle {cycle}, warp {w}"
        state, previous = policy.update(state, PolicyInputs(eligible=eligible, active=active), picked), picked
    assert longest == [longest_distance(frame, w) - 1 for w in range(warps)], f"seed {SEED}"


def test_a_warp_without_a_slot_gets_what_others_leave():
    """Nothing, if they leave nothing; else it is its turn after at most W-1 others."""
    full = [PolicyInputs(eligible=0b1111, active=15)] * 500
    assert 3 not in picks("variable_rate", 4, full, rates=(2, 1, 1, 0))
    waits = [PolicyInputs(eligible=0b1110, active=15)] * 500
    found = picks("variable_rate", 4, waits, rates=(2, 1, 1, 0))
    assert [w for slot, w in enumerate(found) if slot % 4 in (0, 2)][:6] == [1, 2, 3, 1, 2, 3]


def test_a_warp_that_is_never_eligible_in_its_slot_starves_under_the_strict_one_only():
    inputs = [PolicyInputs(eligible=0b1000 if cycle % 6 != 5 else 0, active=15) for cycle in range(600)]
    assert picks("variable_rate_strict", 4, inputs) == [None] * 600
    assert picks("variable_rate", 4, inputs).count(3) == 500


def test_two_level_starves_the_other_groups():
    """Two warps of a group that pause in turn keep it: never is none of it eligible."""
    for size, served in ((2, {2, 3}), (4, {0, 1, 2, 3})):
        policy = POLICIES["two_level"](warps=4, group_warps=size)
        state, found = policy.reset(), []
        for _ in range(400):
            inputs = PolicyInputs(eligible=0b1111 & ~sum(1 << w for w in found[-1:]))
            found.append(policy.pick(state, inputs))
            state = policy.update(state, inputs, found[-1])
        assert set(found) == served


@pytest.mark.parametrize(("warps", "size"), [(4, 2), (8, 2), (8, 4), (6, 3), (8, 8), (8, 1)])
def test_wait_in_two_level_is_bounded(warps, size):
    """A warp that stays eligible: at most W / g - 1 runs of other groups, and g - 1 selections of its own one."""
    rng = random.Random(f"{SEED}/{warps}/{size}")
    policy = POLICIES["two_level"](warps=warps, group_warps=size)
    state, previous = policy.reset(), None
    runs, own = [0] * warps, [0] * warps
    most_runs = most_own = 0
    eligible = (1 << warps) - 1
    for cycle in range(5000):
        flips = sum(1 << w for w in range(warps) if rng.random() < (0.5 if w == previous else 0.003))
        eligible = (eligible ^ flips) | sum(1 << w for w in range(warps) if rng.random() < 0.03)
        inputs = PolicyInputs(eligible=eligible)
        picked = policy.pick(state, inputs)
        for w in range(warps):
            if w == picked or not eligible >> w & 1:
                runs[w] = own[w] = 0
            elif picked is not None and picked // size == w // size:
                own[w] += 1
            elif picked is not None:
                runs[w] += runs[w] == 0 or previous is None or picked // size != previous // size
            most_runs, most_own = max(most_runs, runs[w]), max(most_own, own[w])
        assert most_runs <= warps // size - 1 and most_own <= size - 1, f"seed {SEED}, cycle {cycle}"
        state, previous = policy.update(state, inputs, picked), picked if picked is not None else previous
    assert (most_runs, most_own) == (warps // size - 1, size - 1), f"seed {SEED}"
