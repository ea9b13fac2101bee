"""Programs whose runs were once longer than their bounds: waits before the data cache and at the port of registers."""

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.sim.analysis.bound.assumptions import UserStatements
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import DATA, ONES, Assembled, asked, holds, launch_of, one
from tests.sim.registers import A1, A2, A3, A4, S0, T1, T2, T3, T4, T5, T6
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

LARGE = {"store_buffer": 64, "load_parts": 32}


def lines(program, base, count):
    """Load as many lines, a load each."""
    program.li(T5, base)
    for at in range(count):
        if at and at % 32 == 0:
            program.li(T4, 2048)
            program.add(asm.add(T5, T5, T4))
        program.add(asm.lw(T2, 64 * (at % 32), T5))


def store_and_load(program, turns, *more):
    """A load of a word beside one that was just stored to waits for that store, each time: the line does not stay."""
    program.constants({T5: DATA + 0x8000, T4: DATA + 0x8000 + 192})
    program.turns(turns, asm.sw(T5, 0, T5), asm.lw(T2, 4, T5), *more, asm.add(T2, T2, T2))
    program.add(asm.tmc(0))
    return program


def check(config, program, latency):
    return holds(config, launch_of(config, program, ONES, 1 << 16), latency=latency)


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr", "gtlo"], 2))
@pytest.mark.parametrize(("changes", "latency"), [(LARGE, 60), ({}, 20)], ids=["large", "TINY"])
def test_a_store_is_waited_for_at_each_load(policy, changes, latency):
    """Lines of the common beginning made it look as if all lines stayed."""
    program = Assembled(depends=False)
    lines(program, DATA, 100)
    program.add(asm.add(T2, T2, T2))
    program.choice()
    check(one(policy, dcache_bytes=0, **changes), store_and_load(program, 60), latency)


def test_lines_of_two_ways():
    """Lines of both ways made it look so, too."""
    program = Assembled(depends=False)
    program.read_input()
    program.branch(asm.bne, T1, 0, "other")
    lines(program, DATA, 150)
    program.jal(0, "join")
    program.label("other")
    lines(program, DATA + 0x4000, 150)
    program.label("join")
    program.add(asm.add(T2, T2, T2))
    config = one(dcache_bytes=0, store_buffer=64, load_parts=64, dcache_mshrs=64)
    check(config, store_and_load(program, 140), 60)


def test_a_line_that_another_pushes_out():
    program = Assembled(depends=False)
    lines(program, DATA, 200)
    program.add(asm.add(T2, T2, T2))
    program.choice()
    config = one(dcache_bytes=128, dcache_ways=1, **LARGE)
    check(config, store_and_load(program, 80, asm.lw(A1, 0, T4), asm.add(A1, A1, A1)), 60)


