"""The branch comparison against Python's."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.execute.branch import BranchLanes
from metronome.hdl.isa.ops import BranchOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.lane_harness import edge_operations, random_operation, signed
from tests.hdl.lib.simulate import simulated

CONFIGS = [TINY, replace(TINY, threads=4)]


def reference(op: BranchOp, a: int, b: int) -> bool:
    """RISC-V unprivileged manual, "Conditional Branches"; jumps are always taken."""
    return {
        BranchOp.EQ: a == b, BranchOp.NE: a != b, BranchOp.LT: signed(a) < signed(b),
        BranchOp.GE: signed(a) >= signed(b), BranchOp.LTU: a < b, BranchOp.GEU: a >= b, BranchOp.JAL: True,
        BranchOp.JALR: True,
    }[op]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.threads}_threads")
@simulated(lambda config: BranchLanes(config))
async def test_branches(ctx, unit, config):
    seed = config.threads
    rng = random.Random(seed)
    operations = edge_operations(BranchOp, config.threads)
    operations += [random_operation(rng, BranchOp, config.threads) for _ in range(500)]
    for operation in operations:
        for port, value in zip((unit.op, unit.a, unit.b), (operation.op.value, *operation.operands), strict=True):
            ctx.set(port, value)
        await ctx.delay(1e-9)
        pairs = zip(*operation.operands, strict=True)
        expected = sum(reference(operation.op, a, b) << i for i, (a, b) in enumerate(pairs))
        actual = ctx.get(unit.taken)
        assert actual == expected, f"seed {seed}: taken {actual:#b}, expected {expected:#b}: {operation}"
