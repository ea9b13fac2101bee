"""The commands of dram and tdm against the independent checker; and the checker against sequences that break a rule."""

import random
from fractions import Fraction

import pytest

from metronome.sim.machine.memory.dram.model import DramMemory
from metronome.sim.machine.memory.dram.timing import TIMINGS
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.machine.memory.tdm import TdmMemory
from tests.sim.machine.memory.dram_checker import DDR4_2400R, TABLES, accesses, rules, violations
from tests.sim.machine.memory.port import LINE, Request, drive, random_requests
from tests.support.tiers import slow_then_more, some_long, some_more, some_slow

RATIOS = [Fraction(1), Fraction(2), Fraction(3, 4), Fraction(7, 3)]
#: Lines, pauses, share of writes: from four banks' rows to everywhere, from all reads to all writes.
TRAFFIC = [(600, 0, 0.3), (1 << 20, 0, 0.5), (1 << 20, 400, 0.2), (5000, 30, 1.0), (40_000, 5, 0.0)]


def place(line):
    """Bank, row, column of a line by the documented default mapping: row bank column group, the bank hashed."""
    row = line // 2048
    digits = row % 16 ^ row // 16 % 16 ^ row // 256 % 16 ^ row // 4096
    return (line % 4 * 4 + line // 512 % 4) ^ digits, row, line // 4 % 128


def kernel_requests(rng, count):
    """What a kernel does to memory: warps that stream through arrays side by side, strided, or by index; and stacks."""
    warps = [{"array": rng.randrange(1 << 18), "stride": rng.choice((1, 1, 1, 8, 32, 512)), "at": 0} for _ in range(32)]
    requests, cycle = [], 0
    while len(requests) < count:
        cycle += rng.randint(0, 6)
        warp = rng.choice(warps)
        for line in range(rng.choice((1, 1, 2, 8, 32))):
            address = warp["array"] + warp["at"] + line * warp["stride"]
            requests.append(Request(cycle, LINE + address % (1 << 20), rng.random() < 0.25))
        warp["at"] += warp["stride"]
        if rng.random() < 0.01:
            warp["array"] = rng.randrange(1 << 18)
            cycle += rng.randint(0, 2000)
    return requests[:count]


def run(model_class, requests, **options):
    commands = []
    model = model_class(SparseMemory(), observer=commands.append, **options)
    drive(model, requests, settle=200)
    return commands


def wanted(requests):
    return sorted((*place(request.line), request.write) for request in requests)


@pytest.mark.parametrize("model", [DramMemory, TdmMemory])
@pytest.mark.parametrize("traffic", some_slow(range(len(TRAFFIC)), 2))
@pytest.mark.parametrize("name", some_long(TABLES, 1))
def test_random_traffic(name, traffic, model):
    seed = f"{name}/{traffic}"
    rng = random.Random(seed)
    lines, gap, writes = TRAFFIC[traffic]
    requests = random_requests(rng, 1500, lines=lines, gap=gap, writes=writes)
    commands = run(model, requests, timing=TIMINGS[name], ratio=RATIOS[traffic % len(RATIOS)])
    assert violations(commands, TABLES[name])[:5] == [], f"seed {seed}"
    assert sorted(accesses(commands)) == wanted(requests), f"seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize("model", [DramMemory, TdmMemory])
@pytest.mark.parametrize("seed", some_long(range(3), 1))
def test_kernel_like_traffic(seed, model):
    requests = kernel_requests(random.Random(seed), 6000)
    commands = run(model, requests)
    assert violations(commands, DDR4_2400R)[:5] == [], f"seed {seed}"
    assert sorted(accesses(commands)) == wanted(requests), f"seed {seed}"
    assert sum(command.kind == "REF" for command in commands) >= 3


@pytest.mark.long
@pytest.mark.parametrize("model", [DramMemory, TdmMemory])
@pytest.mark.parametrize("name", TABLES)
def test_long_traffic(name, model):
    rng = random.Random(name)
    for number, (lines, gap, writes) in enumerate(TRAFFIC):
        requests = random_requests(rng, 60_000, lines=lines, gap=gap, writes=writes)
        commands = run(model, requests, timing=TIMINGS[name], ratio=RATIOS[number % len(RATIOS)])
        assert violations(commands, TABLES[name])[:5] == [], f"{name}, traffic {number}"
        assert sorted(accesses(commands)) == wanted(requests), f"{name}, traffic {number}"


#: The numbers of the table that are the shortest distance of some pair of commands.
NUMBERS = (
    "tRCD", "tRP", "tRAS", "tRRD_S", "tRRD_L", "tFAW", "tWR", "tWTR_S", "tWTR_L", "tRTP", "tCCD_L", "tRFC", "tCCD_S",
)


@pytest.fixture(scope="module")
def histories():
    """The commands of all kinds of traffic, which are right."""
    rng = random.Random("histories")
    found = [
        run(DramMemory, random_requests(rng, 1500, lines=lines, gap=gap, writes=writes))
        for lines, gap, writes in TRAFFIC
    ]
    assert not any(violations(commands, DDR4_2400R) for commands in found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more([*NUMBERS, "tRC", "read to write", "tREFI"], 2))
def test_a_controller_that_is_a_clock_too_fast_is_caught(histories, name):
    """The checker's table is one clock slower than the device's in one number, and only that rule complains.

    So the model uses every number to the clock, too.
    """
    table = dict(DDR4_2400R)
    if name == "tREFI":
        # The k-th refresh is late by k times as much: found when that is above the time for closing rows.
        table["tREFI"] -= 60
    elif name == "read to write":
        table["CL"] += 1
    else:
        table[name] += 1
    complaints = {text.split(":")[0] for commands in histories for text in violations(commands, table)}
    # With a later burst of reads only, the data bus is what they would also run into.
    assert complaints - {"data bus"} == {name}


@pytest.mark.parametrize("rule", rules(DDR4_2400R), ids=lambda rule: f"{rule[0]} {rule[1][0]} {rule[2][0]}")
def test_every_rule_sees_its_own_violation(rule):
    """Two commands a clock closer than the rule allows are reported by its name, and as far as it allows are not."""
    name, firsts, seconds, scope, distance = rule
    for first in firsts:
        for second in seconds:
            if "AP" in (first, second):
                continue
            bank = -1 if first in ("PREA", "REF") else 0
            other = -1 if second in ("PREA", "REF") or first == "REF" else {"bank": 0, "group": 1, "rank": 4}[scope]
            for clock, expected in ((1000 + distance, False), (1000 + distance - 1, True)):
                commands = [(1000, first, bank, 0, 0), (clock, second, other, 0, 0)]
                found = [text for text in violations(commands, DDR4_2400R, until=0) if text.startswith(f"{name}:")]
                assert bool(found) == expected, f"{first} to {second}"


@pytest.mark.parametrize(("commands", "name"), [
    ([(10 * n, "ACT", n, 0, 0) for n in range(5)], None),
    ([(6 * n, "ACT", 4 * n % 16 + n // 4, 0, 0) for n in range(5)], "tFAW"),
    ([(5, "ACT", 0, 0, 0), (5, "PRE", 1, 0, 0)], "command bus"),
    ([(5, "RD", 0, 0, 0), (12, "WR", 4, 0, 0)], "data bus"),
    ([(5, "ACT", 0, 0, 0), (500, "ACT", 0, 0, 0)], "state"),
    ([(5, "RD", 0, 0, 0)], "state"),
    ([(5, "ACT", 0, 0, 0), (100, "PRE", 0, 0, 0), (200, "WR", 0, 0, 0)], "state"),
    ([(5, "ACT", 0, 0, 0), (100, "REF", -1, 0, 0)], "state"),
    ([(5, "ACT", 0, 0, 0), (21, "RDA", 0, 0, 0), (59, "ACT", 0, 1, 0)], "tRP"),
    ([(5, "ACT", 0, 0, 0), (21, "WRA", 0, 0, 0), (70, "ACT", 0, 1, 0)], "tRP"),
    ([(5, "ACT", 0, 0, 0), (21, "WRA", 0, 0, 0), (71, "ACT", 0, 1, 0)], None),
])
def test_the_checker_on_small_sequences(commands, name):
    """RDA at 21 of a row opened in 5 closes at max(5 + 39, 21 + 9) = 44; WRA at 21 + 12 + 4 + 18 = 55."""
    names = {text.split(":")[0] for text in violations(commands, DDR4_2400R, until=0)}
    assert names == set() if name is None else name in names


def test_missing_refreshes_are_seen():
    commands = run(DramMemory, random_requests(random.Random(1), 3000, lines=1 << 20, gap=100, writes=0.5))
    assert violations(commands, DDR4_2400R) == []
    refreshes = [command for command in commands if command.kind == "REF"]
    assert len(refreshes) > 3
    commands.remove(refreshes[2])
    assert {text.split(":")[0] for text in violations(commands, DDR4_2400R)} == {"tREFI"}


@pytest.mark.parametrize("depth", [1, 2, 5, 32])
@pytest.mark.parametrize("seed", slow_then_more(range(6), 1, 2))
def test_answers_do_not_depend_on_when_the_model_is_asked(seed, depth):
    """Told of each request in its own cycle or as late as the lookahead allows: the same answers, the same cycles."""
    rng = random.Random(f"{seed}/{depth}")
    lines, gap, writes = rng.choice(TRAFFIC)
    requests = random_requests(rng, 1500, lines=lines, gap=gap, writes=writes)
    ratio, tags = rng.choice(RATIOS), rng.choice((4, 64))
    answers = []
    for late in (False, True):
        model = DramMemory(SparseMemory(), ratio=ratio, queue_depth=depth)
        answers.append(drive(model, requests, tags=tags, late=late))
    assert answers[0] == answers[1], f"seed {seed}"


def test_a_hot_row_does_not_starve_a_conflict():
    """A stream of hits without end, and one request to another row of that bank: overtaken by 16, not more."""
    hits = [Request(1000 + 3 * number, LINE + 4 * (number % 128)) for number in range(600)]
    conflict = Request(1400, LINE + 2048)
    requests = sorted([*hits, conflict], key=lambda request: request.cycle)
    slow = drive(DramMemory(SparseMemory()), requests)[requests.index(conflict)]
    # 32 in the queue before it, 16 that overtake, tCCD_L 6 each; a conflict; a refresh at most.
    assert slow.latency <= 48 * 6 + 1 + 52 + 433 + 60
