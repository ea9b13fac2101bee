"""Data under every model against a plain dict, errors outside memory, and what the adversarial model promises."""

import random
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

import pytest

from metronome.sim.machine.memory.adversarial import AdversarialMemory
from metronome.sim.machine.memory.names import DRAM_MODELS
from metronome.sim.machine.memory.registry import MemoryOptions, create_model
from metronome.sim.machine.memory.store import SparseMemory
from tests.sim.machine.memory.port import ALL, LINE, Request, drive, random_requests
from tests.support.tiers import some_long, some_more

ADVERSARIAL = MemoryOptions(adversarial=True)
MODELS = {
    "fixed": ("fixed", 20, None),
    "random": ("random", 60, None),
    "adversarial": ("random", 500, ADVERSARIAL),
    "adversarial, fast": ("random", 1, ADVERSARIAL),
    "dram": ("dram", 1, None),
    "dram, 2 clocks, short queue": ("dram", 1, MemoryOptions(clock=Fraction(2), queue_depth=3)),
    "dram, 11 clocks": ("dram", 1, MemoryOptions(clock=Fraction(11))),
    "tdm": ("tdm", 1, None),
}
ZEROS = bytes(64)


def model_of(name, seed=1, memory=None):
    kind, latency, options = MODELS[name]
    memory = SparseMemory() if memory is None else memory
    return create_model(kind, memory, None, latency=latency, seed=seed, options=options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_long(range(3), 1))
@pytest.mark.parametrize("name", MODELS)
def test_reads_see_completed_writes_and_no_others(name, seed):
    """Requests to one line under way together: a read sees exactly the writes that are due before it.

    What is due in one cycle may go in any order, so there a byte has a set of values that are right.
    """
    rng = random.Random(f"{name}/{seed}")
    requests = random_requests(rng, 1000, lines=rng.choice((3, 40, 4000)), gap=rng.choice((0, 60)), writes=0.5)
    answers = drive(model_of(name, seed), requests, tags=rng.choice((1, 8, 64)))
    assert not any(answer.error for answer in answers)
    together = defaultdict(list)
    for request, answer in zip(requests, answers, strict=True):
        together[answer.due, request.line].append((request, answer))
    content = defaultdict(lambda: {0})
    for (due, line), group in sorted(together.items(), key=lambda item: item[0]):
        written = [request for request, _ in group if request.write]
        for byte in range(64):
            new = {request.data[byte] for request in written if request.byte_mask >> byte & 1}
            allowed = content[line, byte] | new
            for request, answer in group:
                if not request.write:
                    assert answer.data[byte] in allowed, f"{name}, seed {seed}: line {line:#x}, due in {due}"
            if new:
                content[line, byte] = new


@pytest.mark.parametrize("name", MODELS)
def test_memory_in_the_end(name):
    """One request to a line at a time, as the LSU does it: then memory is what a dict says, byte by byte."""
    rng = random.Random(name)
    expected: dict[int, int] = {}
    requests = []
    for number in range(600):
        mask = rng.choice((ALL, rng.getrandbits(64), 0))
        requests.append(Request(number * 800, LINE + rng.randrange(30), rng.random() < 0.7, mask, rng.randbytes(64)))
    memory = SparseMemory()
    answers = drive(model_of(name, memory=memory), requests)
    for request, answer in zip(requests, answers, strict=True):
        place = request.line * 64
        if request.write:
            expected |= {place + byte: request.data[byte] for byte in range(64) if request.byte_mask >> byte & 1}
        else:
            assert answer.data == bytes(expected.get(place + byte, 0) for byte in range(64)), name
    for line in range(30):
        place = (LINE + line) * 64
        assert memory.read_line(place) == bytes(expected.get(place + byte, 0) for byte in range(64)), name


@pytest.mark.parametrize("name", DRAM_MODELS)
def test_lines_stay_in_order(name):
    """Requests to one line are served in order, even if they are under way together: reads see every older write."""
    rng = random.Random(name)
    requests = random_requests(rng, 3000, lines=24, gap=3, writes=0.5)
    answers = drive(model_of(name), requests)
    content: dict[int, bytearray] = {}
    for request, answer in zip(requests, answers, strict=True):
        line = content.setdefault(request.line, bytearray(64))
        if not request.write:
            assert answer.data == line
            continue
        for byte in range(64):
            if request.byte_mask >> byte & 1:
                line[byte] = request.data[byte]


