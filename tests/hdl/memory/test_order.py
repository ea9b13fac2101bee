"""Ordered channels: accesses are looked up in the order of the list, and what is not in the list is a fault."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import ResetInserter, Signal

from metronome.hdl.config import Channels, FaultCause, SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.memory.order import unit
from metronome.hdl.memory.order.reader import AHEAD
from tests.hdl.lib.simulate import pulse
from tests.hdl.memory.lsu_harness import Simulation
from tests.hdl.memory.lsu_programs import USER, random_traffic, small
from tests.hdl.memory.lsu_reference import Access, Reference
from tests.hdl.memory.lsu_traffic import Traffic
from tests.hdl.memory.order_bench import LIST, OrderBench, WrongListBench, entries_of, first_fault, ordered_program
from tests.support.tiers import some_long, some_more

#: Threads, warps, cache, depth of a channel.
SHAPES = [(2, 3, "tight", 2), (4, 4, "cached", 7), (1, 2, "uncached", 1), (4, 1, "tight", 4), (2, 4, "single", 32),
          (4, 4, "uncached", 4), (1, 4, "tight", 3), (2, 2, "tight", 5)]


def ordered(shape: tuple[int, int, str, int], lookup_latency: int = 1) -> SmConfig:
    threads, warps, cache, depth = shape
    return small(threads, warps=warps, cache=cache, channels=Channels.ORDERED, channel_depth=depth,
                 lookup_latency=lookup_latency)


@pytest.mark.more
@pytest.mark.parametrize(("shape", "lookup_latency"), [
    *((shape, 1) for shape in SHAPES[:2]),
    *(pytest.param(shape, 2, marks=[pytest.mark.long] if number else []) for number, shape in enumerate(SHAPES)),
    *(pytest.param(shape, 1, marks=pytest.mark.long) for shape in SHAPES[2:]),
], ids=str)
def test_programs_with_lists_and_without(shape: tuple[int, int, str, int], lookup_latency: int) -> None:
    """One after the other: what is looked up, in which order, and what loads and memory see of it."""
    config = ordered(shape, lookup_latency)
    for seed in range(3):
        rng = random.Random(seed)
        traffic = random_traffic(rng)
        if seed == 2:
            traffic.bad = lambda line: line == USER // 64 + 3
        bench, reference = OrderBench(config, seed=seed, traffic=traffic), Reference(config)

        async def testbench(ctx, bench=bench, rng=rng, reference=reference):
            for listed in (False, True, True, False, True):
                program = ordered_program(rng, config, 30)
                fresh = Reference(config, local=reference.local, memory=reference.memory, refused=reference.refused)
                await (bench.play_listed if listed else bench.play)(ctx, program, fresh)
                bench.check(len(bench.list_reads) < len(bench.list_lines) + AHEAD if listed else not bench.list_reads,
                            f"{len(bench.list_reads)} lines of a list are read")

        bench.simulate(testbench)


def crowded(rng: random.Random, config: SmConfig, length: int) -> list[Access]:
    """Words of few lines, of which fewer have a place at a time."""
    return [
        Access(warp=rng.randrange(config.warps), op=rng.choice((LsuOp.LW, LsuOp.LW, LsuOp.LW, LsuOp.SW)), mask=1,
               address=[USER + 64 * rng.randrange(7) + 4 * rng.randrange(2)], rd=rng.randrange(64), pc=4 + 4 * number,
               data=[rng.getrandbits(32)])
        for number in range(length)
    ]


@pytest.mark.more  # ten seconds each; tests/sim/analysis/access_order has the same of the predictor
@pytest.mark.parametrize("ways", [1, 2])
def test_lines_take_each_others_places(ways: int) -> None:
    """What hits is what docs/analyze.md says, however long memory takes; no line lies where another comes."""
    config = small(1, cache="cached", channels=Channels.ORDERED, channel_depth=4)
    config = replace(config, dcache_bytes=128 * ways, dcache_ways=ways)
    for seed, (longest, listed) in enumerate([(6, True), (40, True), (20, False)]):
        rng = random.Random(seed)
        bench = OrderBench(config, seed=seed, traffic=Traffic(
            latency=lambda rng, write, longest=longest: rng.randint(1, longest), reorder=True))

        async def testbench(ctx, bench=bench, rng=rng, listed=listed):
            program = crowded(rng, config, 400)
            await (bench.play_listed if listed else bench.play)(ctx, program, Reference(config))

        bench.simulate(testbench)


def streams(config: SmConfig, length: int) -> list[Access]:
    """Loads of a line each, of which there are two."""
    return [Access(warp=number % config.warps, op=LsuOp.LW, mask=1, rd=number // config.warps % 64,
                   address=[USER + 64 * (number % 2)], pc=4 + 4 * number) for number in range(length)]


@pytest.mark.more
def test_one_access_a_cycle() -> None:
    """With the list read ahead from quick memory accesses that hit are looked up one a cycle; it is read meanwhile."""
    config = ordered((2, 4, "cached", 8))
    bench = OrderBench(config)
    bench.in_turn = True

    async def testbench(ctx):
        await bench.play_listed(ctx, streams(config, 200), Reference(config))

    bench.simulate(testbench)
    cycles = bench.lookup_cycles
    assert len(cycles) == 200
    assert cycles[-1] - cycles[8] == 191
    assert len(bench.list_reads) > 200 // 8


@pytest.mark.slow
def test_quick_memory_costs_no_cycle() -> None:
    """Start in cycle 0, the first line at memory in 1 and answered in 2: its entry is there in 3, as the access."""
    config = ordered((2, 4, "cached", 8))
    bench = OrderBench(config)

    async def testbench(ctx):
        await bench.play_listed(ctx, streams(config, 1), Reference(config))

    bench.simulate(testbench)
    # Selected in 0, its request in 2, the coalescer in 3, the lookup in 4: as without a list.
    assert (bench.requests[0], bench.takes[0], bench.lookup_cycles) == (1, 0, [4])


def test_what_a_wrong_list_is() -> None:
    """The reference function itself."""
    right = [(4, False, 0, 2), (8, True, 1, 1), (12, False, 0, 1)]
    assert first_fault(right[:2], right) == ("UNEXPECTED_ACCESS", 0, 12, 0)
    assert first_fault([(4, False, 0, 1), *right[1:]], right) == ("UNEXPECTED_ACCESS", 0, 4, 12)
    assert first_fault([(4, False, 0, 3), *right[1:]], right) == ("UNEXPECTED_ACCESS", 0, 12, 4)
    assert first_fault([(4, False, 2, 2), *right[1:]], right) == ("MISSING_ACCESS", 2, 4, 64 * LIST)
    assert first_fault([right[0], (8, False, 1, 1), right[2]], right) == ("UNEXPECTED_ACCESS", 1, 8, 8)
    assert first_fault([*right, (16, True, 3, 1)], right) == ("MISSING_ACCESS", 3, 16, 64 * LIST + 24)


def spoil(rng: random.Random, entries: list[tuple], what: str, warps: int) -> list[tuple]:
    """One thing is wrong with the list."""
    place = rng.randrange(len(entries))
    pc, store, warp, lines = entries[place]
    if what == "too few":
        return entries[:-1]
    if what == "skipped":
        return entries[:place] + entries[place + 1 :]
    if what == "too many":
        return [*entries, (0x8888, False, warp, 1)]
    other = {
        "pc": (pc ^ 0x100, store, warp, lines), "kind": (pc, not store, warp, lines),
        "more lines": (pc, store, warp, lines + 1), "warp": (pc, store, (warp + 1) % warps, lines),
        "fewer lines": (pc, store, warp, lines - 1), "no warp": (pc, store, 63, lines),
    }[what]
    if what == "fewer lines":
        place = next(number for number, entry in enumerate(entries) if entry[3] > 1)
        pc, store, warp, lines = entries[place]
        other = pc, store, warp, lines - 1
    return [*entries[:place], other, *entries[place + 1 :]]


@pytest.fixture(scope="module")
def impatient() -> Simulation:
    """A unit that waits for less long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit, "PATIENCE", 100)
        simulation = Simulation(ordered((2, 3, "tight", 4)))
        # It is elaborated with the first run.
        simulation.run(_nothing)
    return simulation


