"""Invariants of the AXI bridge for the induction: the position of each access and its known state."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Mux, Signal, Value
from amaranth.lib import data

from metronome.hdl.lib.onehot import or_all

from .inside import Internals

__all__ = ["Side", "add_lemmas"]


def _count(bits: list[Value]) -> Value:
    """Return the number of bits that are 1."""
    return sum((Value.cast(bit) for bit in bits[1:]), Value.cast(bits[0]))


class Side:
    """The slots of the reads or of the writes: ``name`` is the unit, ``channel`` its address channel."""

    def __init__(self, inside: Internals, rules: Internals, name: str, channel: str, count: int) -> None:
        self.name, self.count = name, count
        path = f"{name}.slots"
        self.slots: Any = inside.component(path)
        self.taken = inside.signal(path, "taken")
        self.address: Any = getattr(inside.component(name), channel)
        fifo = inside.component(f"{path}.waiting")
        self.level = fifo.level
        self.consume, self.produce = (inside.signal(f"{path}.waiting", its) for its in ("consume", "produce"))
        self.waits = rules.signal("", f"{name.removesuffix('s')}_waits")
        self._inside, self._path = inside, path
        layout = data.StructLayout({"slot": len(self.slots.slot), "error": 1})
        #: The queued responses, the oldest first, each with whether that position of the queue is occupied.
        self.queue = [
            (self.level > place, inside.look_at(f"{path}.waiting.storage", self._at(place), layout))
            for place in range(count)
        ]
        self.tags = [inside.look_at(f"{path}.tags", Value.cast(self._number(slot)), data.StructLayout({
            "tag": len(self.slots.tag)})).tag for slot in range(count)]

    def _number(self, slot: int) -> Value:
        number = Signal(len(self.slots.slot), name=f"{self.name}_{slot}", init=slot)
        return number

    def _at(self, place: int) -> Value:
        where = Signal(max(1, (self.count - 1).bit_length()), name=f"{self.name}_at_{place}")
        self.where = [*getattr(self, "where", []), (where, self.consume + place)]
        return where

    def announces(self, slot: int) -> Value:
        """Whether the address channel offers this slot."""
        return self.address.valid & (self.address.payload.slot == slot)

    def queued(self, slot: int) -> list[Value]:
        """Whether the slot's response is at each position of the queue."""
        return [there & (entry.slot == slot) for there, entry in self.queue]

    def out(self, slot: int) -> Value:
        """Whether the slot's response is offered."""
        return self.slots.valid & (self.slots.number == slot)

    def ended(self, slot: int) -> Value:
        """Whether the slot's response has arrived."""
        return or_all([*self.queued(slot), self.out(slot)])

    def error(self, slot: int) -> Value:
        """Whether the slot's access failed; valid with ``ended``."""
        return or_all([self.out(slot) & self.slots.error,
                       *(its & entry.error for its, (_, entry) in zip(self.queued(slot), self.queue, strict=True))])


def add_lemmas(model: Any) -> None:
    """Claim the invariants of :class:`tb.formal.bus.BusModel` like any other claim."""
    reads = Side(model.inside, model.rules_inside, "reads", "ar", model.bridge.reads)
    writes = Side(model.inside, model.rules_inside, "writes", "aw", model.bridge.writes)
    for side in (reads, writes):
        model.m.d.comb += [where.eq(value) for where, value in side.where]
        _places(model, side)
    held, last = (model.inside.signal("", name) for name in ("held", "last"))
    model.claim("an answer that is held is there", ~held | Mux(last, writes.slots.valid, reads.slots.valid))
    _tags(model, reads, writes)
    _beats(model, reads)
    _carried(model, writes)
    _mine(model, reads, writes)


def _places(model: Any, side: Side) -> None:
    """Every slot in use is in exactly one position, and the queue is consistent."""
    name = side.name
    model.claim(f"{name}: the queue is whole", (side.level <= side.count) & (
        side.produce == ((side.consume + side.level) % side.count)) & (side.consume < side.count))
    model.claim(f"{name}: none queues while none is offered", (side.level == 0) | side.slots.valid)
    for slot in range(side.count):
        places = [side.announces(slot), side.waits[slot], *side.queued(slot), side.out(slot)]
        model.claim(f"{name}: number {slot} is in one place, if it is taken", _count(places) == side.taken[slot])
    for id_ in range(side.count, len(side.waits)):
        model.claim(f"{name}: number {id_} is not in use", ~side.waits[id_])


def _tags(model: Any, reads: Side, writes: Side) -> None:
    """Each waiting tag has exactly one slot, of its own kind."""
    lines = model.lines
    for tag in range(len(lines.waits)):
        for side, kind in ((reads, ~lines.writes[tag]), (writes, lines.writes[tag])):
            having = _count([side.taken[slot] & (side.tags[slot] == tag) for slot in range(side.count)])
            model.claim(f"{side.name}: tag {tag} has a number while it waits", having == (lines.waits[tag] & kind))


def _beats(model: Any, reads: Side) -> None:
    """The bridge, the rules and the harness agree on the number of beats."""
    fresh = model.inside.signal("reads", "fresh")
    beats = model.rules_inside.signal("", "r_beat")
    layout = data.StructLayout({"beat": model.beat_bits, "error": 1})
    model.progress = []
    for slot in range(reads.count):
        progress = model.inside.look_at("reads.progress", reads._number(slot), layout)
        count = data.View(data.ArrayLayout(range(max(2, model.beats)), len(reads.waits)), Value.cast(beats))[slot]
        model.claim(f"read {slot}: no beat before it is asked for", reads.waits[slot] | (count == 0))
        model.claim(f"read {slot}: the harness counts as the rules do", model.beat_counts[slot] == count)
        model.claim(f"read {slot}: its first beat is known as such",
                    ~(reads.announces(slot) | reads.waits[slot]) | (fresh[slot] == (count == 0)))
        model.claim(f"read {slot}: the bridge counts as the rules do",
                    ~reads.waits[slot] | fresh[slot] | (progress.beat == count))
        model.progress.append((count, progress))