@pytest.mark.parametrize("line", [0, 0xFFFF_0000 // 64, (1 << 26) - 1])
@pytest.mark.parametrize("name", MODELS)
def test_access_outside_memory_is_an_error(name, line):
    memory = SparseMemory()
    good = LINE + 100_000
    requests = [Request(0, line), Request(1, line, True, ALL, b"\xff" * 64), Request(2, good), Request(3, good, True)]
    answers = drive(model_of(name, memory=memory), requests)
    assert [answer.error for answer in answers] == [True, True, False, False]
    assert [answer.data for answer in answers] == [ZEROS] * 4
    assert memory.pages() == [good * 64 & ~0xFFFF]


@pytest.mark.parametrize("name", MODELS)
def test_a_write_is_not_visible_before_it_is_due(name):
    memory = SparseMemory()
    model = model_of(name, memory=memory)
    model.request(0, 0, LINE, True, ALL, b"\x77" * 64)
    seen = []
    for cycle in range(1200):
        done = model.complete(cycle)
        seen += [completion.due for completion in done]
        assert memory.read_line(LINE * 64) == (b"\x77" * 64 if seen else ZEROS)
        assert not done or done[0].due == cycle
    assert len(seen) == 1


def adversarial(seed, count=6000, **options):
    rng = random.Random(seed)
    model = AdversarialMemory(SparseMemory(), seed=seed, **options)
    requests = [Request(cycle, LINE + rng.randrange(1000), rng.random() < 0.5) for cycle in range(count)]
    return requests, drive(model, requests, tags=64)


@pytest.mark.parametrize("seed", some_more(range(3), 1))
def test_adversarial_latencies_and_pauses(seed):
    requests, answers = adversarial(seed)
    what = f"seed {seed}"
    latencies = [answer.latency for answer in answers]
    # A silence of up to 150 cycles on top of 500.
    assert min(latencies) == 1, what
    assert 500 < max(latencies) <= 650, what
    assert sum(latency <= 3 for latency in latencies) > len(latencies) / 5, what
    assert sum(latency > 250 for latency in latencies) > len(latencies) / 5, what
    accepted = sorted(answer.accepted for answer in answers)
    assert max(later - one for one, later in pairwise(accepted)) > 100, what
    due = sorted(answer.due for answer in answers)
    assert max(later - one for one, later in pairwise(due)) > 100, what
    assert max(due.count(cycle) for cycle in set(due)) >= 8, what
    # Later requests are answered first, and writes complete after reads that were accepted later.
    assert any(one.due > later.due for one, later in pairwise(answers)), what
    assert any(
        request.write and answer.due > other.due + 200
        for number, (request, answer) in enumerate(zip(requests, answers, strict=True))
        for other in answers[number + 1 : number + 10]
    ), what


@pytest.mark.slow
@pytest.mark.parametrize("probability", [0.0, 0.02, 1.0])
def test_injected_errors(probability):
    """As many as asked for; they change no timing, a failed write changes nothing, a failed read has no data."""
    _, clean = adversarial(7)
    _, answers = adversarial(7, error_probability=probability)
    assert [(answer.accepted, answer.due) for answer in answers] == [(answer.accepted, answer.due) for answer in clean]
    share = sum(answer.error for answer in answers) / len(answers)
    assert abs(share - probability) < 0.01
    memory = SparseMemory()
    model = AdversarialMemory(memory, latency=9, seed=3, error_probability=probability)
    writes = [Request(100 * number, LINE + number, True, ALL, b"\x11" * 64) for number in range(200)]
    for number, answer in enumerate(drive(model, writes)):
        assert memory.read_line((LINE + number) * 64) == (ZEROS if answer.error else b"\x11" * 64)


def test_adversarial_is_the_same_for_the_same_seed():
    assert adversarial(3, 500)[1] == adversarial(3, 500)[1]
    assert adversarial(3, 500)[1] != adversarial(4, 500)[1]


def test_bad_error_probability():
    with pytest.raises(ValueError, match="error_probability must be between 0 and 1, not 2"):
        AdversarialMemory(SparseMemory(), seed=1, error_probability=2)
