"""One queue per warp between the lanes and the L1: a waiting access holds back only its own warp."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.component import Component
from ..lib.onehot import from_lowest, lowest_one, one_hot, select
from .channel import NUMBER_BITS, Channel, ChannelWatch, claim_layout
from .seam import access_layout

__all__ = ["PASSES", "Channels"]

#: The most accesses that may pass one that waits; then all others wait until it is done.
PASSES = 255


class Channels(Component):
    """Takes line accesses in issue order and offers them to the lookup: in order within a warp, warps in turn.

    An access that comes while its channel is empty and the lookup makes room is looked up in the next cycle, as without
    channels. It leaves its channel when the lookup is ``done`` with it. The lookup next gets the oldest access of the
    next other warp in round robin that has one, else one of the same warp. An access that waits in the lookup gives way
    to another warp's (``swap``) if the lookup allows it, and is looked up again in its turn.

    Accesses of different warps may pass each other, so no two that are here may conflict (:func:`claim_layout`): an
    access that conflicts with one of another warp is not taken until that one is done. Nor is it taken while its
    channel is full. An access that is not taken holds back all warps.

    No access starves: one warp at a time, in turn, is the senior until its oldest access is done. When :data:`PASSES`
    others have been done meanwhile, the lookup gets only that access.

    Reset: empty. May never happen: ``wrong``.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: Line accesses in order of issue. From the coalescer.
            "taken": In(stream.Signature(access_layout(config))),
            #: The access that is looked up in the next cycle, if the lookup takes it.
            "given": Out(stream.Signature(access_layout(config))),
            #: With ``given``: it replaces an access of another warp in the lookup, which may be given again later.
            "swap": Out(1),
            #: The access in the lookup is completed in this cycle. From the lookup.
            "done": In(1),
            #: The warps with stores in the channels, including those in the lookup. Registered state only.
            "stores": Out(config.warps),
            #: The channels hold an access. Registered state only.
            "busy": Out(1),
            #: May never happen: the lookup completes an access that is not its warp's oldest, or completes none.
            #: 0 without ``config.assertions``.
            "wrong": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self.config.warps
        comes, warp = self.taken.payload, one_hot(self.taken.payload.part.warp, warps)
        # One-hot or 0: the warps whose accesses are in the lookup, given to it, and coming in.
        current = Signal(warps)
        chosen, incoming = Signal(warps), Signal(warps)
        channels = [Channel(depth=self.config.channel_depth) for _ in range(warps)]
        user = self.config.memory_map.user // self.config.line_bytes
        claim = Signal(claim_layout())
        words = range(self.config.words_per_line)
        m.d.comb += [
            claim.line.eq(comes.part.line),
            claim.words.eq(Cat(comes.byte_mask.word_select(word, 4).any() for word in words)),
            claim.write.eq(comes.write),
            claim.uncached.eq(comes.part.line < user),
        ]
        for number, channel in enumerate(channels):
            m.submodules[f"channel{number}"] = channel
            m.d.comb += [
                channel.claim.eq(claim),
                channel.push.eq(incoming[number]),
                channel.pop.eq(current[number] & self.done),
            ]
        room, conflicts, there, more, stores = (
            Cat(getattr(channel, name) for channel in channels)
            for name in ("room", "conflicts", "there", "more", "stores")
        )
        m.d.comb += [
            self.taken.ready.eq((room & warp).any() & ~(conflicts & ~warp).any()),
            incoming.eq(Mux(self.taken.valid & self.taken.ready, warp, 0)),
            self.stores.eq(stores),
            self.busy.eq(there.any()),
        ]
        self._turn(m, there=there, more=more, incoming=incoming, current=current, chosen=chosen)
        # The chosen channel's contents after the access in the lookup leaves; otherwise it has only the new access.
        stored = (there & ~current) | (more & current)
        self._give(m, channels, chosen=chosen, current=current, bypass=~(chosen & stored).any(), incoming=incoming)
        return m

    def _turn(
        self, m: Module, *, there: Value, more: Value, incoming: Signal, current: Signal, chosen: Signal
    ) -> None:
        """``chosen``: the warp whose access is given to the lookup."""
        warps = self.config.warps
        last, others, later, again = Signal(warps), Signal(warps), Signal(warps), Signal(warps)
        m.d.comb += [
            others.eq((there | incoming) & ~current & self._may_pass(m, there, current)),
            later.eq(others & from_lowest(last) & ~last),
            again.eq(Mux(self.done, current & (more | incoming), 0)),
            chosen.eq(Mux(others.any(), Mux(later.any(), lowest_one(later), lowest_one(others)), again)),
            self.swap.eq(others.any()),
            self.given.valid.eq(chosen.any()),
        ]
        with m.If(self.given.valid & self.given.ready):
            m.d.sync += [current.eq(chosen), last.eq(chosen)]
        with m.Elif(self.done):
            m.d.sync += current.eq(0)

    def _may_pass(self, m: Module, there: Value, current: Signal) -> Value:
        """The warps whose accesses may be looked up: all, or only the senior."""
        warps = self.config.warps
        senior = Signal(warps, init=1)
        passes = Signal(range(PASSES + 1))
        with m.If(~(senior & there).any() | (self.done & (senior & current).any())):
            m.d.sync += [senior.eq(senior.rotate_left(1)), passes.eq(0)]
        with m.Elif(self.done & (passes != PASSES)):
            m.d.sync += passes.eq(passes + 1)
        return Mux(passes == PASSES, senior, (1 << warps) - 1)

    def _give(
        self, m: Module, channels: list[Channel], *, chosen: Signal, current: Signal, bypass: Value, incoming: Signal
    ) -> None:
        """The access given from the chosen channel: the one that comes, or the oldest that is not in the lookup."""
        config, comes = self.config, self.taken.payload
        watched = NUMBER_BITS if config.assertions else 0
        layout = data.StructLayout({"access": access_layout(config), "number": watched})
        bits = len(channels[0].head)
        m.submodules.accesses = accesses = Memory(shape=layout, depth=config.warps << bits, init=[])
        write, read = accesses.write_port(), accesses.read_port(domain="comb")
        tails = [channel.tail for channel in channels]
        heads = [Mux(current[number], channel.second, channel.head) for number, channel in enumerate(channels)]
        numbers = range(config.warps)
        given = Signal(layout)
        m.d.comb += [
            write.addr.eq(Cat(select(incoming, tails), comes.part.warp)), write.en.eq(incoming.any()),
            write.data.access.eq(comes),
            read.addr.eq(Cat(select(chosen, heads), select(chosen, [*numbers]))),
            given.eq(Mux(bypass, write.data.as_value(), read.data.as_value())),
            self.given.payload.eq(given.access),
        ]
        if config.assertions:
            m.submodules.watch = watch = ChannelWatch(warps=config.warps)
            m.d.comb += [
                watch.incoming.eq(incoming), write.data.number.eq(watch.number),
                watch.given.eq(self.given.valid & self.given.ready),
                watch.given_warp.eq(given.access.part.warp), watch.given_number.eq(given.number),
                watch.done.eq(self.done), self.wrong.eq(watch.wrong),
            ]
