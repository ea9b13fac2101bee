"""CSRs against isa.md: what each reads, who may write, and what a write does."""

from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.config import Channels, FaultCause, SmConfig
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_harness import CONFIG, MODES, START, USER, all_lanes, ended, lanes, load, spawned

ZERO = [
    0x300, 0x302, 0x303, 0x304, 0x305, 0x341, 0x342, 0x180, 0x3A0, 0x3B0, 0x744, 0x7C1, 0x7C2, 0xF11, 0xF12, 0xF13,
]  # fmt: skip
READ_ONLY = [0xCC0, 0xCC1, 0xCC2, 0xCC3, 0xCC4, 0xF11, 0xF12, 0xF13, 0xF14, 0xFC0, 0xFC1, 0xFC2, 0xFC3]
COUNTERS = [number + high for number in range(0xB00, 0xB20) for high in (0, 0x80)]
READ_WRITE = [1, 2, 3, 0x340, 0x7C0]
WRITE_IGNORED = [0x301, *(number for number in ZERO if number < 0xC00), *COUNTERS]
KNOWN = {*READ_ONLY, *READ_WRITE, *WRITE_IGNORED}


def run_words(*words, config=CONFIG):
    return ended(all_lanes(*words, asm.tmc(0)), "run", config)


def test_identity_of_lanes_and_warps():
    config = SmConfig(warps=3, threads=4, core_id=1, cores=2)
    numbers = [0xCC0, 0xCC1, 0xCC2, 0xF14, 0xFC0, 0xFC1, 0xFC2, 0xFC3, 0x301, 0x340]
    reads = (asm.csrr(10 + i, number) for i, number in enumerate(numbers))
    p = spawned(asm.addi(5, 0, -1), asm.tmc(5), *reads, asm.tmc(0), count=3)
    iss = ended(p, "run", config)
    for warp in range(3):
        got = {number: lanes(iss, 10 + i, warp) for i, number in enumerate(numbers)}
        assert got[0xCC0] == [0, 1, 2, 3]
        assert got[0xF14] == [lane + 4 * (warp + 3 * 1) for lane in range(4)]
        same = {0xCC1: warp, 0xCC2: 1, 0xFC0: 4, 0xFC1: 3, 0xFC2: 2, 0xFC3: 0xFFFF0000, 0x340: USER}
        # misa: MXL 1, extensions F, I, M, X.
        same[0x301] = 0x40000000 | sum(1 << "ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(letter) for letter in "FIMX")
        for number, value in same.items():
            assert got[number] == [value] * 4, hex(number)


@pytest.mark.parametrize("number", ZERO)
def test_zero_csrs(number):
    iss = run_words(asm.addi(6, 0, -1), *([asm.csrw(number, 6)] if number < 0xC00 else []), asm.csrr(6, number))
    assert lanes(iss, 6) == [0] * 4


def test_active_masks():
    p = spawned(asm.addi(5, 0, 0b1010), asm.tmc(5), asm.csrr(10, 0xCC3), asm.csrr(11, 0xCC4), asm.tmc(0), count=3)
    iss = ended(p, "run")
    assert lanes(iss, 10) == [0, 7, 0, 7] and lanes(iss, 11) == [0, 10, 0, 10]


@pytest.mark.parametrize("op, zimm", [(asm.csrrw, False), (asm.csrrs, False), (asm.csrrc, False),
                                      (asm.csrrwi, True), (asm.csrrsi, True), (asm.csrrci, True)])  # fmt: skip
def test_the_six_instructions(op, zimm):
    """Old value to rd; the operand is lane 0's rs1, or the immediate."""
    before, operand = 0x0F0F00F5, 0x13
    p = all_lanes()
    p.li(6, before)
    p.add(asm.csrw(0x340, 6), asm.csrr(7, 0xCC0))
    p.li(8, operand)
    p.add(asm.add(8, 8, 7), op(9, 0x340, operand if zimm else 8), asm.csrr(10, 0x340), asm.tmc(0))
    iss = ended(p, "run")
    assert lanes(iss, 9) == [before] * 4
    kind = op(0, 0, 0) >> 12 & 3
    assert lanes(iss, 10) == [{1: operand, 2: before | operand, 3: before & ~operand}[kind]] * 4


def test_lane_0_writes_even_if_it_is_inactive():
    words = [asm.csrr(6, 0xCC0), asm.addi(6, 6, 100), asm.addi(7, 0, 0b1100), asm.tmc(7), asm.csrw(0x340, 6)]
    iss = run_words(*words)
    assert iss.mscratch == 100


def test_rd_may_be_the_source():
    iss = run_words(asm.addi(6, 0, 55), asm.csrrw(6, 0x340, 6))
    assert lanes(iss, 6) == [USER] * 4 and iss.mscratch == 55


def test_fcsr_gives_its_old_value_to_the_instruction_that_writes_it():
    iss = run_words(asm.csrrwi(5, 2, 4), asm.csrrwi(6, 3, 31), asm.csrrwi(7, 1, 2), asm.csrrs(8, 3, 0))
    assert [int(iss.regs[0, register, 0]) for register in (6, 7, 8)] == [0x80, 31, 2]


def test_mscratch_is_one_for_the_core():
    p = asm.Program()
    p.li(6, 2)
    p.la(7, "worker")
    p.add(asm.wspawn(6, 7), asm.addi(8, 0, 2), asm.bar(0, 8), asm.csrr(10, 0x340), asm.tmc(0))
    p.label("worker")
    p.add(asm.addi(8, 0, 77), asm.csrw(0x340, 8), asm.addi(8, 0, 2), asm.bar(0, 8), asm.tmc(0))
    iss = ended(p, "run")
    assert lanes(iss, 10)[0] == 77


def test_a_group_writes_warp_by_warp():
    """All warps at one pc add into mscratch with csrrs: none is lost, each reads what the one before left."""
    p = asm.Program()
    p.li(6, 4)
    p.la(7, "worker")
    p.add(asm.csrw(0x340, 0), asm.wspawn(6, 7))
    p.label("worker")
    p.add(asm.csrr(8, 0xCC1), asm.addi(9, 0, 1), asm.sll(9, 9, 8), asm.csrrs(10, 0x340, 9), asm.tmc(0))
    iss = ended(p, "run")
    assert iss.mscratch == 0b1111
    assert [lanes(iss, 10, warp)[0] for warp in range(4)] == [0, 1, 3, 7]


def test_mregion_reads_back():
    iss = run_words(asm.csrrwi(0, 0x7C0, 1), asm.csrr(6, 0x7C0), asm.csrrwi(0, 0x7C0, 0), asm.csrr(7, 0x7C0))
    assert lanes(iss, 6) == [1] * 4 and lanes(iss, 7) == [0] * 4


def test_floating_point_csrs_share_their_bits():
    words = [asm.addi(6, 0, 0x1FF), asm.csrw(3, 6), asm.csrr(7, 3), asm.csrr(8, 1), asm.csrr(9, 2)]
    words += [asm.csrrwi(0, 2, 0b01010), asm.csrr(10, 3), asm.csrrwi(0, 1, 0), asm.csrr(11, 3)]
    iss = run_words(*words)
    assert [lanes(iss, r)[0] for r in range(7, 12)] == [0xFF, 0x1F, 7, 0x5F, 0x40]


def test_counters_count_warp_and_thread_instructions():
    words = [asm.addi(6, 0, 3), asm.tmc(6), asm.csrr(10, 0xB00), asm.csrr(11, 0xB02)]
    iss = run_words(*words)
    # addi, tmc by one lane; addi, tmc by four; csrr (mcycle) by two.
    assert lanes(iss, 10)[0] == 4
    assert lanes(iss, 11)[0] == 1 + 1 + 4 + 4 + 2
    assert (iss.mcycle, iss.minstret) == (7, 12 + 2 + 2)


def test_the_high_halves_of_the_counters():
    iss = load([asm.csrr(10, 0xB00), asm.csrr(11, 0xB80), asm.csrr(12, 0xB02), asm.csrr(13, 0xB82)])
    iss.mcycle, iss.minstret = 0x5_0000_0007, 0x6_0000_0008
    for _ in range(4):
        assert iss.step(0).volatile
    assert [lanes(iss, r)[0] for r in range(10, 14)] == [7, 5, 10, 6]


@pytest.mark.parametrize("number", COUNTERS)
def test_what_depends_on_time_is_volatile(number):
    iss = load([asm.csrr(10, number)])
    assert iss.step(0).volatile


@pytest.mark.parametrize("number", [0x340, 0xCC0, 0xCC3, 0xCC4, 3, 0x301])
def test_the_rest_is_not(number):
    iss = load([asm.csrr(10, number)])
    assert not iss.step(0).volatile


@pytest.mark.slow
def test_every_other_number_is_unknown():
    """All 4096 numbers, read, and written with csrrw, csrrs, csrrsi; csrrs of x0 and csrrsi of 0 do not write."""
    iss = load([])
    for number in range(4096):
        for word, writes in (
            (asm.csrrs(10, number, 0), False), (asm.csrrc(10, number, 0), False), (asm.csrrsi(10, number, 0), False),
            (asm.csrrw(0, number, 0), True), (asm.csrrs(10, number, 5), True), (asm.csrrci(10, number, 1), True),
        ):  # fmt: skip
            iss.launch(START, 0)
            iss.memory.write(START, word.to_bytes(4, "little"))
            fault = iss.step(0).fault
            if number not in KNOWN or (writes and number in READ_ONLY):
                assert fault is not None, f"{number:#x} {word:#010x}"
                assert (fault.cause, fault.address) == (FaultCause.UNKNOWN_CSR, number)
            else:
                assert fault is None, f"{number:#x} {word:#010x}"


@pytest.mark.parametrize("mode", MODES)
def test_rounding_modes_and_flags_are_per_warp(mode):
    """Warp 0 rounds down, warp 1 up; only warp 1 divides by zero. Both execute the same instructions."""
    p = spawned(asm.csrr(8, 0xCC1), asm.addi(9, 8, 2), asm.csrw(2, 9), count=2)
    p.li(10, 0x3F800000)
    p.li(11, 0x40400000)
    p.add(asm.fmv_w_x(1, 10), asm.fmv_w_x(2, 11), asm.fdiv_s(3, 1, 2), asm.csrr(12, 1))
    # Warp 0: 1.0 / 1.0; warp 1: 1.0 / 0.0.
    p.add(asm.xori(13, 8, 1), asm.fcvt_s_w(4, 13), asm.fdiv_s(5, 1, 4), asm.csrr(14, 1), asm.tmc(0))
    iss = ended(p, mode)
    assert [lanes(iss, 32 + 3, warp)[0] for warp in (0, 1)] == [0x3EAAAAAA, 0x3EAAAAAB]
    assert [lanes(iss, 12, warp)[0] for warp in (0, 1)] == [1, 1]
    assert [lanes(iss, 14, warp)[0] for warp in (0, 1)] == [1, 9]


def test_only_active_lanes_raise_flags():
    words = [asm.csrr(6, 0xCC0), asm.fcvt_s_w(1, 6), asm.addi(7, 0, 0b1110), asm.tmc(7)]
    # 1/0 in lane 0 only, which is inactive: no divide by zero. 1/3 in lane 3: inexact.
    words += [asm.addi(8, 0, 1), asm.fcvt_s_w(2, 8), asm.fdiv_s(3, 2, 1), asm.csrr(9, 1)]
    iss = run_words(*words)
    assert lanes(iss, 9) == [0, 1, 1, 1]


def test_poke_writes_the_lanes_of_the_mask():
    iss = load([])
    iss.poke(1, 9, 0b0110, np.array([1, 2, 3, 4], np.uint32))
    iss.poke(1, 0, 0b1111, np.array([1, 2, 3, 4], np.uint32))
    assert lanes(iss, 9, 1) == [0, 2, 3, 0] and lanes(iss, 0, 1) == [0] * 4


def test_morder_is_there_with_ordered_channels_only():
    """The end of the region clears it; without such channels it reads 0."""
    ordered = replace(CONFIG, channels=Channels.ORDERED, channel_depth=max(10, CONFIG.threads))
    words = [
        asm.lui(5, 0x40000), asm.csrrw(6, 0x7C1, 5), asm.csrr(7, 0x7C1), asm.csrrwi(0, 0x7C0, 1), asm.csrr(8, 0x7C1),
        asm.csrrwi(0, 0x7C0, 0), asm.csrr(9, 0x7C1),
    ]
    for config, value in ((ordered, 0x4000_0000), (CONFIG, 0)):
        iss = run_words(*words, config=config)
        assert [int(iss.regs[0][number][0]) for number in (6, 7, 8, 9)] == [0, value, value, 0]


def test_mpolicy_is_there_with_policy_csr_only():
    """It reads what was written last, whether that means anything or not, until the next launch."""
    words = [
        asm.lui(5, 0xFF012), asm.csrrw(6, 0x7C2, 5), asm.csrrsi(7, 0x7C2, 5), asm.csrrci(8, 0x7C2, 1),
        asm.csrr(9, 0x7C2),
    ]  # fmt: skip
    kept = (0, 0xFF01_2000, 0xFF01_2005, 0xFF01_2004)
    for config, values in ((replace(CONFIG, policy_csr=True), kept), (CONFIG, (0,) * 4)):
        iss = run_words(*words, config=config)
        assert tuple(int(iss.regs[0][number][0]) for number in (6, 7, 8, 9)) == values
        iss.launch(START, 0)
        assert iss.mpolicy == 0
