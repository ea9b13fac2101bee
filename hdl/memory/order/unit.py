"""The reordering unit: line accesses are looked up in the order of a list in memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import FaultCause, SmConfig
from ...layouts.execute import fault_layout
from ...layouts.memory import memory_port_signature
from ...lib.component import Component
from ...lib.lane_vectors import pick
from ...lib.onehot import encode, lowest_one, one_hot, select
from ..seam import CHOSEN, access_layout
from .reader import AHEAD, BURST, ListReader
from .ring import Ring

__all__ = ["PATIENCE", "OrderUnit"]

#: The number of cycles without any selection after which a missing access is a fault.
PATIENCE = (1 << 16) - 1


class OrderUnit(Component):
    """Puts line accesses into their warps' channels (:class:`Ring`), and passes them to the lookup in the list's order.

    Without a list, accesses pass straight through in issue order. ``start`` begins a list. From then on an access waits
    in its warp's channel until the list reaches its entry. If its channel is empty and its entry is already next, it
    passes in the cycle in which it arrives. All accesses of an entry pass one after the other. ``stop`` ends the list.

    The unit compares each access with its entry. The fault UNEXPECTED_ACCESS means that the pc, the kind or the number
    of lines of its load or store differs, or that no entry is left for it. The fault MISSING_ACCESS means that an entry
    is left at ``stop``, or that nothing has been selected for :data:`PATIENCE` cycles and the next entry's access has
    not arrived. After a fault everything passes, the lowest warp first, because the SM has stopped.

    Reset: no list. May never happen: ``wrong``.

    Parameters
    ----------
    config
        The fields used are those for warps, threads and the channel depth.
    ahead, burst
        Lines of the list that are read ahead, and those of a burst (:class:`.reader.ListReader`).
    """

    def __init__(self, config: SmConfig, *, ahead: int = AHEAD, burst: int = BURST) -> None:
        self.config = config
        self._ahead, self._burst = ahead, burst
        warps = config.warps
        super().__init__({
            #: A list begins, at ``address``; from the next cycle on. Only while the load/store unit is empty.
            "start": In(1),
            #: With ``start``: the address of the list.
            "address": In(32),
            #: The list ends. Only while the load/store unit is empty.
            "stop": In(1),
            #: A warp's instruction or NOP is selected in this cycle.
            "selects": In(1),
            #: One-hot or 0: the warp whose load or store is selected; only with its ``room``.
            "take": In(warps),
            #: One-hot or 0: the warp whose load or store has left the coalescer.
            "leave": In(warps),
            #: One-hot or 0: the warp whose selected load or store is cancelled.
            "cancel": In(warps),
            #: The warps whose loads or stores may be selected. Registered state only.
            "room": Out(warps),
            #: Line accesses in order of issue. From the coalescer.
            "taken": In(stream.Signature(access_layout(config))),
            #: Line accesses in order of the list. To the lookup.
            "given": Out(stream.Signature(access_layout(config))),
            #: The warps with stores in the unit. Registered state only.
            "stores": Out(warps),
            #: The unit holds an access, or a line of the list is requested. Registered state only.
            "busy": Out(1),
            #: Lines of the list.
            "mem": Out(memory_port_signature(config, tag_bits=config.l1_tag_bits)),
            #: A fault is pending, until ``fault_ready``.
            "fault_valid": Out(1),
            #: With ``fault_valid``: of an access that came, its warp and pc, and the pc of the entry (0: the end); of
            #: one that did not, the warp and pc of the entry, and where the entry lies.
            "fault": Out(fault_layout(config)),
            #: The fault is taken.
            "fault_ready": In(1),
            #: May never happen: an access finds no place, or an access given while there was a list was not one of
            #: its entry. 0 without ``config.assertions``.
            "wrong": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        warps = config.warps
        m.submodules.reader = reader = ListReader(config, ahead=self._ahead, burst=self._burst)
        wiring.connect(m, reader.mem, wiring.flipped(self.mem))
        self._on, self._closing, self._broken = (Signal(name=name) for name in ("on", "closing", "broken"))
        arrives = Signal(warps)
        m.d.comb += arrives.eq(Mux(self.taken.valid, one_hot(self.taken.payload.part.warp, warps), 0))
        rings = self._rings(m)
        there = Cat(ring.there for ring in rings)
        m.d.comb += self.busy.eq(there.any() | reader.busy | self._closing | self.fault_valid)
        # The warp in whose channel the oldest access is looked at: the entry's; past the end, or after a fault, any.
        # The access that comes is late, and is looked at only if there is none.
        whose, direct, present, fresh = Signal(warps), Signal(), Signal(), Signal()
        line = Signal(6)
        any_warp, due = Signal(), one_hot(reader.entry.warp, warps)
        m.d.comb += [
            any_warp.eq(self._broken | reader.end),
            whose.eq(Mux(any_warp, lowest_one(there), due)),
            fresh.eq(Mux(any_warp, self.taken.valid, (arrives & due).any())),
            direct.eq(~self._on | ~(whose & there).any()),
            present.eq(Mux(self._on, (whose & there).any() | fresh, self.taken.valid)),
        ]
        access = self._access(m, rings, whose=whose, direct=direct)
        known, fits, goes = Signal(), Signal(), Signal()
        m.d.comb += [
            known.eq(self._on & ~self._broken & reader.valid),
            fits.eq(
                (access.part.pc[2:] == reader.entry.pc.word) & (access.write == reader.entry.store)
                & (access.first == (line == 0)) & ~reader.end
            ),
            self.given.valid.eq(
                ~self._closing & present & (~self._on | self._broken | (known & fits & ~reader.error))
            ),
            self.given.payload.eq(access),
            self.taken.ready.eq(~self._closing & (self._on | self.given.ready)),
            goes.eq(self.given.valid & self.given.ready),
            reader.next.eq(known & goes & (line + 1 == reader.entry.lines)),
        ]
        with m.If(known & goes):
            m.d.sync += line.eq(Mux(reader.next, 0, line + 1))
        for number, ring in enumerate(rings):
            m.d.comb += [
                ring.push.eq(self._on & arrives[number] & self.taken.ready & ~(goes & direct)),
                ring.pop.eq(self._on & goes & whose[number] & ~direct), ring.pop_store.eq(access.write),
            ]
        self._switch(m, reader)
        if config.assertions:
            self._watch(m, rings, reader.entry, given=known & goes)
        self._judge(m, reader, access, present=present, known=known, fits=fits, goes=goes)
        return m

    def _rings(self, m: Module) -> list[Ring]:
        """Every warp's channel, without its inputs and outputs."""
        late = CHOSEN if self.config.lookup_latency > 1 else 0
        rings = [
            Ring(depth=self.config.channel_depth, most=self.config.threads, late=late)
            for _ in range(self.config.warps)
        ]
        for number, ring in enumerate(rings):
            m.submodules[f"ring{number}"] = ring
            m.d.comb += [
                ring.take.eq(self.take[number]), ring.leave.eq(self.leave[number]),
                ring.cancel.eq(self.cancel[number]), ring.push_store.eq(self.taken.payload.write),
                self.room[number].eq(ring.room), self.stores[number].eq(ring.stores),
            ]
        return rings

    def _access(self, m: Module, rings: list[Ring], *, whose: Signal, direct: Signal) -> data.View:
        """The access that is looked at: the one that comes, or the oldest in the channel of ``whose``."""
        config = self.config
        layout = access_layout(config)
        bits = len(rings[0].head)
        m.submodules.accesses = accesses = Memory(shape=layout, depth=config.warps << bits, init=[])
        write, read = accesses.write_port(), accesses.read_port(domain="comb")
        access = Signal(layout)
        warp = self.taken.payload.part.warp
        m.d.comb += [
            write.addr.eq(Cat(pick([ring.tail for ring in rings], warp), warp)),
            write.en.eq(self.taken.valid),
            write.data.eq(self.taken.payload),
            read.addr.eq(Cat(select(whose, [ring.head for ring in rings]), encode(whose)[: config.warp_bits])),
            access.eq(Mux(direct, self.taken.payload.as_value(), read.data.as_value())),
        ]
        return access

    def _watch(self, m: Module, rings: list[Ring], entry: data.View, *, given: Value) -> None:
        """Compare each access that has left with its entry once more, from separate registers."""
        was_given, was, due = Signal(), Signal(access_layout(self.config)), Signal.like(entry)
        m.d.sync += [was_given.eq(given), was.eq(self.given.payload), due.eq(entry)]
        same = (was.part.pc == Cat(0, 0, due.pc.word)) & (was.part.warp == due.warp) & (was.write == due.store)
        m.d.comb += self.wrong.eq(Cat(ring.wrong for ring in rings).any() | (was_given & ~same))

    def _switch(self, m: Module, reader: ListReader) -> None:
        """Track whether there is a list. When it ends, nothing passes until its next entry is known to be the end."""
        with m.If(self.start):
            m.d.sync += [self._on.eq(1), self._closing.eq(0)]
        with m.Elif(self.stop & self._on & ~self._broken):
            m.d.sync += self._closing.eq(1)
        with m.Elif(reader.stop):
            m.d.sync += [self._closing.eq(0), self._on.eq(0)]
        m.d.comb += [
            reader.start.eq(self.start), reader.address.eq(self.address), reader.quit.eq(self._broken),
            reader.stop.eq(self._closing & reader.valid & ~reader.busy),
        ]

    def _judge(
        self, m: Module, reader: ListReader, access: data.View, *, present: Signal, known: Value, fits: Signal,
        goes: Signal,
    ) -> None:
        """Detect a fault; only once, as the SM has stopped after that."""
        entry = reader.entry
        quiet = Signal(range(PATIENCE + 1))
        absent = known & ~reader.end & ~present
        unexpected, missing = Signal(), Signal()
        m.d.comb += [
            unexpected.eq(known & present & ~fits & ~reader.error & ~self._closing),
            missing.eq((reader.stop & ~reader.end) | (absent & (quiet == PATIENCE))),
        ]
        with m.If(self.selects | goes | ~absent):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != PATIENCE):
            m.d.sync += quiet.eq(quiet + 1)
        refused = known & reader.error & (present | self._closing)
        with m.If((unexpected | missing | refused) & ~self._broken):
            m.d.sync += [self._broken.eq(1), self.fault_valid.eq(1)]
            m.d.sync += [
                self.fault.cause.eq(Mux(
                    refused, FaultCause.LOAD_ACCESS,
                    Mux(unexpected, FaultCause.UNEXPECTED_ACCESS, FaultCause.MISSING_ACCESS),
                )),
                self.fault.warp.eq(Mux(unexpected, access.part.warp, entry.warp)),
                self.fault.pc.eq(Mux(unexpected, access.part.pc, entry.pc.word << 2)),
                self.fault.address.eq(Mux(unexpected, entry.pc.word << 2, reader.place)),
            ]
        with m.Elif(self.fault_ready):
            m.d.sync += self.fault_valid.eq(0)
