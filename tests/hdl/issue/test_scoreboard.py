"""The scoreboard against sets of pending registers."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from metronome.hdl.isa.ops import Unit
from metronome.hdl.issue.scoreboard import Scoreboard
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.presets import BASE
from tests.hdl.issue.issue_reference import FLOATS, NUMBERS, random_head, reasons
from tests.hdl.lib.simulate import bit_list, drive, maybe, simulated
from tests.support.tiers import some_more


def next_head(rng: random.Random) -> dict:
    """More loads and stores than there are units: they are to be waited for."""
    return random_head(rng) | ({"unit": Unit.LSU} if maybe(rng, 0.3) else {})


class Model:
    def __init__(self, dut: Scoreboard, warps: int, rng: random.Random, what: str) -> None:
        self.dut, self.rng, self.name = dut, rng, what
        self.pending: list[dict[int, bool]] = [{} for _ in range(warps)]
        self.flags = [0] * warps
        self.heads = [next_head(rng) for _ in range(warps)]
        self.seen: Counter[StallReason] = Counter()

    def clear(self) -> None:
        self.pending = [{} for _ in self.pending]
        self.flags = [0] * len(self.flags)

    def tick(self, claim: tuple | None, release: tuple | None, raiser: int | None, raised: int | None) -> None:
        """What was claimed and released in a cycle counts from the next one on."""
        if raiser is not None:
            self.flags[raiser] += 1
        if raised is not None:
            self.flags[raised] -= 1
        if release:
            del self.pending[release[0]][release[1]]
        if claim:
            self.pending[claim[0]][claim[1]] = claim[2]

    def judge(self, ctx, what: str) -> list[int]:
        """Drives the heads and the units, checks every warp; returns the ready ones."""
        dut, rng = self.dut, self.rng
        units = (1 << len(Unit)) - 1
        unit_free, slot_free = (units & ~(rng.getrandbits(12) & rng.getrandbits(12)) for _ in range(2))
        stores = rng.getrandbits(len(self.heads))
        drive(ctx, dut, unit_free=unit_free, slot_free=slot_free, stores_pending=stores)
        ready = []
        for w, head in enumerate(self.heads):
            ctx.set(dut.heads[w], head)
        for w, head in enumerate(self.heads):
            where = f"{what}, warp {w}: {head}, pending {self.pending[w]}, flags {self.flags[w]}"
            found = reasons(head, self.pending[w], unit_free=unit_free, slot_free=slot_free, stores=stores >> w & 1,
                            flags=self.flags[w])
            assert (ctx.get(dut.ready) >> w & 1) == (not found), f"{where}: expected reasons {found}"
            assert ctx.get(dut.reason[w]) in (found or {StallReason.NONE}), f"{where}: reason, expected one of {found}"
            assert (ctx.get(dut.pending_any) >> w & 1) == bool(self.pending[w] or self.flags[w]), where
            self.seen.update(found)
            if not found:
                ready.append(w)
        return ready

    def claim(self, ctx, ready: list[int]) -> tuple[int, int, bool] | None:
        rng, dut = self.rng, self.dut
        writers = [w for w in ready if self.heads[w]["writes_rd"]]
        claim = None
        if writers and maybe(rng, 0.8):
            w = rng.choice(writers)
            claim = w, self.heads[w]["rd"], self.heads[w]["unit"] == Unit.LSU
        ctx.set(dut.claim, 1 << claim[0] if claim else 0)
        return claim

    def claim_flags(self, ctx, ready: list[int], claim: tuple | None) -> int | None:
        """A ready head of the FPU without a destination, where no other is selected; seven at most."""
        rng = self.rng
        raisers = [w for w in ready if self.heads[w]["unit"] in FLOATS and not self.heads[w]["writes_rd"]]
        raisers = [w for w in raisers if self.flags[w] < 7]
        warp = rng.choice(raisers) if raisers and claim is None else None
        ctx.set(self.dut.claim_flags, 0 if warp is None else 1 << warp)
        return warp

    def release_flags(self, ctx, release: tuple | None) -> int | None:
        """The warp is told on the port of the registers' releases, of which there is none in the same cycle."""
        waiting = [w for w, count in enumerate(self.flags) if count]
        warp = self.rng.choice(waiting) if waiting and release is None and maybe(self.rng, 0.2) else None
        ctx.set(self.dut.release.flags, warp is not None)
        if warp is not None:
            ctx.set(self.dut.release.warp, warp)
        return warp

    def release(self, ctx) -> tuple[int, int] | None:
        rng, dut = self.rng, self.dut
        waiting = [(w, register) for w, pending in enumerate(self.pending) for register in pending]
        release = rng.choice(waiting) if waiting and maybe(rng, 0.6) else None
        ctx.set(dut.release.valid, release is not None)
        ctx.set(dut.release.warp, release[0] if release else rng.randrange(len(self.heads)))
        ctx.set(dut.release.register, release[1] if release else rng.choice(NUMBERS))
        return release


