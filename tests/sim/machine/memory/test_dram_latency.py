"""Known patterns on the DRAM model: the latency to the cycle, from the timing table by hand.

DDR4-2400R, one clock a cycle. A request accepted in cycle c has arrived in c + 1, where its first command can be given;
its answer can be presented when its burst has ended, tCL + BL = 20 clocks after RD, tCWL + BL = 16 after WR.
Line numbers below count from 0x8000_0000, row 0 of bank 0 or a multiple: with the default mapping 4 lines are the same
column of the 4 groups, 512 lines the rows of 4 banks, 2048 lines one row of all 16 banks. So without a bank hash.
"""

from fractions import Fraction

import pytest

from metronome.sim.machine.memory.dram.mapping import BANK_HASHES, AddressMapping
from metronome.sim.machine.memory.dram.model import DramMemory
from metronome.sim.machine.memory.dram.timing import TIMINGS
from metronome.sim.machine.memory.store import SparseMemory
from tests.sim.machine.memory.port import LINE, Request, drive

ROW = 2048
GROUP = 1
BANK = 512


def latencies(*requests, **options):
    model = DramMemory(SparseMemory(), mapping=AddressMapping(bank_hash="none"), **options)
    answers = drive(model, [Request(cycle, LINE + line, write) for cycle, line, write in requests])
    return [answer.latency for answer in answers], model.statistics(0)


def found(statistics):
    return tuple(statistics[name] for name in ("row_hits", "row_closed", "row_conflicts"))


def test_closed_bank():
    """1 to arrive, ACT, RD after tRCD 16, data end 20 later: 37. A write: 1 + 16 + 16 = 33."""
    assert latencies((0, 0, False))[0] == [37]
    values, statistics = latencies((0, 0, True))
    assert values == [33]
    assert found(statistics) == (0, 1, 0)


def test_row_hit():
    """1 + tCL + BL = 21; a write 1 + tCWL + BL = 17, the lookahead."""
    values, statistics = latencies((0, 0, False), (100, 4, False), (200, 8, True))
    assert values == [37, 21, 17]
    assert found(statistics) == (2, 1, 0)
    assert DramMemory(SparseMemory()).lookahead == 17


def test_row_conflict():
    """Long after tRAS and tRTP: PRE, ACT after tRP 16, RD after tRCD 16, 20: 1 + 52 = 53; a write 49."""
    values, statistics = latencies((0, 0, False), (100, ROW, False), (200, 0, True))
    assert values == [37, 53, 49]
    assert found(statistics) == (0, 1, 2)


def test_conflict_waits_for_tras():
    """ACT in 1, RD in 17. The conflict arrives in 11; PRE not before 1 + tRAS 39 = 40 (tRTP: 17 + 9 = 26), then 52."""
    assert latencies((0, 0, False), (10, ROW, False))[0] == [37, 40 + 52 - 10]


def test_conflict_waits_for_write_recovery():
    """ACT in 1, WR in 17, data end in 33, PRE after tWR 18 in 51, then 52."""
    assert latencies((0, 0, True), (10, ROW, False))[0] == [33, 51 + 52 - 10]


def test_conflict_waits_for_trtp():
    """ACT in 1; an RD in 101; the conflict arrives in 102, PRE after tRTP in 110, then 52."""
    assert latencies((0, 0, False), (100, 4, False), (101, ROW, False))[0] == [37, 21, 110 + 52 - 101]


def test_stream_of_hits_in_alternating_groups():
    """Rows open: RDs tCCD_S 4 apart, so one line in 4 clocks: each a cycle later offered waits 3 more."""
    opening = [(0, line, False) for line in range(4)]
    stream = [(200 + number, 4 + number, False) for number in range(8)]
    assert latencies(*opening, *stream)[0][4:] == [21 + 3 * number for number in range(8)]


def test_stream_of_hits_in_one_group():
    """tCCD_L 6 apart: 5 more each."""
    stream = [(200 + number, 4 + 4 * number, False) for number in range(8)]
    assert latencies((0, 0, False), *stream)[0][1:] == [21 + 5 * number for number in range(8)]


def test_activations_in_different_groups():
    """Arrivals in 1..4, ACTs in 1, 5, 9, 13 (tRRD_S 4): 3 more each; the data end 4 apart."""
    assert latencies(*[(number, number * GROUP, False) for number in range(4)])[0] == [37, 40, 43, 46]


