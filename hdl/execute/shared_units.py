"""The units of several partitions, each of them once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import FLOAT_UNITS, ROUNDED_UNITS, Unit
from ..isa.sharing import partitions_of_a_port, partitions_of_an_alu
from ..layouts.execute import operands_layout
from ..lib.component import Component
from ..lib.onehot import or_all
from ..lib.partitions import chosen, named
from .alu import AluUnit
from .compute import choose_result
from .div import DivUnit
from .fpu.misc import FmiscUnit
from .fpu.unit import FloatUnit
from .mul import MulUnit

__all__ = ["SharedUnits"]

_INTEGER: dict[Unit, type[Component]] = {Unit.MUL: MulUnit, Unit.DIV: DivUnit}


class SharedUnits(Component):
    """As :class:`hdl.execute.compute.ComputeUnits`, for several partitions, which have ports of their own.

    There are ALUs and writeback ports for groups of partitions that follow one another, and one of each other unit.
    The operands come from the partition that has an instruction of the unit in X. In a cycle only one may have one,
    and of the partitions on a writeback port only one may be ``due``. Latencies and reset are the same.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config, part = config, config.partition
        own: dict[str, wiring.Member] = {
            "x": In(operands_layout(part)),  # in X: the instruction
            "rm": In(3),  # rounding mode of `x`, in its cycle
            "write_unit": In(Unit),  # in cycle W: the unit of the instruction that writes now
            "scalar": In(32),  # in W: the value of an instruction of a unit that is not here
            "add_lane": In(1),  # in W: lane i writes `scalar` OR i
            "result": Out(data.ArrayLayout(32, config.threads)),  # in W: the value that each lane writes
            "flags": Out(5),  # in W: the flags of all active lanes ORed; 0 if the unit is not of the FPU
        }
        if partitions_of_a_port(config) > 1:
            own["due"] = In(1)  # in W: an instruction of this partition writes; `result` and `flags` are its own
        super().__init__({
            "clash": Out(1),  # in X: two partitions have an instruction of one unit: may never happen
            **{named(name, p): port for p in range(config.schedulers) for name, port in own.items()},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        every = tuple(range(config.schedulers))
        self._clashes: list[Value] = []
        alus: list[Component] = []
        of_alu = partitions_of_an_alu(config)
        for first in range(0, config.schedulers, of_alu):
            alu = m.submodules[named("alu", first // of_alu)] = AluUnit(config)
            self._start(m, alu, (Unit.ALU,), every[first:first + of_alu])
            alus.append(alu)
        units: dict[tuple[Unit, ...], Component] = {(unit,): make(config) for unit, make in _INTEGER.items()}
        if config.fpu:
            units |= {ROUNDED_UNITS: FloatUnit(config), (Unit.FMISC,): FmiscUnit(config)}
        for names, component in units.items():
            m.submodules["float" if names == ROUNDED_UNITS else names[0].name.lower()] = component
            self._start(m, component, names, every)
        for first in range(0, config.schedulers, partitions_of_a_port(config)):
            self._write(m, every[first:first + partitions_of_a_port(config)], alus, units)
        m.d.comb += self.clash.eq(or_all(self._clashes))
        return m

    def _of(self, name: str, partition: int) -> Any:
        return getattr(self, named(name, partition))

    def _start(self, m: Module, unit: Component, names: tuple[Unit, ...], partitions: tuple[int, ...]) -> None:
        """Give a unit the operands of the partition that has an instruction for it in X."""
        operands = [self._of("x", p) for p in partitions]
        valid = [x.valid & Cat(x.entry.decoded.info.unit == name for name in names).any() for x in operands]

        def of(value: Callable[[Any], Any]) -> Value:
            return chosen(valid, [Value.cast(value(x)) for x in operands])

        m.d.comb += [
            unit.valid.eq(or_all(valid)), unit.op.eq(of(lambda x: x.entry.decoded.op)),
            unit.mask.eq(of(lambda x: x.mask)),
        ]
        lanes, name = data.ArrayLayout(32, self._config.threads), names[0].name.lower()
        first, second = (Signal(lanes, name=f"{name}_{operand}_{partitions[0]}") for operand in ("a", "b"))
        m.d.comb += [
            first.as_value().eq(of(lambda x: x.rs1)), second.as_value().eq(of(lambda x: x.rs2)),
            unit.a.eq(first), unit.b.eq(second),
        ]
        if Unit.ALU in names:
            # The pc and immediates are operands of the ALU only.
            pc, imm = of(lambda x: x.entry.pc), of(lambda x: x.entry.decoded.imm)
            use_pc, use_imm = of(lambda x: x.entry.decoded.use_pc), of(lambda x: x.entry.decoded.use_imm)
            for lane in range(self._config.threads):
                m.d.comb += [
                    unit.a[lane].eq(Mux(use_pc, pc, first[lane])), unit.b[lane].eq(Mux(use_imm, imm, second[lane])),
                ]
        if names[0] in FLOAT_UNITS:
            m.d.comb += unit.rm.eq(chosen(valid, [self._of("rm", p) for p in partitions]))
        if names == ROUNDED_UNITS:
            m.d.comb += [
                unit.op_unit.eq(of(lambda x: x.entry.decoded.info.unit)), unit.c.as_value().eq(of(lambda x: x.rs3)),
            ]
        self._clashes += [a & b for i, a in enumerate(valid) for b in valid[:i]]

    def _write(self, m: Module, partitions: tuple[int, ...], alus: list[Component],
               units: dict[tuple[Unit, ...], Component]) -> None:
        """A writeback port: choose the result of the partition that writes, and give it to all that share the port."""
        config, first = self._config, partitions[0]
        result = {"result": Out(data.ArrayLayout(32, config.threads))}  # in W: the value of each lane
        port = wiring.Signature({
            **result,
            "write_unit": Out(Unit),  # in W: the unit of the instruction that writes
            "scalar": Out(32),  # in W: the result of a control instruction
            "add_lane": Out(1),  # in W: each lane adds its number to it
            "flags": Out(5),  # in W: the flags that the instruction raises
        }).create(path=(named("port", first),))
        alu = wiring.Signature(result).create(path=(named("of_alu", first),))
        due = [self._of("due", p) for p in partitions] if len(partitions) > 1 else []
        for name in ("write_unit", "scalar", "add_lane"):
            of = [Value.cast(self._of(name, p)) for p in partitions]
            m.d.comb += Value.cast(getattr(port, name)).eq(chosen(due, of) if due else of[0])
        results = [alus[p // partitions_of_an_alu(config)].result.as_value() for p in partitions]
        m.d.comb += alu.result.as_value().eq(chosen(due, results) if due else results[0])
        choose_result(m, config, port, {(Unit.ALU,): alu, **units})
        for p in partitions:
            m.d.comb += [self._of("result", p).eq(port.result), self._of("flags", p).eq(port.flags)]
