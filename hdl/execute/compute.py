"""The per-lane units of fixed latency, and the selection of the result that is written."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import FLOAT_UNITS, ROUNDED_UNITS, Unit
from ..layouts.execute import operands_layout
from ..lib.component import Component
from .alu import AluUnit
from .div import DivUnit
from .fpu.misc import FmiscUnit
from .fpu.unit import FloatUnit
from .mul import MulUnit

__all__ = ["ComputeUnits", "choose_result"]

_UNITS = {Unit.ALU: AluUnit, Unit.MUL: MulUnit, Unit.DIV: DivUnit}


class ComputeUnits(Component):
    """The integer and floating-point units over all lanes; without FPU the integer ones.

    An instruction has its result its unit's latency after stage X, in W, and only then. Pipelined units
    take one instruction a cycle; DIV and FDIV may get none while they are busy (see their contracts). Reset abandons
    operations in progress. The results of inactive lanes are undefined.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            #: The instruction in stage X; it starts the unit that it names, if it is of one of these.
            "x": In(operands_layout(config)),
            "rm": In(3),  # rounding mode of `x`, never the dynamic one; in the cycle of `x`
            "write_unit": In(Unit),  # in cycle W: the unit of the instruction that writes now
            "scalar": In(32),  # in W: the value of an instruction of another unit, the same for all lanes
            "add_lane": In(1),  # in W: lane i writes `scalar` OR i (the CSRs that number the lanes)
            #: In W: the value that each lane writes; combinational from ``write_unit`` and the units' result registers.
            "result": Out(data.ArrayLayout(32, config.threads)),
            #: In W: the flags of all active lanes ORed, in the order of fflags; 0 if the unit is not of the FPU.
            "flags": Out(5),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        x = self.x
        decoded = x.entry.decoded
        units: dict[tuple[Unit, ...], Component] = {(unit,): make(config) for unit, make in _UNITS.items()}
        for (unit,), component in units.items():
            m.submodules[unit.name.lower()] = component
        a = Signal(data.ArrayLayout(32, config.threads))
        b = Signal(data.ArrayLayout(32, config.threads))
        for lane in range(config.threads):
            m.d.comb += [
                a[lane].eq(Mux(decoded.use_pc, x.entry.pc, x.rs1[lane])),
                b[lane].eq(Mux(decoded.use_imm, decoded.imm, x.rs2[lane])),
            ]
        if config.fpu:
            self._add_fpu(m, units)
        for names, component in units.items():
            m.d.comb += [
                component.valid.eq(x.valid & reduce(or_, (decoded.info.unit == unit for unit in names))),
                component.op.eq(decoded.op),
                component.mask.eq(x.mask),
                # The pc and immediates are operands of the ALU only.
                component.a.eq(a if Unit.ALU in names else x.rs1),
                component.b.eq(b if Unit.ALU in names else x.rs2),
            ]
        choose_result(m, config, self, units)
        return m

    def _add_fpu(self, m: Module, units: dict[tuple[Unit, ...], Component]) -> None:
        m.submodules.fmisc = units[Unit.FMISC,] = fmisc = FmiscUnit(self._config)
        m.submodules.float = units[ROUNDED_UNITS] = arithmetic = FloatUnit(self._config)
        m.d.comb += [
            arithmetic.op_unit.eq(self.x.entry.decoded.info.unit), arithmetic.c.eq(self.x.rs3),
            arithmetic.rm.eq(self.rm), fmisc.rm.eq(self.rm),
        ]


def choose_result(m: Module, config: SmConfig, port: Any, units: dict[tuple[Unit, ...], Component]) -> None:
    """Drive ``result`` and ``flags`` of ``port`` by its ``write_unit``, ``scalar`` and ``add_lane``, as above."""
    lanes = [port.scalar | Mux(port.add_lane, lane, 0) for lane in range(config.threads)]
    m.d.comb += port.result.eq(Cat(lane[:32] for lane in lanes))
    with m.Switch(port.write_unit):
        for names, component in units.items():
            with m.Case(*names):
                m.d.comb += port.result.eq(component.result)
                if names[0] in FLOAT_UNITS:
                    flags = [component.flags[lane] for lane in range(config.threads)]
                    m.d.comb += port.flags.eq(reduce(or_, flags))
