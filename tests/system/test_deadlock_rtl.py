"""A deadlock ends the run soon after it has begun, and says who waits where; what may still go on is left alone."""

import random

import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.program.assembler import asm
from metronome.sim.run.runner import RunRequest, run_many
from tests.sim.machine.golden.iss_programs import COUNT, RandomProgram
from tests.support.builds import SMALL, TINY, UNCACHED, on
from tests.support.tiers import more_but, more_then_long, some_long, some_more
from tests.system.rtl_programs import RawProgram

#: Nothing here runs for long before it is stuck: cycles from the start are more than those from the deadlock.
SOON = 10_000
LATE = 200_000
ONE, TWO, THREE, FOUR, ZERO, NINE = range(18, 24)
WARP, SCRATCH = 6, 5


def by_warp(*parts, config=SMALL):
    """A program in which warp w executes ``parts[w]``, a list of words, and ends; those without a part end at once."""
    p = asm.Program()
    values = ((ONE, 1), (TWO, 2), (THREE, 3), (FOUR, 4), (ZERO, 0), (NINE, 9))
    constants = [word for register, value in values for word in asm.li(register, value)]
    p.add(*constants, *asm.li(SCRATCH, config.warps))
    p.la(7, "worker")
    p.add(asm.wspawn(SCRATCH, 7))
    p.label("worker")
    p.add(*constants, asm.csrr(WARP, 0xCC1))
    for number in range(len(parts)):
        p.li(SCRATCH, number)
        p.branch(asm.beq, WARP, SCRATCH, f"part{number}")
    p.add(asm.tmc(0))
    for number, words in enumerate(parts):
        p.label(f"part{number}")
        p.add(*words, asm.tmc(0))
    return RawProgram(p.assemble())


def bar(barrier, count):
    return asm.bar(barrier, count)


FIRST, SECOND = ZERO, ONE
SELF = asm.jal(0, 0)
#: Name -> (what each warp executes, what each then does).
STUCK = {
    "nobody else": ([[bar(FIRST, TWO)]], "b..."),
    "different barriers": ([[bar(FIRST, TWO)], [bar(SECOND, TWO)]], "bb.."),
    "count 0": ([[bar(FIRST, ZERO)]] * 4, "bbbb"), "more than there are": ([[bar(FIRST, NINE)]] * 4, "bbbb"),
    "less than have arrived": ([[bar(FIRST, FOUR)]] * 3 + [[asm.nop()] * 100 + [bar(FIRST, TWO)]], "bbbb"),
    "wspawn and a barrier": ([[asm.wspawn(TWO, 7)], [bar(FIRST, TWO)]], "wb.."),
    "two in wspawn": ([[asm.wspawn(TWO, 7)], [asm.wspawn(ONE, 7)]], "ww.."),
    "in opposite order": ([[bar(FIRST, TWO), bar(SECOND, TWO)], [bar(SECOND, TWO), bar(FIRST, TWO)]], "bb.."),
    "one barrier less": ([[bar(FIRST, FOUR)] * 3] * 3 + [[bar(FIRST, FOUR)] * 2], "bbb."),
    "to itself": ([[SELF]] * 4, "jjjj"), "a branch to itself": ([[asm.bne(ONE, ZERO, 0)]], "j..."),
    "a branch on equal to itself": ([[asm.beq(ONE, ONE, 0)], [asm.nop(), SELF]], "jj.."),
    "a register's jump to itself": ([[asm.auipc(SCRATCH, 0), asm.jalr(0, SCRATCH, 4)]], "j..."),
    "a jump to itself and a barrier": ([[SELF], [bar(FIRST, TWO)], [bar(FIRST, THREE)]], "jbb."),
    "a call of itself": ([[asm.jal(1, 0)]], "j..."),
}
#: Every kind of waiting, alone and with another.
ONE_OF_EACH = [
    "count 0", "wspawn and a barrier", "two in wspawn", "a register's jump to itself", "a jump to itself and a barrier",
]
#: With and without lock step.
TEXTS = {
    ".": ("not active",), "b": ("waits: barrier",), "j": ("jumps to itself",),
    "w": ("waits: in wspawn, to be the only active warp", "until it is the only active warp"),
}


def tells(state, line):
    return any(text in line for text in TEXTS[state])


def request(launch, **values):
    return RunRequest(**{"launch": launch, "policy": "lrr", "max_cycles": LATE} | values)


def require_stuck(results, cases):
    for name, result in zip(cases, results, strict=True):
        _, states = STUCK[name]
        assert (result.status, result.assertions) == ("deadlock", []), name
        assert result.total_cycles <= SOON, f"{name}: {result.total_cycles} cycles"
        told = [str(state) for state in result.hang]
        assert all(tells(state, line) for state, line in zip(states, told, strict=True)), (name, told)


