"""Monitors for the rules of AXI4 and of the line port: one bit per rule, 1 in a cycle that breaks it.

They are hardware, so the same text serves Amaranth's simulator, Verilator and a proof (which assumes the rules of the
other side and claims our own).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from metronome.hdl.bus.signatures import axi4_wires
from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.layouts.memory import memory_request_layout, memory_response_layout
from metronome.hdl.lib.component import Component
from metronome.hdl.lib.onehot import one_hot

__all__ = ["ANSWERER_RULES", "ASKER_RULES", "MASTER_RULES", "SLAVE_RULES", "AxiRules", "LineRules", "broken_rules"]

#: Forbidden to a master, by bit. The second half are the bridge's guarantees beyond AXI.
MASTER_RULES = (
    "AWVALID fell, or AW changed, before AWREADY",
    "WVALID fell, or W changed, before WREADY",
    "ARVALID fell, or AR changed, before ARREADY",
    "VALID in the first cycle after reset",
    "a burst of writes crosses a 4 KiB boundary, is not INCR, or its beats are wider than the bus",
    "a burst of reads crosses a 4 KiB boundary, is not INCR, or its beats are wider than the bus",
    "WLAST is not at the last beat",
    "a write is not of one whole aligned line",
    "a read is not of one whole aligned line",
    "AW with an id whose write is in progress",
    "AR with an id whose read is in progress",
    "an exclusive, bufferable or cacheable access",
    "an answer of the slave is not accepted at once",
)
#: Forbidden to a slave.
SLAVE_RULES = (
    "BVALID fell, or B changed, before BREADY",
    "RVALID fell, or R changed, before RREADY",
    "B for a write whose AW or last beat was not accepted",
    "R for a read that is not in progress",
    "RLAST is not at the last beat",
    "VALID in the first cycle after reset",
)
#: Forbidden to the requesting side of a line port.
ASKER_RULES = (
    "a request changed before it was accepted",
    "a tag is used again before its answer was accepted",
)
#: Forbidden to the responding side.
ANSWERER_RULES = (
    "a response changed before it was accepted",
    "a response to a tag without a request",
)


def broken_rules(rules: Sequence[str], bits: int) -> list[str]:
    """Return the texts of the bits that are set."""
    return [rule for bit, rule in enumerate(rules) if bits >> bit & 1]


class _Changes:
    """Return whether the payload changes, or valid falls, before ready."""

    def __init__(self, m: Module, name: str, valid: Value, ready: Value, payload: Value) -> None:
        waited, before = Signal(name=f"{name}_waited"), Signal(len(payload), name=f"{name}_before")
        m.d.sync += [waited.eq(valid & ~ready), before.eq(payload)]
        self.broken = waited & (~valid | (payload != before))


class AxiRules(Component):
    """Monitor of an AXI4 bus that carries lines; every wire of the bus is an input with the same name.

    Each id has at most one read and one write in flight, as the bridge promises.
    """

    def __init__(self, *, data_bits: int, id_bits: int, line_bytes: int = LINE_BYTES) -> None:
        self._data_bits, self._id_bits, self._line_bytes = data_bits, id_bits, line_bytes
        self._wires = axi4_wires(data_bits=data_bits, id_bits=id_bits)
        super().__init__({
            **{wire.name: In(wire.bits) for wire in self._wires},
            "master": Out(len(MASTER_RULES)),
            "slave": Out(len(SLAVE_RULES)),
        })

    def watch(self, m: Module, axi: Any) -> None:
        """Connect the inputs to a bus."""
        m.d.comb += [getattr(self, wire.name).eq(getattr(axi, wire.name)) for wire in self._wires]

    def elaborate(self, platform: object) -> Module:
        """Build the rules and the registers that they need."""
        m = Module()
        fresh = Signal(init=1)
        m.d.sync += fresh.eq(0)
        changes = {channel: self._changes(m, channel) for channel in ("aw", "w", "ar", "b", "r")}
        wlast, twice_written, early_answer = self._writes(m)
        rlast, twice_read, unasked = self._reads(m)
        m.d.comb += [
            self.master.eq(Cat(
                changes["aw"], changes["w"], changes["ar"], fresh & (self.awvalid | self.wvalid | self.arvalid),
                self._no_burst("aw"), self._no_burst("ar"), wlast, self._no_line("aw"), self._no_line("ar"),
                twice_written, twice_read,
                (self.awvalid & (self.awlock | (self.awcache & 0b1101).any()))
                | (self.arvalid & (self.arlock | (self.arcache & 0b1101).any())),
                (self.bvalid & ~self.bready) | (self.rvalid & ~self.rready),
            )),
            self.slave.eq(Cat(
                changes["b"], changes["r"], early_answer, unasked, rlast, fresh & (self.bvalid | self.rvalid),
            )),
        ]
        return m

    def _changes(self, m: Module, channel: str) -> Value:
        payload = Cat(
            getattr(self, wire.name) for wire in self._wires
            if wire.name[: len(channel)] == channel and wire.name not in {f"{channel}valid", f"{channel}ready"}
        )
        valid, ready = getattr(self, f"{channel}valid"), getattr(self, f"{channel}ready")
        return _Changes(m, channel, valid, ready, payload).broken

    def _no_burst(self, channel: str) -> Value:
        address, length, size, burst, valid = (
            getattr(self, channel + name) for name in ("addr", "len", "size", "burst", "valid"))
        end = address[:12] + ((length + 1) << size)
        return valid & ((end > 4096) | (burst != 1) | (size > (self._data_bits // 8).bit_length() - 1))

    def _no_line(self, channel: str) -> Value:
        address, length, size, valid = (getattr(self, channel + name) for name in ("addr", "len", "size", "valid"))
        return valid & ((address % self._line_bytes != 0) | (((length + 1) << size) != self._line_bytes))

    def _beats(self) -> int:
        return 8 * self._line_bytes // self._data_bits

    def _writes(self, m: Module) -> tuple[Value, Value, Value]:
        """Detect WLAST in the wrong place, an id used twice, and a response before its write is complete."""
        ids, count_bits = 1 << self._id_bits, self._id_bits + 2
        beat = Signal(range(max(2, self._beats())), name="w_beat")
        # Bursts taken so far on either channel, modulo more than one can be ahead of the other; by id, a write's place
        # among them, and whether all of it was taken.
        announced, carried = Signal(count_bits, name="announced"), Signal(count_bits, name="carried")
        waits = Signal(ids, name="write_waits")
        place = Signal(data.ArrayLayout(count_bits, ids), name="write_place")
        takes_aw, takes_w, takes_b = self.awvalid & self.awready, self.wvalid & self.wready, self.bvalid & self.bready
        whole = Signal(ids, name="write_whole")
        last = beat == self._beats() - 1
        ends = takes_w & last
        with m.If(takes_w):
            m.d.sync += [beat.eq(Mux(last, 0, beat + 1)), carried.eq(carried + last)]
        with m.If(takes_aw):
            m.d.sync += [announced.eq(announced + 1), place[self.awid].eq(announced)]
        m.d.sync += waits.eq(
            (waits & ~Mux(takes_b, one_hot(self.bid, ids), 0)) | Mux(takes_aw, one_hot(self.awid, ids), 0)
        )
        mine = Cat(ends & waits[id_] & (place[id_] == carried) for id_ in range(ids))
        # A burst may be carried before it is announced.
        lead = (carried + ends - announced - 1)[:count_bits]
        announces = Mux(takes_aw, one_hot(self.awid, ids), 0)
        m.d.sync += whole.eq(((whole | mine) & ~announces) | Mux(lead[-1], 0, announces))
        there = (waits & whole).bit_select(self.bid, 1)
        return (
            self.wvalid & (self.wlast != last), self.awvalid & waits.bit_select(self.awid, 1), self.bvalid & ~there,
        )

    def _reads(self, m: Module) -> tuple[Value, Value, Value]:
        """Detect RLAST in the wrong place, an id used twice, and a beat that was not requested."""
        ids, beats = 1 << self._id_bits, self._beats()
        waits = Signal(ids, name="read_waits")
        beat = Signal(data.ArrayLayout(range(max(2, beats)), ids), name="r_beat")
        takes_ar, takes_r = self.arvalid & self.arready, self.rvalid & self.rready
        last = beat[self.rid] == beats - 1
        ends = takes_r & last
        with m.If(takes_r):
            m.d.sync += beat[self.rid].eq(Mux(last, 0, beat[self.rid] + 1))
        m.d.sync += waits.eq(
            (waits & ~Mux(ends, one_hot(self.rid, ids), 0)) | Mux(takes_ar, one_hot(self.arid, ids), 0)
        )
        return (
            self.rvalid & (self.rlast != last), self.arvalid & waits.bit_select(self.arid, 1),
            self.rvalid & ~waits.bit_select(self.rid, 1),
        )


class LineRules(Component):
    """Monitor of a line port: ``asker`` and ``answerer`` are the rules broken in this cycle."""

    def __init__(self, config: SmConfig, *, tag_bits: int) -> None:
        self._tag_bits = tag_bits
        super().__init__({
            "request_valid": In(1),
            "request_ready": In(1),
            "request": In(memory_request_layout(config, tag_bits=tag_bits)),
            "response_valid": In(1),
            "response_ready": In(1),
            "response": In(memory_response_layout(config, tag_bits=tag_bits)),
            "asker": Out(len(ASKER_RULES)),
            "answerer": Out(len(ANSWERER_RULES)),
            #: One bit per tag: its request was taken, its response was not.
            "waits": Out(1 << tag_bits),
            #: The tags that are writes.
            "writes": Out(1 << tag_bits),
        })

    def watch(self, m: Module, port: Any) -> None:
        """Connect the inputs to a port."""
        for name in ("request", "response"):
            stream = getattr(port, name)
            m.d.comb += [
                getattr(self, name).eq(stream.payload), getattr(self, f"{name}_valid").eq(stream.valid),
                getattr(self, f"{name}_ready").eq(stream.ready),
            ]

    def elaborate(self, platform: object) -> Module:
        """Build the rules and the registers that they need."""
        m = Module()
        tags = 1 << self._tag_bits
        asked, answered = Signal(tags), Signal(tags)
        request = _Changes(m, "request", self.request_valid, self.request_ready, Value.cast(self.request))
        # The data of a write's response is meaningless.
        content = Cat(
            self.response.tag, self.response.error,
            Mux(self.writes.bit_select(self.response.tag, 1), 0, self.response.data),
        )
        response = _Changes(m, "response", self.response_valid, self.response_ready, content)
        m.d.comb += [
            asked.eq(Mux(self.request_valid & self.request_ready, one_hot(self.request.tag, tags), 0)),
            answered.eq(Mux(self.response_valid & self.response_ready, one_hot(self.response.tag, tags), 0)),
            self.asker.eq(Cat(
                request.broken, self.request_valid & self.waits.bit_select(self.request.tag, 1),
            )),
            self.answerer.eq(Cat(
                response.broken, self.response_valid & ~self.waits.bit_select(self.response.tag, 1),
            )),
        ]
        m.d.sync += [
            self.waits.eq((self.waits & ~answered) | asked),
            self.writes.eq((self.writes & ~asked) | Mux(self.request.write, asked, 0)),
        ]
        return m
