"""Programs whose runs were once longer than their bounds: waits before the data cache and at the port of registers."""

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.sim.analysis.bound.assumptions import UserStatements
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.assembler.asm import (
    add,
    addi,
    and_,
    bar,
    beq,
    bgeu,
    bltu,
    bne,
    csrr,
    div,
    jalr,
    lw,
    nop,
    sw,
    tmc,
)
from tests.sim.analysis.assembled import (
    A0,
    DATA,
    INPUTS,
    ONES,
    S0,
    T0,
    T1,
    T2,
    T3,
    T4,
    T5,
    T6,
    Assembled,
    asked,
    holds,
    launch_of,
    one,
)
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

A1, A2, A3, A4 = (A0 + each for each in range(1, 5))
LARGE = {"store_buffer": 64, "load_parts": 32}


def lines(program, base, count):
    """Load as many lines, a load each."""
    program.li(T5, base)
    for at in range(count):
        if at and at % 32 == 0:
            program.li(T4, 2048)
            program.add(add(T5, T5, T4))
        program.add(lw(T2, 64 * (at % 32), T5))


def store_and_load(program, turns, *more):
    """A load of a word beside one that was just stored to waits for that store, each time: the line does not stay."""
    program.li(T5, DATA + 0x8000)
    program.li(T4, DATA + 0x8000 + 192)
    program.turns(turns, sw(T5, 0, T5), lw(T2, 4, T5), *more, add(T2, T2, T2))
    program.add(tmc(0))
    return program


def check(config, program, latency):
    return holds(config, launch_of(config, program, ONES, 1 << 16), latency=latency)


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr", "gtlo"], 2))
@pytest.mark.parametrize(("changes", "latency"), [(LARGE, 60), ({}, 20)], ids=["large", "TINY"])
def test_a_store_is_waited_for_at_each_load(policy, changes, latency):
    """Lines of the common beginning made it look as if all lines stayed."""
    program = Assembled(depends=False)
    lines(program, DATA, 100)
    program.add(add(T2, T2, T2))
    program.choice()
    check(one(policy, dcache_bytes=0, **changes), store_and_load(program, 60), latency)


def test_lines_of_two_ways():
    """Lines of both ways made it look so, too."""
    program = Assembled(depends=False)
    program.li(T0, INPUTS)
    program.add(lw(T1, 0, T0))
    program.branch(bne, T1, 0, "other")
    lines(program, DATA, 150)
    program.jal(0, "join")
    program.label("other")
    lines(program, DATA + 0x4000, 150)
    program.label("join")
    program.add(add(T2, T2, T2))
    config = one(dcache_bytes=0, store_buffer=64, load_parts=64, dcache_mshrs=64)
    check(config, store_and_load(program, 140), 60)


def test_a_line_that_another_pushes_out():
    program = Assembled(depends=False)
    lines(program, DATA, 200)
    program.add(add(T2, T2, T2))
    program.choice()
    config = one(dcache_bytes=128, dcache_ways=1, **LARGE)
    check(config, store_and_load(program, 80, lw(A1, 0, T4), add(A1, A1, A1)), 60)


