"""CSRs as software sees them on the whole SM."""

from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.sm_checks import checked_run
from tests.hdl.sm_harness import Run, finish, spawn
from tests.support.builds import SMALL, TINY, on

pytestmark = on("TINY")
ARGUMENT = 0x0001_2340


def _before(run: Run, pc: int, warp: int = 0) -> tuple[int, int]:
    """The cycle in which the instruction at ``pc`` is in X, and the thread-instructions completed before it."""
    (x,) = (c.number for c in run.cycles if c.issue and (c.issue.warp, c.issue.pc) == (warp, pc))
    return x, sum(c.issue.mask.bit_count() for c in run.cycles[:x] if c.issue)


@on("SMALL")
def test_identity_of_every_lane():
    """thread id, warp id, mhartid and the sizes, in all lanes of all warps."""
    p = Program()
    spawn(p, 4, "all")
    p.label("all")
    p.add(*asm.li(5, 0b10), asm.tmc(5))
    csrs = (0xCC0, 0xCC1, 0xF14, 0xFC0, 0xFC1, 0xFC2, 0xFC3, 0xCC4, 0xF11)
    p.add(*[asm.csrr(6 + i, csr) for i, csr in enumerate(csrs)])
    run = checked_run(SMALL, p)
    for warp in range(4):
        values = (1, warp, SMALL.threads * warp + 1, SMALL.threads, 4, 1, 0xFFFF_0000, 0b10, 0)
        expected = [{1: value} for value in values]
        assert [run.register(6 + i, warp) for i in range(len(csrs))] == expected


@on("SMALL")
def test_active_warps():
    """Before the others have started, with all of them, and after their end."""
    p = Program()
    p.add(asm.csrr(5, 0xCC3))
    spawn(p, 3, "other")
    # The warps that were started wait here until warp 0 has looked.
    p.add(*asm.li(13, 0), *asm.li(14, 3), asm.csrr(6, 0xCC3), asm.bar(13, 14))
    # wspawn with n = 1 waits until every other warp has ended.
    p.add(*asm.li(15, 1), asm.wspawn(15, 0), asm.csrr(7, 0xCC3))
    finish(p)
    p.label("other")
    p.add(*asm.li(13, 0), *asm.li(14, 3), asm.bar(13, 14))
    run = checked_run(SMALL, p)
    assert [run.register(rd)[0] for rd in (5, 6, 7)] == [0b1, 0b111, 0b1]


def test_mscratch_holds_the_argument_and_is_shared():
    p = Program()
    p.add(asm.csrr(5, 0x340), *asm.li(6, 77), asm.csrw(0x340, 6))
    spawn(p, 2, "other")
    finish(p)
    p.label("other")
    p.add(asm.csrr(7, 0x340))
    run = checked_run(TINY, p, argument=ARGUMENT)
    assert run.register(5) == {0: ARGUMENT}
    assert run.register(7, 1) == {0: 77}


def test_write_data_is_lane_0s_even_where_it_is_off():
    """isa.md: CSR write data comes from lane 0's rs1."""
    p = Program()
    p.add(*asm.li(5, 3), asm.tmc(5), asm.csrr(6, 0xCC0), asm.addi(6, 6, 40))
    # x6 = 40, 41; only lane 1 stays on.
    p.add(*asm.li(7, 2), asm.tmc(7), asm.csrrw(8, 0x340, 6), asm.csrr(9, 0x340))
    run = checked_run(TINY, p, argument=ARGUMENT)
    assert run.register(8) == {1: ARGUMENT}
    assert run.register(9) == {1: 40}


def test_fcsr_is_per_warp():
    p = Program()
    p.add(asm.csrrwi(0, 0x002, 3))
    spawn(p, 2, "other")
    p.add(asm.csrr(5, 0x003), asm.csrrsi(6, 0x001, 0x11), asm.csrr(7, 0x003))
    finish(p)
    p.label("other")
    p.add(asm.csrrwi(5, 0x003, 0x1F), asm.csrrci(6, 0x001, 0x0F), asm.csrr(7, 0x003))
    run = checked_run(TINY, p)
    assert [run.register(rd)[0] for rd in (5, 6, 7)] == [0x60, 0, 0x71]
    assert [run.register(rd, 1)[0] for rd in (5, 6, 7)] == [0, 0x1F, 0x10]


def test_mcycle_and_minstret():
    """mcycle: cycles since the launch, at X; minstret: the lanes of everything older, without inserted NOPs."""
    p = Program()
    p.add(*asm.li(5, 3), asm.nop(), asm.tmc(5), asm.nop())
    cycle_at = p.here
    p.add(asm.csrr(6, 0xB00))
    instret_at = p.here
    p.add(asm.csrr(7, 0xB02))
    p.jal(0, "on")
    p.add(*[asm.nop()] * 20)
    p.label("on")
    again_at = p.here
    p.add(asm.csrr(8, 0xB02), asm.csrr(9, 0xB82), asm.csrr(10, 0xB80))
    run = checked_run(TINY, p, latency=7)
    x, _ = _before(run, cycle_at)
    # Cycle 0 is the one with start; mcycle is 0 in the next.
    assert run.register(6) == dict.fromkeys((0, 1), x - 1)
    for pc, rd in ((instret_at, 7), (again_at, 8)):
        _, retired = _before(run, pc)
        assert run.register(rd) == dict.fromkeys((0, 1), retired)
    assert run.register(9) == run.register(10) == {0: 0, 1: 0}


def test_read_only_csr_with_x0_does_not_write():
    """csrrs and csrrc with x0, csrrsi and csrrci with 0: reads, no fault; csrrw to an ignored one: no fault either."""
    p = Program()
    p.add(asm.csrrs(5, 0xFC0, 0), asm.csrrc(6, 0xFC1, 0), asm.csrrsi(7, 0xFC2, 0), asm.csrrci(8, 0xCC4, 0))
    p.add(asm.csrrw(9, 0x300, 5), asm.csrr(10, 0x300))
    run = checked_run(TINY, p)
    assert run.fault is None
    assert [run.register(rd)[0] for rd in range(5, 11)] == [2, 2, 1, 1, 0, 0]
