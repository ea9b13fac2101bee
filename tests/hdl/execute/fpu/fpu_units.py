"""A check of the result and the flags of every lane of a floating-point unit in every cycle."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator
from fpu_operands import EDGES

from hdl.config import SmConfig

#: Operation, rounding mode and one lane's operands -> result and flags.
Reference = Callable[..., tuple[int, int]]


def operand(rng: random.Random) -> int:
    """A 32-bit pattern: an edge, near 1, or anything."""
    return rng.choice((int(rng.choice(EDGES)), 0x3F80_0000 + rng.randrange(-9, 9), rng.getrandbits(32)))


@dataclass(frozen=True)
class FpuOperation:
    """One operation of a warp; ``operands`` are the lanes of a, b and, if the unit has it, c."""

    op: Any
    rm: int
    mask: int
    operands: tuple[tuple[int, ...], ...]

    @classmethod
    def random(cls, rng: random.Random, ops: Iterable[Any], threads: int, *, count: int = 2) -> FpuOperation:
        """Random operands, mode and op; the mask is full half of the time, and may be empty."""
        mask = rng.choice(((1 << threads) - 1, rng.getrandbits(threads)))
        operands = tuple(tuple(operand(rng) for _ in range(threads)) for _ in range(count))
        return cls(rng.choice(tuple(ops)), rng.randrange(5), mask, operands)


def check_fpu_unit(unit: Any, config: SmConfig, schedule: dict[int, FpuOperation], *, latency: int,
                   reference: Reference, rng: random.Random, label: str, reset_at: int | None = None,
                   tail: int = 5) -> None:
    """Drives ``schedule`` and compares every lane of ``result`` and ``flags`` in every cycle with the contract.

    ``result`` of a lane changes exactly ``latency`` cycles after an operation in whose mask it is, and never else;
    ``flags`` are 0 in all other cycles. In cycles without an operation the other inputs are random. In cycle
    ``reset_at`` the domain is reset: what arrived before never completes. (``result`` has no reset: that of an
    operation due right after the reset cycle may be there or not.)
    """
    ports = [getattr(unit, name) for name in ("a", "b", "c") if hasattr(unit, name)]
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.unit = unit

    async def testbench(ctx: Any) -> None:
        expected: list[int | None] = [None] * config.threads
        for cycle in range(max(schedule) + latency + tail):
            operation = schedule.get(cycle)
            noise = operation or FpuOperation.random(rng, [rng.getrandbits(5)], config.threads, count=len(ports))
            ctx.set(domain.rst, cycle == reset_at)
            ctx.set(unit.valid, operation is not None)
            ctx.set(unit.op, getattr(noise.op, "value", noise.op))
            ctx.set(unit.rm, noise.rm if operation else rng.getrandbits(3))
            ctx.set(unit.mask, noise.mask)
            for port, lanes in zip(ports, noise.operands, strict=True):
                ctx.set(port, lanes)
            await ctx.tick()
            issued = cycle + 1 - latency
            done = schedule.get(issued)
            due = 0 if done is None or (reset_at is not None and issued <= reset_at <= cycle) else done.mask
            for i in range(config.threads):
                flags = 0
                if due >> i & 1:
                    expected[i], flags = reference(done.op, done.rm, *(lanes[i] for lanes in done.operands))
                actual = ctx.get(unit.result[i]), ctx.get(unit.flags[i])
                if expected[i] is None or cycle == reset_at:
                    expected[i] = actual[0]
                assert actual == (expected[i], flags), (
                    f"{label}: cycle {cycle + 1} lane {i}: {actual[0]:#010x} flags {actual[1]:05b}, expected "
                    f"{expected[i]:#010x} flags {flags:05b}; due: {done}"
                )

    sim = Simulator(m)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
