"""The instruction buffers against lists of slots."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.frontend.buffers import InstructionBuffers
from metronome.hdl.layouts.decoded import BufferEntry, IssueInfo
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import bit_list, drive, maybe, simulated, some_bit
from tests.support.tiers import some_more

DEPTH = 4
NOP = None
IN_FLIGHT = "in flight"


def drive_pop(ctx, dut: InstructionBuffers, pop: int | None, *, missed: bool = False, other: int = 0) -> None:
    """Pop ``pop``; ``other`` is the pop for the outcome of the lookup that does not happen."""
    mask = 0 if pop is None else 1 << pop
    drive(ctx, dut, pop=mask, pop_warp=pop or 0, missed=missed)
    drive(ctx, dut, pop_if_hit=other if missed else mask, pop_if_missed=mask if missed else other)


def random_entry(rng: random.Random) -> int:
    return rng.getrandbits(BufferEntry.as_shape().size)


class Rings:
    """What every slot holds: NOP, the bits of an entry, or IN_FLIGHT."""

    def __init__(self, dut: InstructionBuffers, warps: int) -> None:
        self.dut = dut
        self.slots: list[list] = [[NOP] * DEPTH for _ in range(warps)]
        self.heads = [0] * warps

    def check_heads(self, ctx, what: str) -> None:
        for w, slots in enumerate(self.slots):
            head = slots[self.heads[w]]
            if head == IN_FLIGHT:
                continue
            assert (ctx.get(self.dut.head_nop) >> w & 1) == (head is NOP), f"{what}: warp {w}, head {head}"
            if head is not NOP:
                info = ctx.get(self.dut.head_info[w].as_value())
                assert info == head & ((1 << IssueInfo.as_shape().size) - 1), f"{what}: head of warp {w}"

    def check_pop(self, ctx, what: str, warp: int) -> None:
        assert ctx.get(self.dut.pop_slot) == self.heads[warp], f"{what}: slot"
        occupancy = DEPTH - self.slots[warp].count(IN_FLIGHT)
        assert ctx.get(self.dut.occupancy[warp]) == occupancy, f"{what}: occupancy"
        instructions = occupancy - self.slots[warp].count(NOP)
        assert ctx.get(self.dut.instructions[warp]) == instructions, f"{what}: instructions"

    def pop(self, warp: int) -> int | None:
        slot = self.heads[warp]
        entry, self.slots[warp][slot] = self.slots[warp][slot], IN_FLIGHT
        self.heads[warp] = (slot + 1) % DEPTH
        return entry

    def flush(self, warps: list[int]) -> None:
        """What is in flight is turned into NOPs on its way, by the front end."""
        for w in warps:
            self.slots[w] = [IN_FLIGHT if slot == IN_FLIGHT else NOP for slot in self.slots[w]]


@pytest.mark.slow
@pytest.mark.parametrize("warps", some_more([3, 1, 4], 1))
@pytest.mark.parametrize("seed", some_more(range(2), 1))
@simulated(lambda warps: InstructionBuffers(replace(BASE, warps=warps)))
async def test_random(ctx, dut, warps, seed):
    """A fetch three cycles behind each pop, as in the front end; flushes at any time, in the cycle of a fill too."""
    rng = random.Random(100 * warps + seed)
    rings = Rings(dut, warps)
    flushed_with_a_fill = 0
    fetches: dict[int, tuple[int, int]] = {}        # cycle of the fill: warp, slot
    popped = NOP
    for cycle in range(800):
        what = f"seed {100 * warps + seed}, cycle {cycle}"
        pop = rng.randrange(warps) if maybe(rng, 0.8) else None
        flush = some_bit(rng, warps) if maybe(rng, 0.2) else 0
        filled, slot = fetches.get(cycle, (None, 0))
        entry, nop = random_entry(rng), maybe(rng, 0.2)
        drive_pop(ctx, dut, pop, missed=maybe(rng, 0.5), other=some_bit(rng, warps))
        drive(ctx, dut, flush=flush)
        drive(ctx, dut.fill, valid=filled is not None, warp=filled or 0, slot=slot)
        ctx.set(dut.fill.entry.as_value(), entry)
        ctx.set(dut.fill.squashed, nop)

        rings.check_heads(ctx, what)
        if popped is not NOP:
            assert ctx.get(dut.entry.as_value()) == popped, f"{what}: entry of the last pop"
        assert ctx.get(dut.empty_pop) == 0, f"{what}: a pop of warp {pop} found its slot empty"
        popped = NOP
        if pop is not None:
            rings.check_pop(ctx, what, pop)
            fetches[cycle + 3] = pop, rings.heads[pop]
            popped = rings.pop(pop)
        await ctx.tick()

        if filled is not None:
            rings.slots[filled][slot] = NOP if nop else entry
            flushed_with_a_fill += flush >> filled & 1
        rings.flush(bit_list(flush))
    assert flushed_with_a_fill >= 5


def test_entry_layout_begins_with_the_info():
    """The test above takes the low bits of an entry for its ``info``."""
    assert BufferEntry.as_shape()["decoded"].offset == 0
    entry = BufferEntry.const({"decoded": {"info": {"rd": 33, "store": 1}}}).as_value().value
    assert entry == IssueInfo.const({"rd": 33, "store": 1}).as_value().value


@simulated(lambda: InstructionBuffers(BASE))
async def test_empty_pop(ctx, dut):
    """Four pops of one warp without a fill are good for the four NOPs of the reset; the fifth is an empty pop."""
    assert ctx.get(dut.head_nop) == 0b1111
    drive_pop(ctx, dut, 2)
    for expected in (0, 0, 0, 0, 1):
        assert ctx.get(dut.empty_pop) == expected
        await ctx.tick()
    drive_pop(ctx, dut, 1)
    assert ctx.get(dut.empty_pop) == 0
    assert ctx.get(dut.occupancy[1]) == DEPTH
