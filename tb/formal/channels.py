"""Proof harness of the channels: claims that hold for any accesses and any behaviour of the lookup.

The lookup may finish, keep or return its access; the coalescer may offer anything. The warp and one of its accesses
are symbolic, so a claim proved for them holds for all.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, cast

from amaranth.hdl import Assume, Cat, ClockDomain, Instance, Module, Mux, Signal, Value

from metronome.hdl.config import Channels as ChannelKind
from metronome.hdl.config import SmConfig
from metronome.hdl.lib.collector import collector_paused
from metronome.hdl.memory.channel import claim_layout
from metronome.hdl.memory.channels import PASSES, Channels
from metronome.hdl.memory.seam import access_layout

from .claims import Claims
from .flow import Problem, as_problem
from .inside import Internals
from .narrow import NarrowConfig
from .records import Column

__all__ = ["ChannelModel", "channel_problem"]



def _may_not_pass(one: Any, other: Any) -> Value:
    """Whether the pair conflicts by docs/memory.md; independent of the unit, whose function must not judge itself."""
    two_loads = ~one.write & ~other.write
    apart = (one.line != other.line) | ((one.words & other.words) == 0) | two_loads
    return ~apart | (one.uncached & other.uncached)


class ChannelModel(Claims):
    """The harness: the channels between a free coalescer and a free lookup, and the claims."""

    def __init__(self, config: SmConfig, *, lemmas: bool = True) -> None:
        self.config, self.depth = config, config.channel_depth
        self.m = m = Module()
        # Without reset: a run starts from the registers' initial values.
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.unit = Channels(config)
        self.inside = Internals(self.unit)
        m.submodules.channels = self.inside.fragment
        self.channels = [self.inside.component(f"channel{warp}") for warp in range(config.warps)]
        self.valid = [self.inside.signal(f"channel{warp}", "valid") for warp in range(config.warps)]
        self.claims: dict[str, str] = {}
        self.columns: list[Column] = []
        self.current = self.inside.signal("", "current")
        self._lookup()
        self._mine()
        self._passing()
        if lemmas:
            self._seniority()
            self._places()
            self._held()
            self._followed()
        self._show()

    def _lookup(self) -> None:
        """The lookup holds one access; ``does`` and ``keeps`` are free."""
        m, unit = self.m, self.unit
        self.does, self.keeps = Signal(), Signal()
        self.held_valid, self.held = Signal(), Signal(access_layout(self.config))
        m.d.comb += [
            unit.done.eq(self.held_valid & self.does),
            unit.given.ready.eq(~self.held_valid | self.does | (unit.swap & ~self.keeps)),
        ]
        with m.If(unit.given.ready):
            m.d.sync += self.held_valid.eq(unit.given.valid)
        with m.If(unit.given.ready & unit.given.valid):
            m.d.sync += self.held.eq(unit.given.payload)
        m.d.comb += Assume(unit.taken.payload.part.warp < self.config.warps)

    def _mine(self) -> None:
        """Follow one access of the symbolic warp from its arrival until the lookup is done with it."""
        m, unit = self.m, self.unit
        self.warp = warp = Signal(self.config.warp_bits)
        m.submodules.any_warp = Instance("$anyconst", p_WIDTH=len(warp), o_Y=warp)
        m.d.comb += Assume(warp < self.config.warps)
        self.pick, self.follows, self.mine = Signal(), Signal(), Signal(access_layout(self.config))
        #: Accesses of its warp that must be done before it.
        self.ahead = Signal(range(self.depth + 1))
        self.count = Signal(range(self.depth + 1))
        comes = unit.taken.valid & unit.taken.ready & (unit.taken.payload.part.warp == warp)
        goes = Signal()
        m.d.comb += goes.eq(unit.done & (self.held.part.warp == warp))
        m.d.sync += self.count.eq(self.count + comes - goes)
        with m.If(self.follows & goes):
            m.d.sync += [self.ahead.eq(self.ahead - 1), self.follows.eq(self.ahead != 0)]
        with m.Elif(comes & self.pick & ~self.follows):
            m.d.sync += [self.follows.eq(1), self.ahead.eq(self.count - goes), self.mine.eq(unit.taken.payload)]
        last = self.follows & goes & (self.ahead == 0)
        self.claim("the lookup completes a warp's accesses in the order in which they came",
                   ~last | (self.held.as_value() == self.mine.as_value()))
        self.claim("a warp has no more accesses done than came", ~goes | (self.count != 0))
        self.claim("none is lost", self.count <= self.depth)

    def _passing(self) -> None:
        """Accesses of different warps held together never conflict, and the number that may pass one is limited."""
        places = range(self.depth)
        entries = [
            [(self.valid[warp][place], self.inside.signal(f"channel{warp}", f"claim{place}", claim_layout()))
             for place in places] for warp in range(self.config.warps)
        ]
        self.entries = entries
        for one, other in combinations(range(self.config.warps), 2):
            for here in places:
                meets = Cat(
                    entries[one][here][0] & valid & _may_not_pass(entries[one][here][1], claim)
                    for valid, claim in entries[other]
                )
                self.claim(f"warp {one}'s access in place {here} conflicts with none of warp {other}", ~meets.any())
        senior, passes = self.inside.signal("", "senior"), self.inside.signal("", "passes")
        others = Signal(range(PASSES + 3), name="passed")
        there = Cat(channel.there for channel in self.channels)
        is_senior = (senior & self.current).any()
        with self.m.If(~(senior & there).any() | (self.unit.done & is_senior)):
            self.m.d.sync += others.eq(0)
        with self.m.Elif(self.unit.done):
            self.m.d.sync += others.eq(others + 1)
        self.claim(f"not more than {PASSES + 1} accesses pass the senior's", others <= PASSES + 1)
        self.senior, self.passes, self.others, self.is_senior = senior, passes, others, is_senior

    # Lemmas.

    def _seniority(self) -> None:
        """The unit and the harness count the same passes."""
        senior, ahead = self.senior, self.others - self.passes
        self.claim("one warp is the senior", (senior != 0) & ((senior & (senior - 1)) == 0))
        self.claim("accesses that pass are counted", (ahead == 0) | (
            (ahead == 1) & (self.passes == PASSES) & ((self.current == 0) | self.is_senior)))

    def _places(self) -> None:
        """Each channel is a ring: its places from the head to the tail are taken."""
        for warp, (channel, valid) in enumerate(zip(self.channels, self.valid, strict=True)):
            count = sum((bit for bit in valid[1:]), Value.cast(valid[0]))
            self.claim(f"channel {warp}: head and tail are places", (channel.head < self.depth) & (
                channel.tail < self.depth))
            self.claim(f"channel {warp}: the tail is after the youngest",
                       channel.tail == (channel.head + count) % self.depth)
            for place in range(self.depth):
                distance = Signal(range(2 * self.depth), name=f"distance{warp}_{place}")
                self.m.d.comb += distance.eq((place + self.depth - channel.head) % self.depth)
                self.claim(f"channel {warp}: place {place} is taken in its turn", valid[place] == (distance < count))
                access = self._access(warp, place)
                self.claim(f"channel {warp}: place {place} is this warp's", ~valid[place] | (access.part.warp == warp))
                self.claim(f"channel {warp}: the claim of place {place} is that of its access",
                           ~valid[place] | (self._claim_of(access) == self.entries[warp][place][1].as_value()))
        self.claim("as many came as are here", self._of_mine([
            sum((bit for bit in valid[1:]), Value.cast(valid[0])) for valid in self.valid]) == self.count)

    def _access(self, warp: int, place: int) -> Any:
        bits = len(self.channels[0].head)
        address = Signal(max(1, (self.config.warps - 1).bit_length()) + bits, name=f"place{warp}_{place}",
                         init=warp << bits | place)
        return self.inside.look_at("accesses", address[: bits + (self.config.warps - 1).bit_length()],
                                   access_layout(self.config))

    def _claim_of(self, access: Any) -> Value:
        """Return the claim that an access must have."""
        claim = Signal(claim_layout(), name=f"claim_of_{len(self.claims)}")
        user = self.config.memory_map.user // self.config.line_bytes
        words = range(self.config.words_per_line)
        self.m.d.comb += [
            claim.line.eq(access.part.line), claim.write.eq(access.write), claim.uncached.eq(access.part.line < user),
            claim.words.eq(Cat(access.byte_mask.word_select(word, 4).any() for word in words)),
        ]
        return claim.as_value()

    def _of_mine(self, values: list[Value]) -> Value:
        """Return the symbolic warp's element of ``values``."""
        found = values[0]
        for warp, value in enumerate(values[1:], start=1):
            found = Mux(self.warp == warp, value, found)
        return found

    def _held(self) -> None:
        """The lookup has the oldest access of the current channel."""
        self.claim("the lookup has an access of the current channel", self.held_valid == (self.current != 0))
        self.claim("one channel is the current one", (self.current & (self.current - 1)) == 0)
        for warp, channel in enumerate(self.channels):
            here = self.current[warp]
            self.claim(f"channel {warp} has the access that the lookup has", ~here | channel.there)
            for place in range(self.depth):
                same = self.held.as_value() == self._access(warp, place).as_value()
                self.claim(f"channel {warp}: the lookup has its oldest, in place {place}",
                           ~(here & (channel.head == place)) | same)

    def _followed(self) -> None:
        """The followed access is at the head of the channel plus the number of accesses ahead of it."""
        self.claim("mine is among those that are here", ~self.follows | (self.ahead < self.count))
        for warp, channel in enumerate(self.channels):
            for place in range(self.depth):
                here = self.follows & (self.warp == warp) & (((channel.head + self.ahead) % self.depth) == place)
                same = self._access(warp, place).as_value() == self.mine.as_value()
                self.claim(f"channel {warp}: mine is in place {place}", ~here | same)

    def _show(self) -> None:
        unit = self.unit
        self.show("comes", unit.taken.payload.part.warp, unit.taken.valid & unit.taken.ready)
        self.show("given", unit.given.payload.part.warp, unit.given.valid & unit.given.ready)
        self.show("done", self.held.part.warp, unit.done)
        self.show("mine", self.warp, self.follows)
        self.show("ahead", self.ahead, self.follows)

    def ports(self) -> list[Value]:
        """The clock, and everything that is free."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        taken = self.unit.taken
        return [clock, self.does, self.keeps, self.pick, taken.valid, Value.cast(taken.payload)]


def channel_problem(*, warps: int = 2, depth: int = 2, lemmas: bool = True) -> Problem:
    """Return the claims of small channels for the solver."""
    with collector_paused():
        config = NarrowConfig(warps=warps, channel_depth=depth, channels=ChannelKind.FREE)
        return as_problem("channels", ChannelModel(cast(SmConfig, config), lemmas=lemmas))