def roles(program, period, rounds, unrolled):
    """What each warp does in its loop."""
    writes = addi(T2, T2, 1)
    for role, first in (
        ("other", [writes] * 2), ("helper", [sw(T5, 0, S0)] * 2), ("loader", [lw(20, 0, T5), lw(21, 0, T5)]),
    ):
        program.align()
        program.label(role)
        for number in range(unrolled):
            program.add(first[number % 2], *[writes] * (period - 1))
        program.add(addi(T6, T6, -1))
        program.branch(bne, T6, 0, role)
        program.jal(0, "meet")
    program.align()
    program.label("chain")
    program.add(*[sw(T5, 128, S0), lw(20, 0, T5), add(21, 20, 20)] * unrolled)
    program.add(addi(T6, T6, -1))
    program.branch(bne, T6, 0, "chain")
    program.li(T6, 7 * rounds // 32)
    program.branch(beq, A4, 0, "tail")
    program.li(T6, 1)
    program.label("tail")
    program.add(*[writes] * 30, addi(T6, T6, -1))
    program.branch(bne, T6, 0, "tail")
    program.jal(0, "meet")


@pytest.mark.long  # a quarter of a minute; it takes many warps
def test_loads_gather_while_the_lookup_waits():
    """Of 64 warps one stores and loads; eight load, one stores, the others write in every turn of theirs."""
    warps, period, rounds, unrolled = 64, 11, 480, 8
    middle = warps // 2
    program = Assembled()
    program.warps(warps, "work")
    program.label("work")
    program.add(csrr(T3, Csr.WARP_ID))
    program.li(T5, DATA)
    program.li(S0, DATA + 0x2000)
    program.add(lw(T1, 0, T5), add(T1, T1, T1))
    for register, value in ((T6, 1), (A4, 1), (A1, 0), (A2, warps)):
        program.li(register, value)
    program.la(A3, "other")
    for warp, role in ((middle, "chain"), (middle - 1, "helper")):
        program.li(T4, warp)
        program.branch(bne, T3, T4, f"no {role}")
        program.la(A3, role)
        program.label(f"no {role}")
        program.add(nop())
    program.li(T4, middle + 1)
    program.branch(bltu, T3, T4, "no loader")
    program.li(T4, middle + 9)
    program.branch(bgeu, T3, T4, "no loader")
    program.la(A3, "loader")
    program.label("no loader")
    program.add(jalr(0, A3, 0))
    program.label("meet")
    program.add(bar(A1, A2))
    program.branch(beq, A4, 0, "end")
    program.li(A4, 0)
    program.li(T6, rounds // unrolled)
    program.add(jalr(0, A3, 0))
    program.label("end")
    program.add(tmc(0))
    roles(program, period, rounds, unrolled)
    config = one(
        "srr", "not_taken", warps=warps, threads=1, store_buffer=1, dcache_mshrs=4, icache_bytes=16384,
    )
    check(config, program, 5)


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr"], 2))
def test_stores_of_the_common_beginning_answer_loads_behind_it(policy):
    """So these bring no line into the cache, and each of the loads behind them misses."""
    registers = range(9, 28)
    program = Assembled(depends=False)
    program.li(T0, INPUTS)
    program.add(lw(T1, 0, T0))
    program.li(T4, 3)
    program.li(S0, 0)
    program.li(T5, DATA + 0x8000)
    program.add(add(T3, T1, T1), nop(), nop())
    # The first turn brings the code into the I-cache.
    program.label("again")
    program.add(*(sw(T4, 64 * at, T5) for at in range(len(registers))))
    program.branch(beq, S0, 0, "on")
    program.branch(bne, T1, 0, "on")
    program.add(nop())
    program.label("on")
    program.add(*(lw(register, 64 * at, T5) for at, register in enumerate(registers)))
    program.add(*[div(T3, T3, T4)] * 32, add(T3, T3, T3))
    program.add(*(add(register, register, register) for register in registers))
    for at in range(len(registers)):
        program.add(lw(T2, 64 * at + 4, T5), and_(T2, T2, 0), add(T5, T5, T2))
    program.add(addi(S0, S0, 1))
    program.li(T5, DATA)
    program.li(T2, 2)
    program.branch(bne, S0, T2, "again")
    program.add(tmc(0))
    config = one(policy, store_buffer=64, dcache_mshrs=64, load_parts=64, dcache_bytes=32768, dcache_ways=8)
    holds(config, launch_of(config, program, data=1 << 16), latency=1000)


def test_a_full_queue_of_dram_accepts_nothing():
    program = Assembled()
    program.li(T5, DATA)
    program.turns(10, sw(T5, 0, T5), sw(T5, 256, T5), addi(T5, T5, 64))
    program.add(tmc(0))
    config = one()
    launch = launch_of(config, program)
    cycles = {
        depth: longest_time(
            config, asked(config, launch, "dram", memory_options=MemoryOptions(queue_depth=depth)), launch,
            UserStatements(memory_latency=200),
        ).cycles
        for depth in (1, 2, 32)
    }
    # Each of 20 lines waits for all those before it.
    assert cycles[1] >= cycles[2] + 10 * 200 >= cycles[32] + 20 * 200


def test_adversarial_memory_has_no_bound():
    config = one()
    program = Assembled()
    program.add(tmc(0))
    launch = launch_of(config, program)
    request = asked(config, launch, "random", memory_options=MemoryOptions(adversarial=True))
    with pytest.raises(RefusedError, match="adversarial"):
        longest_time(config, request, launch, UserStatements(memory_latency=100))
