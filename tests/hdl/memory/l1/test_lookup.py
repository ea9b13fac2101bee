"""The lookup stage against the table "Lookup waits" (docs/memory.md): who goes, who waits and why, what is done."""

import random
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.probe import LookupWait
from metronome.hdl.memory.l1.lookup import LookupStage
from tests.hdl.lib.simulate import port, pulse, simulated
from tests.hdl.memory.part_models import CacheModel

USER = 0x1_0000 // 64
#: The first and the fourth are of one set of the cache, the third and the fifth of another one.
LINES = (USER - 1, USER, USER + 1, USER + 2, USER + 4)
#: The ports of FLAGS that are in an interface.
PORTS = {
    "holds": "buffer.holds", "covers": "buffer.covers", "ready": "buffer.ready", "joins": "buffer.joins",
    "readable": "buffer.readable",
    "requested": "mshrs.requested", "full": "mshrs.full", "accepts": "fill.accepts", "install": "fill.install",
}
#: What the other parts say of the access, each with the probability that it is so.
FLAGS = {
    "hit": 0.4, "holds": 0.4, "covers": 0.5, "ready": 0.7, "joins": 0.3, "requested": 0.4, "full": 0.4,
    "parts_full": 0.3, "slot_free": 0.7, "accepts": 0.3, "install": 0.3, "readable": 0.8,
}
#: Outputs that say what is done now.
ACTIONS = ("use", "read", "forward", "answers", "add", "allocate", "write")
#: Nothing is in the way, and nothing is there.
FREE = dict.fromkeys(FLAGS, 0) | {"ready": 1, "slot_free": 1, "readable": 1}


def config_of(cached: bool) -> SmConfig:
    return SmConfig(threads=2, warps=4, load_parts=4, dcache_bytes=512 if cached else 0, dcache_ways=2)


def waits(access: dict[str, Any], flags: dict[str, int], cached: bool) -> LookupWait:
    """The table, row by row; ``flags`` with ``own``: a line of its set goes into the cache."""
    if flags["own"]:
        return LookupWait.FILL
    return store_waits(flags) if access["write"] else load_waits(access["part"], flags, cached)


def store_waits(flags: dict[str, int]) -> LookupWait:
    if not flags["ready"]:
        return LookupWait.BUFFER
    arrives = flags["install"] or (flags["accepts"] and flags["requested"])
    return LookupWait.FILL if arrives else LookupWait.NONE


def load_waits(part: dict[str, Any], flags: dict[str, int], cached: bool) -> LookupWait:
    uncached = part["line"] < USER
    can_answer = flags["slot_free"] or not part["writes_rd"]
    if flags["hit"]:
        return LookupWait.NONE if can_answer else LookupWait.WRITEBACK
    if flags["holds"]:
        answered = not uncached and flags["covers"] and flags["readable"] and can_answer
        return LookupWait.NONE if answered else LookupWait.ORDER
    if uncached and flags["requested"]:
        return LookupWait.ORDER
    if flags["parts_full"]:
        return LookupWait.PARTS
    joins = cached and not uncached and flags["requested"]
    return LookupWait.NONE if joins or not flags["full"] else LookupWait.MSHR


def does(access: dict[str, Any], flags: dict[str, int], cached: bool) -> dict[str, int]:
    """What is done now with an access that goes."""
    write, hit = access["write"], flags["hit"]
    load, answers = not write, access["part"]["writes_rd"]
    forward = load and not hit and flags["holds"]
    miss = load and not hit and not forward
    joins = miss and cached and access["part"]["line"] >= USER and flags["requested"]
    return {
        "use": hit, "read": load and hit and answers, "forward": forward and answers,
        "answers": load and answers and (hit or forward), "add": miss, "allocate": miss and not joins, "write": write,
    }


