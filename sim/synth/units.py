"""The units that can be synthesised on their own, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hdl.config import SmConfig
from hdl.execute.alu import AluUnit
from hdl.execute.control import ControlUnit
from hdl.execute.div import DivUnit
from hdl.execute.fpu.convert import FcvtUnit
from hdl.execute.fpu.divide import FdivUnit
from hdl.execute.fpu.fma import FmaUnit
from hdl.execute.fpu.misc import FmiscUnit
from hdl.execute.mul import MulUnit
from hdl.frontend.buffers import InstructionBuffers
from hdl.frontend.decode import Decoder
from hdl.frontend.frontend import FrontEnd
from hdl.frontend.icache_store import ICacheStore
from hdl.frontend.misses import MissUnit
from hdl.frontend.scheduler import Scheduler
from hdl.frontend.warps import WarpTable
from hdl.issue.issue import IssueStage
from hdl.issue.scoreboard import Scoreboard
from hdl.memory.lsu import Lsu
from hdl.sm import Sm

__all__ = ["UNITS", "UnitEntry", "make_unit"]

#: Outputs that only hardware assertions read: without them a build has no such logic, so it is not measured either.
_ASSERTION_PORTS = frozenset({"empty_pop", "miscounted", "occupancy", "clash", "overflow"})
#: Outputs of the front end that only the probe reads.
_PROBE_PORTS = frozenset({
    "fetch", "fetch_valid", "fetch_warp", "fetch_eligible", "missed", "miss_warp", "miss_line", "refill", "woken",
    "refill_line", "turn", "pc",
})


@dataclasses.dataclass(frozen=True)
class UnitEntry:
    """A unit by name: what it is, the component of a configuration, and those of its outputs that nothing reads."""

    about: str
    make: Callable[[SmConfig], wiring.Component]
    unread: frozenset[str] = frozenset()


class _Joined(wiring.Component):
    """Two units and the connections between them; every other port is a port, with the unit's name before it."""

    def __init__(self, units: dict[str, wiring.Component], connections: dict[str, str]) -> None:
        self._units = units
        self._connections = connections
        joined = {*connections, *connections.values()}
        super().__init__({
            f"{name}__{port}": member
            for name, unit in units.items()
            for port, member in unit.signature.members.items()
            if f"{name}.{port}" not in joined and port not in _ASSERTION_PORTS
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()

        def port(path: str) -> Any:
            unit, name = path.split(".")
            return getattr(self._units[unit], name)

        for name, unit in self._units.items():
            m.submodules[name] = unit
        for target, source in self._connections.items():
            m.d.comb += port(target).eq(port(source))
        for name, member in self.signature.members.items():
            unit, _, inner = name.partition("__")
            outer, port_of_unit = getattr(self, name), getattr(self._units[unit], inner)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(outer), port_of_unit)
            elif member.flow is Out:
                m.d.comb += outer.eq(port_of_unit)
            else:
                m.d.comb += port_of_unit.eq(outer)
        return m


def _front_end(config: SmConfig) -> wiring.Component:
    """The front end of the configuration's coordination scheme."""
    return FrontEnd(config)


def _select_loop(config: SmConfig) -> wiring.Component:
    """Front end and issue stage, connected as in hdl.sm: head, readiness, selection, pop, fetch close in one cycle."""
    signals = ("select", "select_warp", "select_nop", "select_info", "entry", "heads")
    connections = {f"issue.{name}": f"frontend.{name}" for name in signals} | {"frontend.ready": "issue.ready"}
    return _Joined({"frontend": _front_end(config), "issue": IssueStage(config)}, connections)


UNITS: dict[str, UnitEntry] = {
    "frontend": UnitEntry("fetch, I-cache, decode, buffers and scheduler; readiness comes from flip-flops", _front_end,
                          _PROBE_PORTS),
    "select_loop": UnitEntry("the front end with the issue stage: the loop of readiness and selection", _select_loop,
                             frozenset(f"frontend__{port}" for port in _PROBE_PORTS)),
    "scheduler": UnitEntry("the warp policy", Scheduler),
    "warps": UnitEntry("fetch pc and pending control flow of every warp", WarpTable),
    "icache_store": UnitEntry("tags, data and replacement of the I-cache", ICacheStore),
    "misses": UnitEntry("the I-cache's miss registers", MissUnit),
    "decode": UnitEntry("the decoder", lambda config: Decoder(prediction=config.prediction)),
    "buffers": UnitEntry("the instruction buffers", InstructionBuffers),
    "issue": UnitEntry("scoreboard, operand read, writeback", IssueStage),
    "scoreboard": UnitEntry("pending registers and the readiness of every head", Scoreboard),
    "alu": UnitEntry("the integer unit, all lanes", AluUnit),
    "mul": UnitEntry("the multiplier, all lanes", MulUnit),
    "div": UnitEntry("the divider, all lanes", DivUnit),
    "fma": UnitEntry("floating-point additions and multiplications, all lanes", FmaUnit),
    "fcvt": UnitEntry("floating-point conversions, all lanes", FcvtUnit),
    "fdiv": UnitEntry("floating-point division and square root, all lanes", FdivUnit),
    "fmisc": UnitEntry("floating-point comparisons, signs, classes and moves, all lanes", FmiscUnit),
    "control": UnitEntry("branches, CSRs, masks, barriers", ControlUnit),
    "lsu": UnitEntry("the load/store unit with its local memory", Lsu),
    "sm": UnitEntry("the whole SM", Sm),
}


def make_unit(name: str, config: SmConfig) -> tuple[wiring.Component, frozenset[str]]:
    """The component of a unit, and the names of its ports that are left open.

    Raises
    ------
    KeyError
        For a name that :data:`UNITS` does not have.
    """
    entry = UNITS[name]
    return entry.make(config), _ASSERTION_PORTS | entry.unread
