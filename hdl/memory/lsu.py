"""The load/store unit: connects its parts."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out

from ..config import Channels as ChannelKind
from ..config import FaultCause, SmConfig
from ..layouts.execute import fault_layout, order_layout, writeback_layout
from ..layouts.memory import memory_port_signature
from ..layouts.probe import lookup_layout, probe_layout
from ..lib.component import Component
from ..lib.onehot import one_hot
from ..lib.stacks import to_program
from .channels import Channels
from .l1.l1 import L1
from .lanes.coalescer import Coalescer
from .lanes.entrance import Entrance, take_ports
from .lanes.line_accesses import LineAccesses
from .lanes.local_stage import LocalStage
from .lanes.part_counts import PartCounts
from .lanes.records import bank_bits, entry_layout
from .lanes.response import ResponseStage
from .lanes.scratchpad import Scratchpad
from .lanes.stores import StoreTracker
from .order.port import ListPort
from .order.unit import OrderUnit
from .seam import loads_under_way

__all__ = ["HIT_LATENCY", "LOCAL_LATENCY", "MISS_OVERHEAD", "QUEUE_DEPTH", "Lsu"]

#: Cycles from stage X to ``wb``: for a hit, for a local load without conflicts, and for a miss, excluding memory.
HIT_LATENCY, LOCAL_LATENCY, MISS_OVERHEAD = 4, 3, 5

#: The maximum number of loads and stores between the take and the end of their coalescing.
QUEUE_DEPTH = 8


class Lsu(Component):
    """Performs loads and stores of all warps in issue order, coalesced into lines; local memory; access faults.

    Timing, if a request is in stage X in cycle c and nothing delays it:

    - c+1, head of the queue: the coalescer makes one line access (or one access to local memory) per cycle, lowest
      remaining lane first, global memory before local;
    - c+2, lookup: a load that hits the data cache is at ``wb`` in c+4 (:data:`HIT_LATENCY` cycles after X);
    - a load that misses is at ``mem`` in c+3. If the line arrives in cycle r, the load is at ``wb`` in r+2. From X to
      ``wb``, it takes 5 cycles (:data:`MISS_OVERHEAD`) plus those from ``mem.request`` to ``mem.response``;
    - a store is at ``mem`` in c+4;
    - local memory: the values of an access without bank conflict are at ``wb`` in c+3 (:data:`LOCAL_LATENCY`);
      k conflicts take k cycles more, with a separate writeback for each step.

    One instruction leaves the queue every cycle if each coalesces into one line and nothing blocks. Hits do not wait
    for misses. :class:`LookupStage` lists the conditions for waiting.

    A load that issues after a store of any warp sees that store, although memory may answer in any order, because the
    accesses to a line are made one after the other (:class:`WriteBuffer`). Below ``memory_map.user`` nothing is cached
    or merged, and all accesses are made one after the other.

    Preconditions: the mask of a request is not 0; a warp issues no load to rd while an older load of the warp to the
    same rd has not delivered its ``last`` part (the scoreboard ensures this). Reset: empty, the cache too; local memory
    keeps its contents.
    """

    def __init__(self, config: SmConfig, *, fences: bool = False, tells_fences: bool = False) -> None:
        self.config = config
        self._fences, self._tells_fences = fences, tells_fences
        members: dict[str, Member] = {}
        if fences:
            #: A fence, or the end of a barrier between SMs: the accesses whose requests come later are made when all
            #: earlier ones are done, and read no line that the data cache has now (docs/memory.md, "Several SMs").
            members["fence"] = In(1)
        if tells_fences:
            #: The accesses before a fence are done, and the next one continues in the next cycle. Caches are emptied.
            members["empties"] = Out(1)
        if config.ordered:
            members |= {
                #: Begins or ends a list (:class:`OrderUnit`); only if ``idle`` at its selection. From stage X.
                "order": In(order_layout()),
                #: An instruction or NOP is selected in this cycle.
                "selects": In(1),
                #: The warps whose loads or stores may be selected if a slot is free. Registered state only.
                "room": Out(config.warps),
            }
        if config.watches_locality:
            #: The warps that have lost locality (:class:`VictimTags`). Registered.
            members["lost"] = Out(config.warps)
        super().__init__({
            **take_ports(config),
            **members,
            #: The memory port, with the unit's own tags.
            "mem": Out(memory_port_signature(config, tag_bits=config.lsu_tag_bits)),
            #: Lane values of loads that write a register. Parts of several loads may alternate; ``last`` marks each
            #: load's final part. Other loads access memory and do not appear here.
            "wb": Out(stream.Signature(writeback_layout(config))),
            #: One-cycle pulse, registered. A misaligned instruction has no other effect: no access, no writeback. If
            #: memory answers a line with an error, its lowest lane faults; a load then has a part with mask 0. If the
            #: line merges several stores, the first one faults.
            "fault_valid": Out(1),
            #: With ``fault_valid``: cause, warp, pc and address.
            "fault": Out(fault_layout(config)),
            #: For each warp: high from the cycle after a store's take to the cycle of memory's last answer for it.
            "stores_pending": Out(config.warps),
            #: The unit is empty. 0 from the cycle after a take on.
            "idle": Out(1),
            #: One-cycle pulse for each store that is not misaligned, in the order of processing, two cycles after the
            #: request at the earliest. ``data`` as in the request: its low 1 << size bytes count. 0 without a probe.
            "store_event": Out(probe_layout(config)["store"].shape),
            #: The actions of the lookup (:func:`hdl.layouts.probe.lookup_layout`). 0 without a probe.
            "lookup_event": Out(lookup_layout(config)),
            #: May never happen: a take without ``ready``, or a request without its take or without a free place.
            "overflow": Out(1),
            #: May never happen: an access leaves a channel out of turn (:attr:`Channels.wrong`).
            "disorder": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        #: The coalescer took a store in the previous cycle. Also without a probe: ``idle`` must not depend on it.
        self._stored = Signal()
        m.submodules.entrance = self._entrance = entrance = Entrance(
            config, depth=QUEUE_DEPTH, fences=self._fences)
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.l1 = l1 = L1(config, invalidates=self._fences)
        m.submodules.responses = responses = ResponseStage(config)
        m.submodules.accesses = accesses = LineAccesses(config)
        wiring.connect(m, coalescer.access, accesses.chosen)
        self._leaves = coalescer.pop
        stores_behind, busy_behind = self._seam(m, accesses, l1)
        stores_behind, busy_behind = stores_behind | accesses.stores, busy_behind | accesses.busy
        if self._fences:
            m.d.comb += [entrance.fence.eq(self.fence), entrance.drained.eq(~busy_behind)]
            if config.dcache_bytes:
                m.d.comb += l1.invalidate.eq(entrance.invalidate)
        if self._tells_fences:
            m.d.comb += self.empties.eq(entrance.invalidate)
        wiring.connect(m, l1.answers, responses.answers)
        if config.watches_locality:
            m.d.comb += self.lost.eq(l1.lost)
        for name, port in take_ports(config).items():
            inside, outside = getattr(entrance, name), getattr(self, name)
            m.d.comb += inside.eq(outside) if port.flow is In else outside.eq(inside)
        m.d.comb += [
            self.overflow.eq(entrance.overflow),
            coalescer.head_valid.eq(entrance.head_valid),
            coalescer.head.eq(entrance.head),
            entrance.pop.eq(coalescer.pop),
        ]
        wiring.connect(m, wiring.flipped(self.wb), responses.wb)
        if not config.ordered:
            wiring.connect(m, wiring.flipped(self.mem), l1.mem)
        local = self._local(m, entrance.head, coalescer, responses)
        self._count(m, coalescer, local, responses)
        m.d.comb += self.idle.eq(
            ~(entrance.busy | busy_behind | local.busy | responses.busy | self.fault_valid | self._stored))
        self._faults(m, entrance.head, coalescer, l1, responses)
        self._stores(m, entrance, coalescer, stores_behind)
        self._store_event(m, entrance.head, coalescer)
        if config.probe:
            m.d.comb += [
                self.lookup_event.eq(l1.event),
                self.lookup_event.load_done.eq(self.wb.valid & self.wb.ready & self.wb.payload.last),
                self.lookup_event.load_done_warp.eq(self.wb.payload.warp),
            ]
        return m

    def _seam(self, m: Module, lanes: LineAccesses, l1: L1) -> tuple[Value, Value]:
        """Connect the line accesses from the lanes to the L1. A unit between the two is inserted only here.

        Return the warps with stores in the L1 or in such a unit, and whether any access is there.
        The loads that such a unit holds need numbers (:func:`loads_under_way`).
        """
        if self.config.channels is ChannelKind.NONE:
            wiring.connect(m, lanes.access, l1.access)
            return l1.stores_pending, l1.busy
        if self.config.ordered:
            return self._order(m, lanes, l1)
        m.submodules.channels = channels = Channels(self.config)
        wiring.connect(m, lanes.access, channels.taken)
        wiring.connect(m, channels.given, l1.access)
        m.d.comb += [l1.swap.eq(channels.swap), channels.done.eq(l1.done), self.disorder.eq(channels.wrong)]
        return l1.stores_pending | channels.stores, l1.busy | channels.busy

    def _order(self, m: Module, lanes: LineAccesses, l1: L1) -> tuple[Value, Value]:
        """Insert the reordering unit between the lanes and the L1, and merge its reads with the L1's requests."""
        warps, entrance = self.config.warps, self._entrance
        m.submodules.order = self._order_unit = order = OrderUnit(self.config)
        m.submodules.list_port = port = ListPort(self.config)
        wiring.connect(m, lanes.access, order.taken)
        wiring.connect(m, order.given, l1.access)
        wiring.connect(m, l1.mem, port.l1)
        wiring.connect(m, order.mem, port.reader)
        wiring.connect(m, wiring.flipped(self.mem), port.mem)
        m.d.comb += [
            order.start.eq(self.order.start), order.stop.eq(self.order.stop), order.address.eq(self.order.address),
            l1.invalidate.eq(self.order.start),
            order.selects.eq(self.selects), self.room.eq(order.room), self.disorder.eq(order.wrong),
            order.take.eq(Mux(self.take, one_hot(self.take_warp, warps), 0)),
            order.leave.eq(Mux(self._leaves, one_hot(entrance.head.warp, warps), 0)),
            order.cancel.eq(Mux(self.cancel, one_hot(entrance.cancelled_warp, warps), 0)),
        ]
        return l1.stores_pending | order.stores, l1.busy | order.busy

    def _count(self, m: Module, coalescer: Coalescer, local: LocalStage, responses: ResponseStage) -> None:
        """Count parts when they are created and when they are written back."""
        m.submodules.counts = counts = PartCounts(
            loads=loads_under_way(self.config), parts=self.config.threads, slots=len(responses.answered))
        m.d.comb += [
            counts.made.eq(coalescer.made),
            counts.first.eq(coalescer.begins),
            counts.ended.eq(coalescer.pop),
            coalescer.number.eq(counts.number),
            coalescer.number_ready.eq(counts.ready),
            counts.answered.eq(responses.answered),
            counts.answered_number.eq(responses.answered_load),
            local.access.load.eq(counts.number),
            counts.more.eq(local.step & local.now.read & local.more),
            counts.more_number.eq(local.now.load),
            responses.last.eq(counts.last),
        ]

    def _local(self, m: Module, head: data.View, coalescer: Coalescer, responses: ResponseStage) -> LocalStage:
        """Access local memory. Steps complete at once, but those of a load only if the response stage has space."""
        config = self.config
        banks = bank_bits(config)
        m.submodules.scratchpad = pad = Scratchpad(threads=config.threads, words=config.local_bytes // 4)
        m.submodules.local = local = LocalStage(config)
        now, access, part = local.now, local.access, responses.local_part
        m.d.comb += [
            local.offered.eq(coalescer.local_valid), local.lanes.eq(coalescer.local_lanes),
            access.store.eq(coalescer.store), access.read.eq(~coalescer.store & head.writes_rd),
            access.data.eq(coalescer.words), access.enable.eq(coalescer.enable),
            coalescer.local_served.eq(local.taken), coalescer.local_ready.eq(local.ready),
            pad.lanes.eq(local.wanted), pad.store.eq(now.store), pad.word.eq(now.word),
            pad.data.eq(now.data), pad.enable.eq(now.enable),
            local.served.eq(pad.served), local.space.eq(~now.read | responses.local_free),
            pad.write.eq(local.step & now.store), pad.read.eq(local.step & now.read),
            responses.local_push.eq(pad.read), responses.bank_data.eq(pad.bank_data),
            part.mask.eq(pad.served), part.load.eq(now.load), part.byte.eq(now.byte),
        ]
        m.d.comb += [access[name].eq(head[name]) for name in ("warp", "op", "rd")]
        m.d.comb += [part[name].eq(now[name]) for name in ("warp", "op", "rd")]
        for lane in range(config.threads):
            address = head.address[lane]
            m.d.comb += [
                access.word[lane].eq(address[2:]), access.byte[lane].eq(address[:2]),
                part.bank[lane].eq(now.word[lane][:banks]),
            ]
        return local

    def _faults(
        self, m: Module, head: data.View, coalescer: Coalescer, l1: L1, responses: ResponseStage
    ) -> None:
        """The fault register. In each cycle, access faults of loads have priority; misaligned addresses come last."""
        told = responses.fault_valid | l1.fault_valid
        m.d.comb += l1.fault_ready.eq(~responses.fault_valid)
        if self.config.ordered:
            m.d.comb += self._order_unit.fault_ready.eq(~told)
            told |= self._order_unit.fault_valid
        m.d.comb += coalescer.fault_ready.eq(~told)
        if self.config.lookup_latency > 1:
            # Whether a load's fault leaves in this cycle is known late: a misaligned head waits until it has left.
            registered = responses.fault_waits | l1.fault_valid
            if self.config.ordered:
                registered |= self._order_unit.fault_valid
            m.d.comb += coalescer.fault_ready.eq(~registered)
        m.d.sync += self.fault_valid.eq(told | coalescer.misaligned)
        if self.config.ordered:
            # The other faults have priority: they overwrite this one.
            with m.If(self._order_unit.fault_valid):
                m.d.sync += self.fault.eq(self._order_unit.fault)
        with m.If(responses.fault_valid):
            m.d.sync += self.fault.eq(responses.fault)
        with m.Elif(l1.fault_valid):
            m.d.sync += self.fault.eq(l1.fault)
        with m.Elif(coalescer.misaligned):
            m.d.sync += [
                self.fault.cause.eq(Mux(coalescer.store, FaultCause.STORE_MISALIGNED, FaultCause.LOAD_MISALIGNED)),
                self.fault.warp.eq(head.warp),
                self.fault.pc.eq(head.pc),
                self.fault.address.eq(coalescer.fault_address),
            ]

    def _stores(self, m: Module, entrance: Entrance, coalescer: Coalescer, behind: Value) -> None:
        m.submodules.stores = stores = StoreTracker(warps=self.config.warps, limit=QUEUE_DEPTH)
        m.d.comb += [
            stores.taken.eq(self.take & self.take_store), stores.taken_warp.eq(self.take_warp),
            stores.cancelled.eq(entrance.cancelled_store), stores.cancelled_warp.eq(entrance.cancelled_warp),
            stores.finished.eq(coalescer.pop & coalescer.store), stores.finished_warp.eq(entrance.head.warp),
            self.stores_pending.eq(stores.pending | behind),
        ]

    def _store_event(self, m: Module, head: data.View, coalescer: Coalescer) -> None:
        m.d.sync += self._stored.eq(coalescer.arrives & coalescer.store)
        if not self.config.probe:
            return
        record = Signal(entry_layout(self.config))
        with m.If(coalescer.arrives & coalescer.store):
            m.d.sync += record.eq(head)
            for lane in range(self.config.threads):
                address = to_program(m, self.config, head.address[lane], f"store_address{lane}")
                m.d.sync += record.address[lane].eq(address)
        event = self.store_event
        m.d.comb += [event[name].eq(record[name]) for name in ("warp", "pc", "mask", "address", "data")]
        m.d.comb += [event.valid.eq(self._stored), event.size.eq(record.op[:2])]
