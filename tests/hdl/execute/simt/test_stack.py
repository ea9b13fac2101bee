"""DivergenceStack against Python lists."""

import random
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.execute.simt.stack import DivergenceStack
from tests.hdl.lib.simulate import simulate, told
from tests.support.tiers import some_slow

CONFIGS = [SmConfig(warps=1, threads=1), SmConfig(warps=2, threads=2), SmConfig(warps=3, threads=4),
           SmConfig(warps=4, threads=8)]
FIELDS = ("union", "other", "pc")


class _Model:
    def __init__(self, config: SmConfig) -> None:
        self.depth = config.stack_depth
        self.stacks: list[list[dict[str, int]]] = [[] for _ in range(config.warps)]

    def moves(self, warp: int) -> list[str]:
        """What this warp may do."""
        stack = self.stacks[warp]
        return ["push"] * 3 * (len(stack) < self.depth) + ["visit", "pop"] * bool(stack) + ["look"]

    def apply(self, warp: int, move: str, pushed: dict[str, int]) -> None:
        stack = self.stacks[warp]
        if move == "push":
            stack.append({**pushed, "visited": 0})
        elif move == "visit":
            stack[-1]["visited"] = 1
        elif move == "pop":
            stack.pop()


def _pushed(config: SmConfig, rng: random.Random) -> dict[str, int]:
    return {"union": rng.getrandbits(config.threads), "other": rng.getrandbits(config.threads),
            "pc": rng.getrandbits(32)}


@pytest.mark.parametrize("config", some_slow(CONFIGS, 2), ids=lambda c: f"{c.warps}x{c.threads}")
def test_against_lists(config):
    """Random moves of all warps: the pointer and the top entry, in the cycle after the peek."""
    assert config.stack_depth >= max(1, config.threads - 1)
    for seed in (1, 2):
        rng = random.Random(seed)
        dut = DivergenceStack(config)
        reached = set()

        async def testbench(ctx: Any, dut=dut, rng=rng, reached=reached) -> None:
            model = _Model(config)
            warp: int | None = None
            for _ in range(500):
                pushed = _pushed(config, rng)
                # A peek never meets its own warp's move.
                others = [w for w in range(config.warps) if w != warp]
                upcoming = rng.choice([*others, None]) if others else (0 if warp is None else None)
                ctx.set(dut.peek_warp, 0 if upcoming is None else upcoming)
                move = "look" if warp is None else rng.choice(model.moves(warp))
                ctx.set(dut.pushed, {**pushed, "visited": rng.getrandbits(1)})
                for name in ("push", "visit", "pop"):
                    ctx.set(getattr(dut, name), move == name)
                if warp is not None:
                    stack = model.stacks[warp]
                    reached.add(len(stack))
                    assert ctx.get(dut.pointer) == len(stack)
                    if stack:
                        top = ctx.get(dut.top)
                        assert {name: top[name] for name in (*FIELDS, "visited")} == stack[-1], warp
                    model.apply(warp, move, pushed)
                idle = [w for w in range(config.warps) if w not in (warp, upcoming)]
                cleared = rng.choice(idle) if idle and rng.random() < 0.02 else None
                ctx.set(dut.clear, 0 if cleared is None else 1 << cleared)
                if cleared is not None:
                    model.stacks[cleared].clear()
                await ctx.tick()
                warp = upcoming

        with told(f"seed {seed}"):
            simulate(dut, testbench)
        assert reached == set(range(config.stack_depth + 1)), f"seed {seed}"
