"""Issue distances and the writeback port: latency + 2, for all operand values (design.md section 4)."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from hdl.layouts.probe import StallReason
from hdl.presets import BASE, TINY
from sim import asm
from sim.asm import Program
from tests.hdl.sm_checks import check_front_end
from tests.hdl.sm_harness import START, Run, finish, run_program, spawn

#: Cycles from a selection to the write of its result: the unit's latency and 2 (design.md section 4, defaults).
OVERHEAD = 2
ALU, MUL, DIV, CSR = 1, 4, 34, 1

#: rd, rs1, rs2 -> word, and the latency.
PRODUCERS = {
    "add": (asm.add, ALU), "sra": (asm.sra, ALU), "sltu": (asm.sltu, ALU), "czero": (asm.czero_eqz, ALU),
    "lui": (lambda rd, *_: asm.lui(rd, 7), ALU), "auipc": (lambda rd, *_: asm.auipc(rd, 7), ALU),
    "mul": (asm.mul, MUL), "mulhsu": (asm.mulhsu, MUL),
    "div": (asm.div, DIV), "remu": (asm.remu, DIV),
    "csrr": (lambda rd, *_: asm.csrr(rd, 0xCC0), CSR),
    "csrrw": (lambda rd, rs1, _: asm.csrrw(rd, 0x340, rs1), CSR),
}
OPERANDS = [(0, 0), (1, 0x8000_0000), (0xFFFF_FFFF, 0x8000_0000), (0x8000_0000, 0xFFFF_FFFF), (12345, 7)]


def _with_operands(a: int, b: int) -> Program:
    """x5 = a, x6 = b, all of one line's code; four NOPs so that both are there."""
    p = Program()
    p.add(*asm.li(5, a), *asm.li(6, b))
    p.add(*[asm.nop()] * 4)
    return p


def _alone(p: Program) -> Run:
    finish(p)
    assert p.here - p.base <= 64
    run = run_program(TINY, p, latency=2)
    check_front_end(run)
    return run


@pytest.mark.parametrize("name", PRODUCERS)
def test_dependent_distance(name):
    """The consumer is selected exactly latency + 2 after its producer, in the cycle of its write."""
    make, latency = PRODUCERS[name]
    # A division takes as long for every operand; the others have no reason not to.
    for a, b in OPERANDS if latency == DIV else OPERANDS[:2]:
        p = _with_operands(a, b)
        at = p.here
        p.add(make(8, 5, 6), asm.addi(9, 8, 1))
        run = _alone(p)
        t = run.issued_at(at)
        assert run.issued_at(at + 4) - t == latency + OVERHEAD, (a, b)
        assert [cycle for cycle, _ in run.writes(8)] == [t + latency + OVERHEAD]
        assert run.register(9)[0] == (run.register(8)[0] + 1) & 0xFFFF_FFFF


@pytest.mark.parametrize("name", ["add", "mul", "div"])
@pytest.mark.parametrize("role", ["rs1", "rs2", "store", "write", "branch"])
def test_every_use_waits(name, role):
    """First and second operand, store data, the same destination again, and a branch."""
    make, latency = PRODUCERS[name]
    p = _with_operands(100, 7)
    p.li(7, 0x10000)
    consumer = {"rs1": asm.xor(9, 8, 5), "rs2": asm.xor(9, 5, 8), "store": asm.sw(8, 0, 7),
                "write": asm.addi(8, 0, 5), "branch": asm.beq(8, 0, 8)}[role]
    at = p.here
    p.add(make(8, 5, 6), consumer)
    run = _alone(p)
    assert run.issued_at(at + 4) - run.issued_at(at) == latency + OVERHEAD
    result = {"add": 107, "mul": 700, "div": 14}[name]
    if role == "store":
        assert run.memory.read_word(0x10000) == result
    if role == "write":
        assert [value[0] for _, value in run.writes(8)] == [result, 5]


