"""The GPU: instantiates its SMs and connects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import SmConfig
from ..layouts.counters import COUNTER_BITS, counter_places, counters_layout
from ..layouts.execute import fault_layout
from ..layouts.memory import memory_request_layout, memory_response_layout
from ..layouts.probe import ASSERTIONS, passed_over_layout, probe_layout
from ..lib.component import Component
from ..lib.onehot import or_all
from ..lib.shared import share_module
from ..sm import Sm
from .barrier import GpuBarrier
from .config import Dispatch, GpuConfig, L2Kind
from .dispatch import DispatchPort, DispatchUnit
from .host_view import HostView
from .interconnect import MemoryInterconnect
from .l2.cache import L2, l2_counters_layout

__all__ = ["Gpu", "sm_outputs"]


def sm_outputs(config: SmConfig) -> dict[str, wiring.Member]:
    """The outputs of each SM of a GPU, like the ports of the same names of :class:`hdl.sm.Sm`."""
    outputs = {
        "busy": Out(1),  # a warp is active, or something is in flight
        "fault_valid": Out(1),  # a fault of this SM has stopped the GPU
        "fault": Out(fault_layout(config)),  # with ``fault_valid``
    }
    if config.all_counters:
        outputs["counters"] = Out(counters_layout())  # all counters, registered
    if config.assertions:
        outputs["assertions"] = Out(len(ASSERTIONS))  # may never be 1
    if config.probe:
        outputs |= {
            "probe": Out(probe_layout(config)),  # the events of this cycle
            "hang_pc": Out(data.ArrayLayout(32, config.warps)),  # the pc of each warp's last issue
            "passed_over": Out(passed_over_layout(config)),  # the warps starved by each scheduler
        }
    return outputs


class Gpu(Component):
    """Several SMs with one memory port (docs/memory.md, "Several SMs").

    A pulse of ``start`` after reset starts warp 0 of each SM, at the same address and with the same argument. A fault
    of an SM stops the others one cycle later.
    """

    def __init__(self, config: GpuConfig) -> None:
        self.config = config
        tag_bits = config.mem_tag_bits
        members = {
            "start": In(1),  # launch: high for one cycle; starts warp 0 of each SM
            "start_pc": In(32),  # with ``start``: the start address
            "arg": In(32),  # with ``start``: the initial value of mscratch
            #: The memory port, as that of an SM. A tag is the number of the SM above the SM's own tag.
            "mem": Out(wiring.Signature({
                #: A request to memory.
                "req": Out(stream.Signature(memory_request_layout(config.sm, tag_bits=tag_bits))),
                #: A response from memory.
                "resp": In(stream.Signature(memory_response_layout(config.sm, tag_bits=tag_bits))),
            })),
            "busy": Out(1),  # an SM is busy
            "fault_valid": Out(1),  # a fault of an SM has stopped the GPU; stays high until reset
            "fault": Out(fault_layout(config.sm_of(0))),  # the details of the fault; undefined without ``fault_valid``
            "fault_sm": Out(range(config.sms)),  # with ``fault_valid``: its SM; of several the lowest number
            "counter_sm": In(range(config.sms)),  # the SM whose counter is read
            "counter_index": In(range(len(counter_places()))),  # the counter to read, as for one SM
            #: Combinational: its value; undefined if there is none, or without ``counter_valid``.
            "counter_value": Out(COUNTER_BITS),
            "counter_valid": Out(1),  # 0 in any cycle in which that SM reads a CSR
            #: The outputs of each SM, by its number.
            "sms": Out(wiring.Signature({
                #: One SM.
                f"sm_{i}": Out(wiring.Signature(sm_outputs(config.sm_of(0)))) for i in range(config.sms)
            })),
        }
        if len(config.sm.policies) > 1:
            members["policy"] = In(range(len(config.sm.policies)))  # the issue policy of all SMs, as for one SM
        if len(config.sm.fetch_policies) > 1:
            members["fetch_policy"] = In(range(len(config.sm.fetch_policies)))  # the fetch policy, likewise
        if config.l2_parts:
            #: The counters of the L2, or of each part of it. Registered.
            members["l2"] = Out(data.ArrayLayout(l2_counters_layout(), config.l2_parts))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.interconnect = interconnect = MemoryInterconnect(config)
        m.submodules.barrier = barrier = GpuBarrier(config)
        m.submodules.host_view = host_view = HostView(config)
        sms = share_module(m, platform, Sm, config.sms, name="sm", config=config.sm_of(0), in_gpu=True, **(
            {"tells_fences": True} if config.l2 is L2Kind.DIVIDED else {}))
        l2 = share_module(m, platform, L2, config.l2_parts, name="l2_", config=config) if config.l2_parts else []
        outputs = sm_outputs(config.sm_of(0))
        ports = self._dispatch(m, platform, sms)
        for i, sm in enumerate(sms):
            port = getattr(interconnect.sms, f"sm_{i}")
            if config.l2 is L2Kind.DIVIDED:
                connect(m, ports[i][0], l2[i].sms.request)
                connect(m, l2[i].sms.response, ports[i][1])
                connect(m, l2[i].mem, port)
                m.d.comb += l2[i].invalidate.eq(sm.fences)
            else:
                connect(m, ports[i][0], port.request)
                connect(m, port.response, ports[i][1])
            connect(m, sm.barrier, getattr(barrier.sms, f"sm_{i}"))
            seen = getattr(host_view.sms, f"sm_{i}")
            m.d.sync += sm.halt.eq(host_view.fault_valid)
            m.d.comb += [
                sm.start.eq(self.start), sm.start_pc.eq(self.start_pc), sm.arg.eq(self.arg), sm.core_id.eq(i),
                sm.counter_index.eq(self.counter_index),
                *(getattr(seen, name).eq(getattr(sm, name)) for name in seen.signature.members),
                *(getattr(getattr(self.sms, f"sm_{i}"), name).eq(getattr(sm, name)) for name in outputs),
                *(getattr(sm, name).eq(getattr(self, name)) for name in ("policy", "fetch_policy")
                  if name in self.signature.members),
            ]
        memory = interconnect.port
        if config.l2 is L2Kind.SHARED:
            connect(m, interconnect.port, l2[0].sms)
            memory = l2[0].mem
        connect(m, memory.request, flipped(self.mem.req))
        connect(m, flipped(self.mem.resp), memory.response)
        m.d.comb += [
            self.busy.eq(or_all(sm.busy for sm in sms)),
            *(self.l2[i].eq(each.counters) for i, each in enumerate(l2)),
            host_view.counter_sm.eq(self.counter_sm),
            *(getattr(self, name).eq(getattr(host_view, name))
              for name in ("fault_valid", "fault", "fault_sm", "counter_value", "counter_valid")),
        ]
        return m

    def _dispatch(self, m: Module, platform: object, sms: Sequence[Any]) -> list[tuple[Any, Any]]:
        """The requests and responses of each SM; with a unit that hands out blocks, those it does not answer."""
        if self.config.dispatch is Dispatch.NONE:
            return [(sm.mem.req, sm.mem.resp) for sm in sms]
        m.submodules.dispatch = unit = DispatchUnit(self.config)
        ports = share_module(m, platform, DispatchPort, len(sms), name="dispatch_port", config=self.config)
        for i, (sm, port) in enumerate(zip(sms, ports, strict=True)):
            connect(m, sm.mem.req, port.sm.request)
            connect(m, port.sm.response, sm.mem.resp)
            connect(m, port.unit, getattr(unit.sms, f"sm_{i}"))
        return [(port.port.request, port.port.response) for port in ports]
