"""The reader of the list in a free world: memory answers when it likes, in any order, with anything.

One line of the list, by its place in the list, has contents that never change. Which line and which contents is
symbolic, so what is claimed of it is claimed of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from amaranth.hdl import Assume, Cat, ClockDomain, Instance, Module, Signal, Value
from amaranth.lib import data

from metronome.hdl.config import LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from metronome.hdl.lib.collector import collector_paused
from metronome.hdl.memory.order.reader import AHEAD, ENTRY_BYTES, ListReader, entry_layout

from .claims import Claims
from .flow import Problem, as_problem
from .inside import Inside
from .records import Column

__all__ = ["ListWatch", "list_problem"]


@dataclass(frozen=True, kw_only=True)
class _Lines:
    """What the reader asks of a configuration."""

    line_bytes: int
    l1_tag_bits: int = 2


class ListWatch:
    """Memory's side of the reader at ``path`` of ``inside``, the claims on the reader, and the lemmas for them.

    ``base`` is the line of the list's address, ``passed`` and ``word`` say which entry is next. If ``mine``, it is in
    the symbolic line, and ``due`` is the entry there.
    """

    def __init__(self, harness: Claims, inside: Inside, path: str, reader: ListReader, *, lemmas: bool) -> None:
        self.harness, self.m, self.inside, self.path, self.reader = harness, harness.m, inside, path, reader
        self.words = reader.config.line_bytes // ENTRY_BYTES
        self.base, self.requested, self.passed = (
            Signal(LINE_NUMBER_BITS, name=name) for name in ("base", "requested", "passed"))
        self.word = Signal(range(self.words))
        self.flying = Signal(AHEAD)
        #: Which line of the list each slot was last asked for.
        self.line_of = [Signal(LINE_NUMBER_BITS, name=f"line_of{slot}") for slot in range(AHEAD)]
        self._symbols()
        self._memory()
        self._counts()
        self._claims()
        if lemmas:
            self._ring()
            self._contents()

    def _symbols(self) -> None:
        m, line_bytes = self.m, self.reader.config.line_bytes
        self.line, self.contents = Signal(LINE_NUMBER_BITS, name="my_line"), Signal(8 * line_bytes)
        self.refused = Signal()
        for name, symbol in (("line", self.line), ("contents", self.contents), ("refused", self.refused)):
            m.submodules[f"any_{name}"] = Instance("$anyconst", p_WIDTH=len(symbol), o_Y=symbol)
        self.mine = Signal(name="my_turn")
        entries = data.ArrayLayout(entry_layout(), self.words)
        self.stored = Signal(entries, name="my_entries")
        m.d.comb += self.mine.eq(self.passed == self.line)
        m.d.comb += [self.stored[word].eq(self.contents.word_select(word, 64)[:44]) for word in range(self.words)]
        #: The bits of an entry (docs/analyze.md), in words of our own.
        self.due = Signal(64)
        m.d.comb += self.due.eq(self.contents.word_select(self.word, 64))

    def _memory(self) -> None:
        """Every request is answered once; the symbolic line with its contents."""
        m, request, response = self.m, self.reader.mem.request, self.reader.mem.response
        tag = response.payload.tag[: (AHEAD - 1).bit_length()]
        asked = Signal(AHEAD, name="slot_asked")
        answered = Signal(AHEAD, name="slot_answered")
        m.d.comb += [
            asked.eq(((request.valid & request.ready) << request.payload.tag)[:AHEAD]),
            answered.eq((response.valid << tag)[:AHEAD]),
            Assume(~response.valid | (self.flying.bit_select(tag, 1) & (response.payload.tag < AHEAD))),
        ]
        m.d.sync += self.flying.eq((self.flying & ~answered) | asked)
        for slot, line in enumerate(self.line_of):
            with m.If(asked[slot]):
                m.d.sync += line.eq(self.requested)
            m.d.comb += Assume(~answered[slot] | (line != self.line) | (
                (response.payload.data == self.contents) & (response.payload.error == self.refused)))
        self.twice = request.valid & self.flying.bit_select(request.payload.tag, 1)

    def _counts(self) -> None:
        """How many lines were asked for, and how many entries are done, since the list began."""
        m, reader = self.m, self.reader
        with m.If(reader.mem.request.valid & reader.mem.request.ready):
            m.d.sync += self.requested.eq(self.requested + 1)
        with m.If(reader.next):
            m.d.sync += self.word.eq(self.word + 1)
            with m.If(self.word == self.words - 1):
                m.d.sync += [self.word.eq(0), self.passed.eq(self.passed + 1)]
        with m.If(reader.start | reader.stop):
            m.d.sync += [self.base.eq(reader.address[LINE_OFFSET_BITS:]), self.requested.eq(0), self.passed.eq(0),
                         self.word.eq(0)]
        #: More is asked for.
        self.running = Signal()
        with m.If(reader.start):
            m.d.sync += self.running.eq(1)
        with m.Elif(reader.stop | reader.quit | (reader.valid & (reader.end | reader.error))):
            m.d.sync += self.running.eq(0)

    def _claims(self) -> None:
        claim, reader = self.harness.claim, self.reader
        request = reader.mem.request
        offered, held = Signal(len(request.payload.as_value())), Signal(name="offer_held")
        self.m.d.sync += [offered.eq(request.payload), held.eq(request.valid & ~request.ready)]
        self.ahead = Signal(LINE_NUMBER_BITS, name="ahead_of_use")
        self.m.d.comb += self.ahead.eq(self.requested - self.passed)
        claim("no more lines than fit are asked for ahead", self.ahead <= AHEAD)
        claim("no tag is used twice", ~self.twice)
        claim("the lines of the list are read in order", ~request.valid | (
            (request.payload.line == (self.base + self.requested)[:LINE_NUMBER_BITS]) & ~request.payload.write))
        claim("a request that was offered stays", ~held | (request.valid & (request.payload.as_value() == offered)))
        self.held = held
        claim("nothing is asked for behind the end, but what is offered", ~request.valid | self.running | held)
        claim("memory's answer is taken", reader.mem.response.ready)
        words = self.words
        due = self.due
        says = Cat(reader.entry.store, due[1], reader.entry.pc.word, reader.entry.warp, reader.entry.lines)
        claim("what is handed out is the word of the list that is next", ~(reader.valid & self.mine) | (
            (says == due[:44]) & (reader.error == self.refused) & (reader.end == (due[:44] == 0))))
        claim("its address is that of the word", ~reader.valid | (
            reader.place == Cat((self.word * ENTRY_BYTES)[: (8 * words - 1).bit_length()],
                                (self.base + self.passed)[:LINE_NUMBER_BITS])[:32]))
        waits = Cat(self.flying[slot] & (line == self.passed) for slot, line in enumerate(self.line_of)).any()
        claim("an entry is there when its line is", reader.valid == ((self.ahead != 0) & ~waits))
        claim("while more is to come, and the next entry is not there, its line is asked for",
              ~self.running | reader.valid | reader.busy)
        self.waits = waits

    # Lemmas.

    def _signal(self, name: str) -> Any:
        return self.inside.signal(self.path, name)

    def _ring(self) -> None:
        """The slots are a ring, in the order of the list."""
        claim, head, tail = self.harness.claim, self._signal("head"), self._signal("tail")
        asked, come = self._signal("asked"), self._signal("come")
        claim("the next line to ask for", self._signal("line") == (self.base + self.requested)[:LINE_NUMBER_BITS])
        claim("the line that is used", self._signal("current") == (self.base + self.passed)[:LINE_NUMBER_BITS])
        if self.words > 1:
            claim("the word that is used", self._signal("index") == self.word)
        claim("the tail is behind the youngest line", tail == (head + self.ahead)[:2])
        claim("what has come was asked for", (come & ~asked) == 0)
        claim("what was asked for and has not come is under way", self.flying == (asked & ~come))
        claim("more is asked for while it is to come", ~self.running | self._signal("active"))
        claim("not for longer", self.running | self.held | ~self._signal("active"))
        left = self.reader.quit | (self.reader.valid & (self.reader.end | self.reader.error))
        claim("who has left stays away", self.running | ~self._signal("active") | left)
        for slot, line in enumerate(self.line_of):
            behind = Signal(2, name=f"behind{slot}")
            self.m.d.comb += behind.eq(slot - head)
            claim(f"slot {slot} is taken in its turn", asked[slot] == (behind < self.ahead))
            claim(f"slot {slot} has its line", ~asked[slot] | (line == (self.passed + behind)[:LINE_NUMBER_BITS]))

    def _contents(self) -> None:
        lines = f"{self.path}.lines".lstrip(".")
        come, bad = self._signal("come"), self._signal("bad")
        self.harness.claim("what was refused has come", (bad & ~come) == 0)
        for slot, line in enumerate(self.line_of):
            place = Signal(2, name=f"slot{slot}", init=slot)
            held = self.inside.look_at(lines, place, self.stored.shape())
            self.harness.claim(f"slot {slot} holds what memory said", ~(come[slot] & (line == self.line)) | (
                (held.as_value() == self.stored.as_value()) & (bad[slot] == self.refused)))


class _Reader(Claims):
    """The reader alone, used by anybody who keeps to its contract."""

    def __init__(self, config: SmConfig, *, lemmas: bool) -> None:
        self.m = m = Module()
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.reader = reader = ListReader(config)
        inside = Inside(reader)
        m.submodules.reader = inside.fragment
        self.claims: dict[str, str] = {}
        self.columns: list[Column] = []
        was_left = Signal()
        m.d.sync += was_left.eq(reader.quit)
        m.d.comb += [
            Assume(~(reader.start | reader.stop) | ~reader.busy),
            Assume(~reader.next | (reader.valid & ~reader.end & ~reader.error)),
            Assume(~was_left | reader.quit),
            Assume(~(reader.next & (reader.start | reader.stop))),
        ]
        watch = ListWatch(self, inside, "", reader, lemmas=lemmas)
        request, response = reader.mem.request, reader.mem.response
        self.show("starts", reader.start, reader.start)
        self.show("line", request.payload.line, request.valid & request.ready)
        self.show("answer", response.payload.tag, response.valid)
        self.show("entry", reader.entry.as_value(), reader.valid)
        self.show("next", reader.next, reader.next)
        self.show("passed", watch.passed, reader.valid)

    def ports(self) -> list[Value]:
        """The clock, and everything that is free."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        reader = self.reader
        return [clock, reader.start, reader.address, reader.stop, reader.quit, reader.next, reader.mem.request.ready,
                reader.mem.response.valid, Value.cast(reader.mem.response.payload)]


def list_problem(*, words: int = 2, lemmas: bool = True) -> Problem:
    """The claims of the reader of a list, with so many entries a line."""
    with collector_paused():
        return as_problem("list", _Reader(cast(SmConfig, _Lines(line_bytes=words * ENTRY_BYTES)), lemmas=lemmas))