class Bench:
    """Drives the stage a cycle at a time; ``went``: the cycles in which an access went, ``waited``: the reasons."""

    def __init__(self, cached: bool, seed: int) -> None:
        self.cached = cached
        config = config_of(cached)
        self.dut = LookupStage(config)
        self.cache = CacheModel(capacity=config.dcache_bytes, ways=config.dcache_ways)
        self.rng = random.Random(seed)
        self.what = f"seed {seed}"
        self.cycle = 0
        self.held: dict[str, Any] | None = None
        self.went: list[int] = []
        self.waited: list[LookupWait] = []

    def access(self, **changes: Any) -> dict[str, Any]:
        rng = self.rng
        part = {"warp": rng.randrange(4), "pc": rng.getrandbits(32), "op": rng.getrandbits(4), "rd": rng.getrandbits(6),
                "writes_rd": int(rng.random() < 0.8), "mask": rng.getrandbits(2),
                "line": rng.choice(LINES), "offset": [rng.getrandbits(6), rng.getrandbits(6)]}
        access = {"part": part, "write": rng.getrandbits(1), "first": rng.getrandbits(1),
                  "byte_mask": rng.getrandbits(64), "data": rng.getrandbits(512)}
        for name, value in changes.items():
            (part if name in part else access)[name] = value
        return access

    async def step(self, ctx: Any, offered: dict[str, Any] | None, flags: dict[str, int],
                   line: int | None = None) -> bool:
        """Whether the stage takes what is offered. ``line``: what goes into the cache, where ``install`` is set."""
        dut, held = self.dut, self.held
        line = self.rng.choice(LINES) if line is None else line
        for name, value in flags.items():
            ctx.set(port(dut, PORTS.get(name, name)), value)
        ctx.set(dut.fill.line, line)
        ctx.set(dut.access.valid, offered is not None)
        if offered is not None:
            ctx.set(dut.access.payload, offered)
        reason, done = LookupWait.NONE, dict.fromkeys(ACTIONS, 0)
        if held is not None:
            flags = flags | {"own": flags["install"] and self.cache.same_set(line, held["part"]["line"])}
            reason = waits(held, flags, self.cached)
            if reason is LookupWait.NONE:
                done = does(held, flags, self.cached)
        goes = held is not None and reason is LookupWait.NONE
        self._check(ctx, flags, reason, done, goes)
        ready = held is None or goes
        assert ctx.get(dut.access.ready) == ready, f"{self.what}, cycle {self.cycle}: ready"
        if goes:
            self.went.append(self.cycle)
        if held is not None:
            self.waited.append(reason)
        if ready:
            self.held = offered
        await ctx.tick()
        self.cycle += 1
        return ready

    def _check(self, ctx: Any, flags: dict[str, int], reason: LookupWait, done: dict[str, int], goes: bool) -> None:
        dut, held, event = self.dut, self.held, ctx.get(self.dut.event)
        what = f"{self.what}, cycle {self.cycle}: {held}, {flags}"
        assert {name: ctx.get(getattr(dut.out, name)) for name in done} == done, what
        assert (event.access, event.wait) == (goes, reason), what
        assert ctx.get(dut.out.held_valid) == (held is not None), what
        filled = (flags["install"], ctx.get(dut.fill.line)) if self.cached else (0, 0)
        assert (event.fill, event.fill_line) == filled, what
        if held is None:
            return
        got = ctx.get(dut.out.held)
        assert (got.part.warp, got.part.rd, got.part.line, got.write, got.byte_mask, got.data) == (
            *(held["part"][name] for name in ("warp", "rd", "line")), held["write"], held["byte_mask"], held["data"]
        ), what
        assert ctx.get(dut.out.uncached) == (held["part"]["line"] < USER), what
        if goes:
            joins = flags["joins"] if held["write"] else done["add"] and not done["allocate"]
            forwards = not held["write"] and not flags["hit"] and flags["holds"]
            assert (event.warp, event.line, event.store, event.first, event.hit, event.merge, event.forward) == (
                held["part"]["warp"], held["part"]["line"], held["write"], held["first"], flags["hit"], joins, forwards
            ), what


@pytest.mark.parametrize("cached", [True, False])
@simulated(lambda cached: Bench(cached, 3 + cached))
async def test_random_accesses(ctx: Any, bench: Bench) -> None:
    """Whatever the other parts say, even what never comes together."""
    rng = bench.rng
    offered = None
    for _ in range(160):
        if offered is None and rng.random() < 0.9:
            offered = bench.access()
        flags = {name: int(rng.random() < chance) for name, chance in FLAGS.items()}
        if await bench.step(ctx, offered, flags):
            offered = None
    assert set(bench.waited) == set(LookupWait), f"{bench.what}: {set(LookupWait) - set(bench.waited)} did not happen"


@pytest.mark.parametrize("write", [0, 1])
@pytest.mark.parametrize("flags", [
    {}, {"hit": 1}, {"holds": 1, "covers": 1}, {"holds": 1, "covers": 1, "accepts": 1},
    {"requested": 1, "full": 1},
], ids=str)
@simulated(lambda: Bench(True, 5))
async def test_one_access_a_cycle(ctx: Any, bench: Bench, write: int, flags: dict[str, int]) -> None:
    """Stores, and loads that miss, hit, are answered by the write buffer, or join: each the cycle after it came."""
    for _ in range(12):
        assert await bench.step(ctx, bench.access(write=write, line=USER), FREE | flags)
    assert bench.went == list(range(1, 12))


@pytest.mark.parametrize("write", [0, 1])
@simulated(lambda: Bench(True, 6))
async def test_cycles_in_which_a_line_comes(ctx: Any, bench: Bench, write: int) -> None:
    """Accepted in one cycle, into the cache in the next: a store waits for both, a load for the second."""
    await bench.step(ctx, bench.access(write=write, line=USER, writes_rd=1), FREE)
    await bench.step(ctx, None, FREE | {"requested": 1, "holds": 1 - write, "accepts": 1})
    await bench.step(ctx, None, FREE | {"install": 1}, line=USER)
    await bench.step(ctx, None, FREE | {"hit": 1})
    assert bench.waited == [LookupWait.FILL if write else LookupWait.ORDER, LookupWait.FILL, LookupWait.NONE]


@simulated(lambda: Bench(True, 7), resets=True)
async def test_reset(ctx: Any, bench: Bench, reset) -> None:
    await bench.step(ctx, bench.access(write=1), FREE | {"ready": 0})
    await bench.step(ctx, bench.access(write=1), FREE | {"ready": 0})
    await pulse(ctx, reset)
    bench.held = None
    await bench.step(ctx, bench.access(write=1), FREE)
    await bench.step(ctx, None, FREE)
    assert bench.went == [3]
