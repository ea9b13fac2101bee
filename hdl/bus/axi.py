"""The SM's memory port as an AXI4 master."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..config import LINE_BYTES, SmConfig
from ..layouts.memory import memory_port_signature
from ..lib.component import Component
from .axi_reads import AxiReads
from .axi_writes import AxiWrites
from .signatures import axi4_signature
from .slots import slot_bits

__all__ = ["AxiMaster", "require_axi"]

#: AxCACHE: device, non-bufferable; normal, non-cacheable, non-bufferable. A bufferable write may be answered before it
#: is visible, and then a later read of the SM could miss it.
_DEVICE, _NORMAL = 0b0000, 0b0010
_INCR = 1
#: A burst may not cross such a border (AXI4, A3.4.1).
_BORDER = 4096


def require_axi(data_bits: int, reads: int, writes: int, *, line_bytes: int = LINE_BYTES) -> None:
    """Raise ValueError if :class:`AxiMaster` cannot be built with these sizes."""
    limits = {"data_bits": (data_bits, 8, 8 * line_bytes), "reads": (reads, 1, 64), "writes": (writes, 1, 64)}
    for name, (value, low, high) in limits.items():
        if type(value) is not int or not low <= value <= high or value & (value - 1):
            raise ValueError(f"{name} must be a power of two between {low} and {high}, not {value!r}")


class AxiMaster(Component):
    """Turns each line request into one INCR burst of 64 bytes, aligned to 64.

    A read is answered after its last beat, a write only after the slave has completed it (B). If any beat fails, the
    answer is an error. Up to ``reads`` and ``writes`` bursts are in flight, each in a slot whose number is its unique
    id. A request that finds no free slot waits, and so do those after it.

    Takes one request a cycle, but a write every 512 / ``data_bits`` cycles. Adds one cycle on the way out and one on
    the way back. A waiting answer of one kind does not hold back the other kind at the bus; towards the SM they take
    turns. ``port.response.valid`` and the bus's valids do not depend on any ready. Reset: idle, so the slave must be
    reset at the same time. The data of a write's answer are undefined, and may change while it waits.

    Parameters
    ----------
    data_bits : int
        Width of the bus: a power of two between 8 and 512.
    reads, writes : int
        Powers of two between 1 and 64.
    tag_bits : int
        Width of the port's tags; that of the SM's own port if None.
    """

    def __init__(
        self, config: SmConfig, *, data_bits: int = 64, reads: int = 16, writes: int = 16, tag_bits: int | None = None,
    ) -> None:
        require_axi(data_bits, reads, writes, line_bytes=config.line_bytes)
        self.config = config
        self.data_bits, self.reads, self.writes = data_bits, reads, writes
        self._tag_bits = config.mem_tag_bits if tag_bits is None else tag_bits
        #: Width of the ids.
        self.id_bits = slot_bits(max(reads, writes))
        super().__init__({
            #: The SM's memory port.
            "port": In(memory_port_signature(config, tag_bits=tag_bits)),
            #: The bus (:func:`hdl.bus.signatures.axi4_wires`).
            "axi": Out(axi4_signature(data_bits=data_bits, id_bits=self.id_bits)),
            #: A request that was taken is not answered, or its answer not taken.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes = {"line_bytes": self.config.line_bytes, "data_bits": self.data_bits, "tag_bits": self._tag_bits}
        m.submodules.reads = reads = AxiReads(**sizes, slots=self.reads)
        m.submodules.writes = writes = AxiWrites(**sizes, slots=self.writes)
        request, axi = self.port.request, self.axi
        m.d.comb += [
            reads.request.valid.eq(request.valid & ~request.payload.write),
            writes.request.valid.eq(request.valid & request.payload.write),
            request.ready.eq(Mux(request.payload.write, writes.request.ready, reads.request.ready)),
            *(unit.request.payload[name].eq(request.payload[name])
              for unit, names in ((reads, ("line", "tag")), (writes, ("line", "tag", "byte_mask", "data")))
              for name in names),
            axi.wdata.eq(writes.w.payload.data), axi.wstrb.eq(writes.w.payload.strobe),
            axi.wlast.eq(writes.w.payload.last), axi.wvalid.eq(writes.w.valid), writes.w.ready.eq(axi.wready),
            writes.b_valid.eq(axi.bvalid), writes.b_slot.eq(axi.bid), writes.b_error.eq(axi.bresp[1]), axi.bready.eq(1),
            reads.r_valid.eq(axi.rvalid), reads.r_slot.eq(axi.rid), reads.r_data.eq(axi.rdata),
            reads.r_error.eq(axi.rresp[1]), axi.rready.eq(1),
            self.busy.eq(reads.busy | writes.busy),
        ]
        self._address(m, "ar", reads.ar)
        self._address(m, "aw", writes.aw)
        self._answer(m, reads, writes)
        return m

    def _address(self, m: Module, channel: str, bursts: Any) -> None:
        """Send one burst for a whole line."""
        line_bytes = self.config.line_bytes
        assert _BORDER % line_bytes == 0, "an aligned line crosses no border"
        values = {
            "id": bursts.payload.slot,
            "addr": bursts.payload.line << (line_bytes.bit_length() - 1),
            "len": 8 * line_bytes // self.data_bits - 1,
            "size": (self.data_bits // 8).bit_length() - 1,
            "burst": _INCR, "lock": 0, "prot": 0, "qos": 0,
            # Accesses below it have side effects: the console, the exit code (docs/isa.md).
            "cache": Mux(bursts.payload.line < self.config.memory_map.user // line_bytes, _DEVICE, _NORMAL),
            "valid": bursts.valid,
        }
        m.d.comb += [getattr(self.axi, channel + name).eq(value) for name, value in values.items()]
        m.d.comb += bursts.ready.eq(getattr(self.axi, f"{channel}ready"))

    def _answer(self, m: Module, reads: AxiReads, writes: AxiWrites) -> None:
        """Answer reads and writes in turn; an answer that is offered stays."""
        response = self.port.response
        held = Signal()
        last = Signal()
        write = Signal()
        m.d.comb += [
            write.eq(Mux(held, last, writes.response.valid & ~(reads.response.valid & last))),
            response.valid.eq(reads.response.valid | writes.response.valid),
            writes.response.ready.eq(response.ready & write),
            reads.response.ready.eq(response.ready & ~write),
            response.payload.tag.eq(Mux(write, writes.response.payload.tag, reads.response.payload.tag)),
            response.payload.error.eq(Mux(write, writes.response.payload.error, reads.response.payload.error)),
            # The data of a write's answer are undefined.
            response.payload.data.eq(reads.response.payload.data),
        ]
        m.d.sync += held.eq(response.valid & ~response.ready)
        with m.If(response.valid):
            m.d.sync += last.eq(write)
