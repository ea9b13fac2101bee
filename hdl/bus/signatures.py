"""The buses' signals, as tables under the names of their specifications: ports and pages are derived from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Wire", "axi4_signature", "axi4_wires", "axi_lite_signature", "axi_lite_wires", "wires_signature",
           "wishbone_signature", "wishbone_wires"]


@dataclass(frozen=True)
class Wire:
    """One signal of a bus."""

    name: str  # in lower case, without the bus's own name before it
    bits: int  # its width
    driven: bool  # by the master; else by the slave
    about: str  # its meaning


def wires_signature(wires: Iterable[Wire]) -> wiring.Signature:
    """The signals as the master sees them."""
    return wiring.Signature({
        #: As in the table.
        wire.name: Out(wire.bits) if wire.driven else In(wire.bits) for wire in wires
    })


def _handshake(channel: str, from_master: bool) -> tuple[Wire, Wire]:
    return (
        Wire(f"{channel}valid", 1, from_master, "stays 1, and the channel constant, until the transfer"),
        Wire(f"{channel}ready", 1, not from_master, "the transfer happens at a clock edge at which both are 1"),
    )


def axi4_wires(*, data_bits: int, id_bits: int) -> tuple[Wire, ...]:
    """AXI4 with addresses of 32 bits, without the optional region and user signals."""

    def address(channel: str, what: str) -> tuple[Wire, ...]:
        return (
            Wire(f"{channel}id", id_bits, True, f"id of the {what}"),
            Wire(f"{channel}addr", 32, True, "address of the first byte, which begins a line"),
            Wire(f"{channel}len", 8, True, "beats of the burst minus one"),
            Wire(f"{channel}size", 3, True, "log2 of the bytes of a beat"),
            Wire(f"{channel}burst", 2, True, "1: INCR"),
            Wire(f"{channel}lock", 1, True, "0: no exclusive access"),
            Wire(f"{channel}cache", 4, True, "0: device; 2: normal memory; neither cacheable nor bufferable"),
            Wire(f"{channel}prot", 3, True, "0: data, secure, unprivileged"),
            Wire(f"{channel}qos", 4, True, "0: none"),
            *_handshake(channel, True),
        )

    return (
        *address("aw", "write"),
        Wire("wdata", data_bits, True, "bytes, in their lanes"),
        Wire("wstrb", data_bits // 8, True, "the bytes that are written"),
        Wire("wlast", 1, True, "the last beat of the burst"),
        *_handshake("w", True),
        Wire("bid", id_bits, False, "id of the completed write"),
        Wire("bresp", 2, False, "2 and 3: the access failed"),
        *_handshake("b", False),
        *address("ar", "read"),
        Wire("rid", id_bits, False, "id of the read to which the beat belongs"),
        Wire("rdata", data_bits, False, "bytes, in their lanes"),
        Wire("rresp", 2, False, "2 and 3: the access failed"),
        Wire("rlast", 1, False, "the last beat of the burst"),
        *_handshake("r", False),
    )


def axi_lite_wires(*, address_bits: int) -> tuple[Wire, ...]:
    """AXI4-Lite with data of 32 bits."""
    return (
        Wire("awaddr", address_bits, True, "byte address of the register to write"),
        Wire("awprot", 3, True, "ignored"),
        *_handshake("aw", True),
        Wire("wdata", 32, True, "the value"),
        Wire("wstrb", 4, True, "the bytes of the value that are written"),
        *_handshake("w", True),
        Wire("bresp", 2, False, "0: done; 2: there is no such register"),
        *_handshake("b", False),
        Wire("araddr", address_bits, True, "byte address of the register to read"),
        Wire("arprot", 3, True, "ignored"),
        *_handshake("ar", True),
        Wire("rdata", 32, False, "the value"),
        Wire("rresp", 2, False, "0: done; 2: there is no such register"),
        *_handshake("r", False),
    )


def wishbone_wires(*, data_bits: int, address_bits: int) -> tuple[Wire, ...]:
    """Wishbone B4, classic, with the tags of registered feedback; the address counts words of ``data_bits``."""
    return (
        Wire("cyc", 1, True, "the transfer of a line is in progress"),
        Wire("stb", 1, True, "a word is requested"),
        Wire("we", 1, True, "1: write; 0: read"),
        Wire("adr", address_bits, True, "its address in words: the byte address divided by the bytes of a word"),
        Wire("dat_w", data_bits, True, "bytes to be written, in their lanes"),
        Wire("sel", data_bits // 8, True, "the bytes that are transferred"),
        Wire("cti", 3, True, "2: another word follows; 7: the last word"),
        Wire("bte", 2, True, "0: addresses go up by one"),
        Wire("dat_r", data_bits, False, "bytes read"),
        Wire("ack", 1, False, "the transfer of the word is complete"),
        Wire("err", 1, False, "the transfer of the word failed"),
    )


def axi4_signature(*, data_bits: int, id_bits: int) -> wiring.Signature:
    """:func:`axi4_wires` as the master sees them."""
    return wires_signature(axi4_wires(data_bits=data_bits, id_bits=id_bits))


def axi_lite_signature(*, address_bits: int) -> wiring.Signature:
    """:func:`axi_lite_wires` as the master sees them."""
    return wires_signature(axi_lite_wires(address_bits=address_bits))


def wishbone_signature(*, data_bits: int, address_bits: int) -> wiring.Signature:
    """:func:`wishbone_wires` as the master sees them."""
    return wires_signature(wishbone_wires(data_bits=data_bits, address_bits=address_bits))
