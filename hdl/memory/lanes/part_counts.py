"""The number of parts in flight of each load."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from ...lib.lane_vectors import pick
from ...lib.onehot import encode, lowest_one, one_hot, or_all

__all__ = ["PartCounts"]


class PartCounts(Component):
    """Numbers each load that has parts in flight, counts the parts, and identifies the last one.

    A load has its number from the cycle in which its first part is made to the one in which its last part is answered.
    One part may be made and one answered a cycle. The number of the next load is chosen ahead: with two more numbers
    than loads that have one, a load can begin in every cycle. Reset: no load has a number.

    Parts that are made apart from the load at the head, of a load that has left it, are counted as one when the load
    leaves, and each but the last of them with ``more``.

    May never happen: a part is made as ``first`` without ``ready``, or one is answered that was not made.

    Parameters
    ----------
    loads
        How many numbers there are; at least 2.
    parts
        The maximum number of parts of a load.
    slots
        How many parts may ask for ``last``; one at most is answered. Each number is decoded by itself.
    """

    def __init__(self, *, loads: int, parts: int, slots: int = 1) -> None:
        if loads < 2:
            raise ValueError(f"loads must be at least 2, not {loads!r}")
        self._loads = loads
        self._parts = parts
        self._slots = slots
        bits = (loads - 1).bit_length()
        super().__init__({
            #: The coalescer makes a part of the load at its head in this cycle.
            "made": In(1),
            #: No part of the load at the head has been made yet: the next one is its first.
            "first": In(1),
            #: With ``made``: it is the last part of the load.
            "ended": In(1),
            #: A number is available for a new load. Registered; stays set until a load begins.
            "ready": Out(1),
            #: The number of the load at the head; if ``first``, valid only while ``ready``. Registered, but for
            #: ``first``.
            "number": Out(bits),
            #: A part of the load ``more_number`` is made, and more are to come that have been counted as one.
            "more": In(1),
            "more_number": In(bits),  # likewise
            #: One-hot or 0: the part of this slot becomes the next writeback. From the response stage.
            "answered": In(slots),
            #: The number of the load of each slot's part, one after the other.
            "answered_number": In(bits * slots),
            #: Combinational, for the part ``answered``, and with one slot for ``answered_number``: no other part of
            #: this load is in flight or still to be made.
            "last": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        loads = self._loads
        counts = [Signal(range(self._parts + 1), name=f"count{number}") for number in range(loads)]
        # One-hot: the number chosen ahead (0: none), that of the load that began last, that of the head's load.
        chosen, begun, head = Signal(loads, init=1), Signal(loads), Signal(loads)
        # The load that began last has more parts to be made.
        unfinished = Signal()
        free, making, answering = Signal(loads), Signal(loads), Signal(loads)
        to_make = Mux(unfinished, begun, 0)
        m.d.comb += [
            free.eq(Cat(count == 0 for count in counts) & ~chosen & ~to_make),
            head.eq(Mux(self.first, chosen, begun)),
            making.eq(Mux(self.made, head, 0)),
            self.ready.eq(chosen.any()),
            self.number.eq(encode(head)),
        ]
        more = Signal(loads)
        m.d.comb += more.eq(Mux(self.more, one_hot(self.more_number, loads), 0))
        if self._slots > 1:
            # Counted a cycle later; until then it says that the load has another part.
            known, number = Signal(), Signal.like(self.more_number)
            m.d.sync += [known.eq(self.more), number.eq(self.more_number)]
            m.d.comb += more.eq(Mux(known, one_hot(number, loads), 0))
        self._answers(m, counts, to_make | (more if self._slots > 1 else 0), answering)
        with m.If((self.made & self.first) | ~self.ready):
            m.d.sync += chosen.eq(lowest_one(free))
        with m.If(self.made):
            m.d.sync += [begun.eq(head), unfinished.eq(~self.ended)]
        for number, count in enumerate(counts):
            with m.If((making[number] | more[number]) ^ answering[number]):
                # Plus or minus 1.
                m.d.sync += count.eq(count + Cat(1, answering[number].replicate(len(count) - 1)))
        return m

    def _answers(self, m: Module, counts: list[Signal], to_make: Value, answering: Signal) -> None:
        """Decode the numbers of the parts that may be answered; drive ``last`` and the load that is answered."""
        numbers = [self.answered_number.word_select(slot, len(self.number)) for slot in range(self._slots)]
        asked = [Signal(self._loads, name=f"asked{slot}") for slot in range(self._slots)]
        m.d.comb += [one.eq(one_hot(number, self._loads)) for one, number in zip(asked, numbers, strict=True)]
        m.d.comb += answering.eq(or_all([Mux(self.answered[slot], one, 0) for slot, one in enumerate(asked)]))
        if self._slots == 1:
            m.d.comb += self.last.eq((pick(counts, numbers[0]) == 1) & ~(asked[0] & to_make).any())
            return
        # Which slot is answered is known last: it selects among single bits.
        only = Signal(self._loads)
        m.d.comb += [
            only.eq(Cat(count == 1 for count in counts) & ~to_make),
            self.last.eq(or_all([self.answered[slot] & (one & only).any() for slot, one in enumerate(asked)])),
        ]
