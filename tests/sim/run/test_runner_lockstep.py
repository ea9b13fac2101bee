"""The lock-step checker without hardware: records made from a second golden model, then each of them spoiled."""

import numpy as np
import pytest

from metronome.hdl.config import FaultCause
from metronome.hdl.presets import TINY
from metronome.sim.build.records import decode_records, record_words
from metronome.sim.machine.golden import Fault, Iss
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm
from metronome.sim.run.executed import register_name
from metronome.sim.run.lockstep import LockStep, Mismatch
from metronome.sim.run.memcheck import DeclaredAreas
from metronome.sim.run.memcheck.areas import Area

START = TINY.memory_map.start
DATA = 0x0001_0000
A0, A1, A2, A3 = 10, 11, 12, 13

#: Both lanes: a store of the lane number, a load of it, a counter, the end.
PROGRAM = [
    asm.addi(A0, 0, 3), asm.tmc(A0), asm.csrr(A1, 0xCC0), asm.slli(A2, A1, 2), asm.lui(A3, DATA >> 12),
    asm.add(A3, A3, A2), asm.sh(A1, 0, A3), asm.lw(A2, 0, A3), asm.csrr(A0, 0xB00), asm.add(A1, A0, A2), asm.tmc(0),
]


def loaded(program):
    memory = SparseMemory(TINY.memory_map)
    memory.write(START, b"".join(word.to_bytes(4, "little") for word in program))
    return memory


def machine_run(program, cycles=100_000):
    """What a correct SM would record of ``program``: (records, its memory), one instruction every fourth cycle.

    Results come two cycles after their issue, loads lane by lane. ``cycles`` is the counter's value. A fault stops
    nothing, as where memory takes its time to answer.
    """
    memory = loaded(program)
    iss = Iss(TINY, memory)
    iss.launch(START, 0)
    records = decode_records(TINY, np.zeros((4 * len(program), record_words(TINY)), np.uint32))
    records["cycle"] = np.arange(len(records))
    for cycle in range(0, len(records), 4):
        if iss.ended:
            break
        commit = iss.step(0)
        issue = records["issue"]
        for name, value in (("valid", 1), ("pc", commit.pc), ("instruction", commit.instr), ("mask", commit.mask)):
            issue[name][cycle] = value
        if commit.fault is not None:
            iss.skip(0)
            continue
        if commit.volatile:
            commit.values = np.full(2, cycles, np.uint32)
            iss.poke(0, commit.rd, commit.mask, commit.values)
        if commit.rd is not None:
            parts = [1, 2] if commit.instr & 0x7F == 0x03 else [commit.mask]
            for offset, mask in enumerate(parts):
                wb = records["wb"]
                wb["valid"][cycle + 2 + offset] = 1
                value = wb["value"]
                value["rd"][cycle + 2 + offset], value["mask"][cycle + 2 + offset] = commit.rd, mask
                value["last"][cycle + 2 + offset] = mask == parts[-1]
                value["data"][cycle + 2 + offset] = commit.values
        if commit.store is not None:
            addresses, data, size, mask = commit.store
            store = records["store"]
            store["valid"][cycle + 1], store["pc"][cycle + 1], store["mask"][cycle + 1] = 1, commit.pc, mask
            store["size"][cycle + 1] = size.bit_length() - 1
            store["address"][cycle + 1], store["data"][cycle + 1] = addresses, data | np.uint32(0xABCD_0000)
    return records, memory


def check(records, memory, program=tuple(PROGRAM), fault=None, ended=True):
    checker = LockStep(TINY)
    checker.launch(loaded(program), START, 0)
    checker.feed(records)
    checker.finish(memory, fault, ended)
    return checker


def index_of(records, part, nth):
    return int(np.flatnonzero(records[part]["valid"])[nth])


def test_equal_machines():
    records, memory = machine_run(PROGRAM)
    assert check(records, memory).instructions == len(PROGRAM)
    assert memory.read_word(DATA + 4) == 1


def test_fed_in_pieces():
    records, memory = machine_run(PROGRAM)
    checker = LockStep(TINY)
    checker.launch(loaded(PROGRAM), START, 0)
    for piece in np.array_split(records, 7):
        checker.feed(piece)
    checker.finish(memory, None, True)
    assert checker.instructions == len(PROGRAM)


def test_registers_live_on_to_the_next_program():
    records, memory = machine_run(PROGRAM)
    checker = check(records, memory)
    second = [asm.addi(A0, 0, 3), asm.tmc(A0), asm.addi(A2, A2, 1), asm.tmc(0)]
    records, memory = machine_run(second)
    checker.launch(loaded(second), START, 0)
    with pytest.raises(Mismatch, match="x12, lane 1: expected 0x00000002, got 0x00000001"):
        checker.feed(records)