async def _nothing(ctx) -> None:
    await ctx.tick()


WRONG = ["pc", "more lines", "kind", "too few", "too many", "fewer lines", "warp", "no warp", "skipped"]


def play_wrong(bench: WrongListBench, program: list[Access]) -> None:
    async def testbench(ctx):
        await bench.play_listed(ctx, program, Reference(bench.config))

    bench.simulate(testbench)


@pytest.mark.slow
@pytest.mark.parametrize("what", some_more(some_long(WRONG, 5), 1))
def test_a_wrong_list_is_one_fault(what: str, impatient: Simulation) -> None:
    for seed in range(4):
        rng = random.Random(seed)
        bench = WrongListBench(impatient.dut.config, seed=seed, traffic=random_traffic(rng), simulation=impatient)
        program = [access for access in ordered_program(rng, bench.config, 40) if not access.misaligned]
        reference = Reference(bench.config)
        reference.run(program)
        right = entries_of(program, reference.lines)
        bench.entries = spoil(rng, right, what, bench.config.warps)
        play_wrong(bench, program)
        cause, warp, pc, address = first_fault(bench.entries, right)
        assert [fault[1:] for fault in bench.faults] == [(FaultCause[cause], warp % 4, pc, address)], seed


@pytest.mark.more
@pytest.mark.parametrize("number", some_more([0, 2], 1))
def test_a_line_of_the_list_that_memory_refuses(number: int, impatient: Simulation) -> None:
    rng = random.Random(number)
    traffic = Traffic(
        bad=lambda line: line == LIST + number, latency=lambda rng, write: rng.randint(1, 9), reorder=True)
    bench = WrongListBench(impatient.dut.config, seed=number, traffic=traffic, simulation=impatient)
    program = [access for access in ordered_program(rng, bench.config, 40) if not access.misaligned]
    play_wrong(bench, program)
    pc, _, warp, _ = entries_of(program, bench.expected)[8 * number]
    assert [fault[1:] for fault in bench.faults] == [(FaultCause.LOAD_ACCESS, warp, pc, 64 * (LIST + number))]


