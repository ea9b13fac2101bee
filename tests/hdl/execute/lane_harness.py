"""What the tests of the integer units share: operands, traffic, and a check of every lane in every cycle."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ClockDomain, Module

from metronome.hdl.config import SmConfig
from tests.hdl.lib.simulate import Simulation, set_all

Reference = Callable[[Any, int, int], int]

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
    """One operation of a warp."""

    op: Any
    mask: int
    a: tuple[int, ...]
    b: tuple[int, ...]

    @classmethod
    def random(cls, rng: random.Random, ops: Iterable[Any], threads: int) -> Operation:
        """Random operands and op; the mask is full half of the time, and may be empty."""
        mask = rng.choice(((1 << threads) - 1, rng.getrandbits(threads)))
        a = tuple(operand(rng) for _ in range(threads))
        b = tuple(rng.choice((operand(rng), lane)) for lane in a)
        return cls(rng.choice(tuple(ops)), mask, a, b)


def edge_operations(ops: Iterable[Any], threads: int) -> list[Operation]:
    """Every op on every pair of edges, all lanes active."""
    operations = []
    for op in ops:
        pairs = [(a, b) for a in EDGES for b in EDGES]
        pairs += pairs[:-len(pairs) % threads]
        for start in range(0, len(pairs), threads):
            a, b = zip(*pairs[start:start + threads], strict=True)
            operations.append(Operation(op, (1 << threads) - 1, a, b))
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


def check_unit(make: Callable[[SmConfig], Any], config: SmConfig, schedule: dict[int, Operation], *,
               latency: int, reference: Reference, rng: random.Random, label: str, reset_at: int | None = None,
               tail: int = 5) -> None:
    """Drives ``schedule`` into the unit of ``make`` and compares every lane of ``result`` in every cycle.

    A lane changes exactly ``latency`` cycles after an operation in whose mask it is, and never else. In cycles without
    an operation the other inputs are random. In cycle ``reset_at`` the domain is reset: what arrived before never
    completes. (``result`` itself has no reset: an operation due right after the reset cycle may complete or not.)
    """
    lanes = range(config.threads)
    cycles = max(schedule) + latency + tail
    unit, domain, simulation = driven(make, config)

    async def testbench(ctx: Any) -> None:
        expected: list[int | None] = [None] * config.threads
        for cycle in range(cycles):
            operation = schedule.get(cycle)
            noise = operation or Operation.random(rng, [rng.getrandbits(5)], config.threads)
            set_all(ctx, (
                (domain.rst, cycle == reset_at), (unit.valid, operation is not None),
                (unit.op, getattr(noise.op, "value", noise.op)), (unit.mask, noise.mask), (unit.a, noise.a),
                (unit.b, noise.b),
            ))
            await ctx.tick()
            issued = cycle + 1 - latency
            done = schedule.get(issued)
            abandoned = reset_at is not None and issued <= reset_at < cycle
            for i in lanes:
                actual = ctx.get(unit.result[i])
                if done is not None and done.mask >> i & 1 and not abandoned:
                    expected[i] = None if cycle == reset_at else reference(done.op, done.a[i], done.b[i])
                if expected[i] is None:
                    expected[i] = actual
                assert actual == expected[i], (
                    f"{label}: cycle {cycle + 1} lane {i}: {actual:#010x}, expected {expected[i]:#010x}; due: {done}"
                )

    simulation.run(testbench)
