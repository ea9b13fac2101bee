"""Programs whose runs were once longer than their bounds: what is known on a path, and who meets whom."""

import dataclasses

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.paths.memory import VectorClocks
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import DATA, Assembled, holds, launch_of, one, refused, words
from tests.sim.registers import A0, A1, A2, S0, T1, T2, T3, T4, T5, T6
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow



def meets(program, barrier, count):
    program.constants({T2: barrier, T3: count})
    program.add(asm.bar(T2, T3))


def workers(warps, policy="lrr"):
    program = Assembled()
    program.warps(warps, "work")
    program.label("work")
    program.add(asm.csrr(S0, Csr.WARP_ID))
    program.li(T5, DATA)
    return program, one(policy, preset=BASE)


@pytest.mark.parametrize("policy", ["lrr", "gtlo"])
def test_more_warps_than_a_barrier_waits_for(policy):
    """Warps 0 and 2 come first; the analysis would let 0 and 1 meet, which do their work at the same time then."""
    program, config = workers(4, policy)
    meets(program, 0, 2)
    refused(config, program, "more than 2 warps may arrive")


def test_warps_that_wait_at_a_barrier_for_different_numbers():
    program, config = workers(3)
    program.li(T3, 2)
    program.branch(asm.beq, S0, 0, "on")
    program.li(T3, 3)
    program.label("on")
    program.li(T2, 0)
    program.add(asm.bar(T2, T3), asm.tmc(0))
    refused(config, program, "for 3 and for 2")


def test_barriers_that_only_these_warps_use():
    """Each warp has its barrier and its partner, again and again; then all meet at others."""
    program, config = workers(4)
    program.add(asm.andi(T4, S0, 1))
    program.li(T3, 2)
    program.turns(3, asm.bar(T4, T3))
    meets(program, 2, 4)
    meets(program, 0, 4)
    holds(dataclasses.replace(config, warps=8), program)


def test_a_barrier_is_left_before_others_come():
    """Two pairs at one barrier, the second behind what they meet the first at: the order is known."""
    program, config = workers(3)
    program.branch(asm.beq, S0, 0, "first")
    program.li(T2, 2)
    program.branch(asm.beq, S0, T2, "last")
    meets(program, 0, 2)
    meets(program, 1, 2)
    meets(program, 0, 2)
    program.add(asm.tmc(0))
    program.label("first")
    meets(program, 0, 2)
    program.add(asm.tmc(0))
    program.label("last")
    meets(program, 1, 2)
    meets(program, 0, 2)
    holds(config, program)


def test_what_has_ended_is_known_by_whom():
    times = VectorClocks(3)
    ended = times.meet([0, 1])
    assert times.ordered_after(0, ended) and times.ordered_after(1, ended) and not times.ordered_after(2, ended)
    times.meet([1, 2])
    assert times.ordered_after(2, ended)


def loop_to(program, register, most):
    """A long loop of as many turns as a register says, up to a limit."""
    program.add(asm.andi(register, register, most))
    program.branch(asm.beq, register, 0, f"none {program.here}")
    name = f"none {program.here - 4}"
    again = f"again {program.here}"
    program.label(again)
    program.add(asm.addi(register, register, -1), *[asm.nop()] * 40)
    program.branch(asm.bne, register, 0, again)
    program.label(name)


def test_a_word_of_a_race_that_is_stored_on_one_of_several_paths():
    program = Assembled()
    program.warps(2, "other")
    program.li(T5, DATA)
    program.read_input()
    program.branch(asm.beq, T1, 0, "skip")
    program.li(T2, 1)
    program.add(asm.sw(T2, 0, T5))
    program.turns(100)
    program.add(asm.lw(T2, 0, T5))
    loop_to(program, T2, 63)
    program.label("skip")
    program.add(asm.tmc(0))
    program.label("other")
    program.li(T5, DATA)
    program.turns(30)
    program.li(T2, 60)
    program.add(asm.sw(T2, 0, T5), asm.tmc(0))
    bound, run = holds(one(), program)
    assert 60 * 40 < run < bound.cycles


def test_mscratch_is_shared():
    program = Assembled()
    program.warps(2, "other")
    program.turns(100)
    program.add(asm.csrr(T4, Csr.MSCRATCH))
    loop_to(program, T4, 63)
    program.add(asm.tmc(0))
    program.label("other")
    program.li(T2, 60)
    program.add(asm.csrw(Csr.MSCRATCH, T2), asm.tmc(0))
    _, run = holds(one(), program)
    assert run > 60 * 40


def test_mscratch_that_nobody_else_writes_is_known():
    program = Assembled()
    program.li(T2, 900)
    program.add(asm.csrw(Csr.MSCRATCH, T2))
    program.warps(2, "work")
    program.label("work")
    program.add(asm.csrr(T6, Csr.MSCRATCH))
    program.loop(T6)
    bound, _ = holds(one(), program)
    assert bound.loops and set(bound.loops.values()) == {900}