#: (part, which of its records, field, new value, lane, text of the report)
SPOILS = [
    ("issue", 3, "pc", START, None, "pc: expected 0x8000000c, got 0x80000000"),
    ("issue", 3, "mask", 1, None, "thread mask: expected 0x3, got 0x1"),
    ("issue", 3, "instruction", 0x13, None, "instruction: expected 00259613, got 00000013"),
    ("issue", 3, "warp", 1, None, "issue: expected nothing: warp 1 is not active"),
    ("issue", 3, "valid", 0, None, "writeback: expected none, got x12 written"),
    ("issue", -1, "valid", 0, None, "the end: expected warp 0 active at pc 0x80000028, got ended"),
    ("wb", 1, "data", 5, 1, "x11, lane 1: expected 0x00000001, got 0x00000005"),
    ("wb", 1, "rd", 20, None, "writeback: expected none, got x20 written"),
    ("wb", 1, "mask", 2, None, "last write of x11: expected last 0, got last 1, lanes 0x1 missing"),
    ("wb", 1, "last", 0, None, "last write of x11: expected last 1, got last 0, lanes 0x0 missing"),
    ("wb", -1, "valid", 0, None, "the end: expected a write of x11, got none"),
    ("wb", 5, "mask", 3, None, "last write of x12: expected last 1, got last 0, lanes 0x0 missing"),
    ("wb", 6, "mask", 3, None, "lanes of x12: expected of 0x2, got 0x3"),
    ("wb", 0, "warp", 1, None, "writeback: expected none, got x10 written"),
    ("store", 0, "address", 8, 0, "store address, lane 0: expected 0x00010000, got 0x00000008"),
    ("store", 0, "data", 9, 1, "store data, lane 1: expected 0x00000001, got 0x00000009"),
    ("store", 0, "size", 2, None, "store: expected pc 0x80000018, 2 bytes, mask 0x3, got pc 0x80000018, 4 bytes"),
    ("store", 0, "mask", 1, None, "mask 0x3, got pc 0x80000018, 2 bytes, mask 0x1"),
    ("store", 0, "pc", START, None, "store: expected pc 0x80000018, 2 bytes, mask 0x3, got pc 0x80000000, 2 bytes"),
    ("store", 0, "valid", 0, None, "the end: expected a store, got none"),
]


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: f"{spoil[0]}{spoil[1]}-{spoil[2]}")
def test_each_difference_is_found(spoil):
    part, nth, field, value, lane, text = spoil
    records, memory = machine_run(PROGRAM)
    row = index_of(records, part, nth)
    column = records[part]
    if part == "wb" and field != "valid":
        column = column["value"]
    if lane is None:
        assert column[field][row] != value
        column[field][row] = value
    else:
        column[field][row, lane] = value
    with pytest.raises(Mismatch) as caught:
        check(records, memory)
    assert text in str(caught.value)


def test_inactive_lanes_do_not_count():
    program = [asm.addi(A0, 0, 1), asm.addi(A1, A0, 4), asm.tmc(0)]
    records, memory = machine_run(program)
    records["wb"]["value"]["data"][:, 1] = 0x1234
    check(records, memory, program)


def test_memory_at_the_end():
    records, memory = machine_run(PROGRAM)
    memory.write(DATA + 5, b"\x07")
    with pytest.raises(Mismatch, match="memory at the end, byte 0x00010005: expected 0x00, got 0x07"):
        check(records, memory)


def test_second_write_to_a_pending_register():
    program = [asm.addi(A0, 0, 1), asm.addi(A0, 0, 2), asm.tmc(0)]
    records, memory = machine_run(program)
    records["wb"]["valid"][index_of(records, "wb", 0)] = 0
    with pytest.raises(Mismatch, match="the write of x10 by pc 0x80000000 first, got issued before it"):
        check(records, memory, program)


def test_report_names_the_place_and_the_last_instructions():
    program = [asm.addi(A0, 0, n) for n in range(15)] + [asm.tmc(0)]
    records, memory = machine_run(program)
    row = index_of(records, "wb", 12)
    records["wb"]["value"]["data"][row, 0] = 99
    with pytest.raises(Mismatch) as caught:
        check(records, memory, program)
    lines = str(caught.value).splitlines()
    assert lines[0] == "lock step: x10, lane 0: expected 0x0000000c, got 0x00000063"
    assert lines[1] == f"  cycle {row}, warp 0, pc {START + 48:#010x}, instruction {program[12]:08x}"
    assert lines[2] == "  the last 10 instructions of warp 0:"
    assert len(lines) == 13
    assert lines[-1] == f"    cycle 48: pc {START + 48:#010x} {program[12]:08x} mask 0x1 x10 = [c 0]"