def roles(program, period, rounds, unrolled):
    """What each warp does in its loop."""
    writes = asm.addi(T2, T2, 1)
    for role, first in (
        ("other", [writes] * 2), ("helper", [asm.sw(T5, 0, S0)] * 2),
        ("loader", [asm.lw(20, 0, T5), asm.lw(21, 0, T5)]),
    ):
        program.align()
        program.label(role)
        for number in range(unrolled):
            program.add(first[number % 2], *[writes] * (period - 1))
        program.add(asm.addi(T6, T6, -1))
        program.branch(asm.bne, T6, 0, role)
        program.jal(0, "meet")
    program.align()
    program.loop(T6, *[asm.sw(T5, 128, S0), asm.lw(20, 0, T5), asm.add(21, 20, 20)] * unrolled)
    program.li(T6, 7 * rounds // 32)
    program.branch(asm.beq, A4, 0, "tail")
    program.turns(1, *[writes] * 30)
    program.jal(0, "meet")


@pytest.mark.long  # a quarter of a minute; it takes many warps
def test_loads_gather_while_the_lookup_waits():
    """Of 64 warps one stores and loads; eight load, one stores, the others write in every turn of theirs."""
    warps, period, rounds, unrolled = 64, 11, 480, 8
    middle = warps // 2
    program = Assembled()
    program.warps(warps, "work")
    program.label("work")
    program.add(asm.csrr(T3, Csr.WARP_ID))
    program.constants({T5: DATA, S0: DATA + 0x2000})
    program.add(asm.lw(T1, 0, T5), asm.add(T1, T1, T1))
    for register, value in ((T6, 1), (A4, 1), (A1, 0), (A2, warps)):
        program.li(register, value)
    program.la(A3, "other")
    for warp, role in ((middle, "chain"), (middle - 1, "helper")):
        program.li(T4, warp)
        program.branch(asm.bne, T3, T4, f"no {role}")
        program.la(A3, role)
        program.label(f"no {role}")
        program.add(asm.nop())
    program.li(T4, middle + 1)
    program.branch(asm.bltu, T3, T4, "no loader")
    program.li(T4, middle + 9)
    program.branch(asm.bgeu, T3, T4, "no loader")
    program.la(A3, "loader")
    program.label("no loader")
    program.add(asm.jalr(0, A3, 0))
    program.label("meet")
    program.add(asm.bar(A1, A2))
    program.branch(asm.beq, A4, 0, "end")
    program.constants({A4: 0, T6: rounds // unrolled})
    program.add(asm.jalr(0, A3, 0))
    program.label("end")
    program.add(asm.tmc(0))
    roles(program, period, rounds, unrolled)
    config = one("srr", "not_taken", warps=warps, threads=1, store_buffer=1, dcache_mshrs=4, icache_bytes=16384)
    check(config, program, 5)


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr"], 2))
def test_stores_of_the_common_beginning_answer_loads_behind_it(policy):
    """So these bring no line into the cache, and each of the loads behind them misses."""
    registers = range(9, 28)
    program = Assembled(depends=False)
    program.read_input()
    program.constants({T4: 3, S0: 0, T5: DATA + 0x8000})
    program.add(asm.add(T3, T1, T1), asm.nop(), asm.nop())
    # The first turn brings the code into the I-cache.
    program.label("again")
    program.add(*(asm.sw(T4, 64 * at, T5) for at in range(len(registers))))
    program.branch(asm.beq, S0, 0, "on")
    program.unless(asm.bne, T1, 0, asm.nop())
    program.label("on")
    program.add(*(asm.lw(register, 64 * at, T5) for at, register in enumerate(registers)))
    program.add(*[asm.div(T3, T3, T4)] * 32, asm.add(T3, T3, T3))
    program.add(*(asm.add(register, register, register) for register in registers))
    for at in range(len(registers)):
        program.add(asm.lw(T2, 64 * at + 4, T5), asm.and_(T2, T2, 0), asm.add(T5, T5, T2))
    program.add(asm.addi(S0, S0, 1))
    program.constants({T5: DATA, T2: 2})
    program.branch(asm.bne, S0, T2, "again")
    config = one(policy, store_buffer=64, dcache_mshrs=64, load_parts=64, dcache_bytes=32768, dcache_ways=8)
    holds(config, launch_of(config, program, data=1 << 16), latency=1000)


def test_a_full_queue_of_dram_accepts_nothing():
    program = Assembled()
    program.li(T5, DATA)
    program.turns(10, asm.sw(T5, 0, T5), asm.sw(T5, 256, T5), asm.addi(T5, T5, 64))
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
    launch = launch_of(config, program)
    request = asked(config, launch, "random", memory_options=MemoryOptions(adversarial=True))
    with pytest.raises(RefusedError, match="adversarial"):
        longest_time(config, request, launch, UserStatements(memory_latency=100))


def test_a_load_of_one_of_several_words_that_another_warp_stores_to():
    """Only loads of known addresses were races."""
    program = Assembled(depends=False)
    program.warps(2, "other")
    program.read_input()
    program.li(T3, DATA)
    program.add(asm.andi(T1, T1, 3), asm.slli(T1, T1, 2), asm.add(T3, T3, T1))
    program.turns(60, asm.nop())
    program.add(asm.lw(T1, 0, T3), asm.andi(T1, T1, 511), asm.addi(T1, T1, 1))
    program.loop(T1, asm.nop())
    program.add(asm.tmc(0))
    program.label("other")
    program.constants({T3: DATA, T1: 500})
    program.add(*[asm.sw(T1, 4 * word, T3) for word in range(4)], asm.tmc(0))
    _, longest = holds(one(), program)
    assert longest > 1000