def test_mregion_holds_what_was_written():
    program = Assembled()
    program.li(T2, 1)
    program.add(asm.csrw(Csr.MREGION, T2), asm.csrr(T3, Csr.MREGION))
    program.branch(asm.beq, T3, 0, "end")
    program.turns(100)
    program.label("end")
    program.add(asm.csrw(Csr.MREGION, 0), asm.tmc(0))
    _, run = holds(one(), program)
    assert run > 100


def inactive_lane(program, first, second):
    """Lane 0 has one of two numbers in A0, by an input, and is not active any more."""
    program.mask(3)
    program.li(T3, 2)
    program.read_input()
    program.branch(asm.beq, T1, 0, "a")
    program.li(A0, first)
    program.add(asm.tmc(T3))
    program.jal(0, "j")
    program.label("a")
    program.li(A0, second)
    program.add(asm.tmc(T3))
    program.label("j")
    program.add(asm.nop(), asm.csrw(Csr.MSCRATCH, A0), asm.csrr(T6, Csr.MSCRATCH))
    program.loop(T6)
    program.mask(1)
    program.add(asm.tmc(0))
    return program


def test_a_csr_takes_what_lane_0_has_though_it_is_not_active():
    refused(one(), inactive_lane(Assembled(), 300, 1), "its write to a CSR depends on the inputs")
    # It has the same on both paths; the active lane has something else then.
    bound, _ = holds(one(), inactive_lane(Assembled(), 300, 300))
    assert 300 in bound.loops.values()


def test_a_warp_that_ended_in_a_split_is_started_again():
    program = Assembled()
    for count, name in ((2, "first"), (1, "first"), (2, "second")):
        program.warps(count, name)
    program.add(asm.tmc(0))
    program.label("first")
    program.mask(15)
    program.add(asm.csrr(S0, Csr.THREAD_ID))
    program.read_input()
    program.li(T3, 7)
    program.branch(asm.beq, T1, 0, "a")
    program.li(A0, 300)
    program.add(asm.tmc(T3))
    program.jal(0, "j")
    program.label("a")
    program.li(A0, 1)
    program.add(asm.tmc(T3))
    program.label("j")
    program.add(asm.nop())
    program.li(A0, 5)
    program.add(asm.slti(A1, S0, 1), asm.split(A2, A1))
    program.unless(asm.bne, A1, 0, asm.nop())
    program.add(asm.tmc(0))
    program.label("second")
    program.mask(15)
    program.add(asm.nop())
    program.mask(8)
    program.add(asm.addi(T6, A0, 0))
    program.loop(T6)
    _, run = holds(one(preset=dataclasses.replace(TINY, threads=4)), program)
    assert run > 300


def test_a_branch_to_the_next_instruction():
    """Whether it is taken depends on the inputs, where it goes does not: the two paths become one."""
    program = Assembled(depends=False)
    program.read_input(asm.bne(T1, 0, 4))
    program.warps(2, "on")
    program.label("on")
    program.turns(5, asm.nop())
    bound, _ = holds(one(), program)
    assert not bound.exact


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr"], 2))
@pytest.mark.parametrize("ways", some_more([2, 1], 1))
def test_inputs_behind_the_code_that_are_jumps(policy, ways):
    """Two lines come on one wrong path, and push out two of the loop."""
    program = Assembled(depends=False)
    program.li(T5, DATA)
    program.add(asm.lw(T2, 0, T5))
    program.constants({A0: 1, T6: 200})
    program.jal(0, "loop")
    program.label("out")
    program.add(asm.tmc(0))
    program.align()
    program.label("loop")
    first = program.here
    program.add(asm.addi(T6, T6, -1))
    program.branch(asm.bne, T6, 0, "on")
    program.jal(0, "out")
    program.label("on")
    program.align(40)
    program.add(*[asm.nop()] * 6)
    program.align(40)
    last = program.here // 64 * 64
    program.la(T3, "loop")
    program.add(asm.lw(T4, 0, T5), asm.add(T4, T4, T4), asm.mul(T3, T3, A0), asm.jalr(0, T3, 0))
    behind, code = program.here, program.assemble()
    quiet = words(asm.nop()) * 0x1000
    jumps, size = bytearray(quiet), 4096 // ways
    places = [behind, *(behind // 4096 * 4096 + 4096 * at + line % size for at, line in ((1, first), (2, last)))]
    for place, target in zip(places, [*places[1:], places[-1] + 0x100], strict=True):
        jumps[place - behind : place - behind + 4] = words(asm.jal(0, target - place))
    config = one(policy, icache_ways=ways, icache_bytes=4096, icache_mshrs=4)
    launch = dataclasses.replace(launch_of(config, code, quiet), loads={"inputs": (behind, quiet)})
    holds(config, launch, [quiet, bytes(jumps)], latency=200)
