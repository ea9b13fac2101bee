"""Proof harness of the reordering unit: claims that hold for any accesses and any list in memory.

The coalescer, the lookup and memory are free within their contracts. A load or store is selected only if there is
room, and makes at most one access per thread of a warp before the coalescer is done with it. A list begins or ends only
while the unit is empty. Memory answers at any time (:mod:`.order_list`). The warp, one of its accesses and one line of
the list are symbolic, so a claim proved for them holds for all.

**No channel is full for ever** if the list extends the order of each warp, as docs/analyze.md requires of its own. The
proofs give the steps:

- The list's next entry belongs to the oldest access of its warp that has not been passed to the lookup: earlier
  accesses of that warp have earlier entries, and entries are consumed in order.
- So if the warp's channel has an access, it is that one, and it is passed on as soon as the lookup is free.
- If the channel is empty, and nothing of the warp is between selection and coalescer, the warp has room, so it can be
  selected whatever other warps' channels hold. If it is in flight, the coalescer delivers it: the coalescer never
  stalls during a list, so accesses of other warps ahead of it in the queue move into channels with room for them.
- The next entry arrives if memory answers. The list's reads wait at most for the L1's requests, and those finish:
  the L1 receives no access meanwhile.
"""

from __future__ import annotations

from typing import Any, cast

from amaranth.hdl import Assume, Cat, Instance, Mux, Signal, Value

from metronome.hdl.config import Channels, FaultCause, SmConfig
from metronome.hdl.lib.collector import collector_paused
from metronome.hdl.memory.seam import access_layout

from .flow import Problem, as_problem
from .narrow import NarrowConfig
from .order_list import ListWatch
from .order_world import OrderWorld

__all__ = ["OrderModel", "order_problem"]


