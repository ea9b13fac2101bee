"""The units that can be synthesised on their own, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from amaranth.hdl import ClockSignal, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from metronome.hdl.bus.axi import AxiMaster
from metronome.hdl.bus.console import ConsoleQueue
from metronome.hdl.bus.control import AxiLiteControl
from metronome.hdl.bus.hosted import add_hosted_sm
from metronome.hdl.bus.registers import ControlRegisters, connect_host, host_ports
from metronome.hdl.bus.wishbone import WishboneControl, WishboneMaster
from metronome.hdl.config import Channels as Kind
from metronome.hdl.config import SmConfig
from metronome.hdl.execute.alu import AluUnit
from metronome.hdl.execute.compute import ComputeUnits
from metronome.hdl.execute.controls import Controls
from metronome.hdl.execute.div import DivUnit
from metronome.hdl.execute.fpu.misc import FmiscUnit
from metronome.hdl.execute.fpu.unit import FloatUnit
from metronome.hdl.execute.mul import MulUnit
from metronome.hdl.frontend.buffers import InstructionBuffers
from metronome.hdl.frontend.decode import Decoder
from metronome.hdl.frontend.frontend import FrontEnd
from metronome.hdl.frontend.icache_store import ICacheStore
from metronome.hdl.frontend.misses import MissUnit
from metronome.hdl.frontend.scheduler import Scheduler
from metronome.hdl.frontend.warps import WarpTable
from metronome.hdl.gpu.config import GpuConfig, sm_config
from metronome.hdl.gpu.gpu import Gpu
from metronome.hdl.isa.ops import Unit
from metronome.hdl.issue.issue import IssueStage
from metronome.hdl.issue.scoreboard import Scoreboard
from metronome.hdl.layouts.signatures import sharing_signature
from metronome.hdl.lib.component import Component
from metronome.hdl.memory.channels import Channels
from metronome.hdl.memory.lsu import Lsu
from metronome.hdl.memory.order.unit import OrderUnit
from metronome.hdl.sm import Sm

from ...build.verilog import Progress
from .flow import rtlil_of

__all__ = ["UNITS", "UnitEntry", "make_unit", "unit_text"]

#: Outputs that only observers and hardware assertions read; logic that only they need is not measured.
_OPEN_PORTS = frozenset({
    "event", "write_event", "store_event", "lookup_event", "empty_pop", "occupancy", "clash", "overflow",
    "following_info", "fills_head", "fills_following",
})


@dataclasses.dataclass(frozen=True)
class UnitEntry:
    """A unit by name: its description, and a function that makes its component for a configuration.

    ``needs`` is a field of the configuration; where it is 0 or False, the machine does not have the unit. ``whole``:
    the partitions of an SM share it, or it contains them; otherwise the unit is that of one partition. ``of_gpu``: what
    it is in a GPU of several SMs, if it contains all of them.
    """

    about: str
    make: Callable[[SmConfig], wiring.Component]
    needs: str = ""
    whole: bool = False
    of_gpu: Callable[[GpuConfig], wiring.Component] | None = None


class _UnitPair(Component):
    """Two units and the connections between them; every other port is exposed, prefixed with the unit's name."""

    def __init__(self, units: dict[str, wiring.Component], connections: dict[str, str]) -> None:
        self._units = units
        self._connections = connections
        joined = {*connections, *connections.values()}
        super().__init__({
            f"{name}__{port}": member
            for name, unit in units.items()
            for port, member in unit.signature.members.items()
            if f"{name}.{port}" not in joined and port not in _OPEN_PORTS
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()

        def port(path: str) -> Any:
            unit, name = path.split(".")
            return getattr(self._units[unit], name)

        for name, unit in self._units.items():
            m.submodules[name] = unit
        for target, source in self._connections.items():
            teller, _, interface = source.partition(".")
            if self._units[teller].signature.members[interface].is_signature:
                wiring.connect(m, port(source), port(target))
            else:
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


def _decoder(config: SmConfig) -> wiring.Component:
    """The decoder of the configuration's instructions."""
    return Decoder(prediction=config.prediction, ordered=config.ordered, fpu=config.fpu)


def _front_end(config: SmConfig) -> wiring.Component:
    """The front end for the configuration's coordination scheme."""
    # The port `ahead` belongs to the loop through the issue stage, which `select_loop` measures.
    return FrontEnd(config, ahead=False)


def _issue_stage(config: SmConfig) -> wiring.Component:
    """The issue stage of a partition."""
    return IssueStage(config.partition, share=sharing_signature(config) if config.schedulers > 1 else None)


def _select_loop(config: SmConfig) -> wiring.Component:
    """Front end and issue stage, connected as in hdl.sm: head, readiness, selection, pop, fetch close in one cycle."""
    units: dict[str, wiring.Component] = {"frontend": FrontEnd(config.partition), "issue": _issue_stage(config)}
    connections = {"issue.selection": "frontend.selection"}
    if config.operand_register:
        connections["issue.ahead"] = "frontend.ahead"
    return _UnitPair(units, connections)


class _OneFloatUnit(Component):
    """The FloatUnit for operations of one of its units alone; without the logic that only the others need."""

    def __init__(self, config: SmConfig, unit: Unit) -> None:
        self._inner, self._unit = FloatUnit(config), unit
        super().__init__({
            name: member for name, member in self._inner.signature.members.items()
            if name != "op_unit" and (name != "c" or unit is Unit.FMA) and (name != "busy" or unit is Unit.FDIV)
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = self._inner
        m.d.comb += self._inner.op_unit.eq(self._unit)
        for name, member in self.signature.members.items():
            inner, outer = getattr(self._inner, name), getattr(self, name)
            m.d.comb += inner.eq(outer) if member.flow is not Out else outer.eq(inner)
        return m


def _axi_lite(config: SmConfig) -> wiring.Component:
    """The host's registers with their AXI4-Lite slave."""
    connections = {
        (f"control.{name}" if member.flow is Out else f"registers.{name}"):
        (f"registers.{name}" if member.flow is Out else f"control.{name}")
        for name, member in host_ports().items()
    }
    return _UnitPair({"control": AxiLiteControl(), "registers": ControlRegisters(config)}, connections)


class _Hosted(Component):
    """The SM or GPU that a host starts through registers, between the master for its memory and the host's slave.

    Unlike the top levels of ``hdl.bus`` it has the clock domain of its surroundings, so that it can be wrapped.
    """

    def __init__(self, config: SmConfig | GpuConfig, master: Any, slave: Any) -> None:
        self._config, self._master, self._slave = config, master, slave
        self._bus = "axi" if "axi" in master.signature.members else "bus"
        super().__init__({
            "memory": master.signature.members[self._bus], "host": slave.signature.members[self._bus], "irq": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clk, rst = Signal(), Signal()
        m.d.comb += [clk.eq(ClockSignal()), rst.eq(ResetSignal())]
        _, registers = add_hosted_sm(
            m, self._config, {"master": self._master, "control": self._slave}, clk=clk, rst=rst,
            port=self._master.port, idle=~self._master.busy,
        )
        connect_host(m, self._slave, registers)
        wiring.connect(m, wiring.flipped(self.memory), getattr(self._master, self._bus))
        wiring.connect(m, wiring.flipped(self.host), getattr(self._slave, self._bus))
        m.d.comb += self.irq.eq(registers.irq)
        return m


def _on_axi(config: SmConfig | GpuConfig) -> wiring.Component:
    """The machine with its AXI4 master, one read and one write at a time, and AXI4-Lite slave."""
    return _Hosted(config, AxiMaster(sm_config(config), reads=1, writes=1, tag_bits=config.mem_tag_bits),
                   AxiLiteControl())


def _on_wishbone(config: SmConfig | GpuConfig) -> wiring.Component:
    """The machine with its Wishbone master and slave."""
    return _Hosted(config, WishboneMaster(sm_config(config), tag_bits=config.mem_tag_bits), WishboneControl())


UNITS: dict[str, UnitEntry] = {
    "frontend": UnitEntry("fetch, I-cache, decode, buffers and scheduler; readiness comes from flip-flops", _front_end),
    "select_loop": UnitEntry("the front end with the issue stage: the loop of readiness and selection", _select_loop,
                              whole=True),
    "scheduler": UnitEntry("the warp policy", Scheduler),
    "warps": UnitEntry("fetch pc and pending control flow of every warp", WarpTable),
    "icache_store": UnitEntry("tags, data and replacement of the I-cache", ICacheStore, "icache_bytes"),
    "misses": UnitEntry("the I-cache's MSHRs", MissUnit),
    "decode": UnitEntry("the decoder", _decoder),
    "buffers": UnitEntry("the instruction buffers", InstructionBuffers),
    "issue": UnitEntry("scoreboard, operand read, writeback", _issue_stage, whole=True),
    "scoreboard": UnitEntry("pending registers and the readiness of every head", Scoreboard),
    "compute": UnitEntry("the units of fixed latency, all lanes, and the choice of the result", ComputeUnits),
    "alu": UnitEntry("the integer unit, all lanes", AluUnit),
    "mul": UnitEntry("the multiplier, all lanes", MulUnit),
    "div": UnitEntry("the divider, all lanes", DivUnit),
    "float": UnitEntry("floating-point arithmetic that rounds (FMA, FCVT, FDIV), all lanes", FloatUnit, "fpu"),
    "fma": UnitEntry("the multiply-add alone, all lanes", lambda config: _OneFloatUnit(config, Unit.FMA), "fpu"),
    "divider": UnitEntry("floating-point division and square root alone, all lanes", lambda config: (
        _OneFloatUnit(config, Unit.FDIV)), "fpu"),
    "fmisc": UnitEntry("floating-point comparisons, signs, classes and moves, all lanes", FmiscUnit, "fpu"),
    "control": UnitEntry("branches, CSRs, masks, barriers", Controls, whole=True),
    "lsu": UnitEntry("the load/store unit with its local memory", Lsu, whole=True),
    "channels": UnitEntry("free channels before the data cache, even if the configuration has none", lambda config: (
        Channels(dataclasses.replace(config, channels=Kind.FREE))), whole=True),
    "order": UnitEntry("channels in the order of a list, even if the configuration has none", lambda config: (
        OrderUnit(dataclasses.replace(config, channels=Kind.ORDERED))), whole=True),
    "axi": UnitEntry("the memory port as an AXI4 master of 64 bits, 16 reads and 16 writes", AxiMaster, whole=True),
    "axi_lite": UnitEntry("the host's registers as an AXI4-Lite slave", _axi_lite, whole=True),
    "console": UnitEntry("the queue between the console and the host's registers", ConsoleQueue, whole=True),
    "wishbone": UnitEntry("the memory port as a Wishbone master of 32 bits", WishboneMaster, whole=True),
    "sm": UnitEntry("the whole SM", Sm, whole=True, of_gpu=Gpu),
    "sm_axi": UnitEntry("the whole SM with its AXI4 master of 64 bits, one read and one write at a time, and AXI4-Lite "
                        "slave", _on_axi, whole=True, of_gpu=_on_axi),
    "sm_wishbone": UnitEntry("the whole SM with its Wishbone master of 32 bits and slave", _on_wishbone, whole=True,
                             of_gpu=_on_wishbone),
}


def make_unit(name: str, config: SmConfig | GpuConfig) -> tuple[wiring.Component, frozenset[str]]:
    """Return the component of a unit, and the names of its ports that remain open.

    Raises
    ------
    KeyError
        If :data:`UNITS` does not have the name.
    ValueError
        If the unit does not contain all SMs of a GPU.
    """
    unit = UNITS[name]
    if isinstance(config, GpuConfig):
        if unit.of_gpu is None:
            raise ValueError(f"{name} is a unit of one SM")
        return unit.of_gpu(config), _OPEN_PORTS
    return unit.make(config if unit.whole else config.partition), _OPEN_PORTS


def unit_text(name: str, config: SmConfig | GpuConfig, progress: Progress) -> str:
    """RTLIL of a unit in its wrapper (:func:`sim.fpga.synth.flow.rtlil_of`). Raises KeyError for an unknown unit."""
    progress("elaborate")
    return rtlil_of(*make_unit(name, config))
