"""The warp table against a list of pcs: every priority between the events of one cycle."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from metronome.hdl.frontend.warps import WarpTable
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import bit_list, drive, maybe, simulated, some_bit
from tests.support.tiers import some_slow


def address(rng: random.Random) -> int:
    return rng.choice((rng.getrandbits(30) * 4, 0xFFFF_FFFC, 0x8000_0000))


class Events:
    """What happens in one cycle. ``looking``: the warp whose fetch, made in the last cycle, is looked up, or None."""

    def __init__(self, rng: random.Random, warps: int, unresolved: set[int], looking: int | None) -> None:
        self.looking, self.lookup_missed, self.other = looking, maybe(rng, 0.5), some_bit(rng, warps)
        self.missed = looking if self.lookup_missed else None
        self.hit = None if self.lookup_missed else looking
        self.selected = [w for w in bit_list(some_bit(rng, warps)) if w not in unresolved and w != self.missed]
        self.resolving = rng.randrange(warps) if maybe(rng, 0.4) else None
        self.redirect, self.target = maybe(rng, 0.5), address(rng)
        self.turning, self.turn_target = (rng.randrange(warps) if maybe(rng, 0.2) else None), address(rng)
        self.activated, self.start = (rng.getrandbits(warps) if maybe(rng, 0.2) else 0), address(rng)
        # What was selected in this cycle cannot be resolved or released in it.
        self.release = rng.getrandbits(warps) & ~sum(1 << w for w in self.selected) if maybe(rng, 0.2) else 0
        self.control = maybe(rng, 0.3) and self.resolving not in self.selected
        self.redirected = self.resolving if self.redirect else None

    def drive(self, ctx, dut: WarpTable, pcs: list[int]) -> None:
        selected = sum(1 << w for w in self.selected)
        # Of the two selections prepared, the one that does not come true means nothing.
        ctx.set(dut.lookup.missed, self.lookup_missed)
        ctx.set(dut.fetch.if_hit, self.other if self.lookup_missed else selected)
        ctx.set(dut.fetch.if_missed, selected if self.lookup_missed else self.other)
        ctx.set(dut.lookup.warps, 0 if self.looking is None else 1 << self.looking)
        ctx.set(dut.lookup.pc, self.target if self.looking is None else pcs[self.looking])
        ctx.set(dut.issued_if_hit, ctx.get(dut.fetch.if_hit) if self.control else 0)
        ctx.set(dut.issued_if_missed, ctx.get(dut.fetch.if_missed) if self.control else 0)
        drive(ctx, dut.turn, warps=0 if self.turning is None else 1 << self.turning, target=self.turn_target)
        ctx.set(dut.flow.resolution, {
            "valid": self.resolving is not None, "warp": self.resolving or 0, "redirect": self.redirect,
            "target": self.target,
        })
        drive(ctx, dut.flow, release=self.release, activation={"warps": self.activated, "pc": self.start})

    def of_pc(self, w: int, pc: int) -> dict[str, int]:
        """The events of warp ``w`` that give a new pc, the one that wins first."""
        following = {
            "activation": self.start if self.activated >> w & 1 else None,
            "resolution": self.target if w == self.redirected else None,
            "turn": self.turn_target if w == self.turning else None,
            "miss": pc if w == self.missed else None,
            "hit": (pc + 4) % (1 << 32) if w == self.hit else None,
        }
        return {name: value for name, value in following.items() if value is not None}


@pytest.mark.parametrize("warps", some_slow([1, 2, 4], 1))
@simulated(lambda warps: WarpTable(replace(BASE, warps=warps)))
async def test_random(ctx, dut, warps):
    """Events of all kinds meet in one cycle on one warp: activation, resolution, turn, then miss or hit."""
    rng = random.Random(warps)
    meetings: Counter[tuple[str, ...]] = Counter()
    pcs = [0] * warps
    unresolved: set[int] = set()
    looking: int | None = None
    # The registers: a hit advances them one cycle later.
    registers = [0] * warps
    for cycle in range(800):
        what = f"seed {warps}, cycle {cycle}"
        events = Events(rng, warps, unresolved, looking)
        events.drive(ctx, dut, pcs)
        nexts = [(pc + 4) % (1 << 32) if w == looking else pc for w, pc in enumerate(pcs)]
        assert [ctx.get(dut.pc[w]) for w in range(warps)] == nexts, what
        assert [ctx.get(dut.lines[w]) for w in range(warps)] == [pc // 64 for pc in registers], what
        assert set(bit_list(ctx.get(dut.unresolved))) == unresolved, what
        assert bit_list(ctx.get(dut.redirected)) == [w for w in range(warps) if w == events.redirected], what
        if events.selected:
            pc = dut.fetch_pc_if_missed if events.lookup_missed else dut.fetch_pc_if_hit
            assert ctx.get(pc) == nexts[events.selected[0]], what
        await ctx.tick()

        unresolved -= {events.resolving, *bit_list(events.release)}
        unresolved |= set(events.selected if events.control else ())
        elsewhere = {events.redirected, events.turning, *bit_list(events.activated)}
        looking = next((w for w in events.selected if w not in elsewhere), None)
        for w in range(warps):
            happened = events.of_pc(w, pcs[w])
            meetings[tuple(happened)] += 1
            first = next(iter(happened), None)
            registers[w] = happened[first] if first not in (None, "miss", "hit") else pcs[w]
            pcs[w] = next(iter(happened.values()), pcs[w])
    wanted = [("activation", "resolution"), ("resolution", "turn"), ("resolution", "miss"), ("resolution", "hit"),
              ("turn", "miss"), ("turn", "hit"), ("activation", "hit"), ("miss",), ("hit",)]
    for events in wanted:
        assert meetings[events] >= 3, f"{events} met {meetings[events]} times"