def test_activations_in_one_group():
    """ACTs in 1, 7, 13, 19 (tRRD_L 6)."""
    assert latencies(*[(number, number * BANK, False) for number in range(4)])[0] == [37, 42, 47, 52]


def test_four_activation_window():
    """ACTs in 1, 5, 9, 13, and the fifth (bank 1 of group 0: tRRD_L met) not before 1 + tFAW 26 = 27; arrived in 5."""
    requests = [*[(number, number * GROUP, False) for number in range(4)], (4, BANK, False)]
    assert latencies(*requests)[0][4] == 27 + 16 + 20 - 4


@pytest.mark.parametrize(("line", "wait"), [(4 + GROUP, 3), (4, 9)])
def test_read_after_write(line, wait):
    """WR in 201, data end in 217, RD tWTR_S 3 (another group) or tWTR_L 9 (the same) later, 20 to its end."""
    requests = [(0, 0, False), (50, GROUP, False), (200, 0, True), (201, line, False)]
    assert latencies(*requests)[0][2:] == [17, 217 + wait + 20 - 201]


def test_write_after_read():
    """RD in 201, WR tCL + BL + 2 - tCWL = 10 later in 211, 16 to its end."""
    assert latencies((0, 0, False), (200, 4, False), (201, 8, True))[0][1:] == [21, 211 + 16 - 201]


def test_hits_overtake_an_older_conflict():
    """FR-FCFS.

    The conflict (arrives in 202) cannot close the row before tRTP after RD in 201 (210); the hits that come meanwhile
    go first, in 207 and 213, so it closes the row in 222.
    """
    values, statistics = latencies((0, 0, False), (200, 4, False), (201, ROW, False), (202, 8, False), (203, 12, False))
    assert values[1:] == [21, 222 + 52 - 201, 207 + 20 - 202, 213 + 20 - 203]
    assert found(statistics) == (3, 1, 1)


def test_the_cap_ends_overtaking():
    """With a cap of 1 the second hit waits behind the conflict.

    PRE in 207 + 9 = 216, ACT 232, RD 248; then back: PRE not before 232 + tRAS = 271 (tRTP: 257), 52 more.
    """
    requests = [(0, 0, False), (200, 4, False), (201, ROW, False), (202, 8, False), (203, 12, False)]
    assert latencies(*requests, cap=1)[0][2:] == [248 + 20 - 201, 207 + 20 - 202, 271 + 52 - 203]


def test_refresh():
    """Due in 9364. A request arrives then: REF in 9364 (all banks closed), ACT after tRFC 433 in 9797, 36 more."""
    values, statistics = latencies((9363, 0, False))
    assert values == [9797 + 36 - 9363]
    assert statistics["refreshes"] == 1


def test_refresh_closes_rows():
    """An open row: PREA in 9364, REF after tRP 16 in 9380, ACT in 9813. A hit that arrives in time is a hit."""
    values, statistics = latencies((0, 0, False), (9362, 4, False), (9363, 8, False))
    # RD in 9363, so PREA waits for tRTP until 9372, REF in 9388, ACT in 9821.
    assert values == [37, 21, 9821 + 36 - 9363]
    assert found(statistics) == (1, 2, 0)


def test_idle_memory_refreshes_too():
    model = DramMemory(SparseMemory(), mapping=AddressMapping(bank_hash="none"))
    assert model.next_due is None
    model.request(1_000_000, 0, LINE, False, 0, bytes(64))
    assert model.statistics(1_000_000)["refreshes"] == 1_000_000 // 9364


@pytest.mark.parametrize(("ratio", "expected"), [
    (2, [19, 11]),  # 36 clocks are 18 cycles, 20 are 10
    (4, [10, 6]),
    # A clock begins with every even cycle. Accepted in 0: clock 1, end 37: cycle 74. In 100: clock 51, end 71: 142.
    (Fraction(1, 2), [74, 42]),
    # Accepted in 0: arrives at 1.5, so in clock 2; ACT 2, RD 18, end 38: cycle 25.33, so 26. In 100: arrives at 151.5,
    # RD 152, end 172: cycle 114.67, so 115.
    (Fraction(3, 2), [26, 15]),
])
def test_clock_ratio(ratio, expected):
    assert latencies((0, 0, False), (100, 4, False), ratio=Fraction(ratio))[0] == expected


