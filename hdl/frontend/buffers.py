"""The instruction buffers: one ring of d slots per warp; the selection that pops a slot also refills it."""

from collections.abc import Callable

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Member, Out

from ..config import Coordination, SmConfig
from ..layouts.decoded import BufferEntry, IssueInfo
from ..layouts.prediction import packed, prediction_layout, unpacked
from ..lib.component import Component
from ..lib.onehot import encode, select
from ..prediction_sizes import NEAR_BITS
from .signatures import arrival_signature, slot_bits

__all__ = ["InstructionBuffers"]


class InstructionBuffers(Component):
    """One ring of d slots per warp, in one of two modes that depend on :class:`hdl.config.Coordination`.

    ``swas``: buffer + in flight = d for every warp, always (design.md section 3). The slot popped in t is therefore the
    one that the fetch made in t fills, and one pointer per warp is enough. Reset: d NOPs.

    Else (``baseline``, ``vortex``): a second pointer marks where entries are appended. Reset: empty.

    One pop and one fill a cycle. ``empty_pop`` and ``overflow`` may never be 1.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self._replaces = config.coordination is Coordination.SWAS
        every = (1 << config.warps) - 1
        learning: dict[str, Member] = {}
        if config.learns:
            learning["prediction"] = Out(prediction_layout())  # in t+1: of ``entry``
        super().__init__({
            **learning,
            # Masks and arrays have one element per warp. The type stubs have no `init` for a port.
            "head_info": Out(data.ArrayLayout(IssueInfo, config.warps)),  # the head of each ring
            "following_info": Out(data.ArrayLayout(IssueInfo, config.warps)),  # the entry behind it
            "fills_head": Out(config.warps),  # `fill` goes to the slot of the head
            "fills_following": Out(config.warps),  # `fill` goes to the slot behind it
            #: Registered: the head is a NOP.
            "head_nop": Out(config.warps, init=every if self._replaces else 0),  # type: ignore[call-arg]
            #: Registered: the ring has no entry.
            "empty": Out(config.warps, init=0 if self._replaces else every),  # type: ignore[call-arg]
            #: Filled slots, before this cycle's pop and fill.
            "occupancy": Out(data.ArrayLayout(range(config.buffer_depth + 1), config.warps)),
            #: The same, excluding NOPs.
            "instructions": Out(data.ArrayLayout(range(config.buffer_depth + 1), config.warps)),
            "pop": In(config.warps),  # in t: the warp whose head leaves (one-hot or 0)
            "pop_warp": In(config.warp_bits),  # in t: the same as a number
            "pop_if_hit": In(config.warps),  # in t: ``pop`` without ``missed``; available earlier
            "pop_if_missed": In(config.warps),  # in t: ``pop`` with ``missed``; available earlier
            "missed": In(1),  # in t, late: this cycle's lookup misses
            "pop_slot": Out(slot_bits(config)),  # in t: the freed slot; in ``swas``, the fetch made in t fills it
            "popped_slot": Out(slot_bits(config)),  # in t+1: the same
            "entry": Out(BufferEntry),  # in t+1: the instruction popped in t
            "fill": In(arrival_signature(config)),  # the instruction for a slot; it can be popped in the next cycle
            #: The instructions of these warps become NOPs in ``swas``, else are dropped; also one filled in this cycle.
            "flush": In(config.warps),
            "empty_pop": Out(1),  # may never happen: an empty ring is popped
            "overflow": Out(1),  # may never happen: a slot is filled that is already full
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        depth = config.buffer_depth
        heads = [Signal(slot_bits(config), name=f"head_{w}") for w in range(config.warps)]
        m.d.comb += self.pop_slot.eq(self._of_pop(lambda pop: select(pop, heads)))
        slot = self.fill.slot
        fills = self.fill.valid
        tails = None
        if not self._replaces:
            tails = [Signal(slot_bits(config), name=f"tail_{w}") for w in range(config.warps)]
            slot = Signal(slot_bits(config), name="tail_slot")
            fills = Signal(name="kept")
            m.d.comb += [
                slot.eq(Array(tails)[self.fill.warp]),
                fills.eq(self.fill.valid & ~self.fill.squashed & ~Array(self.flush)[self.fill.warp]),
            ]
        m.submodules.entries = entries = Memory(shape=BufferEntry, depth=config.warps * depth, init=[])
        # The entry is read in t+1, so that a late selection drives an address register and not the memory. Until then
        # the slot keeps its entry: the fetch that refills it is made in t at the earliest.
        write, read = entries.write_port(), entries.read_port(domain="comb")
        popped = self._popped(m, heads)
        m.d.comb += self.popped_slot.eq(popped)
        m.d.comb += [
            write.addr.eq(Cat(slot, self.fill.warp)),
            write.data.eq(self.fill.entry),
            write.en.eq(fills),
            read.addr.eq(popped),
            self.entry.eq(read.data),
        ]
        if config.learns:
            m.submodules.predictions = predictions = Memory(
                shape=NEAR_BITS, depth=config.warps * depth, init=[],
            )
            told, said = predictions.write_port(), predictions.read_port(domain="comb")
            m.d.comb += [
                told.addr.eq(write.addr), told.data.eq(packed(self.fill.prediction, self.fill.entry.instruction)),
                told.en.eq(fills), said.addr.eq(popped), *unpacked(self.prediction, said.data),
            ]
        overflows = Signal(config.warps)
        for w in range(config.warps):
            filling = Signal(depth, name=f"filling_{w}")
            with m.If(fills & (self.fill.warp == w)):
                m.d.comb += filling.eq(Const(1, depth) << slot)
            self._ring(m, w, heads[w], filling, overflows)
            if tails is not None:
                self._queue(m, w, heads[w], tails[w], filling)
        m.d.comb += [self.empty_pop.eq((self.pop & self.empty).any()), self.overflow.eq(overflows.any())]
        return m

    def _of_pop(self, of: Callable[[Value], Value]) -> Value:
        """``of(self.pop)``, computed for both outcomes of the lookup, which comes late."""
        return Mux(self.missed, of(self.pop_if_missed), of(self.pop_if_hit))

    def _popped(self, m: Module, heads: list[Signal]) -> Value:
        """In t+1: slot and warp of the pop, low bits first; the outcome of the lookup, now registered, selects them."""
        missed = Signal()
        bits = slot_bits(self._config) + self._config.warp_bits
        popped = {outcome: Signal(bits, name=f"popped_if_{outcome}") for outcome in ("missed", "hit")}
        m.d.sync += [
            missed.eq(self.missed),
            popped["missed"].eq(Cat(select(self.pop_if_missed, heads), encode(self.pop_if_missed))),
            popped["hit"].eq(Cat(select(self.pop_if_hit, heads), encode(self.pop_if_hit))),
        ]
        return Mux(missed, popped["missed"], popped["hit"])

    def _ring(self, m: Module, w: int, head: Signal, filling: Signal, overflows: Signal) -> None:
        """One warp's flags. The wide part of an entry is in the shared memory."""
        depth = self._config.buffer_depth
        every = (1 << depth) - 1
        infos = [Signal(IssueInfo, name=f"info_{w}_{slot}") for slot in range(depth)]
        nop = Signal(depth, name=f"nop_{w}", init=every if self._replaces else 0)
        filled = Signal(depth, name=f"filled_{w}", init=every if self._replaces else 0)
        popping = Signal(depth, name=f"popping_{w}")
        later_nop = Signal(depth, name=f"later_nop_{w}")
        later_filled = Signal(depth, name=f"later_filled_{w}")
        following = (head + 1)[: len(head)]
        m.d.comb += [
            self.head_info[w].eq(data.View(IssueInfo, Array([info.as_value() for info in infos])[head])),
            self.following_info[w].eq(data.View(IssueInfo, Array([info.as_value() for info in infos])[following])),
            self.fills_head[w].eq(filling.bit_select(head, 1)),
            self.fills_following[w].eq(filling.bit_select(following, 1)),
            later_nop.eq(Mux(self.flush[w], every, Mux(self.fill.squashed, nop | filling, nop & ~filling))),
            later_filled.eq(filled | filling),
            self.occupancy[w].eq(sum((filled[i] for i in range(depth)), Const(0, 1))),
            self.instructions[w].eq(sum((filled[i] & ~nop[i] for i in range(depth)), Const(0, 1))),
            overflows[w].eq((filling & filled).any()),
        ]
        with m.If(self.pop[w]):
            m.d.comb += popping.eq(Const(1, depth) << head)
            m.d.sync += head.eq(head + 1)
        m.d.sync += filled.eq(later_filled & ~popping)
        for slot in range(depth):
            with m.If(filling[slot]):
                m.d.sync += infos[slot].eq(self.fill.entry.decoded.info)
        # The flags of the next cycle's head: those of the current head's slot, or of the next slot after a pop, which
        # comes late in the cycle.
        def of_next_head(flags: Signal) -> Value:
            return self._of_pop(lambda pop: Mux(pop[w], flags.bit_select(following, 1), flags.bit_select(head, 1)))

        m.d.sync += self.empty[w].eq(~of_next_head(later_filled))
        if self._replaces:
            m.d.sync += [nop.eq(later_nop), self.head_nop[w].eq(of_next_head(later_nop))]
        else:
            with m.If(self.flush[w]):
                m.d.sync += [filled.eq(0), self.empty[w].eq(1)]

    def _queue(self, m: Module, w: int, head: Signal, tail: Signal, filling: Signal) -> None:
        """The position of the warp's next entry when wrong-path instructions are dropped."""
        with m.If(filling.any()):
            m.d.sync += tail.eq(tail + 1)
        with m.If(self.flush[w]):
            m.d.sync += head.eq(tail)
