"""The host's view of a GPU: the fault of one SM, and the counters of one."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..layouts.counters import COUNTER_BITS
from ..layouts.execute import fault_layout
from ..lib.component import Component
from ..lib.onehot import encode, lowest_one
from .config import GpuConfig

__all__ = ["HostView"]


def _outputs(config: GpuConfig) -> dict[str, wiring.Member]:
    """The outputs of an SM that a host sees, like its ports of the same names."""
    return {
        "fault_valid": Out(1),  # a fault of this SM has stopped the GPU
        "fault": Out(fault_layout(config.sm_of(0))),  # with ``fault_valid``
        "counter_value": Out(COUNTER_BITS),  # of the counter that all SMs are asked for
        "counter_valid": Out(1),  # the value is that counter's
    }


class HostView(Component):
    """Chooses among the outputs of the SMs: combinational, without state."""

    def __init__(self, config: GpuConfig) -> None:
        self._config = config
        super().__init__({
            #: The outputs of the SMs, by number.
            "sms": In(wiring.Signature({
                #: Those of one SM.
                f"sm_{i}": Out(wiring.Signature(_outputs(config))) for i in range(config.sms)
            })),
            "fault_valid": Out(1),  # an SM has a fault
            "fault": Out(fault_layout(config.sm_of(0))),  # with ``fault_valid``: that of ``fault_sm``
            "fault_sm": Out(range(config.sms)),  # with ``fault_valid``: the lowest number of an SM with a fault
            "counter_sm": In(range(config.sms)),  # the SM whose counter is read
            "counter_value": Out(COUNTER_BITS),  # its value
            "counter_valid": Out(1),  # the value is valid
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sms = [getattr(self.sms, f"sm_{i}") for i in range(self._config.sms)]
        faults = Signal(self._config.sms)
        for i, sm in enumerate(sms):
            m.d.comb += faults[i].eq(sm.fault_valid)
        m.d.comb += [
            self.fault_valid.eq(faults.any()),
            self.fault_sm.eq(encode(lowest_one(faults))),
            self.fault.eq(Array(sm.fault.as_value() for sm in sms)[self.fault_sm]),
            self.counter_value.eq(Array(sm.counter_value for sm in sms)[self.counter_sm]),
            self.counter_valid.eq(Array(sm.counter_valid for sm in sms)[self.counter_sm]),
        ]
        return m
