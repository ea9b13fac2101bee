"""The L1's two kinds of line requests on its one port: each whole, once, in turn, and stable until it is taken."""

import random
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.l1.requests import LineRequests
from tests.hdl.lib.simulate import drive, simulated
from tests.hdl.memory.part_models import RequestModel

KINDS = ("load", "store")


def config_of(mshrs: int, entries: int) -> SmConfig:
    return SmConfig(threads=1, warps=2, load_parts=4, dcache_mshrs=mshrs, store_buffer=entries)


class Sources:
    """Offers random lines of both kinds, each until it is taken; ``taken``: (cycle, kind)."""

    def __init__(self, dut: LineRequests, rng: random.Random, what: str) -> None:
        self.dut, self.rng, self.what = dut, rng, what
        self.offered: dict[str, dict[str, int] | None] = dict.fromkeys(KINDS)
        self.taken: list[tuple[int, str]] = []
        self.model = RequestModel()
        self.cycle = 0

    def _offer(self, ctx: Any, kind: str, chance: float) -> None:
        port, rng = getattr(self.dut, kind), self.rng
        if self.offered[kind] is None and rng.random() < chance:
            self.offered[kind] = {"number": rng.getrandbits(len(port.payload.number)), "line": rng.getrandbits(26)}
            if kind == "store":
                self.offered[kind] |= {"byte_mask": rng.getrandbits(64), "data": rng.getrandbits(512)}
        drive(ctx, port, valid=self.offered[kind] is not None, payload=self.offered[kind] or {"number": 0, "line": 0})

    async def step(self, ctx: Any, *, load: float, store: float, ready: float) -> None:
        dut = self.dut
        for kind, chance in zip(KINDS, (load, store), strict=True):
            self._offer(ctx, kind, chance)
        is_ready = self.rng.random() < ready
        ctx.set(dut.request.ready, is_ready)
        what = f"{self.what}, cycle {self.cycle}"
        asks = [self.offered[kind] is not None for kind in KINDS]
        assert ctx.get(dut.request.valid) == any(asks), what
        if any(asks):
            self._check(ctx, KINDS[self.model.use_store(*asks)], is_ready, what)
        self.model.tick(*asks, is_ready)
        await ctx.tick()
        self.cycle += 1

    def _check(self, ctx: Any, kind: str, ready: bool, what: str) -> None:
        request = ctx.get(self.dut.request.payload)
        expected = self.offered[kind]
        got = {name: getattr(request, name) for name in expected if name != "number"}
        assert got == {name: value for name, value in expected.items() if name != "number"}, f"{what}: not the {kind}'s"
        assert request.write == (kind == "store"), what
        top = len(self.dut.request.payload.tag) - 1
        assert request.tag == expected["number"] | (kind == "store") << top, what
        for other in KINDS:
            assert ctx.get(getattr(self.dut, other).ready) == (ready and other == kind), f"{what}: ready of the {other}"
        if ready:
            self.offered[kind] = None
            self.taken.append((self.cycle, kind))


@pytest.mark.parametrize(("mshrs", "entries"), [(1, 1), (4, 2), (2, 8)])
@simulated(lambda mshrs, entries: LineRequests(config_of(mshrs, entries)))
async def test_random_traffic(ctx: Any, dut: LineRequests, mshrs: int, entries: int) -> None:
    seed = 10 * mshrs + entries
    sources = Sources(dut, random.Random(seed), f"seed {seed}")
    for cycle in range(250):
        busy = 1.0 if cycle // 50 % 2 else 0.4
        await sources.step(ctx, load=busy, store=busy, ready=0.5)
    assert min(sum(kind == its for _, its in sources.taken) for kind in KINDS) > 30, f"seed {seed}"


@simulated(lambda: LineRequests(config_of(4, 4)))
async def test_one_request_a_cycle_in_turn(ctx: Any, dut: LineRequests) -> None:
    """Where both always ask neither goes twice in a row; where one asks it goes in every cycle."""
    sources = Sources(dut, random.Random(1), "seed 1")
    for chances in ((1, 1), (1, 0), (0, 1)):
        for _ in range(12):
            await sources.step(ctx, load=chances[0], store=chances[1], ready=1)
    assert [cycle for cycle, _ in sources.taken] == list(range(36))
    kinds = [kind for _, kind in sources.taken]
    assert kinds[:12] == ["store", "load"] * 6
    assert kinds[13:24] == ["load"] * 11 and kinds[25:] == ["store"] * 11


@pytest.mark.parametrize("waits", [1, 2, 5])
@simulated(lambda: LineRequests(config_of(4, 4)))
async def test_what_is_offered_stays(ctx: Any, dut: LineRequests, waits: int) -> None:
    """A store that memory does not take is not overtaken by a load that comes later, nor the other way round."""
    sources = Sources(dut, random.Random(waits), f"seed {waits}")
    for first in KINDS:
        chances = {kind: float(kind == first) for kind in KINDS}
        await sources.step(ctx, **chances, ready=0)
        for _ in range(waits):
            await sources.step(ctx, load=1, store=1, ready=0)
        await sources.step(ctx, load=0, store=0, ready=1)
        await sources.step(ctx, load=0, store=0, ready=1)
    assert [kind for _, kind in sources.taken] == ["load", "store", "store", "load"]


@simulated(lambda: LineRequests(config_of(2, 2)), resets=True)
async def test_after_a_reset_a_store_goes_first(ctx: Any, dut: LineRequests, reset) -> None:
    sources = Sources(dut, random.Random(5), "seed 5")
    await sources.step(ctx, load=0, store=1, ready=1)
    await sources.step(ctx, load=1, store=0, ready=0)
    ctx.set(reset, 1)
    ctx.set(dut.load.valid, 0)
    await ctx.tick()
    ctx.set(reset, 0)
    sources.offered, sources.model = dict.fromkeys(KINDS), RequestModel()
    await sources.step(ctx, load=1, store=1, ready=1)
    assert sources.taken[-1][1] == "store"
