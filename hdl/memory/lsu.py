"""The load/store unit: connects its parts."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import FaultCause, SmConfig
from ..layouts.execute import fault_layout, lsu_request_layout, writeback_layout
from ..layouts.probe import lookup_layout, probe_layout
from .coalescer import Coalescer
from .entrance import Entrance
from .line_accesses import LineAccesses
from .port import lsu_tag_bits, memory_port_signature
from .records import OFFSET_BITS, bank_bits, entry_layout
from .response import ResponseStage
from .scratchpad import Scratchpad
from .stacks import to_program
from .stores import StoreTracker

__all__ = ["HIT_LATENCY", "LOCAL_LATENCY", "MISS_OVERHEAD", "QUEUE_DEPTH", "Lsu"]

#: Cycles from stage X to ``wb``: of a hit, of a local load without conflicts, and of a miss without memory's own.
HIT_LATENCY, LOCAL_LATENCY, MISS_OVERHEAD = 4, 3, 5

#: Loads and stores that may be taken and not yet through the coalescer.
QUEUE_DEPTH = 8


class Lsu(wiring.Component):
    """Loads and stores of all warps, in order of issue, coalesced into lines; local memory; access faults.

    Cycles, for a request in stage X in cycle c and nothing in the way:

    - c+1 head of the queue: the coalescer makes one line access (or one access to local memory) a cycle, lowest
      remaining lane first, global memory before local;
    - c+2 lookup: a load that hits the data cache is at ``wb`` in c+4 (:data:`HIT_LATENCY` cycles after X);
    - a load that misses is at ``mem`` in c+3; with the line there in cycle r, it is at ``wb`` in r+2. So its fixed
      overhead from X to ``wb`` is 5 cycles (:data:`MISS_OVERHEAD`), plus those from ``mem.request`` to
      ``mem.response``;
    - a store is at ``mem`` in c+4;
    - local memory: the values of an access without bank conflict are at ``wb`` in c+3 (:data:`LOCAL_LATENCY`);
      k conflicts take k cycles more, each step being a writeback of its own.

    One instruction leaves the queue every cycle when each coalesces into one line and nothing blocks. Hits do not wait
    for misses: :class:`LookupStage` says what waits.

    A load that issues after a store has issued sees it, whichever warp, although memory may answer in any order: the
    accesses to a line are made one after the other (:class:`WriteBuffer`). Below ``memory_map.user`` nothing is cached
    or merged, and all accesses are made one after the other.

    Preconditions: ``request`` or ``cancel`` exactly two cycles after each ``take``; the mask of a request is not 0; a
    warp issues no load to rd while an older load of the warp to the same rd has not delivered its ``last`` part (the
    scoreboard sees to it).

    Ports
    -----
    ``take``, ``take_warp``, ``take_store``: a load or store is selected; only while ``ready``.
    ``request_valid``, ``request``, ``cancel``: two cycles later, no back-pressure.
    ``mem``: lines, with the unit's own tags.
    ``wb``: lane values; parts of several loads may alternate, ``last`` marks each load's final part. Loads with
    ``writes_rd`` clear access memory and come here not at all.
    ``fault_valid``, ``fault``: one-cycle pulse, registered. A misaligned instruction does nothing else (no access, no
    writeback). A line that memory answers with an error faults at its lowest lane; a load then has a part with mask 0.
    Of several stores to a line that memory gets as one, the first is the one that faults.
    ``stores_pending``: per warp, from the cycle after the take of a store to the cycle of memory's last answer for it.
    ``idle``: nothing is in the unit, from the cycle after a take on.
    ``store_event``: one-cycle pulse for each store, misaligned ones excepted, in the order of processing, two cycles
    after the request at the earliest; ``data`` as in the request: its low 1 << size bytes count. Always 0 when
    ``config.probe`` is off.
    ``lookup_event``: see :func:`hdl.layouts.probe.lookup_layout`; 0 without a probe.
    ``overflow``: hardware assertion: a take without ``ready``, a request without its take or without room.
    """

    def __init__(self, config: SmConfig) -> None:
        if config.memory_map.local % config.local_bytes:
            raise ValueError(
                f"memory_map.local must be a multiple of local_bytes ({config.local_bytes:#x}), "
                f"not {config.memory_map.local:#x}"
            )
        self.config = config
        super().__init__({
            "take": In(1), "take_warp": In(config.warp_bits), "take_store": In(1),
            "ready": Out(1),
            "request_valid": In(1), "request": In(lsu_request_layout(config)), "cancel": In(1),
            "mem": Out(memory_port_signature(config, tag_bits=lsu_tag_bits(config))),
            "wb": Out(stream.Signature(writeback_layout(config))),
            "fault_valid": Out(1), "fault": Out(fault_layout(config)),
            "stores_pending": Out(config.warps), "idle": Out(1),
            "store_event": Out(probe_layout(config)["store"].shape),
            "lookup_event": Out(lookup_layout(config)),
            "overflow": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        #: A store was taken up in the cycle before (kept without a probe too, so that ``idle`` does not depend on it).
        self._stored = Signal()
        m.submodules.entrance = entrance = Entrance(config, depth=QUEUE_DEPTH)
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.lines = lines = LineAccesses(config)
        m.submodules.responses = responses = ResponseStage(config)
        for name in ("take", "take_warp", "take_store", "request_valid", "request", "cancel"):
            m.d.comb += getattr(entrance, name).eq(getattr(self, name))
        m.d.comb += [
            self.ready.eq(entrance.ready),
            self.overflow.eq(entrance.overflow),
            coalescer.head_valid.eq(entrance.head_valid),
            coalescer.head.eq(entrance.head),
            entrance.pop.eq(coalescer.pop),
            self.idle.eq(~(entrance.busy | lines.busy | responses.busy | self.fault_valid | self._stored)),
        ]
        wiring.connect(m, wiring.flipped(self.wb), responses.wb)
        wiring.connect(m, wiring.flipped(self.mem), lines.mem)
        self._lines(m, entrance.head, coalescer, lines, responses)
        self._local(m, entrance.head, coalescer, responses)
        self._faults(m, entrance.head, coalescer, lines, responses)
        self._stores(m, entrance, coalescer, lines)
        self._store_event(m, entrance.head, coalescer)
        if config.probe:
            m.d.comb += [
                self.lookup_event.eq(lines.event),
                self.lookup_event.load_done.eq(self.wb.valid & self.wb.ready & self.wb.payload.last),
                self.lookup_event.load_done_warp.eq(self.wb.payload.warp),
            ]
        return m

    def _lines(
        self, m: Module, head: Signal, coalescer: Coalescer, lines: LineAccesses, responses: ResponseStage
    ) -> None:
        """Line accesses to the lookup, loaded lines to the response stage.

        A part is its load's last when no other is in the lookup or behind it, or still to be made.
        """
        offered, access = coalescer.line, lines.access
        part = access.payload.part
        m.d.comb += [
            access.valid.eq(offered.valid),
            offered.ready.eq(access.ready),
            part.mask.eq(offered.payload.lanes),
            part.line.eq(offered.payload.line),
        ]
        m.d.comb += [access.payload[name].eq(offered.payload[name]) for name in ("write", "first", "byte_mask", "data")]
        m.d.comb += [part[name].eq(head[name]) for name in ("warp", "pc", "op", "rd", "writes_rd")]
        m.d.comb += [part.offset[lane].eq(head.address[lane][:OFFSET_BITS]) for lane in range(self.config.threads)]
        at_head = Signal()
        m.d.comb += [
            at_head.eq(
                coalescer.head_valid & ~coalescer.store & head.writes_rd
                & (head.warp == responses.key_warp) & (head.rd == responses.key_rd)
            ),
            responses.shares.eq(lines.shares | at_head),
        ]
        for name in ("fill_push", "fill_part", "fill_data", "fill_error", "hit_push", "hit_part", "hit_forwarded",
                     "hit_data", "forward_data"):
            m.d.comb += getattr(responses, name).eq(getattr(lines, name))
        for name in ("fill_free", "hit_free", "peek_free", "key_warp", "key_rd"):
            m.d.comb += getattr(lines, name).eq(getattr(responses, name))

    def _local(self, m: Module, head: Signal, coalescer: Coalescer, responses: ResponseStage) -> None:
        """Accesses to local memory: they complete at once, a load when the response stage has room."""
        config = self.config
        banks = bank_bits(config)
        m.submodules.scratchpad = pad = Scratchpad(threads=config.threads, words=config.local_bytes // 4)
        read, part = Signal(), responses.local_part
        m.d.comb += [
            pad.lanes.eq(coalescer.local_lanes),
            pad.store.eq(coalescer.store),
            pad.data.eq(coalescer.words),
            pad.enable.eq(coalescer.enable),
            coalescer.local_served.eq(pad.served),
            read.eq(~coalescer.store & head.writes_rd),
            coalescer.local_ready.eq(~read | responses.local_free),
            pad.write.eq(coalescer.local_valid & coalescer.store),
            pad.read.eq(coalescer.local_valid & read & responses.local_free),
            responses.local_push.eq(pad.read),
            responses.bank_data.eq(pad.bank_data),
            part.mask.eq(pad.served),
        ]
        m.d.comb += [part[name].eq(head[name]) for name in ("warp", "op", "rd")]
        for lane in range(config.threads):
            address = head.address[lane]
            m.d.comb += [
                pad.word[lane].eq(address[2:]),
                part.byte[lane].eq(address[:2]),
                part.bank[lane].eq(address[2 : 2 + banks]),
            ]

    def _faults(
        self, m: Module, head: Signal, coalescer: Coalescer, lines: LineAccesses, responses: ResponseStage
    ) -> None:
        """The fault register. Of those in one cycle a load's access fault goes first, a misaligned address last."""
        m.d.comb += [
            lines.fault_ready.eq(~responses.fault_valid),
            coalescer.fault_ready.eq(~responses.fault_valid & ~lines.fault_valid),
        ]
        m.d.sync += self.fault_valid.eq(responses.fault_valid | lines.fault_valid | coalescer.misaligned)
        with m.If(responses.fault_valid):
            m.d.sync += self.fault.eq(responses.fault)
        with m.Elif(lines.fault_valid):
            m.d.sync += self.fault.eq(lines.fault)
        with m.Elif(coalescer.misaligned):
            m.d.sync += [
                self.fault.cause.eq(Mux(coalescer.store, FaultCause.STORE_MISALIGNED, FaultCause.LOAD_MISALIGNED)),
                self.fault.warp.eq(head.warp),
                self.fault.pc.eq(head.pc),
                self.fault.address.eq(coalescer.fault_address),
            ]

    def _stores(self, m: Module, entrance: Entrance, coalescer: Coalescer, lines: LineAccesses) -> None:
        m.submodules.stores = stores = StoreTracker(warps=self.config.warps, limit=QUEUE_DEPTH)
        m.d.comb += [
            stores.taken.eq(self.take & self.take_store), stores.taken_warp.eq(self.take_warp),
            stores.cancelled.eq(entrance.cancelled_store), stores.cancelled_warp.eq(entrance.cancelled_warp),
            stores.finished.eq(coalescer.pop & coalescer.store), stores.finished_warp.eq(entrance.head.warp),
            self.stores_pending.eq(stores.pending | lines.stores_pending),
        ]

    def _store_event(self, m: Module, head: Signal, coalescer: Coalescer) -> None:
        m.d.sync += self._stored.eq(coalescer.first & coalescer.store)
        if not self.config.probe:
            return
        record = Signal(entry_layout(self.config))
        with m.If(coalescer.first & coalescer.store):
            m.d.sync += record.eq(head)
            for lane in range(self.config.threads):
                address = to_program(m, self.config, head.address[lane], f"store_address{lane}")
                m.d.sync += record.address[lane].eq(address)
        event = self.store_event
        m.d.comb += [event[name].eq(record[name]) for name in ("warp", "pc", "mask", "address", "data")]
        m.d.comb += [event.valid.eq(self._stored), event.size.eq(record.op[:2])]
