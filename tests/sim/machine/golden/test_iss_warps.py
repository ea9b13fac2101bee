"""wspawn, bar and who gets to run, against isa.md, in a run and step by step."""

import pytest

from metronome.sim.machine.golden import EndStatus, IssError
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_harness import MODES, START, USER, all_lanes, ended, execute, lanes, runnable, spawned

pytestmark = pytest.mark.parametrize("mode", MODES)


# wspawn


def wspawn_program(count):
    """Warp 0 spawns; every warp writes 1 + its number to x10, the others end, warp 0 too."""
    p = asm.Program()
    p.li(6, count)
    p.la(7, "worker")
    p.add(asm.wspawn(6, 7), asm.addi(11, 0, 7))
    p.label("worker")
    p.add(asm.csrr(10, 0xCC1), asm.addi(10, 10, 1), asm.csrr(12, 0xCC4), asm.tmc(0))
    return p


@pytest.mark.parametrize("count, started", [(0, 0), (1, 0), (2, 1), (3, 2), (4, 3), (5, 3), (0xFFFFFFFF, 3)])
def test_wspawn_starts_the_warps_below_n(mode, count, started):
    iss = ended(wspawn_program(count), mode)
    assert [lanes(iss, 10, warp)[0] for warp in range(4)] == [1, *(w + 1 if w <= started else 0 for w in (1, 2, 3))]
    # The spawned warps have thread mask 1 and skip the issuer's next instruction.
    assert [lanes(iss, 12, warp)[0] for warp in range(1, 4)] == [1 if w <= started else 0 for w in (1, 2, 3)]
    assert [lanes(iss, 11, warp)[0] for warp in range(4)] == [7, 0, 0, 0]


def test_wspawn_does_not_touch_the_issuing_warp(mode):
    """Warp 2 spawns warps 0..3 when warp 0 has ended: it goes on where it was."""
    p = asm.Program()
    p.li(6, 3)
    p.la(7, "first")
    p.add(asm.wspawn(6, 7), asm.tmc(0))
    p.label("first")
    p.add(asm.csrr(8, 0xCC1), asm.addi(9, 0, 2))
    p.branch(asm.beq, 8, 9, "spawner")
    p.add(asm.tmc(0))
    p.label("spawner")
    p.li(6, 4)
    p.la(7, "second")
    p.add(asm.wspawn(6, 7), asm.addi(13, 0, 9), asm.tmc(0))
    p.label("second")
    p.add(asm.csrr(14, 0xCC1), asm.addi(14, 14, 1), asm.tmc(0))
    iss = ended(p, mode)
    assert [lanes(iss, 14, w)[0] for w in range(4)] == [1, 2, 0, 4]
    assert lanes(iss, 13, 2)[0] == 9


def test_wspawn_waits_until_it_is_the_only_active_warp(mode):
    """wspawn(1, x) after a spawn: the issuer reads what the others stored before they ended."""
    p = asm.Program()
    p.li(6, 4)
    p.la(7, "worker")
    p.add(asm.wspawn(6, 7))
    p.li(6, 1)
    p.add(asm.wspawn(6, 0), asm.csrr(11, 0xCC3))
    p.li(20, USER)
    for warp in range(1, 4):
        p.add(asm.lw(12 + warp, 4 * warp, 20))
    p.add(asm.tmc(0))
    p.label("worker")
    p.li(20, USER)
    p.li(8, 50)
    p.label("delay")
    p.add(asm.addi(8, 8, -1))
    p.branch(asm.bne, 8, 0, "delay")
    p.add(asm.csrr(9, 0xCC1), asm.slli(10, 9, 2), asm.add(20, 20, 10), asm.sw(9, 0, 20), asm.tmc(0))
    iss = ended(p, mode)
    assert [lanes(iss, 12 + warp)[0] for warp in range(1, 4)] == [1, 2, 3]
    assert lanes(iss, 11)[0] == 1


def test_two_waiting_wspawns_are_a_deadlock(mode):
    p = spawned(count=2)
    p.li(6, 1)
    p.li(7, START)
    p.add(asm.wspawn(6, 7), asm.tmc(0))
    _, end = execute(p, mode)
    assert end.status is EndStatus.DEADLOCK
    assert sorted(end.waits) == [0, 1]
    assert all("wspawn(1, 0x80000000): until it is the only active warp" in text for text in end.waits.values())


# bar


def barrier_program(identity, count, rounds=1, warps=4):
    """All warps: store to a slot, bar, read the next warp's slot; repeated."""
    p = spawned(asm.csrr(8, 0xCC1), asm.slli(9, 8, 2), count=warps)
    p.li(20, USER)
    p.add(asm.add(21, 20, 9), asm.addi(9, 9, 4), asm.andi(9, 9, 4 * warps - 1), asm.add(22, 20, 9))
    p.li(23, identity)
    p.li(24, count)
    # Warps arrive at different times.
    p.add(asm.addi(10, 8, 0))
    p.label("delay")
    p.add(asm.addi(10, 10, -1))
    p.branch(asm.bge, 10, 0, "delay")
    for number in range(rounds):
        p.add(asm.addi(11, 8, 100 * number + 1), asm.sw(11, 0, 21), asm.bar(23, 24), asm.lw(12 + number, 0, 22))
        p.add(asm.bar(23, 24))
    p.add(asm.tmc(0))
    return p