def test_full_queue_stops_the_port():
    """Depth 2, one bank, a row each.

    Accepted in 0 and 1: full. The first RD in 17 frees a place: the next request is accepted in 17 (it arrives in 18).
    The second: PRE 40, ACT 56, RD in 72.
    """
    model = DramMemory(SparseMemory(), mapping=AddressMapping(bank_hash="none"), queue_depth=2)
    answers = drive(model, [Request(0, LINE + number * ROW) for number in range(4)])
    assert [answer.accepted for answer in answers] == [0, 1, 17, 72]
    # ACTs in 1, 56, 111, 166: tRAS 39 + tRP 16 apart.
    assert [answer.due for answer in answers] == [37, 92, 147, 202]


@pytest.mark.parametrize("name", TIMINGS)
def test_patterns_of_every_timing(name):
    """Closed 1 + tRCD + tCL + BL, hit 1 + tCL + BL, conflict 1 + tRP + tRCD + tCL + BL."""
    numbers = {"DDR4_2400R": (37, 21, 53), "DDR4_2400R_JEDEC": (37, 21, 53), "DDR4_3200AA": (49, 27, 71)}
    values, _ = latencies((0, 0, False), (150, 4, False), (300, ROW, False), timing=TIMINGS[name])
    assert tuple(values) == numbers[name]


def test_mapping_by_hand():
    """Line bits of the default: group 0..1, column 2..8, bank 9..10, row 11..25."""
    line = 0b101010101010101_10_0110011_01
    assert AddressMapping(bank_hash="none").locate(line) == (0b01_10, 0b101010101010101, 0b0110011)
    line = 0b101010101010101_10_01_0110011
    plain = AddressMapping("row bank group column", "none")
    assert plain.locate(line) == (0b01_10, 0b101010101010101, 0b0110011)


def test_bank_hash_by_hand():
    """The digits of row 0x7421: 7 ^ 4 ^ 2 ^ 1 = 0, so nothing changes; of 0x0421: 7; of 0x1000: 1."""
    assert AddressMapping().locate(0x7421 << 11 | 0b10_0110011_01) == (0b01_10, 0x7421, 0b0110011)
    assert AddressMapping().locate(0x0421 << 11 | 0b10_0110011_01) == (0b01_10 ^ 0b0111, 0x0421, 0b0110011)
    assert AddressMapping().locate(0x1000 << 11) == (0b00_01, 0x1000, 0)


def test_the_stacks_of_the_warps_are_in_different_banks():
    """The interleaved stacks of warps of PAPER: 32 * 8 KiB apart, at one offset."""
    lines = [0x03FF_0000 - warp * (32 * 8192 // 64) for warp in range(32)]
    banks = [AddressMapping().locate(line)[0] for line in lines]
    assert sorted(set(banks)) == list(range(16))
    assert len({AddressMapping(bank_hash="none").locate(line)[0] for line in lines}) == 1


@pytest.mark.parametrize("bank_hash", BANK_HASHES)
@pytest.mark.parametrize("order", ["row bank column group", "row bank group column", "column row group bank"])
@pytest.mark.slow
def test_mapping_is_a_bijection(order, bank_hash):
    mapping = AddressMapping(order, bank_hash)
    for shift in (0, 9, 17):
        lines = [number << shift for number in range(1 << min(16, 26 - shift))]
        places = {mapping.locate(line) for line in lines}
        assert len(places) == len(lines)
    # The row is all ones: four digits 15, 15, 15, 7.
    bank = {"none": 15, "xor": 15 ^ 15 ^ 15 ^ 15 ^ 7}[bank_hash]
    assert mapping.locate((1 << 26) - 1) == (bank, (1 << 15) - 1, 127)


@pytest.mark.parametrize("cycle", [4, 10])
def test_a_request_that_cannot_be(cycle):
    model = DramMemory(SparseMemory(), mapping=AddressMapping(bank_hash="none"), queue_depth=1)
    model.request(5, 0, LINE, False, 0, bytes(64))
    assert model.ready_from == 5 + 17  # RD in 6 + 16
    with pytest.raises(ValueError, match=f"cycle must be at least 22, not {cycle}"):
        model.request(cycle, 1, LINE, False, 0, bytes(64))
