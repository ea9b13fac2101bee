"""ComputeUnits: operand choice, and the right unit's result in every writeback cycle."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metronome.hdl.execute.compute import ComputeUnits
from metronome.hdl.isa.ops import AluOp, DivOp, FcvtOp, FdivOp, FmaOp, FmiscOp, MulOp, Unit
from metronome.hdl.presets import BASE, TINY
from metronome.sim.machine.golden import fp
from tests.hdl.lib.simulate import set_all, simulated
from tests.support.tiers import more_but, some_long

MASK32 = 0xFFFF_FFFF

FLOATS = (Unit.FMA, Unit.FCVT, Unit.FDIV, Unit.FMISC)


def _float(name: str, *operands: int, rm: int) -> tuple[int, int]:
    """Result and flags of the golden model, which has been compared with SoftFloat."""
    arrays = [np.array([value], np.uint32) for value in operands]
    result, flags = getattr(fp, name)(*arrays, *([rm] if name in ("fma", "add", "div", "sqrt") else []))
    return int(result[0]), int(flags[0])


#: One or two operations of each unit: the units' own tests have them all. Floats take a, b, c and rm, and give flags.
OPS: list[tuple[Unit, Any, Callable[..., Any]]] = [
    (Unit.ALU, AluOp.ADD, lambda a, b: a + b & MASK32), (Unit.ALU, AluOp.SUB, lambda a, b: a - b & MASK32),
    (Unit.ALU, AluOp.SLTU, lambda a, b: int(a < b)), (Unit.MUL, MulOp.MUL, lambda a, b: a * b & MASK32),
    (Unit.MUL, MulOp.MULHU, lambda a, b: a * b >> 32), (Unit.DIV, DivOp.DIVU, lambda a, b: a // b if b else MASK32),
    (Unit.DIV, DivOp.REMU, lambda a, b: a % b if b else a),
    (Unit.FMA, FmaOp.FMADD, lambda a, b, c, rm: _float("fma", a, b, c, rm=rm)),
    (Unit.FMA, FmaOp.FADD, lambda a, b, c, rm: _float("add", a, b, rm=rm)),
    (Unit.FCVT, FcvtOp.W_S, lambda a, b, c, rm: tuple(int(x[0]) for x in fp.to_int(np.array([a], "u4"), rm, True))),
    (Unit.FDIV, FdivOp.FDIV, lambda a, b, c, rm: _float("div", a, b, rm=rm)),
    (Unit.FDIV, FdivOp.FSQRT, lambda a, b, c, rm: _float("sqrt", a, rm=rm)),
    (Unit.FMISC, FmiscOp.FLT, lambda a, b, c, rm: _float("lt", a, b, rm=rm)),
]


def _operands(rng: random.Random, threads: int) -> dict[str, Any]:
    return {"rs1": [rng.getrandbits(32) for _ in range(threads)],
            "rs2": [rng.choice((rng.getrandbits(32), rng.randrange(9))) for _ in range(threads)],
            "rs3": [rng.getrandbits(32) for _ in range(threads)], "rm": rng.randrange(5),
            "pc": rng.getrandbits(30) << 2, "imm": rng.getrandbits(32), "mask": rng.getrandbits(threads),
            "use_pc": rng.random() < 0.3, "use_imm": rng.random() < 0.3}


def _drive(ctx: Any, dut: ComputeUnits, unit: Unit, op: Any, o: dict[str, Any], valid: bool) -> None:
    decoded = dut.x.entry.decoded
    set_all(ctx, (
        (dut.x.valid, valid), (dut.x.mask, o["mask"]), (dut.x.entry.pc, o["pc"]), (decoded.op, op.value),
        (decoded.imm, o["imm"]), (decoded.use_pc, o["use_pc"]), (decoded.use_imm, o["use_imm"]),
        (decoded.info.unit, unit), (dut.x.rs1, o["rs1"]), (dut.x.rs2, o["rs2"]), (dut.x.rs3, o["rs3"]),
        (dut.rm, o["rm"]),
    ))


CONFIGS = {
    "TINY": TINY, "BASE": BASE, "mul2-div36": replace(TINY, latency_mul=2, latency_div=36),
    "fma6-fdiv17": replace(TINY, latency_fma=6, latency_fdiv=17),
    "fma8-fcvt6-fdiv19": replace(TINY, latency_fma=8, latency_fcvt=6, latency_fdiv=19),
    "fma8-fcvt8-fdiv20": replace(TINY, latency_fma=8, latency_fcvt=8, latency_fdiv=20),
}


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(CONFIGS.values(), [CONFIGS["fma8-fcvt8-fdiv20"]]), ids=list(CONFIGS))
@pytest.mark.parametrize("seed", some_long([1, 2], 1))
@simulated(lambda config: ComputeUnits(config))
async def test_results_in_their_cycles(ctx: Any, dut: ComputeUnits, config, seed):
    """Random operations, one a cycle where the write port and the dividers allow; each result latency cycles later."""
    rng = random.Random(seed)
    latencies = {Unit.ALU: config.latency_alu, Unit.MUL: config.latency_mul, Unit.DIV: config.latency_div,
                 Unit.FMA: config.latency_fma, Unit.FCVT: config.latency_fcvt, Unit.FDIV: config.latency_fdiv,
                 Unit.FMISC: config.latency_fmisc}
    checked = set()
    due: dict[int, tuple[Unit, list[Any], int]] = {}
    free = {Unit.DIV: 0, Unit.FDIV: 0}
    for cycle in range(250):
        unit, op, reference = rng.choice(OPS)
        o = _operands(rng, config.threads)
        if unit is not Unit.ALU:
            o["use_pc"] = o["use_imm"] = False
        at = cycle + latencies[unit]
        valid = at not in due and cycle >= free.get(unit, 0) and rng.random() < 0.9
        _drive(ctx, dut, unit, op, o, valid)
        if valid:
            if unit in free:
                free[unit] = at
            a = [o["pc"]] * config.threads if o["use_pc"] else o["rs1"]
            b = [o["imm"]] * config.threads if o["use_imm"] else o["rs2"]
            operands = zip(a, b, o["rs3"], strict=True)
            expected = [reference(*abc, o["rm"]) if unit in FLOATS else reference(*abc[:2]) for abc in operands]
            due[at] = (unit, expected, o["mask"])
        if cycle in due:
            written, expected, mask = due[cycle]
            ctx.set(dut.write_unit, written)
            raised = 0
            for lane in range(config.threads):
                if written in FLOATS and mask >> lane & 1:
                    expected[lane], flags = expected[lane]
                    raised |= flags
                if mask >> lane & 1:
                    assert ctx.get(dut.result[lane]) == expected[lane], f"seed {seed}, cycle {cycle}, {written}"
                    checked.add(written)
            assert ctx.get(dut.flags) == raised, f"seed {seed}, cycle {cycle}, {written}"
        await ctx.tick()
    assert checked == set(latencies), f"seed {seed}"


@pytest.mark.more
@simulated(lambda: ComputeUnits(BASE))
async def test_scalar_goes_to_all_lanes(ctx: Any, dut: ComputeUnits):
    """With ``add_lane`` the lane number is in the low bits (thread id, mhartid)."""
    rng = random.Random(1)
    for unit in [Unit.BRANCH, Unit.CSR, Unit.SIMT] * 7:
        ctx.set(dut.write_unit, unit)
        scalar = rng.getrandbits(30) << 2
        ctx.set(dut.scalar, scalar)
        for add in (0, 1):
            ctx.set(dut.add_lane, add)
            assert [ctx.get(dut.result[i]) for i in range(4)] == [scalar + add * i for i in range(4)]
