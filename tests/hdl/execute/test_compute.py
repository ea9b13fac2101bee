"""ComputeUnits: operand choice, and the right unit's result in every writeback cycle."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import Simulator

from hdl.execute.compute import ComputeUnits
from hdl.isa.ops import AluOp, DivOp, MulOp, Unit
from hdl.presets import BASE, TINY

MASK32 = 0xFFFF_FFFF

#: One or two operations of each unit: the units' own tests have them all.
OPS: list[tuple[Unit, Any, Callable[[int, int], int]]] = [
    (Unit.ALU, AluOp.ADD, lambda a, b: a + b & MASK32),
    (Unit.ALU, AluOp.SUB, lambda a, b: a - b & MASK32),
    (Unit.ALU, AluOp.SLTU, lambda a, b: int(a < b)),
    (Unit.MUL, MulOp.MUL, lambda a, b: a * b & MASK32),
    (Unit.MUL, MulOp.MULHU, lambda a, b: a * b >> 32),
    (Unit.DIV, DivOp.DIVU, lambda a, b: a // b if b else MASK32),
    (Unit.DIV, DivOp.REMU, lambda a, b: a % b if b else a),
]


def _operands(rng: random.Random, threads: int) -> dict[str, Any]:
    return {"rs1": [rng.getrandbits(32) for _ in range(threads)],
            "rs2": [rng.choice((rng.getrandbits(32), rng.randrange(9))) for _ in range(threads)],
            "pc": rng.getrandbits(30) << 2, "imm": rng.getrandbits(32), "mask": rng.getrandbits(threads),
            "use_pc": rng.random() < 0.3, "use_imm": rng.random() < 0.3}


def _drive(ctx: Any, dut: ComputeUnits, unit: Unit, op: Any, o: dict[str, Any], valid: bool) -> None:
    decoded = dut.x.entry.decoded
    for port, value in (
        (dut.x.valid, valid), (dut.x.mask, o["mask"]), (dut.x.entry.pc, o["pc"]), (decoded.op, op.value),
        (decoded.imm, o["imm"]), (decoded.use_pc, o["use_pc"]), (decoded.use_imm, o["use_imm"]),
        (decoded.info.unit, unit), (dut.x.rs1, o["rs1"]), (dut.x.rs2, o["rs2"]),
    ):
        ctx.set(port, value)


@pytest.mark.parametrize("config", [TINY, BASE, replace(TINY, latency_mul=2, latency_div=36)],
                         ids=["TINY", "BASE", "mul2-div36"])
@pytest.mark.parametrize("seed", [1, 2])
def test_results_in_their_cycles(config, seed):
    """Random operations, one a cycle where the write port and the divider allow; each result latency cycles later."""
    rng = random.Random(seed)
    latencies = {Unit.ALU: config.latency_alu, Unit.MUL: config.latency_mul, Unit.DIV: config.latency_div}
    dut = ComputeUnits(config)
    checked = set()

    async def testbench(ctx: Any) -> None:
        due: dict[int, tuple[Unit, list[int], int]] = {}
        divider_free = 0
        for cycle in range(250):
            unit, op, reference = rng.choice(OPS)
            o = _operands(rng, config.threads)
            at = cycle + latencies[unit]
            valid = at not in due and (unit is not Unit.DIV or cycle >= divider_free) and rng.random() < 0.9
            _drive(ctx, dut, unit, op, o, valid)
            if valid:
                divider_free = at if unit is Unit.DIV else divider_free
                a = [o["pc"]] * config.threads if o["use_pc"] else o["rs1"]
                b = [o["imm"]] * config.threads if o["use_imm"] else o["rs2"]
                due[at] = (unit, [reference(x, y) for x, y in zip(a, b, strict=True)], o["mask"])
            if cycle in due:
                written, expected, mask = due[cycle]
                ctx.set(dut.write_unit, written)
                for lane in range(config.threads):
                    if mask >> lane & 1:
                        assert ctx.get(dut.result[lane]) == expected[lane], f"seed {seed}, cycle {cycle}, {written}"
                        checked.add(written)
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    assert checked == set(latencies), f"seed {seed}"


@pytest.mark.parametrize("unit", [Unit.BRANCH, Unit.CSR, Unit.SIMT])
def test_scalar_goes_to_all_lanes(unit):
    """With ``add_lane`` the lane number is in the low bits (thread id, mhartid)."""
    dut = ComputeUnits(BASE)
    rng = random.Random(1)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.write_unit, unit)
        for _ in range(20):
            scalar = rng.getrandbits(30) << 2
            ctx.set(dut.scalar, scalar)
            for add in (0, 1):
                ctx.set(dut.add_lane, add)
                assert [ctx.get(dut.result[i]) for i in range(4)] == [scalar + add * i for i in range(4)]

    sim = Simulator(dut)
    sim.add_testbench(testbench)
    sim.run()
