"""Proof harness of the AXI bridge: claims that hold for any requests of the SM and any behaviour of the slave.

The requester obeys the rules of the line port, and the slave those of AXI (:mod:`tb.axi_rules`). Nothing else is
assumed: ready signals, latencies, response order, interleaved beats and errors are free. The tag is symbolic, so a
claim proved for it holds for every tag. So is the byte of the line that is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from amaranth.hdl import Assume, ClockDomain, Instance, Module, Mux, Signal, Value
from amaranth.lib import wiring

from metronome.hdl.bus.axi import AxiMaster
from metronome.hdl.config import MemoryMap, SmConfig
from metronome.hdl.lib.collector import collector_paused

from ..axi_rules import ANSWERER_RULES, MASTER_RULES, AxiRules, LineRules
from .bus_lemmas import add_lemmas
from .claims import Claims
from .flow import Problem, as_problem
from .inside import Internals
from .records import Column

__all__ = ["BusModel", "bus_problem"]



@dataclass(frozen=True)
class _Narrow:
    """The configuration fields that the bridge uses, with a line short enough to keep the solver's state small."""

    line_bytes: int = 4
    memory_map: MemoryMap = field(default_factory=MemoryMap)


class BusModel(Claims):
    """The harness: ``bridge`` with both sets of rules, and the claims."""

    def __init__(self, bridge: AxiMaster, *, lemmas: bool = True) -> None:
        self.bridge = bridge
        self.m = m = Module()
        self.beats = 8 * bridge.config.line_bytes // bridge.data_bits
        self.beat_bits = (self.beats - 1).bit_length()
        self.lane_bits = (bridge.data_bits // 8).bit_length() - 1
        self.offset_bits = bridge.config.line_bytes.bit_length() - 1
        # Without reset: a run starts from the registers' initial values.
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.tag_bits = len(bridge.port.request.payload.tag)
        self.inside = Internals(bridge)
        m.submodules.bridge = self.inside.fragment
        self.rules = AxiRules(data_bits=bridge.data_bits, id_bits=bridge.id_bits,
                                                      line_bytes=bridge.config.line_bytes)
        self.rules_inside = Internals(self.rules)
        m.submodules.rules = self.rules_inside.fragment
        m.submodules.lines = self.lines = LineRules(bridge.config, tag_bits=self.tag_bits)
        self.rules.watch(m, bridge.axi)
        self.lines.watch(m, bridge.port)
        m.d.comb += [Assume(self.rules.slave == 0), Assume(self.lines.asker == 0)]
        self.claims: dict[str, str] = {}
        self.columns: list[Column] = []
        for bit, text in enumerate(MASTER_RULES):
            self.claim(f"not: {text}", ~self.rules.master[bit])
        for bit, text in enumerate(ANSWERER_RULES):
            self.claim(f"not: {text}", ~self.lines.answerer[bit])
        self._mine()
        self._progress()
        if lemmas:
            add_lemmas(self)
        self._show()

    def _anyconst(self, bits: int, name: str) -> Signal:
        value = Signal(bits, name=name)
        self.m.submodules[f"any_{name}"] = Instance("$anyconst", p_WIDTH=bits, o_Y=value)
        return value

    def _mine(self) -> None:
        """Follow one access through the bridge: the request with the symbolic tag."""
        m, axi, port = self.m, self.bridge.axi, self.bridge.port
        tag, byte = self._anyconst(self.tag_bits, "mine"), self._anyconst(self.offset_bits, "byte")
        request, response = port.request, port.response
        fresh, write, line, id_ = Signal(), Signal(), Signal.like(request.payload.line), Signal.like(axi.arid)
        # The byte that the write carries and whether it is enabled, or the byte that the read has returned.
        value, counts = Signal(8), Signal()
        under_way, done, failed = Signal(), Signal(), Signal()
        with m.If(request.valid & request.ready & (request.payload.tag == tag)):
            m.d.sync += [
                fresh.eq(1), write.eq(request.payload.write), line.eq(request.payload.line), done.eq(0), failed.eq(0),
                value.eq(request.payload.data.word_select(byte, 8)), under_way.eq(1),
                counts.eq(request.payload.byte_mask.bit_select(byte, 1)),
            ]
        with m.Else():
            m.d.sync += fresh.eq(0)
        address = Mux(write, axi.awaddr, axi.araddr)
        self.claim("a request that was accepted is on the bus in the next cycle, with its address", ~fresh | (
            Mux(write, axi.awvalid & axi.wvalid, axi.arvalid) & (address == line << self.offset_bits)))
        with m.If(fresh):
            m.d.sync += id_.eq(Mux(write, axi.awid, axi.arid))
        self._data(fresh, write, byte, value, counts)
        bytes_ = self.bridge.data_bits // 8
        last, here = self._beat_of(axi.rid, byte)
        is_mine = under_way & ~fresh & ~done
        with m.If(is_mine & write & axi.bvalid & (axi.bid == id_)):
            m.d.sync += [done.eq(1), failed.eq(axi.bresp[1])]
        with m.If(is_mine & ~write & axi.rvalid & (axi.rid == id_)):
            m.d.sync += [done.eq(last), failed.eq(failed | axi.rresp[1])]
            with m.If(here):
                m.d.sync += value.eq(axi.rdata.word_select(byte[: bytes_.bit_length() - 1], 8))
        answers = response.valid & (response.payload.tag == tag)
        with m.If(answers & response.ready):
            m.d.sync += under_way.eq(0)
        self.claim("an answer only after B, or after the last beat", ~answers | done)
        self.claim("an answer shows whether the access failed", ~answers | (response.payload.error == failed))
        self.claim("a read brings the bytes of its own beats", ~(answers & ~write) | (
            response.payload.data.word_select(byte, 8) == value))
        waits = under_way & done
        self.claim("while an answer waits, one is offered", ~waits | response.valid)
        others = Signal(range(self.bridge.reads + self.bridge.writes + 2))
        with m.If(~waits):
            m.d.sync += others.eq(0)
        with m.Elif(response.ready & ~answers):
            m.d.sync += others.eq(others + 1)
        # All others of its own kind may go first; the other kind has every second turn.
        limit = 2 * max(self.bridge.reads, self.bridge.writes)
        self.claim("at most the accesses in progress are answered before it", others < limit)
        self.mine = SimpleNamespace(
            tag=tag, byte=byte, fresh=fresh, write=write, id=id_, value=value, counts=counts, under_way=under_way,
            done=done, failed=failed, others=others, waits=waits, sends=self.sends, beat=self.sent,
        )

    def _beat_of(self, id_: Value, byte: Value) -> tuple[Value, Value]:
        """Whether this beat of the read ``id_`` is its last, and whether it carries the symbolic byte."""
        m, axi = self.m, self.bridge.axi
        beats = 8 * self.bridge.config.line_bytes // self.bridge.data_bits
        ids = range(1 << self.bridge.id_bits)
        self.beat_counts = counts = [Signal(range(max(2, beats)), name=f"beats_{number}") for number in ids]
        now = Signal(range(max(2, beats)))
        for number, count in enumerate(counts):
            with m.If(id_ == number):
                m.d.comb += now.eq(count)
                with m.If(axi.rvalid & axi.rready):
                    m.d.sync += count.eq(Mux(count == beats - 1, 0, count + 1))
        return now == beats - 1, now == byte >> (self.bridge.data_bits // 8).bit_length() - 1

    def _data(self, fresh: Value, write: Value, byte: Value, value: Value, counts: Value) -> None:
        """The write's byte is sent in its beat and its lane, and nothing else is."""
        m, axi = self.m, self.bridge.axi
        bytes_ = self.bridge.data_bits // 8
        lane_bits = bytes_.bit_length() - 1
        sends, beat = Signal(), Signal(self.offset_bits - lane_bits + 1)
        self.sends, self.sent = sends, beat
        now = Signal.like(beat)
        active = (fresh & write) | sends
        m.d.comb += now.eq(Mux(sends, beat, 0))
        with m.If(active & axi.wvalid & axi.wready):
            m.d.sync += [beat.eq(now + 1), sends.eq(~axi.wlast)]
        with m.Elif(active):
            m.d.sync += [beat.eq(now), sends.eq(1)]
        lane = byte[:lane_bits]
        at = active & (now == byte >> lane_bits)
        self.claim("a write is one contiguous burst", ~active | axi.wvalid)
        self.claim("a write's strobes are its byte mask", ~at | (axi.wstrb.bit_select(lane, 1) == counts))
        self.claim("a write's bytes are in their lanes", ~(at & counts) | (axi.wdata.word_select(lane, 8) == value))

    def _progress(self) -> None:
        """No transfer waits without a cause."""
        axi, request, lines = self.bridge.axi, self.bridge.port.request, self.lines
        self.claim("answers of the slave are always taken", axi.bready & axi.rready)
        count_bits = self.tag_bits + 1
        reads, writes = Signal(count_bits), Signal(count_bits)
        tags = 1 << self.tag_bits
        self.m.d.comb += [
            reads.eq(sum(lines.waits[tag] & ~lines.writes[tag] for tag in range(tags))),
            writes.eq(sum(lines.waits[tag] & lines.writes[tag] for tag in range(tags))),
        ]
        self.claim("a read is taken while fewer than `reads` are under way and AR is free",
                   request.payload.write | axi.arvalid | (reads >= self.bridge.reads) | request.ready)
        self.claim("a write is taken while fewer than `writes` are under way and AW and W are free",
                   ~request.payload.write | axi.awvalid | axi.wvalid | (writes >= self.bridge.writes) | request.ready)
        self.claim("busy exactly while something is not answered", self.bridge.busy == lines.waits.any())

    def _show(self) -> None:
        axi, port = self.bridge.axi, self.bridge.port
        request, response = port.request, port.response
        self.show("tag", request.payload.tag, request.valid & request.ready)
        self.show("write", request.payload.write, request.valid & request.ready)
        ids = {"aw": axi.awid, "w": axi.wlast, "b": axi.bid, "ar": axi.arid, "r": axi.rid}
        for channel, id_ in ids.items():
            valid, ready = getattr(axi, f"{channel}valid"), getattr(axi, f"{channel}ready")
            self.show(channel, id_, valid & ready)
        self.show("answer", response.payload.tag, response.valid)
        self.show("taken", response.ready, response.valid)

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        inputs = [Value.cast(value) for _, member, value in self.bridge.signature.flatten(self.bridge)
                  if member.flow is wiring.In]
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        return [clock, *inputs]


def bus_problem(make: Callable[..., Any] = AxiMaster, *, data_bits: int = 16, reads: int = 2, writes: int = 2,
                tag_bits: int = 2, lemmas: bool = True) -> Problem:
    """Return the claims of a small bridge for the solver."""
    with collector_paused():
        config = cast(SmConfig, _Narrow())
        bridge = make(config, data_bits=data_bits, reads=reads, writes=writes, tag_bits=tag_bits)
        model = BusModel(bridge, lemmas=lemmas)
        return as_problem("bus", model)
