"""A check of the result and the flags of every lane of a floating-point unit in every cycle."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from metronome.hdl.config import SmConfig
from metronome.hdl.execute.fpu.ports import fpu_ports
from metronome.hdl.execute.fpu.unit import FloatUnit
from metronome.hdl.execute.lanes import lane_words
from metronome.hdl.isa.ops import Unit
from metronome.hdl.lib.component import Component
from tests.hdl.execute.fpu.fpu_operands import EDGES
from tests.hdl.execute.lane_harness import driven
from tests.hdl.lib.simulate import set_all

#: Inputs of a FloatLane, and of parts that they are wired to. There they stop at a gate, whose output must hold still.
WIRED = {"op", "conversion", "rm", "a", "b", "c", "square_root", "passed"}


class OneOf(Component):
    """A FloatUnit that gets operations of one unit only: FMA, FCVT or FDIV."""

    def __init__(self, config: SmConfig, unit: Unit):
        self._config, self._unit = config, unit
        third = {"c": In(lane_words(config))} if unit is Unit.FMA else {}
        super().__init__({**fpu_ports(config), "busy": Out(1), **third})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = FloatUnit(self._config)
        m.d.comb += unit.op_unit.eq(self._unit)
        for name, member in self.signature.members.items():
            inner, outer = getattr(unit, name), getattr(self, name)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        if self._unit is not Unit.FMA:
            # What counts for nothing is anything.
            m.d.comb += unit.c.eq(Cat(self.b.as_value(), self.a.as_value()))
        return m


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


def check_fpu_unit(make: Callable[[SmConfig], Any], config: SmConfig, schedule: dict[int, FpuOperation], *,
                   latency: int, reference: Reference, rng: random.Random, label: str, reset_at: int | None = None,
                   tail: int = 5) -> None:
    """Drives ``schedule`` into the unit of ``make`` and compares all ``result`` and ``flags`` in every cycle.

    ``result`` of a lane changes exactly ``latency`` cycles after an operation in whose mask it is, and never else;
    ``flags`` are 0 in all other cycles. In cycles without an operation the other inputs are random. In cycle
    ``reset_at`` the domain is reset: what arrived before never completes. (``result`` has no reset: that of an
    operation due right after the reset cycle may be there or not.)
    """
    unit, domain, simulation = driven(make, config)
    ports = _operand_ports(unit)

    async def testbench(ctx: Any) -> None:
        expected: list[int | None] = [None] * config.threads
        for cycle in range(max(schedule) + latency + tail):
            operation = schedule.get(cycle)
            noise = operation or FpuOperation.random(rng, [rng.getrandbits(5)], config.threads, count=len(ports))
            set_all(ctx, (
                (domain.rst, cycle == reset_at), (unit.valid, operation is not None),
                (unit.op, getattr(noise.op, "value", noise.op)),
                (unit.rm, noise.rm if operation else rng.getrandbits(3)), (unit.mask, noise.mask),
                *zip(ports, noise.operands, strict=True),
            ))
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

    simulation.run(testbench)


def check_idle_lane(unit: Any, ops: Iterable[Any], *, latency: int, interval: int, folder: Path, seed: int,
                    wired: Collection[str] = ()) -> None:
    """Lane 1 of 2 works for a while; then only lane 0 does, and in lane 1 nothing but its input ports may toggle.

    An operation arrives every ``interval`` cycles, other inputs are random in each. All named signals of the lane and
    its parts are looked at, in a recording of the simulation, but those of the names ``wired``.
    """
    rng = random.Random(seed)
    ports = _operand_ports(unit)
    busy, idle = 60 * interval, 20 * interval
    first_idle = busy + latency + 1

    async def testbench(ctx: Any) -> None:
        for cycle in range(first_idle + idle):
            noise = FpuOperation.random(rng, ops, 2, count=len(ports))
            ctx.set(unit.valid, cycle % interval == 0)
            ctx.set(unit.mask, 3 if cycle < busy else 1)
            ctx.set(unit.op, noise.op.value)
            ctx.set(unit.rm, noise.rm)
            for port, lanes in zip(ports, noise.operands, strict=True):
                ctx.set(port, lanes)
            await ctx.tick()

    sim = Simulator(unit)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    with sim.write_vcd(str(folder / "idle.vcd")):
        sim.run()
    names, changes = _recording((folder / "idle.vcd").read_text())
    end = max(changes)
    # In the cycle after its last operation a lane still takes in that its enable has gone.
    from_then_on = end * (first_idle + 1) // (first_idle + idle)
    # A signal is named where it is first found: a lane's ports are not inside.
    inside = {key: name for key, name in names.items() if "lane1" in name[:-1] and name[-1].split("$")[0] not in wired}
    early = {key for time, keys in changes.items() if time < from_then_on for key in keys}
    late = {key for time, keys in changes.items() if time >= from_then_on for key in keys}
    assert len(inside.keys() & early) > 5, "the recording shows no lane at work"
    assert not inside.keys() & late, f"seed {seed}: " + ", ".join(".".join(inside[key]) for key in inside.keys() & late)


def _operand_ports(unit: Any) -> list[Any]:
    return [getattr(unit, name) for name in ("a", "b", "c") if hasattr(unit, name)]


def _recording(text: str) -> tuple[dict[str, tuple[str, ...]], dict[int, set[str]]]:
    """Of a VCD file: the path of each signal by its key, and the keys that change at each time."""
    header, body = text.split("$enddefinitions $end")
    names, scope = {}, []
    for line in header.splitlines():
        if match := re.match(r"\$scope module (\S+) \$end", line):
            scope.append(match[1])
        elif line.startswith("$upscope"):
            scope.pop()
        elif match := re.match(r"\$var \S+ \d+ (\S+) (\S+)", line):
            names.setdefault(match[1], (*scope, match[2]))
    changes: dict[int, set[str]] = {}
    now = changes.setdefault(0, set())
    for line in body.splitlines():
        if line.startswith("#"):
            now = changes.setdefault(int(line[1:]), set())
        elif match := re.match(r"[01xz](\S+)|[bs]\S+ (\S+)", line):
            now.add(match[1] or match[2])
    return names, changes