class OrderModel(OrderWorld):
    """The harness: the unit between a free coalescer, a free lookup and a free memory, and the claims."""

    def __init__(self, config: SmConfig, *, lemmas: bool = True) -> None:
        super().__init__(config)
        self.list = ListWatch(self, self.inside, "reader", self.reader, lemmas=lemmas)
        self._mine()
        if lemmas:
            self._rings()
            self._lemmas()
        self._entry()
        self._faults()
        self._flow()
        self._show()

    def _mine(self) -> None:
        """Follow one access of the symbolic warp from its arrival until it is passed to the lookup."""
        m, unit = self.m, self.unit
        taken, given = unit.taken, unit.given
        self.warp = warp = Signal(self.config.warp_bits, name="my_warp")
        m.submodules.any_warp = Instance("$anyconst", p_WIDTH=len(warp), o_Y=warp)
        m.d.comb += Assume(warp < self.config.warps)
        layout = access_layout(self.config)
        self.followed, self.kept = Signal(), Signal(layout, name="mine_kept")
        #: Accesses of its warp that must be passed on before it.
        self.before = Signal(range(self.depth + 1))
        self.count, self.stores = Signal(range(self.depth + 1)), Signal(range(self.depth + 1))
        comes, goes = Signal(name="my_warp_comes"), Signal(name="my_warp_goes")
        #: The same in this cycle, including an access that has just arrived.
        self.follows, self.mine, self.ahead = Signal(), Signal(layout), Signal(range(self.depth + 1))
        picked = comes & self.pick & ~self.followed
        m.d.comb += [
            comes.eq(taken.valid & taken.ready & (taken.payload.part.warp == warp)),
            goes.eq(self.goes & (given.payload.part.warp == warp)),
            self.follows.eq(self.followed | picked),
            self.mine.eq(Mux(picked, taken.payload.as_value(), self.kept.as_value())),
            self.ahead.eq(Mux(picked, self.count, self.before)),
        ]
        m.d.sync += [
            self.count.eq(self.count + comes - goes), self.kept.eq(self.mine),
            self.stores.eq(self.stores + (comes & taken.payload.write) - (goes & given.payload.write)),
            self.followed.eq(self.follows & ~(goes & (self.ahead == 0))), self.before.eq(self.ahead - goes),
        ]
        #: It is the oldest access of its warp.
        self.oldest = self.follows & (self.ahead == 0)
        self.claim("a warp's accesses are given in the order in which they came, unchanged",
                   ~(self.oldest & goes) | (given.payload.as_value() == self.mine.as_value()))
        self.claim("a warp has no more accesses given than came", ~goes | (self.count != 0) | comes)
        self.claim("none is lost", self.count <= self.depth)
        self.claim("accesses in the unit are reported", (self.count == 0) | unit.busy)
        self.comes, self.my_goes = comes, goes

    def _of_mine(self, values: list[Any]) -> Value:
        """Return the symbolic warp's element of ``values``."""
        found = values[0]
        for warp, value in enumerate(values[1:], start=1):
            found = Mux(self.warp == warp, value, found)
        return found

    # Lemmas.

    def _rings(self) -> None:
        """Each channel is a ring in the memory of accesses."""
        for warp, ring in enumerate(self.rings):
            part = f"ring{warp}"
            count, claimed = self.inside.signal(part, "count"), self.inside.signal(part, "claimed")
            made, pending = self.made[warp], self.pending[warp]
            self.claim(f"channel {warp}: head and tail are places", (ring.head < self.depth) & (ring.tail < self.depth))
            self.claim(f"channel {warp}: the tail is after the youngest",
                       ring.tail == (ring.head + count) % self.depth)
            self.claim(f"channel {warp}: places are claimed for accesses in progress", claimed == self.most * pending)
            self.claim(f"channel {warp}: one at a time is in the coalescer", (made <= self.most) & (
                (made == 0) | (pending != 0)))
            self.claim(f"channel {warp}: whether it holds an access", ring.there == (count != 0))
            self.claim(f"channel {warp}: no place is claimed twice", count + claimed <= self.depth + made)
            self.claim(f"channel {warp}: without a list it is empty", (self.on & ~self.closing) | (count == 0))
            stores = []
            for place in range(self.depth):
                there = Signal(name=f"taken{warp}_{place}")
                self.m.d.comb += there.eq((place + self.depth - ring.head) % self.depth < count)
                access = self._access(warp, place)
                stores.append(there & access.write)
                self.claim(f"channel {warp}: place {place} is this warp's",
                           ~there | ((access.part.warp == warp) & (access.part.pc[:2] == 0)))
                here = self.followed & (self.warp == warp) & (((ring.head + self.before) % self.depth) == place)
                self.claim(f"channel {warp}: mine is in place {place}",
                           ~here | (access.as_value() == self.kept.as_value()))
            self.claim(f"channel {warp}: stores are counted",
                       self.inside.signal(part, "of_stores") == sum(stores[1:], Value.cast(stores[0])))
        counts = [self.inside.signal(f"ring{warp}", "count") for warp in range(self.config.warps)]
        of_stores = [self.inside.signal(f"ring{warp}", "of_stores") for warp in range(self.config.warps)]
        self.claim("as many came as are here", self._of_mine(counts) == self.count)
        self.claim("as many stores", self._of_mine(of_stores) == self.stores)
        self.claim("mine is among those that are here", ~self.followed | (self.before < self.count))

    def _access(self, warp: int, place: int) -> Any:
        bits, warps = len(self.rings[0].head), self.config.warps
        width = bits + (warps - 1).bit_length()
        address = Signal(width, name=f"place{warp}_{place}", init=warp << bits | place)
        return self.inside.look_at("accesses", address, access_layout(self.config))

    def _lemmas(self) -> None:
        claim, reader, line = self.claim, self.reader, self.inside.signal("", "line")
        claim("a list that ends is on", ~self.closing | self.on)
        claim("without a list no entry is begun", self.on | self.broken | (line == 0))
        claim("an entry that is begun is there", self.broken | (line == 0) | (reader.valid & ~reader.end))
        claim("an entry that is begun is not done", self.broken | (line == 0) | (reader.entry.lines == 0) | (
            line < reader.entry.lines))
        claim("while a list is on it is read", ~(self.on & ~self.broken) | self.list.running | self.list.seen)

    # Claims.

    def _entry(self) -> None:
        """Accesses are passed on in the order of the list."""
        m, reader, given, due = self.m, self.reader, self.unit.given, self.list.due
        entry, payload = reader.entry, given.payload
        served = Signal(6)
        moves = Signal(name="entry_done")
        matches = (payload.part.pc == entry.pc.word << 2) & (payload.write == entry.store) & (
            payload.part.warp == entry.warp) & (payload.first == (served == 0))
        listed = self.goes & self.on & ~self.broken
        m.d.comb += moves.eq(listed & (served + 1 == entry.lines))
        with m.If(listed):
            m.d.sync += served.eq(Mux(moves, 0, served + 1))
        self.claim("accesses of an entry are counted", self.broken | (served == self.inside.signal("", "line")))
        self.claim("only what the next entry says is given", ~listed | (
            reader.valid & ~reader.end & ~reader.error & matches))
        self.claim("an entry is done when all of its accesses are given", self.broken | (reader.next == moves))
        self.claim("the given word is that of the list in memory", ~(listed & self.list.mine) | (
            Cat(payload.write, due[1], payload.part.pc[2:]) == due[:32]))
        self.claim("its warp, too", ~(listed & self.list.mine) | (payload.part.warp == due[32:38]))
        self.claim("no more of an entry is given than it says",
                   ~(listed & self.list.mine) | (due[38:44] == 0) | (served < due[38:44]))
        self.claim("an entry is passed only when it is there, and not the end",
                   ~reader.next | (reader.valid & ~reader.end & ~reader.error & ~(reader.start | reader.stop)))
        mine = self.mine
        self.fits = ~reader.end & (mine.part.pc == entry.pc.word << 2) & (mine.write == entry.store) & (
            mine.first == (served == 0))
        #: The entry is for the symbolic warp, whose oldest access is here.
        self.turn = self.known & ~reader.end & ~reader.error & (entry.warp == self.warp) & self.oldest
        self.claim("an access that is the next entry's is given when the lookup is free",
                   ~(self.turn & self.fits & given.ready) | self.my_goes)
        self.claim("one that is not is not given", ~(self.turn & ~self.fits) | ~given.valid)

    def _faults(self) -> None:
        """Every mismatch between accesses and list is a fault of the right warp, and there are no other faults."""
        m, unit, reader, entry = self.m, self.unit, self.reader, self.reader.entry
        fault, wrong, late, refused = unit.fault, Signal(), Signal(), Signal()
        was_broken, was_fits, was_alone = Signal(), Signal(), Signal()
        was_entry, was_place, was_mine = Signal.like(entry), Signal(32), Signal.like(self.mine)
        was_oldest, was_reported, quiet = Signal(), Signal(), self.inside.signal("", "quiet")
        unexpected = self.known & ~reader.error & self.oldest & (reader.end | (
            (entry.warp == self.warp) & ~self.fits))
        ends_early = self.closing & reader.valid & ~reader.busy & ~reader.end & ~reader.error & ~self.broken
        absent = (self.count == 0) & ~(unit.taken.valid & (unit.taken.payload.part.warp == self.warp))
        m.d.sync += [
            was_broken.eq(self.broken), wrong.eq(unexpected & ~self.broken), late.eq(ends_early), was_entry.eq(entry),
            was_place.eq(reader.place), was_mine.eq(self.mine), was_oldest.eq(self.oldest),
            was_fits.eq(self.turn & self.fits), was_reported.eq(unit.fault_valid & ~unit.fault_ready),
            refused.eq(self.on & ~self.broken & reader.valid & reader.error),
            was_alone.eq(quiet.all() & ((entry.warp != self.warp) | absent)),
        ]
        new = self.broken & ~was_broken
        self.claim("an access that is not the next entry's is a fault", ~wrong | (
            new & unit.fault_valid & (fault.cause == FaultCause.UNEXPECTED_ACCESS)
            & (fault.address == was_entry.pc.word << 2)))
        blamed = new & (fault.cause == FaultCause.UNEXPECTED_ACCESS) & (fault.warp == self.warp) & was_oldest
        self.claim("the access is blamed", ~blamed | (~was_fits & (fault.pc == was_mine.part.pc)))
        entrys = (fault.warp == was_entry.warp[: len(fault.warp)]) & (fault.pc == was_entry.pc.word << 2) & (
            fault.address == was_place)
        self.claim("an entry that is left at the end is a fault", ~late | (
            new & unit.fault_valid & (fault.cause == FaultCause.MISSING_ACCESS) & entrys))
        missing = new & (fault.cause == FaultCause.MISSING_ACCESS)
        self.claim("an entry is missed at the end, or after long waiting for a warp that has nothing here",
                   ~missing | (entrys & (late | was_alone)))
        self.claim("an entry that memory refuses is a load's fault",
                   ~(new & (fault.cause == FaultCause.LOAD_ACCESS)) | (refused & entrys))
        self.claim("a fault stays until it is taken", ~was_reported | unit.fault_valid)
        self.claim("there is no other fault", ~unit.fault_valid | (self.broken & (
            (fault.cause == FaultCause.UNEXPECTED_ACCESS) | (fault.cause == FaultCause.MISSING_ACCESS)
            | (fault.cause == FaultCause.LOAD_ACCESS))))

    def _flow(self) -> None:
        """The conditions under which an access waits."""
        m, unit = self.m, self.unit
        taken, given = unit.taken, unit.given
        held, offered = Signal(name="lookup_waits"), Signal(len(given.payload.as_value()))
        m.d.sync += [held.eq(given.valid & ~given.ready & ~self.broken), offered.eq(given.payload)]
        self.claim("no event happens that may never happen", ~unit.wrong)
        self.claim("the coalescer is not held back while a list is on", ~self.on | self.closing | taken.ready)
        self.claim("without a list accesses pass unchanged", self.on | (
            (given.valid == taken.valid) & (taken.ready == given.ready)
            & (~given.valid | (given.payload.as_value() == taken.payload.as_value()))))
        self.claim("an offer to the lookup is stable", ~held | self.broken | (
            given.valid & (given.payload.as_value() == offered)))
        pending = self._of_mine(self.pending)
        self.claim("a warp with no access here or in progress has space",
                   (self.count != 0) | (pending != 0) | self._of_mine(list(unit.room)))
        self.claim("stores in the unit are reported", (self.stores != 0) == self._of_mine(list(unit.stores)))
        self.claim("a list that ends is over when its next entry is there and no line is under way",
                   ~self.closing | self.reader.busy | (self.reader.stop & self.reader.valid))

    def _show(self) -> None:
        unit, reader, given = self.unit, self.reader, self.unit.given
        for title, value, when in (
            ("on", self.on, self.on), ("ends", self.closing, self.closing), ("broken", self.broken, self.broken),
            ("comes", unit.taken.payload.part.warp, unit.taken.valid & unit.taken.ready),
            ("given", given.payload.part.warp, self.goes), ("entry of", reader.entry.warp, reader.valid),
            ("end", reader.end, reader.valid), ("next", reader.next, reader.next), ("mine", self.warp, self.follows),
            ("ahead", self.ahead, self.follows), ("fault", unit.fault.cause, unit.fault_valid),
        ):
            self.show(title, value, when)


def order_problem(*, warps: int = 2, depth: int = 2, threads: int = 1, lemmas: bool = True) -> Problem:
    """Return the claims of a small reordering unit for the solver."""
    with collector_paused():
        config = NarrowConfig(
            warps=warps, channel_depth=depth, channels=Channels.ORDERED, threads=threads, assertions=True,
        )
        return as_problem("order", OrderModel(cast(SmConfig, config), lemmas=lemmas))