@on("SMALL")
@pytest.mark.parametrize("names", some_more([ONE_OF_EACH, [name for name in STUCK if name not in ONE_OF_EACH]], 1))
@pytest.mark.parametrize("memory", some_long(["fixed", "random", "dram", "tdm"], 1))
def test_every_deadlock_is_reported(memory, names):
    """A process for each: a program that is stuck is its last."""
    requests = [request(by_warp(*STUCK[name][0]), memory=memory, check=memory == "fixed") for name in names]
    require_stuck(run_many(SMALL, requests), names)


@on("SMALL")
def test_lock_step_knows_the_barrier():
    parts, _ = STUCK["a jump to itself and a barrier"]
    (result,) = run_many(SMALL, [request(by_warp(*parts), check=True)])
    assert [str(state).rpartition(", waits: ")[2] for state in result.hang[1:3]] == [
        "barrier 0: until 2 warps have arrived (2 so far)", "barrier 0: until 3 warps have arrived (2 so far)",
    ]


@pytest.mark.long  # a process for each of thirty programs
@on("uncached")
def test_every_deadlock_is_reported_although_fetches_go_on():
    """Without an I-cache a warp that jumps to itself at the end of a line may fetch the next one for ever."""
    padding = [[asm.nop()] * n + [SELF] for n in range(16)]
    requests = [request(by_warp(*parts), memory="random", latency=40) for parts, _ in STUCK.values()]
    require_stuck(run_many(UNCACHED, requests), STUCK)
    for result in run_many(UNCACHED, [request(by_warp(words)) for words in padding]):
        assert (result.status, result.total_cycles <= SOON) == ("deadlock", True)


@on("TINY")
@pytest.mark.parametrize("name", some_more(["nobody else", "to itself", "two in wspawn", "wspawn and a barrier"], 1))
def test_a_deadlock_of_two_warps(name):
    parts, states = STUCK[name]
    (result,) = run_many(TINY, [request(by_warp(*parts[:2], config=TINY))])
    assert (result.status, len(result.hang)) == ("deadlock", 2)
    assert all(tells(state, str(line)) for state, line in zip(states[:2], result.hang, strict=True))


BUSY = [asm.lui(SCRATCH, 2), asm.addi(SCRATCH, SCRATCH, -1), asm.bne(SCRATCH, 0, -4)]
#: What looks like a deadlock for a long time, and is none.
ENDS = {
    "a late arrival": [[bar(FIRST, TWO)], [*BUSY, bar(FIRST, TWO)]],
    "a late end": [[asm.wspawn(ONE, 7)], BUSY],
    "a jump to itself that others do not wait for": [BUSY, [asm.beq(ONE, TWO, 0)]],
}


@on("SMALL")
@pytest.mark.parametrize("name", more_but(ENDS, {"a late end"}))
def test_who_can_still_go_on_does(name):
    (result,) = run_many(SMALL, [request(by_warp(*ENDS[name]), check=True)])
    assert (result.status, result.mismatches) == ("ended", [])
    assert result.total_cycles > SOON


@on("SMALL")
@pytest.mark.parametrize("latency", some_more([5000, 5, 50_000], 1))
def test_a_fault_under_way_goes_before_a_deadlock(latency):
    """The load that memory refuses is answered long after its warp waits at the barrier."""
    wrong = [asm.lw(SCRATCH, 0, ZERO), bar(FIRST, TWO)]
    (result,) = run_many(SMALL, [request(by_warp(wrong), latency=latency)])
    assert (result.status, result.fault.cause) == ("fault", FaultCause.LOAD_ACCESS)


@on("SMALL")
def test_a_store_under_way_arrives():
    words = [asm.lui(SCRATCH, 0x10), asm.sw(NINE, 0, SCRATCH), bar(FIRST, TWO)]
    (result,) = run_many(SMALL, [request(by_warp(words), latency=3000)])
    assert (result.status, result.memory.read_word(0x1_0000)) == ("deadlock", 9)


class Barriers(RandomProgram):
    """Random programs with more barriers than most."""

    def _block(self, level):
        if level == 0 and self.rng.random() < 0.3:
            self.program.add(asm.bar(self.rng.choice([0, COUNT]), COUNT))
        super()._block(level)


@pytest.mark.more
@on("SMALL")
@pytest.mark.parametrize("count", more_then_long([10, 100, 300], 1, 2))
def test_no_report_on_random_programs(count):
    requests = []
    for number in range(count):
        rng = random.Random(f"deadlock/{number}")
        program = Barriers(rng, SMALL, blocks=rng.randrange(4, 14), floats=False).program
        memory, latency = rng.choice([("fixed", 1), ("fixed", 20), ("fixed", 2000), ("random", 40), ("dram", 20)])
        requests.append(request(
            RawProgram(program.assemble()), policy=rng.choice(SMALL.policies), memory=memory, latency=latency,
            max_cycles=4_000_000,
        ))
    results = run_many(SMALL, requests)
    assert [result.status for result in results] == ["ended"] * count
