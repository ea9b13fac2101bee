"""The interconnect: the memory ports of all SMs become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..layouts.memory import memory_port_signature
from ..lib.component import Component
from ..lib.onehot import lowest_one
from .config import GpuConfig, Interconnect
from .response_queue import ResponseQueue

__all__ = ["MemoryInterconnect"]


class MemoryInterconnect(Component):
    """Merges the requests of the SMs, one a cycle, and routes the responses.

    A request that is accepted in cycle c is offered to memory from c+1 on, from a register. A response takes no cycle.
    ``ready`` of an SM depends on the valid requests of all, and on no other signal of that cycle but memory's
    ``ready``. Reset: empty; SM 0 comes first.

    round_robin, tdm: responses wait for their SMs in a queue for each, so ``port.response.ready`` is 1 whenever a
    response arrives. With round_robin, a request waits for at most one request of each other SM.

    tdm: cycle c after the reset belongs to SM c / ``slot_cycles`` modulo ``sms``. Only its request is accepted then. If
    memory takes each request in the cycle in which it is offered, no SM's port depends on the others (docs/gpu.md).
    """

    def __init__(self, config: GpuConfig) -> None:
        self._config = config
        super().__init__({
            #: The ports of the SMs, by number.
            "sms": Out(wiring.Signature({
                #: That of one SM.
                f"sm_{i}": In(memory_port_signature(config.sm)) for i in range(config.sms)
            })),
            #: The memory port. A tag here is the number of the SM above the SM's own tag.
            "port": Out(memory_port_signature(config.sm, tag_bits=config.mem_tag_bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, own = self._config.sms, self._config.sm.mem_tag_bits
        ports = [getattr(self.sms, f"sm_{i}") for i in range(count)]
        request, response = self.port.request, self.port.response
        asks, chosen, free = Signal(count), Signal(count), Signal()
        m.d.comb += [
            asks.eq(Cat(port.request.valid for port in ports)),
            free.eq(~request.valid | request.ready),
            chosen.eq(self._choice(m, asks, free)),
        ]
        with m.If(free):
            m.d.sync += request.valid.eq((asks & chosen).any())
        for i, port in enumerate(ports):
            m.d.comb += port.request.ready.eq(free & chosen[i])
            with m.If(free & chosen[i]):
                m.d.sync += [
                    *(request.payload[name].eq(port.request.payload[name])
                      for name in ("line", "write", "byte_mask", "data")),
                    request.payload.tag.eq(Cat(port.request.payload.tag, Const(i, self._config.number_bits))),
                ]
        answers = self._queues(m, ports) if self._config.response_queues else [
            port.response for port in ports]
        for i, answer in enumerate(answers):
            m.d.comb += [
                answer.valid.eq(response.valid & (response.payload.tag[own:] == i)),
                answer.payload.tag.eq(response.payload.tag[:own]),
                answer.payload.error.eq(response.payload.error),
                answer.payload.data.eq(response.payload.data),
            ]
        m.d.comb += response.ready.eq(Array(answer.ready for answer in answers)[response.payload.tag[own:]])
        return m

    def _queues(self, m: Module, ports: Sequence[Any]) -> list[Any]:
        """A queue of responses for each SM; return where they arrive."""
        arriving = []
        for i, port in enumerate(ports):
            m.submodules[f"responses_{i}"] = queue = ResponseQueue(self._config.sm)
            m.d.comb += [
                port.response.valid.eq(queue.offered.valid), queue.offered.ready.eq(port.response.ready),
                port.response.payload.eq(queue.offered.payload),
            ]
            arriving.append(queue.arriving)
        return arriving

    def _choice(self, m: Module, asks: Signal, free: Signal) -> Value:
        """The SM whose request is accepted if it has one, one-hot or 0; ``free``: the register takes one."""
        count = self._config.sms
        if self._config.interconnect is Interconnect.FIXED_PRIORITY:
            return lowest_one(asks)
        if self._config.interconnect is Interconnect.TDM:
            return self._slot(m)
        #: The SMs behind the one that was served last.
        later = Signal(count)
        first, any_later = lowest_one(asks), Signal(count)
        m.d.comb += any_later.eq(lowest_one(asks & later))
        chosen = Signal(count, name="next_in_turn")
        m.d.comb += chosen.eq(any_later)
        with m.If(~any_later.any()):
            m.d.comb += chosen.eq(first)
        with m.If(free & chosen.any()):
            # A one-hot number minus 1 has the bits below it.
            m.d.sync += later.eq(~(chosen | (chosen - 1)))
        return chosen

    def _slot(self, m: Module) -> Value:
        """The SM whose slot it is."""
        turn = Signal(self._config.sms, init=1)
        cycle = Signal(range(self._config.slot_cycles + 1))
        with m.If(cycle == self._config.slot_cycles - 1):
            m.d.sync += [turn.eq(turn.rotate_left(1)), cycle.eq(0)]
        with m.Else():
            m.d.sync += cycle.eq(cycle + 1)
        return turn
