"""What the tests of the units in the lanes share: operands, traffic, and a check of every lane in every cycle."""

import functools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import ClockDomain, Module

from metronome.hdl.config import SmConfig
from tests.hdl.lib.simulate import Simulation, set_all

MASK32 = 0xFFFF_FFFF
EDGES = (
    0, 1, 2, 3, 5, 7, 15, 16, 31, 32, 33, 0xFF, 0x8000, 0xFFFF, 0x1_0000, 0x5555_5555, 0xAAAA_AAAA,
    0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_0000, 0xFFFF_FFFE, 0xFFFF_FFFF,
)


def signed(value: int) -> int:
    """A 32-bit pattern as a two's complement number."""
    return value - (1 << 32) if value >> 31 else value


def operand(rng: random.Random) -> int:
    """A 32-bit pattern: an edge, a small number of either sign, or anything."""
    return rng.choice((rng.choice(EDGES), rng.randrange(-40, 40) & MASK32, rng.getrandbits(32), rng.getrandbits(32)))


@dataclass(frozen=True)
class Operation:
    """One operation of a warp: the lanes of each operand, and the rounding mode if the unit has one."""

    op: Any
    mask: int
    operands: tuple[tuple[int, ...], ...]
    rm: int = 0


def random_operation(rng: random.Random, ops: Iterable[Any], threads: int,
                     draw: Callable[[random.Random], int] = operand, count: int = 2) -> Operation:
    """Random op, mode and ``count`` operands, sometimes equal; the mask is full half of the time, and may be empty."""
    mask = rng.choice(((1 << threads) - 1, rng.getrandbits(threads)))
    first = tuple(draw(rng) for _ in range(threads))
    others = [tuple(lane if rng.random() < 0.25 else draw(rng) for lane in first) for _ in range(count - 1)]
    return Operation(rng.choice(tuple(ops)), mask, (first, *others), rng.randrange(5))


def edge_operations(ops: Iterable[Any], threads: int) -> list[Operation]:
    """Every op on every pair of edges, all lanes active."""
    operations = []
    for op in ops:
        pairs = [(a, b) for a in EDGES for b in EDGES]
        pairs += pairs[:-len(pairs) % threads]
        for start in range(0, len(pairs), threads):
            operations.append(Operation(op, (1 << threads) - 1, tuple(zip(*pairs[start:start + threads], strict=True))))
    return operations


def spread(operations: Iterable[Operation], rng: random.Random, *, distance: int, gap: int) -> dict[int, Operation]:
    """When each operation arrives: at least ``distance`` cycles and at most ``gap`` more after the one before."""
    cycle, schedule = 0, {}
    for operation in operations:
        schedule[cycle] = operation
        cycle += distance + rng.randrange(gap + 1)
    return schedule


@functools.cache
def driven(make: Callable[[SmConfig], Any], config: SmConfig) -> tuple[Any, ClockDomain, Simulation]:
    """A unit, the domain of its clock, and their simulation: one for all tests of that unit."""
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.unit = unit = make(config)
    return unit, domain, Simulation(m)


@dataclass(frozen=True, kw_only=True)
class UnitBench:
    """A unit, and what every lane of its ``result`` is compared with in every cycle.

    ``latency`` names a field of the configuration; a unit that is not ``pipelined`` gets an operation each latency.
    ``reference``: an op and the operands of a lane -> the result.
    """

    make: Callable[[SmConfig], Any]
    ops: type
    latency: str
    reference: Callable[..., Any]
    pipelined: bool = True
    operands: str = "ab"

    def label(self, config: SmConfig) -> str:
        return f"{config.threads}_threads_latency_{getattr(config, self.latency)}"

    def random(self, rng: random.Random, ops: Iterable[Any], threads: int) -> Operation:
        return random_operation(rng, ops, threads)

    def inputs(self, unit: Any, operation: Operation) -> list[tuple[Any, Any]]:
        """Ports of the unit and their values."""
        ports = [getattr(unit, name) for name in self.operands]
        return [(unit.op, getattr(operation.op, "value", operation.op)), (unit.mask, operation.mask),
                *zip(ports, operation.operands, strict=True)]

    def outputs(self, ctx: Any, unit: Any, lane: int) -> tuple[int, int]:
        """Result and flags."""
        return ctx.get(unit.result[lane]), 0

    def expected(self, operation: Operation, lane: int) -> tuple[int, int]:
        """As :meth:`outputs`."""
        return self.reference(operation.op, *(lanes[lane] for lanes in operation.operands)), 0

    def check(self, config: SmConfig, schedule: dict[int, Operation], seed: int, reset_at: int | None = None) -> None:
        """A lane changes exactly the latency after an operation in whose mask it is, and never else.

        Its flags are 0 in all other cycles. In cycles without an operation the other inputs are random. In cycle
        ``reset_at`` the domain is reset: what arrived before never completes. (``result`` itself has no reset: that of
        an operation due right after the reset cycle may be there or not.)
        """
        unit, domain, simulation = driven(self.make, config)
        latency, rng = getattr(config, self.latency), random.Random(f"noise of {seed}")

        async def testbench(ctx: Any) -> None:
            held: list[int | None] = [None] * config.threads
            for cycle in range(max(schedule) + latency + 5):
                operation = schedule.get(cycle)
                noise = replace(self.random(rng, [rng.getrandbits(5)], config.threads), rm=rng.getrandbits(3))
                set_all(ctx, [(domain.rst, cycle == reset_at), (unit.valid, operation is not None),
                              *self.inputs(unit, operation or noise)])
                await ctx.tick()
                issued = cycle + 1 - latency
                done = schedule.get(issued)
                abandoned = reset_at is not None and issued <= reset_at <= cycle
                for lane in range(config.threads):
                    flags, due = 0, done is not None and done.mask >> lane & 1
                    if due and not abandoned:
                        held[lane], flags = self.expected(done, lane)
                    actual = self.outputs(ctx, unit, lane)
                    if held[lane] is None or (due and cycle == reset_at):
                        held[lane] = actual[0]
                    assert actual == (held[lane], flags), (
                        f"seed {seed}: cycle {cycle + 1} lane {lane}: {actual[0]:#010x} flags {actual[1]:05b}, "
                        f"expected {held[lane]:#010x} flags {flags:05b}; due: {done}"
                    )

        simulation.run(testbench)

    def check_all(self, config: SmConfig, operations: Iterable[Operation], seed: int, gap: int = 0) -> None:
        """One after the other as fast as the unit takes them, with up to ``gap`` cycles more between."""
        distance = 1 if self.pipelined else getattr(config, self.latency)
        self.check(config, spread(operations, random.Random(seed), distance=distance, gap=gap), seed)

    def check_random(self, config: SmConfig, count: int, gap: int) -> None:
        """As many random operations."""
        seed = 1000 * config.threads + 10 * getattr(config, self.latency) + gap
        rng = random.Random(seed)
        self.check_all(config, [self.random(rng, self.ops, config.threads) for _ in range(count)], seed, gap)


async def check_busy(ctx: Any, unit: Any, latency: int) -> None:
    """``busy`` is 1 in exactly the latency - 1 cycles in which no operation may arrive."""
    seen = []
    ctx.set(unit.mask, 1)
    for cycle in range(2 * latency):
        ctx.set(unit.valid, cycle in (0, latency))
        seen.append(ctx.get(unit.busy))
        await ctx.tick()
    assert seen == ([0] + [1] * (latency - 1)) * 2