@pytest.mark.parametrize("identity", [0, 1, 2, 7, 0x80000001])
def test_a_barrier_orders_all_warps(mode, identity):
    iss = ended(barrier_program(identity, 4, rounds=3), mode)
    for number in range(3):
        got = [lanes(iss, 12 + number, warp)[0] for warp in range(4)]
        assert got == [100 * number + 1 + (warp + 1) % 4 for warp in range(4)]
    assert iss.arrived == [[], []]


def test_a_barrier_of_one_is_a_no_op(mode):
    iss = ended(barrier_program(0, 1), mode)
    assert iss.arrived == [[], []]


def test_a_barrier_that_is_never_full_is_a_deadlock(mode):
    iss, end = execute(barrier_program(1, 5), mode)
    assert end.status is EndStatus.DEADLOCK
    assert sorted(end.waits) == [0, 1, 2, 3]
    assert all("barrier 1: until 5 warps have arrived" in text for text in end.waits.values())
    with pytest.raises(IssError, match=r"warp 2 at pc 0x[0-9a-f]+ waits: barrier 1"):
        iss.step(2)


@pytest.mark.parametrize(("barrier", "name"), [(7, "7"), (0x8000_0001, "0x80000001")])
def test_a_barrier_beyond_the_last_is_named_as_it_was_asked_for(mode, barrier, name):
    _, end = execute(barrier_program(barrier, 5), mode)
    text = f"barrier {name}, which is barrier 1 here (modulo the machine's 2 barriers): until 5 warps have arrived"
    assert sorted(end.waits) == [0, 1, 2, 3] and all(each.endswith(text) for each in end.waits.values()), end.waits


@pytest.mark.parametrize("count", [0, 3])
def test_the_count_of_the_last_arrival_must_be_met_exactly(mode, count):
    """Warp 3 arrives as the fourth with a count that the arrivals have passed: it waits too."""
    p = spawned(asm.csrr(8, 0xCC1), asm.addi(9, 0, 5), asm.addi(10, 0, 3))
    p.branch(asm.bne, 8, 10, "arrive")
    # Warp 3 is late.
    p.li(11, 100)
    p.label("delay")
    p.add(asm.addi(11, 11, -1))
    p.branch(asm.bne, 11, 0, "delay")
    p.li(9, count)
    p.label("arrive")
    p.add(asm.bar(0, 9), asm.tmc(0))
    _, end = execute(p, mode)
    assert end.status is EndStatus.DEADLOCK and sorted(end.waits) == [0, 1, 2, 3]


def test_a_spawned_warp_starts_with_an_empty_stack(mode):
    """Warp 1 ends inside a divergent split; spawned again, its first split returns pointer 0."""
    p = asm.Program()
    p.add(asm.addi(25, 0, 2))
    p.label("again")
    p.li(6, 2)
    p.la(7, "worker")
    p.add(asm.wspawn(6, 7), asm.addi(25, 25, -1))
    p.branch(asm.bne, 25, 0, "again")
    p.add(asm.tmc(0))
    p.label("worker")
    p.add(asm.addi(5, 0, -1), asm.tmc(5), asm.csrr(8, 0xCC0), asm.split(20, 8), asm.tmc(0))
    iss = ended(p, mode)
    assert lanes(iss, 20, 1) == [0] * 4


def test_barriers_are_independent(mode):
    """Warps 0 and 1 meet at barrier 0, warps 2 and 3 at barrier 1 (two arrivals each)."""
    p = spawned()
    p.add(asm.csrr(8, 0xCC1), asm.srli(9, 8, 1), asm.addi(10, 0, 2), asm.bar(9, 10), asm.addi(11, 0, 1), asm.tmc(0))
    iss = ended(p, mode)
    assert [lanes(iss, 11, warp)[0] for warp in range(4)] == [1] * 4


def test_the_id_and_count_come_from_the_leader(mode):
    p = all_lanes()
    # Lanes hold counts -2, -1, 0, 1: the leader's 1 makes it a no-op.
    p.add(asm.csrr(6, 0xCC0), asm.addi(6, 6, -2), asm.bar(0, 6), asm.addi(7, 0, 1), asm.tmc(0))
    iss = ended(p, mode)
    assert lanes(iss, 7) == [1] * 4


def test_a_branch_in_a_spin_loop_does_not_starve_the_writer(mode):
    """Warps 1..3 spin, at a lower pc, on a word that warp 0 writes after a long loop at a higher pc."""
    p = asm.Program()
    p.li(6, 4)
    p.la(7, "worker")
    p.li(20, USER)
    p.add(asm.wspawn(6, 7))
    p.jal(0, "writer")
    p.label("worker")
    p.li(20, USER)
    p.label("spin")
    p.add(asm.lw(8, 0, 20))
    p.branch(asm.beq, 8, 0, "spin")
    p.add(asm.tmc(0))
    p.label("writer")
    p.li(9, 200)
    p.label("count")
    p.add(asm.addi(9, 9, -1))
    p.branch(asm.bne, 9, 0, "count")
    p.add(asm.addi(10, 0, 5), asm.sw(10, 0, 20), asm.tmc(0))
    iss = ended(p, mode)
    assert [lanes(iss, 8, warp)[0] for warp in range(1, 4)] == [5] * 3


def test_the_limit_stops_an_endless_loop(mode):
    p = asm.Program()
    p.label("loop")
    p.jal(0, "loop")
    iss, end = execute(p, mode, limit=1000)
    assert end.status is EndStatus.LIMIT and end.executed == 1000
    assert iss.pc[0] == START and runnable(iss) == [0]
