"""The SM's memory port as a Wishbone master, one line at a time, and the host's registers as a Wishbone slave."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.memory import memory_port_signature
from ..lib.component import Component
from .register_table import ADDRESS_BITS
from .registers import host_ports
from .signatures import wishbone_signature

__all__ = ["WishboneControl", "WishboneMaster", "wishbone_address_bits"]

#: CTI: another word follows at the next address; the last one.
_INCREMENTING, _END = 0b010, 0b111
WIDTHS = (32, 64)


def wishbone_address_bits(data_bits: int) -> int:
    """Bits of the address of a word, for memory of 4 GiB.

    Raises
    ------
    ValueError
        If ``data_bits`` is neither 32 nor 64.
    """
    if data_bits not in WIDTHS:
        raise ValueError(f"data_bits must be 32 or 64, not {data_bits!r}")
    return 32 - (data_bits // 8 - 1).bit_length()


class WishboneMaster(Component):
    """Turns each line request into a burst of words (Wishbone B4, registered feedback), one line at a time.

    For a request accepted in cycle c, the first word is requested in c+1, and each further word in the cycle after the
    answer to the previous one. The response for the line is valid in the cycle after the answer to the last word. The
    next request is accepted once that response is. A write is complete when the slave has acknowledged each word. If a
    word fails, the response is an error, but the other words are still requested. A slave without bursts sees the same
    words as single accesses. Reset: idle.

    Parameters
    ----------
    data_bits : int
        32 or 64.
    tag_bits : int
        Width of the port's tags; if None, as on the SM's own port.
    """

    def __init__(self, config: SmConfig, *, data_bits: int = 32, tag_bits: int | None = None) -> None:
        address_bits = wishbone_address_bits(data_bits)
        self.config = config
        self.data_bits = data_bits
        super().__init__({
            #: The SM's memory port.
            "port": In(memory_port_signature(config, tag_bits=tag_bits)),
            #: The bus (:func:`hdl.bus.signatures.wishbone_wires`).
            "bus": Out(wishbone_signature(data_bits=data_bits, address_bits=address_bits)),
            #: From accepting a request until its response is accepted.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, request, response = self.bus, self.port.request, self.port.response
        words = 8 * self.config.line_bytes // self.data_bits
        # One shift register for both directions: words read are shifted in while words written are shifted out.
        line = Signal(8 * self.config.line_bytes)
        mask = Signal(self.config.line_bytes)
        word, last = Signal(range(words)), Signal()
        where = Signal.like(request.payload.line)
        m.d.comb += [
            request.ready.eq(~bus.cyc & ~response.valid),
            last.eq(word == words - 1),
            bus.stb.eq(bus.cyc), bus.adr.eq(Cat(word, where)),
            bus.dat_w.eq(line[: self.data_bits]),
            bus.sel.eq(Mux(bus.we, mask[: self.data_bits // 8], (1 << self.data_bits // 8) - 1)),
            bus.cti.eq(Mux(last, _END, _INCREMENTING)), bus.bte.eq(0),
            response.payload.data.eq(line),
            self.busy.eq(bus.cyc | response.valid),
        ]
        with m.If(response.ready):
            m.d.sync += response.valid.eq(0)
        with m.If(request.valid & request.ready):
            m.d.sync += [
                bus.cyc.eq(1), bus.we.eq(request.payload.write), where.eq(request.payload.line), word.eq(0),
                line.eq(request.payload.data), mask.eq(request.payload.byte_mask),
                response.payload.tag.eq(request.payload.tag), response.payload.error.eq(0),
            ]
        with m.If(bus.cyc & (bus.ack | bus.err)):
            m.d.sync += [
                word.eq(word + 1), bus.cyc.eq(~last), response.valid.eq(last),
                line.eq(Cat(line[self.data_bits :], bus.dat_r)), mask.eq(mask >> (self.data_bits // 8)),
                response.payload.error.eq(response.payload.error | bus.err),
            ]
        return m


class WishboneControl(Component):
    """Forwards accesses over ``bus`` to the registers (:func:`hdl.bus.registers.connect_host`).

    An access is answered in the cycle after its request, with ``err`` if there is no register. Bursts are answered word
    by word. Reset: no answer.
    """

    def __init__(self) -> None:
        super().__init__({
            #: The bus (:func:`hdl.bus.signatures.wishbone_wires`), seen from its slave; words of 32 bits.
            "bus": In(wishbone_signature(data_bits=32, address_bits=ADDRESS_BITS - 2)),
            **{name: member.flip() for name, member in host_ports().items()},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        asked = Signal()
        m.d.comb += [
            asked.eq(bus.cyc & bus.stb & ~bus.ack & ~bus.err & (bus.we | self.read_ready)),
            self.read_address.eq(bus.adr), self.write_address.eq(bus.adr),
            self.read.eq(asked & ~bus.we), self.write.eq(asked & bus.we),
            self.write_data.eq(bus.dat_w), self.write_strobe.eq(bus.sel),
        ]
        known = Mux(bus.we, self.write_known, self.read_known)
        m.d.sync += [bus.ack.eq(asked & known), bus.err.eq(asked & ~known), bus.dat_r.eq(self.read_data)]
        return m
