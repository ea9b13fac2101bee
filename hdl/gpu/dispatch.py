"""Dispatch: hands out the blocks of a launch to the SMs."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..layouts.memory import memory_port_signature, memory_response_layout
from ..lib.component import Component
from ..lib.onehot import lowest_one, select
from .config import BLOCK_BITS, Dispatch, GpuConfig

__all__ = ["DispatchPort", "DispatchUnit"]


def _asking_signature(bits: int = BLOCK_BITS) -> wiring.Signature:
    """The requests of an SM, seen from its :class:`DispatchPort`."""
    return wiring.Signature({
        "takes": Out(1),  # the SM takes its next block
        "number": In(bits),  # combinational, with ``takes``: its number; all ones if none is left
        "launches": Out(1),  # the SM launches a grid: blocks are handed out anew
        "blocks": Out(bits),  # with ``launches``: the number of blocks of the grid
    })


class DispatchUnit(Component):
    """Gives each block of a launch to one SM, in order: up to one block for each SM in a cycle.

    dynamic: the next block goes to the SM that asks; of several in one cycle, the lowest number comes first. static:
    block i goes to SM i modulo ``sms``. A launch counts from the next cycle on. Of several in one cycle, that of the
    lowest SM counts. Reset: no block is left.

    ``bits``: of a block's number.
    """

    def __init__(self, config: GpuConfig, *, bits: int = BLOCK_BITS) -> None:
        self._config, self._bits = config, bits
        super().__init__({
            #: The requests of the SMs, by number.
            "sms": Out(wiring.Signature({
                #: Those of one SM.
                f"sm_{i}": In(_asking_signature(bits)) for i in range(config.sms)
            })),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._config.sms
        ports = [getattr(self.sms, f"sm_{i}") for i in range(count)]
        launches = Signal(count)
        blocks = Signal(self._bits)
        total = Signal(self._bits)
        m.d.comb += [
            *(launches[i].eq(port.launches) for i, port in enumerate(ports)),
            total.eq(select(lowest_one(launches), [port.blocks for port in ports])),
        ]
        dynamic = self._config.dispatch is Dispatch.DYNAMIC
        offers = self._in_turn(m, launches.any(), blocks) if dynamic else self._by_sm(m, launches.any(), blocks)
        for port, offer in zip(ports, offers, strict=True):
            m.d.comb += port.number.eq(Mux(offer < blocks, offer, (1 << self._bits) - 1))
        with m.If(launches.any()):
            m.d.sync += blocks.eq(total)
        return m

    def _in_turn(self, m: Module, launched: Value, blocks: Signal) -> list[Signal]:
        """The block that each SM would get: the next one, behind those of lower SMs that take one now."""
        # The number after the last block may be up to ``sms`` above it.
        following = Signal(self._bits + 1)
        offers, before = [], Const(0, 1)
        for i in range(self._config.sms):
            offer = Signal(self._bits + 1, name=f"offer_{i}")
            m.d.comb += offer.eq(following + before)
            before = before + getattr(self.sms, f"sm_{i}").takes
            offers.append(offer)
        with m.If(launched):
            m.d.sync += following.eq(0)
        with m.Elif(following < blocks):
            m.d.sync += following.eq(following + before)
        return offers

    def _by_sm(self, m: Module, launched: Value, blocks: Signal) -> list[Signal]:
        """The block that each SM would get: the next one that is its own."""
        offers = []
        for i in range(self._config.sms):
            offer = Signal(self._bits + 1, init=i, name=f"offer_{i}")
            with m.If(launched):
                m.d.sync += offer.eq(i)
            with m.Elif(getattr(self.sms, f"sm_{i}").takes & (offer < blocks)):
                m.d.sync += offer.eq(offer + self._config.sms)
            offers.append(offer)
        return offers


class DispatchPort(Component):
    """Between an SM and memory: answers reads of the line at ``dispatch_address``, and passes everything else.

    Each read of the line takes a block: each word of the answer is its number. The answer to a read that is accepted in
    cycle c is offered in c+1, or after the response of memory that the SM did not take in c. A response of memory
    waits meanwhile. One read is accepted at a time. A write of the line's first word launches a grid with so many
    blocks when it is accepted, and goes on to memory. Everything else takes no cycle. Reset: no answer waits.
    """

    def __init__(self, config: GpuConfig) -> None:
        self._config = config
        super().__init__({
            "sm": In(memory_port_signature(config.sm)),  # the memory port of the SM
            "port": Out(memory_port_signature(config.sm)),  # to memory
            "unit": Out(_asking_signature()),  # to the unit that hands out blocks
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, response = self.sm.request, self.sm.response
        below, above = self.port.request, self.port.response
        here = Signal()
        takes = Signal()
        waits = Signal()
        answer = Signal(memory_response_layout(self._config.sm))
        #: The SM has not taken the response of memory that it was offered: that one stays first.
        held = Signal()
        first = Signal()
        words = self._config.sm.line_bytes * 8 // BLOCK_BITS
        m.d.comb += [
            here.eq(request.payload.line == self._config.dispatch_address // self._config.sm.line_bytes),
            takes.eq(here & ~request.payload.write),
            below.payload.eq(request.payload),
            below.valid.eq(request.valid & ~takes),
            request.ready.eq(Mux(takes, ~waits, below.ready)),
            self.unit.takes.eq(request.valid & takes & ~waits),
            self.unit.launches.eq(
                request.valid & here & request.payload.write & below.ready & request.payload.byte_mask[:4].all()),
            self.unit.blocks.eq(request.payload.data[:BLOCK_BITS]),
            first.eq(waits & ~held),
            response.valid.eq(first | above.valid),
            response.payload.eq(Mux(first, answer, above.payload)),
            above.ready.eq(response.ready & ~first),
        ]
        m.d.sync += held.eq(above.valid & ~first & ~response.ready)
        with m.If(self.unit.takes):
            m.d.sync += [
                waits.eq(1), answer.tag.eq(request.payload.tag), answer.data.eq(self.unit.number.replicate(words)),
            ]
        with m.Elif(first & response.ready):
            m.d.sync += waits.eq(0)
        return m
