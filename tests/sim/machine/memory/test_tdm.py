"""The predictable controller: slots by hand, and a stated worst latency that is never exceeded and nearly reached."""

import random
from fractions import Fraction

import pytest

from metronome.sim.machine.memory.dram.clock import ClockRatio
from metronome.sim.machine.memory.dram.mapping import AddressMapping
from metronome.sim.machine.memory.dram.timing import TIMINGS
from metronome.sim.machine.memory.slots import SlotSchedule
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.machine.memory.tdm import TdmMemory
from tests.sim.machine.memory.port import LINE, Request, drive
from tests.support.tiers import more_but

UNHASHED = AddressMapping(bank_hash="none")


@pytest.mark.parametrize(("name", "slot", "busy", "refresh", "rotations"), [
    # Slot: tCWL + BL + tWTR_S = 12 + 4 + 3 = 19 (a bank is busy 16 + 34 + 16 = 66 clocks: a quarter is 17).
    # Refresh: 66 - 19 + 433 = 480; (9364 - 480) / 76 = 116.9.
    ("DDR4_2400R", 19, 66, 480, 116),
    # 16 + 4 + 3 = 23; 16 + 38 + 16 = 70; 70 - 23 + 421 = 468; (9364 - 468) / 92 = 96.7.
    ("DDR4_2400R_JEDEC", 23, 70, 468, 96),
    # 16 + 4 + 4 = 24; 22 + 44 + 22 = 88; 88 - 24 + 576 = 640; (12480 - 640) / 96 = 123.3.
    ("DDR4_3200AA", 24, 88, 640, 123),
])
def test_schedule_by_hand(name, slot, busy, refresh, rotations):
    schedule = SlotSchedule(TIMINGS[name])
    assert (schedule.slot, schedule.busy, schedule.refresh, schedule.rotations) == (slot, busy, refresh, rotations)
    assert (schedule.rotation, schedule.frame) == (4 * slot, rotations * 4 * slot + refresh)
    assert schedule.frame <= TIMINGS[name].refi


def test_first_slot_is_the_first():
    """Against a search through all slots, around the beginning and the end of frames."""
    schedule = SlotSchedule(TIMINGS["DDR4_2400R"])
    for group in range(4):
        begins = [schedule.begin(group, index) for index in range(3 * schedule.rotations)]
        assert begins == sorted(begins)
        for frame in range(2):
            for clock in range(max(0, frame * schedule.frame - 700), frame * schedule.frame + 200):
                first = schedule.first(group, clock)
                assert begins[first] >= clock
                assert first == 0 or begins[first - 1] < clock


def test_latency_by_hand():
    """Slots of group g begin in 19 g + 76 k; a read ends tRCD + tCL + BL = 36 later, a write 32."""
    requests = [
        Request(0, LINE),           # arrives in 1, slot 76, end 112
        Request(1, LINE + 1),       # arrives in 2, slot 19, end 55
        Request(2, LINE + 4),       # group 0 again: slot 152
        Request(75, LINE + 2),      # arrives in 76, slot 38 + 76 = 114
        Request(151, LINE + 1, True),  # arrives in 152; slot 19 + 152 = 171, end 203
    ]
    answers = drive(TdmMemory(SparseMemory(), mapping=UNHASHED), requests)
    assert [answer.due for answer in answers] == [112, 55, 188, 150, 203]


def test_refresh_by_hand():
    """The last rotation of the first frame begins in 115 * 76 = 8740; group 0 then waits for 9296 = 116 * 76 + 480."""
    answers = drive(TdmMemory(SparseMemory(), mapping=UNHASHED), [Request(8739, LINE), Request(8740, LINE + 4)])
    assert [answer.due for answer in answers] == [8740 + 36, 9296 + 36]
    # The bound for one request to a group: arrival a clock after its slot, the last before the refresh.
    model = TdmMemory(SparseMemory(), mapping=UNHASHED)
    (answer,) = drive(model, [Request(8740, LINE)])
    assert answer.latency == model.worst_case_latency(1) == 592


@pytest.mark.parametrize(("outstanding", "expected"), [
    (1, 76 + 480 - 1 + 36 + 1), (8, 8 * 76 + 480 + 36), (116, 116 * 76 + 480 + 36), (117, 117 * 76 + 2 * 480 + 36),
])
def test_bound_by_hand(outstanding, expected):
    assert TdmMemory(SparseMemory(), mapping=UNHASHED).worst_case_latency(outstanding) == expected