@pytest.mark.parametrize(("link", "words"), [("jal", [asm.jal(8, 8)]), ("jalr", [asm.jalr(8, 7, 0)])])
def test_link_is_written_after_three_cycles(link, words):
    """The redirect (R + 1 + d) outlasts the latency: the link is there for the first instruction of the target."""
    p = _with_operands(1, 2)
    p.la(7, "target")
    at = p.here
    p.add(*words, asm.nop())
    p.label("target")
    p.add(asm.addi(9, 8, 0))
    run = _alone(p)
    t = run.issued_at(at)
    assert run.writes(8) == [(t + 1 + OVERHEAD, {0: at + 4})]
    assert run.issued_at(p.address("target")) == t + 8
    assert run.register(9) == {0: at + 4}


def test_split_result_is_written_after_three_cycles():
    """The resolution (R + 1 = 4) outlasts the latency by one."""
    p = _with_operands(1, 2)
    at = p.here
    p.add(asm.split(8, 5), asm.addi(9, 8, 3))
    run = _alone(p)
    t = run.issued_at(at)
    assert run.writes(8) == [(t + 1 + OVERHEAD, {0: 0})]
    assert run.issued_at(at + 4) == t + 4
    assert run.register(9) == {0: 3}


@pytest.mark.parametrize("name", ["add", "mul", "csrr", "csrrw"])
def test_independent_back_to_back(name):
    make, _ = PRODUCERS[name]
    p = _with_operands(3, 5)
    at = p.here
    p.add(*[make(8 + i, 5, 6) for i in range(4)])
    run = _alone(p)
    assert [run.issued_at(at + 4 * i) - run.issued_at(at) for i in range(4)] == [0, 1, 2, 3]


def test_divider_blocks_only_divisions():
    p = _with_operands(100, 7)
    at = p.here
    p.add(asm.div(8, 5, 6), asm.add(9, 5, 6), asm.mul(10, 5, 6), asm.rem(11, 5, 6))
    run = _alone(p)
    t = run.issued_at(at)
    assert [run.issued_at(at + 4 * i) - t for i in range(4)] == [0, 1, 2, DIV]
    assert {run.cycles[c].reasons[0] for c in range(t + 3, t + DIV)} == {StallReason.UNIT}
    assert [run.register(rd)[0] for rd in (8, 9, 10, 11)] == [14, 107, 700, 2]


def test_writeback_slot_conflict():
    """mul in t writes in t+6; an addition in t+3 would, too: it waits one cycle, and only that."""
    p = _with_operands(100, 7)
    at = p.here
    p.add(asm.mul(8, 5, 6), *[asm.addi(9 + i, 5, 6) for i in range(4)])
    run = _alone(p)
    t = run.issued_at(at)
    assert [run.issued_at(at + 4 * i) - t for i in range(5)] == [0, 1, 2, 4, 5]
    assert run.cycles[t + 3].stall == StallReason.WRITEBACK


def test_without_destination_no_slot_is_needed():
    """x0 as destination: neither a slot nor a wait."""
    p = _with_operands(100, 7)
    at = p.here
    p.add(asm.mul(8, 5, 6), *[asm.addi(0, 5, 6) for i in range(4)])
    run = _alone(p)
    assert [run.issued_at(at + 4 * i) - run.issued_at(at) for i in range(5)] == [0, 1, 2, 3, 4]
    assert run.writes(0) == []


@pytest.mark.parametrize("csr", [0x001, 0x002, 0x003])
def test_fcsr_waits_for_everything_older(csr):
    p = _with_operands(100, 7)
    at = p.here
    p.add(asm.mul(8, 5, 6), asm.csrr(9, csr))
    run = _alone(p)
    assert run.issued_at(at + 4) - run.issued_at(at) == MUL + OVERHEAD
    assert run.cycles[run.issued_at(at) + 1].stall == StallReason.DRAIN


@dataclass(frozen=True)
class _Instruction:
    word: int
    latency: int
    rd: int
    sources: tuple[int, ...]


