"""Environment of the reordering unit: a free coalescer, lookup and memory within their contracts."""

from __future__ import annotations

from amaranth.hdl import Assume, ClockDomain, Module, Mux, Signal, Value

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.order.unit import OrderUnit

from .claims import Claims
from .inside import Internals
from .records import Column

__all__ = ["OrderWorld"]


def _one_or_none(bits: Value) -> Value:
    return (bits & (bits - 1)[: len(bits)]) == 0


class OrderWorld(Claims):
    """The unit and all assumptions on its environment; :class:`.order_list.ListWatch` models the list's contents."""

    def __init__(self, config: SmConfig) -> None:
        self.config, self.depth, self.most = config, config.channel_depth, config.threads
        self.m = m = Module()
        # Without reset: a run starts from the registers' initial values.
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.unit = unit = OrderUnit(config, ahead=4, burst=2)
        self.inside = Internals(unit)
        m.submodules.order = self.inside.fragment
        self.rings = [self.inside.component(f"ring{warp}") for warp in range(config.warps)]
        self.reader = self.inside.component("reader")
        self.claims: dict[str, str] = {}
        self.columns: list[Column] = []
        #: Free choice: follow the access that arrives, if none is followed.
        self.pick = Signal()
        self.on, self.closing, self.broken = (self.inside.signal("", name) for name in ("on", "closing", "broken"))
        self.goes, self.known = Signal(name="one_goes"), Signal(name="entry_known")
        m.d.comb += [
            self.goes.eq(unit.given.valid & unit.given.ready),
            self.known.eq(self.on & ~self.broken & ~self.closing & self.reader.valid),
        ]
        self._switches()
        self._surroundings()

    def _switches(self) -> None:
        """A list is active from its start until its end is known and no line of it is in flight."""
        m, unit, reader = self.m, self.unit, self.reader
        listed, ends = Signal(), Signal()
        with m.If(unit.start):
            m.d.sync += [listed.eq(1), ends.eq(0)]
        with m.Elif(unit.stop & listed & ~self.broken):
            m.d.sync += ends.eq(1)
        with m.Elif(ends & reader.valid & ~reader.busy):
            m.d.sync += [listed.eq(0), ends.eq(0)]
        self.claim("a list is on from its start to its end", (self.on == listed) & (self.closing == ends))

    def _surroundings(self) -> None:
        """The contracts of the warp selection and of the coalescer."""
        m, unit, warps = self.m, self.unit, range(self.config.warps)
        taken = unit.taken
        part = taken.payload.part
        #: Each warp's loads and stores between selection and coalescer; accesses of the one in the coalescer.
        self.pending = [Signal(range(self.depth + 2), name=f"pending{warp}") for warp in warps]
        self.made = [Signal(range(self.most + 1), name=f"made{warp}") for warp in warps]
        held, offered = Signal(name="coalescer_holds"), Signal(len(taken.payload.as_value()))
        m.d.sync += [held.eq(taken.valid & ~taken.ready), offered.eq(taken.payload)]
        m.d.comb += [
            *(Assume(_one_or_none(bits)) for bits in (unit.take, unit.leave, unit.cancel)),
            Assume((unit.take & ~unit.room) == 0),
            Assume(part.warp < self.config.warps), Assume(part.pc[:2] == 0),
            Assume(~held | (taken.valid & (taken.payload.as_value() == offered))),
            Assume(~(unit.start | unit.stop) | (~unit.busy & ~taken.valid)),
            Assume(~unit.start | (~self.on & ~unit.stop)),
        ]
        for warp, (pending, made) in enumerate(zip(self.pending, self.made, strict=True)):
            offers = taken.valid & (part.warp == warp)
            begun = unit.leave[warp] | (made != 0) | offers
            m.d.comb += [
                Assume(~offers | ((pending != 0) & (made < self.most))),
                Assume(~unit.leave[warp] | (pending != 0)), Assume(~(unit.leave[warp] & offers) | taken.ready),
                Assume(~unit.cancel[warp] | (pending > begun)),
            ]
            m.d.sync += [
                pending.eq(pending + unit.take[warp] - unit.leave[warp] - unit.cancel[warp]),
                made.eq(Mux(unit.leave[warp], 0, made + (offers & taken.ready))),
            ]

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        unit = self.unit
        return [
            clock, self.pick, unit.start, unit.address, unit.stop, unit.selects, unit.take, unit.leave, unit.cancel,
            unit.taken.valid, Value.cast(unit.taken.payload), unit.given.ready, unit.fault_ready,
            unit.mem.request.ready, unit.mem.response.valid, Value.cast(unit.mem.response.payload),
        ]