@pytest.mark.parametrize("ratio", [Fraction(text) for text in ("1", "3/2", "2/3", "5", "1/5", "7/3")])
def test_longest_latency_of_some_clocks(ratio):
    """Over all phases of the two clocks, by trying them: never above, and at most a clock and a cycle below."""
    clock = ClockRatio(ratio)
    for clocks in (1, 16, 35, 36):
        seen = max(clock.due(clock.arrival(cycle) + clocks) - cycle for cycle in range(50))
        assert clock.longest(clocks) >= seen
        assert clock.longest(clocks) - seen <= 1 + 1 / ratio
        least = min(clock.due(clock.arrival(cycle) + clocks) - cycle for cycle in range(50))
        assert clock.latency(clocks) <= least


def bursts(rng, count, tags):
    """Random requests in bursts of up to ``tags`` that prefer one group, with idle time between them."""
    cycle = 0
    while count > 0:
        group, purity = rng.randrange(4), rng.choice((0.3, 0.9, 1.0))
        cycle += rng.randint(0, 1500)
        for _ in range(min(count, rng.randint(1, 2 * tags))):
            line = rng.randrange(1 << 18) * 4 + (group if rng.random() < purity else rng.randrange(4))
            yield Request(cycle, LINE + line, rng.random() < 0.3)
            count -= 1


def check_bound(seed, count, tags, **options):
    """The worst latency of ``count`` requests: below the bound, and at least 90 % of it."""
    rng = random.Random(seed)
    model = TdmMemory(SparseMemory(), mapping=UNHASHED, outstanding=tags, **options)
    bound = model.worst_case_latency(tags)
    worst = 0
    for _ in range(max(1, count // 50_000)):
        requests = list(bursts(rng, min(count, 50_000), tags))
        model = TdmMemory(SparseMemory(), mapping=UNHASHED, outstanding=tags, **options)
        answers = drive(model, requests, tags=tags)
        worst = max(worst, *(answer.latency for answer in answers))
        statistics = model.statistics(answers[-1].due)
        assert statistics["latency_max"] == max(answer.latency for answer in answers)
        assert statistics["latency_bound"] == bound
        assert statistics["reads"] + statistics["writes"] == len(requests)
    assert worst <= bound, f"seed {seed}, {tags} tags: {worst} cycles, the bound is {bound}"
    assert worst >= 0.9 * bound, f"seed {seed}, {tags} tags: only {worst} cycles, the bound is {bound}"


@pytest.mark.more
@pytest.mark.parametrize("tags", more_but([1, 4, 20], [4]))
def test_worst_latency_is_near_the_bound_and_below(tags):
    check_bound(f"quick {tags}", 50_000, tags)


@pytest.mark.more
@pytest.mark.parametrize(("name", "ratio"), more_but([
    ("DDR4_2400R_JEDEC", Fraction(3, 2)), ("DDR4_3200AA", Fraction(2)), ("DDR4_2400R", Fraction(2, 3)),
], [("DDR4_2400R_JEDEC", Fraction(3, 2))]))
def test_bound_of_other_timings_and_clocks(name, ratio):
    check_bound(f"{name} {ratio}", 50_000, 8, timing=TIMINGS[name], ratio=ratio)


@pytest.mark.long
@pytest.mark.parametrize("tags", [8, 36])
def test_worst_latency_of_a_million_requests(tags):
    check_bound(f"million {tags}", 1_000_000, tags)


def test_other_groups_are_not_felt():
    """The latencies of one group's requests are the same, whatever the other groups do."""
    rng = random.Random(5)
    alone = [Request(cycle, LINE + 4 * rng.randrange(1 << 16), rng.random() < 0.5) for cycle in range(0, 60_000, 150)]
    noise = [
        Request(cycle + 50, LINE + 4 * rng.randrange(1 << 16) + rng.randint(1, 3)) for cycle in range(0, 60_000, 75)
    ]
    both = sorted([*alone, *noise], key=lambda request: request.cycle)
    quiet = drive(TdmMemory(SparseMemory(), mapping=UNHASHED), alone)
    loud = drive(TdmMemory(SparseMemory(), mapping=UNHASHED), both)
    assert quiet == [answer for answer, request in zip(loud, both, strict=True) if request.line % 4 == LINE % 4]


def test_more_requests_than_the_port_has_tags_are_refused():
    model = TdmMemory(SparseMemory(), outstanding=2)
    for tag in range(2):
        model.request(tag, tag, LINE, False, 0, bytes(64))
    with pytest.raises(ValueError, match="more than 2 requests are outstanding"):
        model.request(2, 2, LINE, False, 0, bytes(64))
