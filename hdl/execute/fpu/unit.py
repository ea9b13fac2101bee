"""The rounding arithmetic of RV32F, over the lanes."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...isa.ops import FdivOp, Unit
from ...lib.component import Component
from ...lib.shared import share_lanes
from ..lanes import lane_words
from .lane import FloatLane
from .ports import fpu_ports
from .recurrence import STEPS
from .stages import Stages

__all__ = ["FloatUnit"]


class FloatUnit(Component):
    """FMA, FCVT and FDIV of :class:`hdl.isa.ops.Unit` over the lanes, with one rounder and one result for all three.

    Ports as in :func:`hdl.execute.fpu.ports.fpu_ports`, a third operand, and the choice of unit. The latency of each is
    that of :func:`hdl.isa.latencies.unit_latencies`. FMA and FCVT take an operation in every cycle. FDIV operations
    arrive at least their latency apart (a new one at the earliest in the cycle of the previous result), for all
    operands. Two operations may never be due in the same cycle, as only one result can be written. Reset abandons all
    operations in progress.
    """

    def __init__(self, config: SmConfig):
        self._config, self._stages = config, Stages.of(config)
        super().__init__({
            **fpu_ports(config),
            "op_unit": In(Unit),  # with `valid`: FMA, FCVT or FDIV
            "c": In(lane_words(config)),  # third operands, with `valid`
            "busy": Out(1),  # an FDIV is in progress and has no result yet: no other may arrive
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        stages = self._stages
        front = self._masks(m, Unit.FMA, stages.front - 1)
        convert = self._masks(m, Unit.FCVT, stages.conversion_delay)
        arriving = self._start(Unit.FDIV)
        left, live = self._division(m)
        start = Mux(left == stages.division_start, live, 0) if stages.holds_operands else arriving
        m.d.comb += self.busy.eq(left != 0)
        # Element k belongs to the operation that has passed k registers after the multiplication.
        back = [Signal(config.threads, name=f"back{k}") for k in range(stages.back + 1)]
        joined = stages.back - stages.normalised
        last_step = Mux(left == stages.normalised + 1, live, 0)
        quotient = Signal(config.threads)
        m.d.sync += quotient.eq(last_step)
        enables = [mask | quotient if k == joined else mask for k, mask in enumerate(back)]
        for before, after in zip([front[-1] | convert[-1], *enables[:-1]], back, strict=True):
            m.d.sync += after.eq(before)
        prepare, step, passed = self._steps(m, left, live, arriving)
        lanes = share_lanes(m, platform, FloatLane, config.threads, latency_fma=stages.latency_fma,
                            latency_fcvt=stages.latency_fcvt, latency_fdiv=stages.latency_fdiv)
        for i, lane in enumerate(lanes):
            m.d.comb += [
                lane.front.eq(Cat(mask[i] for mask in front)),
                lane.convert.eq(Cat(mask[i] for mask in convert)),
                lane.back.eq(Cat(mask[i] for mask in enables[:-1])),
                lane.op.eq(self.op), lane.conversion.eq(self.op), lane.rm.eq(self.rm),
                lane.a.eq(self.a[i]), lane.b.eq(self.b[i]), lane.c.eq(self.c[i]),
                lane.divide.eq(arriving[i]), lane.start.eq(start[i]), lane.square_root.eq(self.op == FdivOp.FSQRT),
                lane.prepare.eq(prepare[i]), lane.step.eq(step[i]), lane.passed.eq(passed),
                lane.clear.eq(last_step[i]), lane.quotient.eq(quotient[i]),
                self.result[i].eq(lane.result),
                # The lane's register keeps the flags of its last operation.
                self.flags[i].eq(Mux(back[-1][i], lane.flags, 0)),
            ]
        return m

    def _start(self, unit: Unit) -> Value:
        """The lanes in which an operation of ``unit`` arrives."""
        return Mux(self.valid & (self.op_unit == unit), self.mask, 0)

    def _masks(self, m: Module, unit: Unit, registers: int) -> list[Value]:
        """Element k belongs to the operation of ``unit`` that has passed k registers; 0 if there is none."""
        arriving = Signal(self._config.threads, name=f"{unit.name.lower()}_mask0")
        m.d.comb += arriving.eq(self._start(unit))
        masks: list[Value] = [arriving]
        for k in range(registers):
            mask = Signal(self._config.threads, name=f"{unit.name.lower()}_mask{k + 1}")
            m.d.sync += mask.eq(masks[-1])
            masks.append(mask)
        return masks

    def _steps(self, m: Module, left: Signal, live: Signal, arriving: Value) -> tuple[Value, Signal, Signal]:
        """The lanes whose exponent is registered, those that take a step, and the number of bits before its two."""
        stages = self._stages
        step, passed = Signal(self._config.threads), Signal(range(2 * STEPS))
        last = stages.normalised + 1
        before = (left > last) & (left <= last + STEPS)
        m.d.sync += [
            step.eq(Mux(before, live, 0) if stages.holds_operands else Mux(before, live, arriving)),
            passed.eq(Mux(step.any(), passed + 2, 0)),
        ]
        prepare = Mux(left == last + STEPS, live, 0) if stages.holds_exponent else Const(0, self._config.threads)
        return prepare, step, passed

    def _division(self, m: Module) -> tuple[Signal, Signal]:
        """Cycles left until a division's result, and its lanes. Longer latencies wait before the work."""
        latency = self._stages.latency_fdiv
        left = Signal(range(latency))
        live = Signal(self._config.threads, reset_less=True)
        with m.If(self.valid & (self.op_unit == Unit.FDIV)):
            m.d.sync += [left.eq(latency - 1), live.eq(self.mask)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return left, live