def _random_instruction(rng: random.Random) -> _Instruction:
    rd, a, b = rng.randrange(8, 14), rng.randrange(5, 14), rng.randrange(5, 14)
    name = rng.choice(("add", "add", "add", "mul", "mul", "csr", "lui", "div"))
    if name == "csr":
        return _Instruction(asm.csrr(rd, 0xF14), CSR, rd, ())
    if name == "lui":
        return _Instruction(asm.lui(rd, 5), ALU, rd, ())
    make, latency = PRODUCERS[name]
    return _Instruction(make(rd, a, b), latency, rd, (a, b))


class _Reference:
    """Who is ready when, from the issue history alone: registers, the divider, the writeback port."""

    def __init__(self) -> None:
        self.written: dict[tuple[int, int], int] = {}
        self.slots: set[int] = set()
        self.divider = 0

    def ready(self, cycle: int, warp: int, instruction: _Instruction) -> bool:
        registers = (*instruction.sources, instruction.rd)
        return (
            all(self.written.get((warp, r), 0) <= cycle for r in registers)
            and (instruction.latency != DIV or self.divider <= cycle)
            and cycle + instruction.latency + OVERHEAD not in self.slots
        )

    def issue(self, cycle: int, warp: int, instruction: _Instruction) -> None:
        written = cycle + instruction.latency + OVERHEAD
        self.written[warp, instruction.rd] = written
        self.slots.add(written)
        if instruction.latency == DIV:
            self.divider = cycle + DIV


def _check_readiness(run: Run, body: int, instructions: list[_Instruction]) -> int:
    """A warp whose head is instruction k is eligible exactly when the reference says so; returns the waits seen."""
    reference = _Reference()
    heads = dict.fromkeys(range(run.config.warps), 0)
    # The head of a warp is known where its next selection is not a NOP.
    upcoming = {warp: run.selections(warp) for warp in heads}
    waits = 0
    front_end = {StallReason.ICACHE, StallReason.CONTROL, StallReason.BARRIER}
    for cycle in run.cycles:
        for warp, queue in upcoming.items():
            following = queue[0][1] if queue else None
            in_body = following is not None and body <= following < body + 4 * len(instructions)
            if in_body and cycle.active >> warp & 1 and cycle.reasons[warp] not in front_end:
                assert following == body + 4 * heads[warp]
                instruction = instructions[heads[warp]]
                expected = reference.ready(cycle.number, warp, instruction)
                waits += not expected
                assert bool(cycle.eligible >> warp & 1) == expected, f"cycle {cycle.number}, warp {warp}: {instruction}"
        if cycle.select is not None:
            _, pc = upcoming[cycle.select].pop(0)
            if pc is not None and body <= pc < body + 4 * len(instructions):
                reference.issue(cycle.number, cycle.select, instructions[heads[cycle.select]])
                heads[cycle.select] += 1
    assert heads == dict.fromkeys(range(run.config.warps), len(instructions))
    return waits


@pytest.mark.parametrize("config", [TINY, BASE], ids=["TINY", "BASE"])
def test_readiness_against_reference(config):
    """Random straight lines on all warps: in every cycle a warp is eligible iff operands, unit and slot are free."""
    for seed in range(3):
        rng = random.Random(seed)
        instructions = [_random_instruction(rng) for _ in range(40)]
        p = Program()
        spawn(p, config.warps, "body")
        # The setup's own results are in the registers before the body begins.
        p.add(*[asm.nop()] * 8)
        p.label("body")
        p.add(*[i.word for i in instructions])
        finish(p)
        try:
            run = run_program(config, p, policy=rng.choice(config.policies), latency=3)
            check_front_end(run)
            assert _check_readiness(run, p.address("body"), instructions) > 20
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_load_result_is_usable_in_the_cycle_of_its_write():
    p = Program()
    p.li(5, 0x10000)
    at = p.here
    p.add(asm.lw(8, 0, 5), asm.addi(9, 8, 1))
    run = _alone(p)
    ((written, value),) = run.writes(8)
    assert run.issued_at(at + 4) == written
    assert value == {0: 0} and run.register(9) == {0: 1}
    assert {run.cycles[c].reasons[0] for c in range(run.issued_at(at) + 1, written)} == {StallReason.LOAD}
    assert run.issued_at(START) < run.issued_at(at)