@pytest.mark.more
def test_patience_counts_cycles_without_a_selection(impatient: Simulation) -> None:
    """The entry is another warp's, which does nothing: the fault comes so many cycles after the last selection."""
    for seed in range(6):
        bench = WrongListBench(
            impatient.dut.config, seed=seed, traffic=Traffic(take=(1, 0.2)[seed % 2]), simulation=impatient)
        bench.entries = [(4, False, 2, 1)]
        play_wrong(bench, [
            Access(warp=0, op=LsuOp.LW, mask=1, address=[USER], pc=4 * number, rd=number) for number in (1, 2)])
        [(cycle, *fault)] = bench.faults
        assert fault == [FaultCause.MISSING_ACCESS, 2, 4, 64 * LIST]
        # From the cycle after the selection, or from the third, in which the entry is there; then two registers.
        assert cycle == max(max(bench.takes.values()) + 1, 3) + 100 + 2


@pytest.mark.more
def test_reset_forgets_the_list() -> None:
    reset = Signal()
    config = ordered((2, 3, "tight", 4))
    bench = OrderBench(config, simulation=Simulation(config, ResetInserter(reset)))
    rng = random.Random(11)
    local: dict[int, int] = {}
    memory: dict[int, int] = {}

    async def testbench(ctx):
        ctx.set(bench.dut.order.start, 1)
        ctx.set(bench.dut.mem.request.ready, 1)
        await ctx.tick().repeat(3)
        assert ctx.get(bench.dut.mem.request.valid) and not ctx.get(bench.dut.idle)
        ctx.set(bench.dut.order.start, 0)
        await pulse(ctx, reset)
        assert ctx.get(bench.dut.idle)
        for play in (bench.play, bench.play_listed):
            await play(ctx, ordered_program(rng, config, 20), Reference(config, local=local, memory=memory))

    bench.simulate(testbench)
