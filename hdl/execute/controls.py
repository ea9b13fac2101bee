"""Control: decisions about warps in stage X, and the state that they read and change."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import SmConfig
from ..isa.ops import SystemOp, Unit
from ..layouts.barrier import arrival_signature
from ..layouts.counters import COUNTER_BITS, counter_places
from ..layouts.execute import operands_layout, order_layout
from ..lib.component import Component
from ..lib.onehot import or_all
from ..lib.partitions import chosen, global_warp, named, owned
from .control import ControlUnit, decision_ports
from .csr import CsrUnit
from .simt.control import SimtControl

__all__ = ["Controls"]

_MASK_REQUEST = ("op", "mask", "pc", "predicate", "negate", "leader_rs1", "leader_rs2")
_MASK_ANSWER = ("result", "redirect", "target", "waits", "ended", "fault", "cause")
_CSR_REQUEST = ("op", "use_imm", "immediate", "rs1", "mask")
_CSR_ANSWER = ("value", "add_lane", "unknown", "region")


class Controls(Component):
    """Executes the units BRANCH, SIMT, CSR and SYSTEM for the instruction in stage X (``x``).

    The decisions are made in :class:`hdl.execute.control.ControlUnit`; thread masks, barriers and CSRs are beside it.
    One instruction a cycle. Reset: no warp is active; fcsr, mregion, mpolicy and mscratch are 0.

    With several schedulers each partition has such a unit, and ports of its own, with its own warp numbers (``x``,
    ``x_1``, ...). Only one of them may have a SIMT instruction or a CSR access in X; in the cycle before, ``peek``
    says which.
    """

    def __init__(self, config: SmConfig, *, in_gpu: bool = False) -> None:
        self._config, self._in_gpu, part = config, in_gpu, config.partition
        optional: dict[str, wiring.Member] = {}
        if in_gpu:
            optional |= {
                "core_id": In(range(config.cores)),  # the number of the SM; constant
                "fence": Out(1),  # in X, combinational: a fence or fence.i
                "barrier": Out(arrival_signature(config)),  # the barrier between SMs
            }
        if config.ordered:
            optional["order"] = Out(order_layout())  # in X: a list of accesses begins or ends
        if config.schedulers > 1:
            #: The partition that may have a SIMT instruction in X in the next cycle.
            optional["peek"] = In(range(config.schedulers))
        own = {
            "peek_warp": In(part.warp_bits),  # the warp whose instruction will be in X in the next cycle
            "x": In(operands_layout(part)),  # in X: the instruction
            "raise_valid": In(1),  # in W: an instruction of the FPU raises its flags (:class:`hdl.execute.csr.CsrUnit`)
            "raised_warp": In(part.warp_bits),  # in W: the warp of that instruction
            "raised": In(5),  # in W: the flags raised
            **decision_ports(part),
        }
        super().__init__({
            **optional,
            "start": In(1),  # launch, one cycle
            "start_pc": In(32),  # with ``start``: the first pc of warp 0
            "argument": In(32),  # with ``start``: the value of mscratch
            "reads_csr": Out(1),  # in X: an instruction accesses a CSR
            "counter_index": Out(range(len(counter_places()))),  # in X: the counter that it reads, if it reads one
            "counter_value": In(COUNTER_BITS),  # in X: its value, from the observer
            **{named(name, p): port for p in range(config.schedulers) for name, port in own.items()},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._units = [ControlUnit(self._config.partition) for _ in range(self._config.schedulers)]
        m.submodules.simt = simt = SimtControl(self._config, between_sms=self._in_gpu)
        m.submodules.csr = csr = CsrUnit(self._config, core_port=self._in_gpu)
        for p, unit in enumerate(self._units):
            m.submodules[named("unit", p)] = unit
            connect(m, unit.flow, flipped(self._of("flow", p)))
            m.d.comb += unit.x.eq(self._of("x", p))
            m.d.comb += [
                self._of(name, p).eq(getattr(unit, name)) for name in decision_ports(self._config) if name != "flow"
            ]
        self._connect_masks(m, simt)
        self._connect_csrs(m, csr)
        if self._in_gpu:
            connect(m, simt.barrier, flipped(self.barrier))
            m.d.comb += [csr.core_id.eq(self.core_id), self.fence.eq(self._fences())]
        return m

    def _fences(self) -> Value:
        """Whether a fence of any kind is in stage X."""
        operands = [self._of("x", p) for p in range(self._config.schedulers)]
        return or_all(
            x.valid & (x.entry.decoded.info.unit == Unit.SYSTEM)
            & x.entry.decoded.op.matches(SystemOp.FENCE, SystemOp.FENCE_I)
            for x in operands)

    def _of(self, name: str, partition: int) -> Any:
        return getattr(self, named(name, partition))

    def _connect_masks(self, m: Module, simt: SimtControl) -> None:
        partitions = range(self._config.schedulers)
        peeks = [global_warp(self._config, self._of("peek_warp", p), p) for p in partitions]
        m.d.comb += [
            simt.start.eq(self.start), simt.start_pc.eq(self.start_pc),
            simt.peek_warp.eq(peeks[0] if len(peeks) == 1 else Array(peeks)[self.peek]),
        ]
        self._request(m, simt, [unit.simt for unit in self._units], _MASK_REQUEST)
        for p, unit in enumerate(self._units):
            asks = unit.simt
            m.d.comb += [getattr(asks, name).eq(getattr(simt, name)) for name in _MASK_ANSWER]
            m.d.comb += [
                asks.masks.eq(simt.masks) if len(peeks) == 1 else
                [mine.eq(simt.masks[w * len(peeks) + p]) for w, mine in enumerate(asks.masks)],
                *(getattr(asks, name).eq(owned(self._config, getattr(simt, name), p))
                  for name in ("active", "waiting", "release")),
                asks.activation.warps.eq(owned(self._config, simt.activation.warps, p)),
                asks.activation.pc.eq(simt.activation.pc),
            ]

    def _request(self, m: Module, target: Any, requests: list[Any], names: tuple[str, ...]) -> None:
        """Connect the request of the partition that has one."""
        valid = [each.valid for each in requests]
        warp = [global_warp(self._config, each.warp, p) for p, each in enumerate(requests)]
        m.d.comb += [
            target.valid.eq(or_all(valid)),
            target.warp.eq(chosen(valid, warp)),
            *(getattr(target, name).eq(chosen(valid, [getattr(each, name) for each in requests])) for name in names),
        ]

    def _connect_csrs(self, m: Module, csr: CsrUnit) -> None:
        config, requests = self._config, [unit.csr for unit in self._units]
        active = Signal(config.warps)
        if config.schedulers == 1:
            m.d.comb += [
                active.eq(self.flow.active), csr.retired.eq(requests[0].retired),
                csr.cancelled.eq(requests[0].cancelled), requests[0].frm.eq(csr.frm),
            ]
        else:
            m.d.comb += [
                *(active[w].eq(self._of("flow", w % config.schedulers).active[w // config.schedulers])
                  for w in range(config.warps)),
                csr.retired.eq(sum(Mux(each.cancelled, 0, each.retired) for each in requests)),
                *(each.frm.eq(csr.modes[global_warp(self._config, each.warp, p)]) for p, each in enumerate(requests)),
            ]
        self._request(m, csr, requests, _CSR_REQUEST)
        m.d.comb += [csr.start.eq(self.start), csr.argument.eq(self.argument), csr.active.eq(active)]
        for p, each in enumerate(requests):
            m.d.comb += [getattr(each, name).eq(getattr(csr, name)) for name in _CSR_ANSWER]
            m.d.comb += [
                getattr(csr, named("raise_valid", p)).eq(self._of("raise_valid", p)),
                getattr(csr, named("raised_warp", p)).eq(global_warp(self._config, self._of("raised_warp", p), p)),
                getattr(csr, named("raised", p)).eq(self._of("raised", p)),
            ]
            if config.policy_csr:
                m.d.comb += each.change.eq(csr.change)
        m.d.comb += [
            self.reads_csr.eq(csr.valid), self.counter_index.eq(csr.counter_index),
            csr.counter_value.eq(self.counter_value),
        ]
        if config.ordered:
            m.d.comb += self.order.eq(csr.order)