FAULTY = [asm.addi(A0, 0, 2), asm.lw(A1, 0, A0), asm.tmc(0)]
FAULT = Fault(FaultCause.LOAD_MISALIGNED, 0, START + 4, 2)


def test_same_fault():
    records, memory = machine_run(FAULTY)
    check(records, memory, FAULTY, FAULT, ended=False)


@pytest.mark.parametrize("fault", [
    None, Fault(FaultCause.LOAD_ACCESS, 0, START + 4, 2), Fault(FaultCause.LOAD_MISALIGNED, 1, START + 4, 2),
    Fault(FaultCause.LOAD_MISALIGNED, 0, START, 2), Fault(FaultCause.LOAD_MISALIGNED, 0, START + 4, 3),
])
def test_other_fault(fault):
    records, memory = machine_run(FAULTY)
    with pytest.raises(Mismatch, match="the end: expected Fault"):
        check(records, memory, FAULTY, fault, ended=fault is None)


LATE = [
    asm.lw(A1, 0, 0), asm.addi(A2, 0, 4), asm.sw(A2, 0, A2), asm.lw(A1, 2, 0), asm.lw(A1, 8, 0), asm.sw(A1, 6, 0),
    asm.ebreak(), asm.lw(A3, 12, 0),
]
STORE_FAULT = Fault(FaultCause.STORE_ACCESS, 0, START + 8, 4)
LATE_FAULTS = [
    Fault(FaultCause.LOAD_ACCESS, 0, START, 0), STORE_FAULT, Fault(FaultCause.LOAD_MISALIGNED, 0, START + 12, 2),
]


@pytest.mark.parametrize("fault", LATE_FAULTS, ids=str)
def test_any_of_several_late_faults(fault):
    records, memory = machine_run(LATE)
    check(records, memory, LATE, fault, ended=False)


@pytest.mark.parametrize("fault", [
    Fault(FaultCause.STORE_ACCESS, 0, START + 8, 8), Fault(FaultCause.LOAD_ACCESS, 0, START + 16, 8),
    Fault(FaultCause.STORE_MISALIGNED, 0, START + 20, 6), Fault(FaultCause.BREAKPOINT, 0, START + 24, 0),
    Fault(FaultCause.LOAD_ACCESS, 0, START + 28, 12),
], ids=str)
def test_no_other_than_the_late_ones(fault):
    """Not one with another address, none behind a misaligned one, no precise one behind them, nothing behind that."""
    records, memory = machine_run(LATE)
    with pytest.raises(Mismatch) as caught:
        check(records, memory, LATE, fault, ended=False)
    expected = ", ".join(map(str, LATE_FAULTS))
    assert str(caught.value).splitlines()[0] == f"lock step: the end: expected {expected}, got {fault}"


def test_a_late_fault_that_was_not_issued():
    """The SM stopped before it issued the store: then it cannot report its fault."""
    records, memory = machine_run(LATE)
    with pytest.raises(Mismatch, match="the end: expected Fault"):
        check(records[: index_of(records, "issue", 2)], memory, LATE, STORE_FAULT, ended=False)


def test_nothing_behind_a_precise_fault():
    program = [asm.ebreak(), asm.lw(A1, 2, 0)]
    records, memory = machine_run(program)
    check(records, memory, program, Fault(FaultCause.BREAKPOINT, 0, START, 0), ended=False)
    with pytest.raises(Mismatch, match="the end: expected Fault"):
        check(records, memory, program, Fault(FaultCause.LOAD_MISALIGNED, 0, START + 4, 2), ended=False)


def test_fault_where_the_model_has_none():
    records, memory = machine_run(PROGRAM)
    with pytest.raises(Mismatch, match="expected no fault, got Fault"):
        check(records, memory, fault=FAULT, ended=False)


def test_cut_off_program_has_work_in_flight():
    records, memory = machine_run(PROGRAM)
    check(records[: index_of(records, "issue", 6) + 1], memory, ended=False)


def test_registers_have_their_names_in_a_report():
    assert [register_name(rd) for rd in (None, 0, 31, 32, 63)] == ["nothing", "x0", "x31", "f0", "f31"]


def test_the_memory_checker_knows_the_cycle():
    program = [asm.addi(A0, 0, 3), asm.tmc(A0), asm.lui(A3, DATA >> 12), asm.lw(A2, 0, A3), asm.tmc(0)]
    records, _ = machine_run(program)
    checker = LockStep(TINY)
    areas = (Area("the program", START, 4 * len(program), written=True),)
    memcheck = checker.launch(loaded(program), START, 0, DeclaredAreas(areas, areas))
    checker.feed(records)
    (finding,) = memcheck.findings
    assert finding.kind == "outside" and finding.side.pc == START + 12
    assert [finding.side.cycle] == records["cycle"][records["issue"]["pc"] == START + 12].tolist() != [0]
