"""`tdm` with slots for each SM: cycles by hand, a bound that holds, and no SM that feels another."""

import random
from fractions import Fraction

import pytest

from metronome.hdl.gpu.config import GpuConfig, Interconnect
from metronome.hdl.presets import TINY
from metronome.sim.machine.memory.dram.mapping import AddressMapping
from metronome.sim.machine.memory.registry import create_model
from metronome.sim.machine.memory.sm_slots import ResponseSlots, SmSlots
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.machine.memory.tdm import TdmMemory
from tests.sim.machine.memory.port import LINE

UNHASHED = AddressMapping(bank_hash="none")
BITS = 4


def model_of(slots, ratio=1, tags=None):
    tags = slots.sms << slots.tag_bits if tags is None else tags
    return TdmMemory(SparseMemory(), mapping=UNHASHED, ratio=ratio, outstanding=tags, sms=slots)


def play(slots, programs, ratio=1):
    """For each SM, the latencies of its requests, given as (idle cycles, line, write). It has as many tags as fit.

    A request is sent in the first cycle of its SM in which a tag is free. All is checked against the rule of the slots.
    """
    model, latencies = model_of(slots, ratio), [[] for _ in programs]
    queues = [list(reversed(program)) for program in programs]
    free = [list(range(1 << slots.tag_bits)) for _ in programs]
    ready, sent, cycle = [queue[-1][0] if queue else 0 for queue in queues], {}, 0
    while any(queues) or sent:
        cycle += 1
        answered = model.complete(cycle)
        assert len(answered) <= 1
        for answer in answered:
            sm = slots.sm_of(answer.tag)
            assert answer.due == cycle and (cycle - 1) // slots.slot_cycles % slots.sms == sm
            number, accepted = sent.pop(answer.tag)
            latencies[sm].append((number, cycle - accepted))
            free[sm].append(answer.tag & (1 << slots.tag_bits) - 1)
        sm = (cycle - 1) // slots.slot_cycles % slots.sms
        if queues[sm] and free[sm] and ready[sm] <= cycle:
            _, line, write = queues[sm].pop()
            tag = sm << slots.tag_bits | free[sm].pop(0)
            sent[tag] = len(programs[sm]) - len(queues[sm]), cycle
            model.request(cycle, tag, line, write, (1 << 64) - 1, bytes(64))
            if queues[sm]:
                ready[sm] = cycle + queues[sm][-1][0]
    return latencies, model


def some(rng, count, longest):
    """Requests that prefer one bank group, in bursts."""
    program = []
    while len(program) < count:
        group, pause = rng.randrange(4), rng.choice((0, 0, 3, longest))
        program += [(pause * (k == 0), LINE + 4 * rng.randrange(1 << 16) + (group if rng.random() < 0.8 else k % 4),
                     rng.random() < 0.4) for k in range(rng.randint(1, 40))]
    return program[:count]


def test_cycles_by_hand():
    slots = SmSlots.of(GpuConfig(sm=TINY, sms=2, interconnect=Interconnect.TDM, slot_cycles=3))
    assert slots == SmSlots(2, 3, TINY.mem_tag_bits) and slots.round == 6
    owners = [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]  # of cycle 1 on
    for sm in range(2):
        for cycle in range(1, 7):
            assert slots.first(sm, cycle) == 1 + next(k for k in range(cycle - 1, 12) if owners[k] == sm)
    assert SmSlots.of(GpuConfig(sm=TINY, sms=2)) is None


def test_latencies_by_hand():
    """Rotations of 76 clocks in turn: SM 0 has those from 0 and 152 on, SM 1 those from 76 and 228 on."""
    model = model_of(SmSlots(2, 1, BITS))
    one = 1 << BITS
    for cycle, tag, line, write in ((1, 0, 0, False), (2, one, 0, True), (3, 1, 1, False), (5, 2, 0, False)):
        model.request(cycle, tag, LINE + line, write, 1, bytes(64))
    # Group 0: SM 0 in clock 152 and 304, SM 1 in 76; group 1 of SM 0 in 19. A read takes 36 clocks, a write 32.
    # Then the next cycle of the SM: an odd one of SM 0, an even one of SM 1.
    answers = {answer.tag: answer.due for answer in model.complete(1000)}
    assert answers == {0: 189, one: 108, 1: 55, 2: 341}


@pytest.mark.parametrize(("sms", "slot", "ratio"), [
    (2, 1, 1), (4, 3, Fraction(3, 2)), (2, 5, 64), (8, 2, Fraction(1, 3)),
])
def test_no_sm_feels_another(sms, slot, ratio):
    slots, seed = SmSlots(sms, slot, BITS), f"{sms} {slot} {ratio}"
    rng = random.Random(seed)
    own, watched = some(rng, 150, 400), rng.randrange(sms)
    seen = []
    for noise in range(3):
        others = [some(rng, 400, 20) if noise else [] for _ in range(sms)]
        latencies, model = play(slots, [own if sm == watched else each for sm, each in enumerate(others)], ratio)
        seen.append(sorted(latencies[watched]))
        bound = model.worst_case_latency(1 << BITS)
        assert bound == model.statistics(1)["latency_bound"]
        worst = max(latency for each in latencies for _, latency in each)
        assert 0 < worst <= bound, f"seed {seed}: {worst} cycles, the bound is {bound}"
    assert seen[0] == seen[1] == seen[2], f"seed {seed}"


@pytest.mark.parametrize(("sms", "slot", "ratio"), [(2, 1, 64), (4, 1, 40), (16, 4, 64), (2, 1, 1)])
def test_the_wait_for_a_response_slot_is_bounded(sms, slot, ratio, monkeypatch):
    """A memory clock so fast that several responses of an SM are due in one of its rounds."""
    slots, seed = SmSlots(sms, slot, BITS), f"fast {sms} {slot} {ratio}"
    rng, waits, take = random.Random(seed), [], ResponseSlots.take

    def watched(self, sm, now, due):
        taken = take(self, sm, now, due)
        waits.append(taken - due)
        return taken

    monkeypatch.setattr(ResponseSlots, "take", watched)
    _, model = play(slots, [some(rng, 600, 3) for _ in range(sms)], ratio)
    bound = model.longest_response_wait()
    assert max(waits) <= bound, f"seed {seed}: {max(waits)}, the bound is {bound}"
    assert max(waits) >= (slots.round if ratio > 1 else slots.round - slot), f"seed {seed}: {max(waits)}"
    assert bound < slots.round * ((1 << BITS) // slot + 1), f"seed {seed}: {bound}"


def test_only_tdm_has_slots():
    slots = SmSlots(2, 1, BITS)
    for name in ("fixed", "dram", "random"):
        create_model(name, SparseMemory(), None, latency=3, seed=1, sms=slots)
    model = create_model("tdm", SparseMemory(), None, latency=3, seed=1, tags=32, sms=slots)
    assert model.longest_response_wait() > 0
    assert TdmMemory(SparseMemory()).longest_response_wait() == 0
