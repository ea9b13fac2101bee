"""The scoreboard that looks up registers a cycle ahead, with the buffers' entries moving under it."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from metronome.hdl.config import Coordination
from metronome.hdl.isa.ops import Unit
from metronome.hdl.issue.scoreboard import Scoreboard
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.presets import BASE
from tests.hdl.issue.issue_reference import FLOATS, NUMBERS, reasons
from tests.hdl.issue.test_scoreboard import next_head
from tests.hdl.lib.simulate import drive, maybe, simulated
from tests.support.tiers import some_more

FIELDS = {"rs1": "use_rs1", "rs2": "use_rs2", "rs3": "use_rs3", "rd": "writes_rd"}
DEPTH = 4


def next_entry(rng: random.Random) -> dict:
    """Any instruction but a fence, an access to fcsr, and one that only raises flags (test_scoreboard.py has those)."""
    while True:
        entry = next_head(rng) | {"drain": 0, "fence": 0}
        if entry.get("writes_rd") or entry["unit"] not in FLOATS:
            return entry


class Bench:
    """A queue of instructions for each warp, and the registers that wait.

    An instruction enters a queue as the front end announces it, and leaves when its warp is selected.
    """

    def __init__(self, dut: Scoreboard, warps: int, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.queues: list[list[tuple[dict, bool]]] = [[] for _ in range(warps)]
        self.pending: list[dict[int, bool]] = [{} for _ in range(warps)]
        self.seen: Counter[str] = Counter()

    def show(self, ctx) -> None:
        """Drive the heads and the entries that follow them; random values if a queue has none."""
        dut = self.dut
        nops = 0
        for w, queue in enumerate(self.queues):
            entries = [entry for entry, _ in queue] + [next_entry(self.rng), next_entry(self.rng)]
            ctx.set(dut.heads[w], entries[0])
            ctx.set(dut.ahead.following[w], entries[1])
            nops |= (queue[0][1] if queue else self.rng.getrandbits(1)) << w
        ctx.set(dut.ahead.nops, nops)

    def arrive(self, ctx) -> tuple[int, dict] | None:
        """Perhaps let an instruction reach a queue; its unused register numbers are bits of its word."""
        rng, dut = self.rng, self.dut
        open_queues = [w for w, queue in enumerate(self.queues) if len(queue) < DEPTH]
        w = rng.choice(open_queues) if open_queues and maybe(rng, 0.8) else None
        entry = next_entry(rng)
        shown = entry | {name: rng.getrandbits(5) for name, used in FIELDS.items() if not entry.get(used)}
        ctx.set(dut.ahead.arrival, shown)
        held = None if w is None else len(self.queues[w])
        ctx.set(dut.ahead.arrives_head, 1 << w if held == 0 else 0)
        ctx.set(dut.ahead.arrives, 1 << w if held == 1 else 0)
        self.seen[f"arrives behind {held}"] += 1
        return None if w is None else (w, entry)

    def judge(self, ctx, what: str) -> list[int]:
        """Check every head that is not a NOP; return the warps that may be selected."""
        dut, rng = self.dut, self.rng
        units = (1 << len(Unit)) - 1
        free, slots = (units & ~(rng.getrandbits(12) & rng.getrandbits(12)) for _ in range(2))
        drive(ctx, dut, unit_free=free, slot_free=slots, stores_pending=0)
        able = []
        for w, queue in enumerate(self.queues):
            if not queue:
                continue
            head, nop = queue[0]
            found = reasons(head, self.pending[w], unit_free=free, slot_free=slots, stores=0, flags=0)
            if not nop:
                where = f"{what}, warp {w}: {head}, pending {self.pending[w]}: expected {found}"
                assert (ctx.get(dut.ready) >> w & 1) == (not found), where
                assert ctx.get(dut.reason[w]) in (found or {StallReason.NONE}), where
                self.seen.update(reason.name for reason in found)
            if nop or not found:
                able.append(w)
        return able

    def select(self, ctx, able: list[int]) -> int | None:
        """Select a warp; its head claims its destination."""
        rng, dut = self.rng, self.dut
        w = rng.choice(able) if able and maybe(rng, 0.8) else None
        ctx.set(dut.pop, 0 if w is None else 1 << w)
        claims = w is not None and not self.queues[w][0][1] and self.queues[w][0][0]["writes_rd"]
        ctx.set(dut.claim, 1 << w if claims else 0)
        return w

    def release(self, ctx) -> list[tuple[int, int]]:
        """Release a register on each port; loads have their own."""
        done = []
        for port, by_load in ((self.dut.release, False), (self.dut.release_load, True)):
            waiting = [(w, register) for w, pending in enumerate(self.pending)
                       for register, load in pending.items() if load == by_load]
            release = self.rng.choice(waiting) if waiting and maybe(self.rng, 0.5) else None
            ctx.set(port.valid, release is not None)
            ctx.set(port.warp, release[0] if release else self.rng.randrange(len(self.queues)))
            ctx.set(port.register, release[1] if release else self.rng.choice(NUMBERS))
            done += [release] if release else []
        return done

    def tick(self, selected: int | None, released: list, arrived: tuple | None) -> None:
        for w, register in released:
            del self.pending[w][register]
        if selected is not None:
            head, nop = self.queues[selected].pop(0)
            if not nop and head["writes_rd"]:
                self.pending[selected][head["rd"]] = head["unit"] == Unit.LSU
            self.seen["pop of the last"] += not self.queues[selected] and arrived is not None
        if arrived:
            self.queues[arrived[0]].append((arrived[1], maybe(self.rng, 0.2)))


@pytest.mark.slow
@pytest.mark.parametrize("warps", some_more([3, 1, 4], 1))
@simulated(lambda warps: Scoreboard(replace(
    BASE, warps=warps, issue_latency=3, coordination=Coordination.BASELINE, fetch_policies=("lrr",))), resets=True)
async def test_random(ctx, dut, reset, warps):
    rng = random.Random(warps)
    bench = Bench(dut, warps, rng)
    resets = 0
    for cycle in range(1500):
        bench.show(ctx)
        arrived = bench.arrive(ctx)
        able = bench.judge(ctx, f"seed {warps}, cycle {cycle}")
        selected, released = bench.select(ctx, able), bench.release(ctx)
        again = maybe(rng, 0.005)
        ctx.set(reset, again)
        await ctx.tick()
        if again:
            # The buffers are emptied too; what the memories hold must not count.
            resets += 1
            bench.queues, bench.pending = [[] for _ in range(warps)], [{} for _ in range(warps)]
            continue
        bench.tick(selected, released, arrived)
    assert resets > 2, f"seed {warps}"
    for what in ("LOAD", "DATA", "UNIT", "WRITEBACK", "arrives behind 0", "arrives behind 1", "pop of the last"):
        assert bench.seen[what] >= 10, f"seed {warps}: {what}: {bench.seen}"
