"""A check of the result and the flags of every lane of a floating-point unit in every cycle."""

import random
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
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
from tests.hdl.execute.lane_harness import Operation, UnitBench, random_operation
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


def operand(rng: random.Random) -> int:
    """A 32-bit pattern: an edge, near 1, or anything."""
    return rng.choice((int(rng.choice(EDGES)), 0x3F80_0000 + rng.randrange(-9, 9), rng.getrandbits(32)))


@dataclass(frozen=True, kw_only=True)
class FloatBench(UnitBench):
    """The same of a floating-point unit and its flags.

    ``reference``: an op, the operands as arrays and the rounding mode -> arrays of results and flags.
    """

    def random(self, rng: random.Random, ops: Iterable[Any], threads: int) -> Operation:
        return random_operation(rng, ops, threads, operand, len(self.operands))

    def inputs(self, unit: Any, operation: Operation) -> list[tuple[Any, Any]]:
        return [*super().inputs(unit, operation), (unit.rm, operation.rm)]

    def outputs(self, ctx: Any, unit: Any, lane: int) -> tuple[int, int]:
        return ctx.get(unit.result[lane]), ctx.get(unit.flags[lane])

    def expected(self, operation: Operation, lane: int) -> tuple[int, int]:
        operands = [np.uint32([lanes[lane]]) for lanes in operation.operands]
        results, flags = self.reference(operation.op, operands, operation.rm)
        return int(results[0]), int(flags[0])


def check_idle_lane(bench: FloatBench, config: SmConfig, folder: Path, seed: int,
                    wired: Collection[str] = WIRED) -> None:
    """Lane 1 of 2 works for a while; then only lane 0 does, and in lane 1 nothing but its input ports may toggle.

    Operations arrive as fast as the unit takes them, other inputs are random in each. All named signals of the lane and
    its parts are looked at, in a recording of the simulation, but those of the names ``wired``.
    """
    rng, unit, latency = random.Random(seed), bench.make(config), getattr(config, bench.latency)
    interval = 1 if bench.pipelined else latency
    busy, idle = 60 * interval, 20 * interval
    first_idle = busy + latency + 1

    async def testbench(ctx: Any) -> None:
        for cycle in range(first_idle + idle):
            noise = replace(bench.random(rng, bench.ops, 2), mask=3 if cycle < busy else 1)
            set_all(ctx, [(unit.valid, cycle % interval == 0), *bench.inputs(unit, noise)])
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
