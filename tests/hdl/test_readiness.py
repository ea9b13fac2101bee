"""In every cycle of random programs a warp is eligible exactly when the contract says so (design.md section 4)."""

import random
from dataclasses import dataclass

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.lib.simulate import told
from tests.hdl.producers import ALU, CSR, FLOAT_PRODUCERS, OVERHEAD, PRODUCERS, F
from tests.hdl.sm_checks import USUAL, checked_run
from tests.hdl.sm_harness import Run, finish, spawn
from tests.support.builds import named


@dataclass(frozen=True)
class _Instruction:
    word: int
    latency: int
    rd: int
    sources: tuple[int, ...]


#: The latency of each producer.
LATENCIES = {
    "fadd": "latency_fma", "fmul": "latency_fma", "fdiv": "latency_fdiv", "fcvt.w": "latency_fcvt",
    "flt": "latency_fmisc", "fmin": "latency_fmisc", "fmv.x": "latency_fmisc", "mul": "latency_mul",
    "div": "latency_div",
}


def _random_instruction(rng: random.Random, config: SmConfig) -> _Instruction:
    rd, a, b = rng.randrange(8, 14), rng.randrange(5, 14), rng.randrange(5, 14)
    if rng.random() < 0.4:
        name = rng.choice(("fadd", "fmul", "fdiv", "fcvt.w", "flt", "fmin", "fmv.x"))
        make, _, to_int = FLOAT_PRODUCERS[name]
        latency = getattr(config, LATENCIES[name])
        sources = (F + a,) if name in ("fcvt.w", "fmv.x") else (F + a, F + b)
        return _Instruction(make(rd, a, b), latency, rd if to_int else F + rd, sources)
    name = rng.choice(("add", "add", "add", "mul", "mul", "csr", "lui", "div"))
    if name == "csr":
        return _Instruction(asm.csrr(rd, 0xF14), CSR, rd, ())
    if name == "lui":
        return _Instruction(asm.lui(rd, 5), ALU, rd, ())
    make, latency = PRODUCERS[name]
    latency = getattr(config, LATENCIES[name]) if name in LATENCIES else latency
    return _Instruction(make(rd, a, b), latency, rd, (a, b))


class _Reference:
    """Who is ready when, from the issue history alone: registers, the dividers, the writeback port."""

    def __init__(self, config: SmConfig) -> None:
        self.written: dict[tuple[int, int], int] = {}
        self.slots: set[int] = set()
        self.divider = {config.latency_div: 0, config.latency_fdiv: 0}

    def ready(self, cycle: int, warp: int, instruction: _Instruction) -> bool:
        registers = (*instruction.sources, instruction.rd)
        return (
            all(self.written.get((warp, r), 0) <= cycle for r in registers)
            and self.divider.get(instruction.latency, 0) <= cycle
            and cycle + instruction.latency + OVERHEAD not in self.slots
        )

    def issue(self, cycle: int, warp: int, instruction: _Instruction) -> None:
        written = cycle + instruction.latency + OVERHEAD
        self.written[warp, instruction.rd] = written
        self.slots.add(written)
        if instruction.latency in self.divider:
            self.divider[instruction.latency] = cycle + instruction.latency


def _check_readiness(run: Run, body: int, instructions: list[_Instruction]) -> int:
    """A warp whose head is instruction k is eligible exactly when the reference says so; returns the waits seen."""
    reference = _Reference(run.config)
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


@pytest.mark.parametrize("config", named("TINY", "SMALL", "BASE"))
def test_readiness_against_reference(config):
    """Random straight lines on all warps: in every cycle a warp is eligible iff operands, unit and slot are free."""
    for seed in range(3):
        rng = random.Random(seed)
        instructions = [_random_instruction(rng, config) for _ in range(40)]
        p = Program()
        spawn(p, config.warps, "body")
        # The setup's own results are in the registers before the body begins.
        p.add(*[asm.nop()] * 8)
        p.label("body")
        p.add(*[i.word for i in instructions])
        finish(p)
        with told(f"seed {seed}"):
            run = checked_run(config, p, policy=rng.choice(USUAL), latency=3)
            assert _check_readiness(run, p.address("body"), instructions) > 20
