"""Control: decisions about warps in stage X, and the state that they read and change."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import SmConfig
from ..layouts.counters import COUNTER_BITS, counter_places
from ..layouts.events import control_event_layout
from ..layouts.execute import fault_layout, operands_layout, order_layout
from ..layouts.signatures import flow_signature
from ..lib.component import Component
from .control import ControlUnit
from .csr import CsrUnit
from .simt.control import SimtControl

__all__ = ["Controls"]


class Controls(Component):
    """Executes the units BRANCH, SIMT, CSR and SYSTEM for the instruction in stage X (``x``).

    The decisions are made in :class:`hdl.execute.control.ControlUnit`; thread masks, barriers and CSRs are beside it.
    One instruction a cycle. Reset: no warp is active; fcsr, mregion, mpolicy and mscratch are 0.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        optional: dict[str, wiring.Member] = {}
        if config.ordered:
            optional["order"] = Out(order_layout())  # in X: a list of accesses begins or ends
        super().__init__({
            **optional,
            "start": In(1),  # launch, one cycle
            "start_pc": In(32),  # with ``start``: the first pc of warp 0
            "argument": In(32),  # with ``start``: the value of mscratch
            "peek_warp": In(config.warp_bits),  # the warp whose instruction will be in X in the next cycle
            "x": In(operands_layout(config)),  # in X: the instruction
            "reads_csr": Out(1),  # in X: the instruction accesses a CSR
            "counter_index": Out(range(len(counter_places()))),  # in X: the counter that it reads, if it reads one
            "counter_value": In(COUNTER_BITS),  # in X: its value, from the observer
            "raise_valid": In(1),  # in W: an instruction of the FPU raises its flags (:class:`hdl.execute.csr.CsrUnit`)
            "raised_warp": In(config.warp_bits),  # in W: the warp of that instruction
            "raised": In(5),  # in W: the flags raised
            "flow": Out(flow_signature(config)),  # of :class:`hdl.execute.control.ControlUnit`, as the rest
            "fault_valid": Out(1),  # in X, combinational: the instruction faults and changes nothing
            "fault": Out(fault_layout(config)),  # in X: the fault; with ``fault_valid``
            "result": Out(32),  # in the cycle after X: the value for rd
            "add_lane": Out(1),  # likewise: each lane adds its number to ``result``
            "rm": Out(3),  # in X, combinational: the rounding mode of an instruction of the FPU; a reserved one faults
            "event": Out(control_event_layout(config)),  # this cycle, for observers
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = ControlUnit(self._config)
        m.submodules.simt = simt = SimtControl(self._config)
        m.submodules.csr = csr = CsrUnit(self._config)
        connect(m, unit.flow, flipped(self.flow))
        m.d.comb += [
            unit.x.eq(self.x),
            *(getattr(self, name).eq(getattr(unit, name))
              for name in ("fault_valid", "fault", "result", "add_lane", "rm", "event")),
        ]
        self._connect_masks(m, unit, simt)
        self._connect_csrs(m, unit, csr)
        return m

    def _connect_masks(self, m: Module, unit: ControlUnit, simt: SimtControl) -> None:
        m.d.comb += [
            simt.start.eq(self.start), simt.start_pc.eq(self.start_pc), simt.peek_warp.eq(self.peek_warp),
            *(getattr(simt, name).eq(getattr(unit.simt, name)) for name in (
                "valid", "op", "warp", "mask", "pc", "predicate", "negate", "leader_rs1", "leader_rs2")),
            *(getattr(unit.simt, name).eq(getattr(simt, name)) for name in (
                "result", "redirect", "target", "waits", "ended", "fault", "cause", "masks", "active", "waiting",
                "release", "activation")),
        ]

    def _connect_csrs(self, m: Module, unit: ControlUnit, csr: CsrUnit) -> None:
        m.d.comb += [
            csr.start.eq(self.start), csr.argument.eq(self.argument), csr.active.eq(unit.flow.active),
            *(getattr(csr, name).eq(getattr(unit.csr, name)) for name in (
                "valid", "op", "use_imm", "immediate", "rs1", "warp", "mask", "retired", "cancelled")),
            *(getattr(unit.csr, name).eq(getattr(csr, name)) for name in (
                "value", "add_lane", "unknown", "frm", "region")),
            self.reads_csr.eq(csr.valid), self.counter_index.eq(csr.counter_index),
            csr.counter_value.eq(self.counter_value),
            csr.raise_valid.eq(self.raise_valid), csr.raised_warp.eq(self.raised_warp), csr.raised.eq(self.raised),
        ]
        if self._config.ordered:
            m.d.comb += self.order.eq(csr.order)
        if self._config.policy_csr:
            m.d.comb += unit.csr.change.eq(csr.change)