@pytest.mark.slow
@pytest.mark.parametrize("warps", some_more([3, 1, 4], 1))
@simulated(lambda warps: Scoreboard(replace(BASE, warps=warps)), resets=True)
async def test_random(ctx, dut, reset, warps):
    rng = random.Random(warps)
    model = Model(dut, warps, rng, f"seed {warps}")
    most_flags = resets = 0
    for cycle in range(700):
        ready = model.judge(ctx, f"seed {warps}, cycle {cycle}")
        claim, release = model.claim(ctx, ready), model.release(ctx)
        raiser, raised = model.claim_flags(ctx, ready, claim), model.release_flags(ctx, release)
        # What the memories hold after a reset must not count.
        again = maybe(rng, 0.01)
        ctx.set(reset, again)
        await ctx.tick()
        if again:
            resets += 1
            model.clear()
            continue
        model.tick(claim, release, raiser, raised)
        most_flags = max(most_flags, max(model.flags))
        # A head changes only when it has been selected; often enough that others wait for a while.
        for w in range(warps):
            if (claim and claim[0] == w) or raiser == w or maybe(rng, 0.3):
                model.heads[w] = next_head(rng)
    assert resets > 3, f"seed {warps}"
    for reason in (StallReason.LOAD, StallReason.DATA, StallReason.UNIT, StallReason.WRITEBACK, StallReason.DRAIN):
        assert model.seen[reason] >= 10, f"seed {warps}: {reason.name}: {model.seen}"
    assert most_flags > 2, f"seed {warps}"


@pytest.mark.parametrize("flag", ["use_rs1", "use_rs2", "use_rs3", "writes_rd"])
@simulated(lambda: Scoreboard(BASE))
async def test_every_operand_waits(ctx, dut, flag):
    """RAW by each source and WAW, of the claiming warp only, from the cycle after the claim to that of the release."""
    register = {"use_rs1": "rs1", "use_rs2": "rs2", "use_rs3": "rs3", "writes_rd": "rd"}[flag]
    drive(ctx, dut, unit_free=-1, slot_free=-1)
    for w in range(4):
        ctx.set(dut.heads[w], {register: 7, flag: 1})
    ctx.set(dut.heads[2], {"rd": 7, "writes_rd": 1})
    ctx.set(dut.claim, 0b0100)
    assert ctx.get(dut.ready) == 0b1111
    await ctx.tick()
    ctx.set(dut.claim, 0)
    ctx.set(dut.heads[2], {register: 7, flag: 1})
    drive(ctx, dut.release, warp=2, register=7)
    for releasing in (0, 0, 1):
        ctx.set(dut.release.valid, releasing)
        assert bit_list(ctx.get(dut.ready)) == [0, 1, 3]
        assert ctx.get(dut.reason[2]) == StallReason.DATA
        await ctx.tick()
    assert ctx.get(dut.ready) == 0b1111