def _carried(model: Any, writes: Side) -> None:
    """The number of write bursts announced and carried, and the burst in progress."""
    unit = model.inside.component("writes")
    beat, announced, carried = (model.rules_inside.signal("", name) for name in ("w_beat", "announced", "carried"))
    places = model.rules_inside.signal("", "write_place")
    more, whole = model.inside.signal("writes", "more"), model.rules_inside.signal("", "write_whole")
    last = model.beats - 1
    model.claim("writes: beats are counted as the rules do", Mux(unit.w.valid, beat + more == last, beat == 0))
    ahead = (announced - carried)[: len(announced)]
    model.claim("writes: AW and W are of one burst", ahead == Mux(
        unit.w.valid, ~unit.aw.valid, Mux(unit.aw.valid, (1 << len(announced)) - 1, 0)))
    place = data.View(data.ArrayLayout(len(announced), len(writes.waits)), Value.cast(places))[unit.aw.payload.slot]
    model.claim("writes: an announced burst on W is the last one", ~(unit.w.valid & ~unit.aw.valid) | (
        (writes.waits & ~whole).bit_select(unit.aw.payload.slot, 1) & (place == carried)))


def _mine(model: Any, reads: Side, writes: Side) -> None:
    """The harness and the bridge agree on the followed access."""
    it, lines = model.mine, model.lines
    waits, is_write = (vector.bit_select(it.tag, 1) for vector in (lines.waits, lines.writes))
    model.claim("mine is in progress while its tag waits", it.under_way == waits)
    model.claim("mine is of the requested kind", ~it.under_way | (it.write == is_write))
    model.claim("mine is new only while in progress, and not done", ~it.fresh | (it.under_way & ~it.done & ~it.failed))
    unit = model.inside.component("writes")
    known = it.under_way & ~it.fresh
    for side, kind in ((reads, ~it.write), (writes, it.write)):
        number = Mux(it.fresh, side.address.payload.slot, it.id)
        for slot in range(side.count):
            here = it.under_way & kind & (number == slot)
            model.claim(f"{side.name} {slot}: mine has it", ~here | (side.taken[slot] & (side.tags[slot] == it.tag)))
            model.claim(f"{side.name} {slot}: mine is done when its answer is there",
                        ~(here & known) | (it.done == side.ended(slot)))
            model.claim(f"{side.name} {slot}: mine has failed if its answer says so",
                        ~(here & it.done) | (it.failed == side.error(slot)))
        model.claim(f"{side.name}: mine has one of its numbers", ~(it.under_way & kind) | (number < side.count))
    model.claim("mine is announced when it is new", ~it.fresh | Mux(it.write, writes.address.valid & unit.w.valid,
                                                                    reads.address.valid))
    _my_bytes(model, reads, unit)
    _my_turn(model, reads, writes)


def _my_bytes(model: Any, reads: Side, unit: Any) -> None:
    it = model.mine
    place = it.byte >> model.lane_bits
    for slot in range(reads.count):
        count, progress = model.progress[slot]
        here = it.under_way & ~it.write & ~it.fresh & (it.id == slot)
        model.claim(f"read {slot}: an error of a beat is kept",
                    ~(here & ~it.done) | (it.failed == Mux(count == 0, 0, progress.error)))
        for number in range(model.beats):
            line = model.inside.look_at(f"reads.place_{number}", reads._number(slot),
                                        data.StructLayout({"data": model.bridge.data_bits}))
            came = here & (place == number) & (it.done | (count > number))
            model.claim(f"read {slot}: the byte is in place {number}", ~came | (
                line.data.word_select(it.byte[: model.lane_bits], 8) == it.value))
    left, mask = model.inside.signal("writes", "left"), model.inside.signal("writes", "mask")
    beat = model.rules_inside.signal("", "w_beat")
    active = (it.fresh & it.write) | it.sends
    now = Mux(it.sends, it.beat, 0)
    model.claim("the burst being sent is mine, and not complete",
                ~it.sends | (it.under_way & it.write & ~it.done & unit.w.valid & (
                    unit.aw.payload.slot == Mux(it.fresh, unit.aw.payload.slot, it.id))))
    model.claim("mine is sent beat by beat", ~active | (now == beat))
    offset = ((place - now) << model.lane_bits) + it.byte[: model.lane_bits]
    ahead = active & (now <= place)
    model.claim("the mask that is left has mine", ~ahead | (mask.bit_select(offset[: len(it.byte)], 1) == it.counts))
    model.claim("the bytes that are left have mine", ~(ahead & it.counts) | (
        left.word_select(offset[: len(it.byte)], 8) == it.value))


def _my_turn(model: Any, reads: Side, writes: Side) -> None:
    """The accesses that go first are ahead in the queue, or are of the other kind and alternate with this one."""
    it = model.mine
    write = model.inside.signal("", "write")
    for side, kind in ((reads, ~it.write), (writes, it.write)):
        for slot in range(side.count):
            here = it.waits & kind & (it.id == slot)
            place = Signal(4, name=f"{side.name}_{slot}_place")
            with model.m.If(~side.out(slot)):
                model.m.d.comb += place.eq(
                    1 + sum((Mux(its, number, 0) for number, its in enumerate(side.queued(slot))), Value.cast(0)))
            other = write != (1 if side is writes else 0)
            model.claim(f"{side.name} {slot}: the order of answers", ~here | (
                it.others + 2 * place + other <= 2 * side.count - 1))

