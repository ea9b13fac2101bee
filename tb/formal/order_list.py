"""Proof harness of the list reader: memory answers at any time, in any order, with any data.

One line of the list, identified by its position, has constant contents. The position and the contents are symbolic,
so a claim proved for that line holds for every line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from amaranth.hdl import Assume, Cat, ClockDomain, Instance, Module, Signal, Value
from amaranth.lib import data

from metronome.hdl.config import LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from metronome.hdl.lib.collector import collector_paused
from metronome.hdl.memory.order.reader import ENTRY_BYTES, ListReader, entry_layout

from .claims import Claims
from .flow import Problem, as_problem
from .inside import Internals
from .records import Column

__all__ = ["ListWatch", "list_problem"]


@dataclass(frozen=True, kw_only=True)
class _Lines:
    """The configuration fields that the reader uses."""

    line_bytes: int
    l1_tag_bits: int


class ListWatch:
    """Memory's side of the reader at ``path`` of ``inside``, the claims on the reader, and their lemmas.

    ``base`` is the line of the list's address; ``passed`` and ``word`` give the next entry. If ``mine`` is 1, that
    entry is in the symbolic line, and ``due`` is its value.
    """

    def __init__(self, harness: Claims, inside: Internals, path: str, reader: ListReader, *, lemmas: bool) -> None:
        self.harness, self.m, self.inside, self.path, self.reader = harness, harness.m, inside, path, reader
        self.words = reader.config.line_bytes // ENTRY_BYTES
        self.slot_bits = (reader.ahead - 1).bit_length()
        self.base, self.requested, self.passed = (
            Signal(LINE_NUMBER_BITS, name=name) for name in ("base", "requested", "passed"))
        self.word = Signal(range(self.words))
        self.flying = Signal(reader.ahead)
        #: The line of the list that each slot requested last.
        self.line_of = [Signal(LINE_NUMBER_BITS, name=f"line_of{slot}") for slot in range(reader.ahead)]
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
        #: The bits of an entry (docs/analyze.md), written independently of the design.
        self.due = Signal(64)
        m.d.comb += self.due.eq(self.contents.word_select(self.word, 64))

    def _memory(self) -> None:
        """Every request is answered once; a request for the symbolic line returns its contents."""
        m, request, response = self.m, self.reader.mem.request, self.reader.mem.response
        tag, slots = response.payload.tag[: self.slot_bits], self.reader.ahead
        asked = Signal(slots, name="slot_asked")
        answered = Signal(slots, name="slot_answered")
        m.d.comb += [
            asked.eq(((request.valid & request.ready) << request.payload.tag)[:slots]),
            answered.eq((response.valid << tag)[:slots]),
            Assume(~response.valid | (self.flying.bit_select(tag, 1) & (response.payload.tag < slots))),
        ]
        m.d.sync += self.flying.eq((self.flying & ~answered) | asked)
        for slot, line in enumerate(self.line_of):
            with m.If(asked[slot]):
                m.d.sync += line.eq(self.requested)
            m.d.comb += Assume(~answered[slot] | (line != self.line) | (
                (response.payload.data == self.contents) & (response.payload.error == self.refused)))
        self.twice = request.valid & self.flying.bit_select(request.payload.tag, 1)

    def _counts(self) -> None:
        """Count the lines requested and the entries consumed since the list began."""
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
        #: A list is loaded; more of it is being requested; a line has arrived after which nothing is needed.
        self.listed, self.running, self.seen = (Signal(name=name) for name in ("listed", "running", "seen"))
        answer, last = reader.mem.response, Signal(name="last_line")
        ends = (answer.payload.data.word_select(word, 64)[:44] == 0 for word in range(self.words))
        m.d.comb += last.eq(answer.valid & (answer.payload.error | Cat(ends).any()))
        m.d.sync += [self.seen.eq(self.seen | last), self.running.eq(self.running & ~reader.quit & ~last)]
        with m.If(reader.start | reader.stop):
            m.d.sync += [self.seen.eq(0), self.running.eq(reader.start), self.listed.eq(reader.start)]

    def _claims(self) -> None:
        claim, reader = self.harness.claim, self.reader
        request = reader.mem.request
        offered, held = Signal(len(request.payload.as_value())), Signal(name="offer_held")
        self.m.d.sync += [offered.eq(request.payload), held.eq(request.valid & ~request.ready)]
        self.ahead = Signal(LINE_NUMBER_BITS, name="ahead_of_use")
        self.m.d.comb += self.ahead.eq(self.requested - self.passed)
        claim("no more lines are requested ahead than fit", self.ahead <= reader.ahead)
        claim("a burst begins with space for all of it", ~request.valid | (
            self.requested % reader.burst != 0) | (self.ahead + reader.burst <= reader.ahead))
        claim("lines are requested while there is space", ~self.running | request.valid | (
            self.ahead + reader.burst > reader.ahead))
        claim("no tag is used twice", ~self.twice)
        claim("the lines of the list are read in order", ~request.valid | (
            (request.payload.line == (self.base + self.requested)[:LINE_NUMBER_BITS]) & ~request.payload.write))
        claim("a request that was offered stays", ~held | (request.valid & (request.payload.as_value() == offered)))
        self.held = held
        claim("nothing is requested after the end, except the pending offer", ~request.valid | self.running | held)
        claim("memory's answer is taken", reader.mem.response.ready)
        words = self.words
        due = self.due
        says = Cat(reader.entry.store, due[1], reader.entry.pc.word, reader.entry.warp, reader.entry.lines)
        claim("the output is the next word of the list", ~(reader.valid & self.mine) | (
            (says == due[:44]) & (reader.error == self.refused) & (reader.end == (due[:44] == 0))))
        claim("its address is that of the word", ~reader.valid | (
            reader.place == Cat((self.word * ENTRY_BYTES)[: (8 * words - 1).bit_length()],
                                (self.base + self.passed)[:LINE_NUMBER_BITS])[:32]))
        waits = Cat(self.flying[slot] & (line == self.passed) for slot, line in enumerate(self.line_of)).any()
        claim("an entry is there when its line is", reader.valid == ((self.ahead != 0) & ~waits))
        claim("the next entry of a list is there, or its line is requested",
              ~self.listed | reader.quit | reader.valid | reader.busy)
        self.waits = waits

    # Lemmas.

    def _signal(self, name: str) -> Any:
        return self.inside.signal(self.path, name)

    def _ring(self) -> None:
        """The slots form a ring, in the order of the list."""
        claim, head, tail = self.harness.claim, self._signal("head"), self._signal("tail")
        asked, come = self._signal("asked"), self._signal("come")
        claim("the next line to request", self._signal("line") == (self.base + self.requested)[:LINE_NUMBER_BITS])
        claim("the line that is used", self._signal("current") == (self.base + self.passed)[:LINE_NUMBER_BITS])
        if self.words > 1:
            claim("the word that is used", self._signal("index") == self.word)
        bits = self.slot_bits
        claim("the tail is after the youngest line", tail == (head + self.ahead)[:bits])
        claim("the tail counts the lines", tail == self.requested[:bits])
        claim("every line that has come was requested", (come & ~asked) == 0)
        claim("a line that is used has come", (self.word == 0) | come.bit_select(head, 1))
        claim("a requested line that has not come is in progress", self.flying == (asked & ~come))
        claim("more is to come until an end was seen", ~(self.running & self.seen))
        idle = ~(self._signal("active") | self.running | self.seen | asked.any())
        claim("nothing is requested without a list", self.listed | idle)
        claim("requests stop only for a list that is left or at its end", ~self.listed | self.running | self.seen | (
            self.reader.quit))
        claim("more is requested while there is more to come", ~self.running | self._signal("active"))
        claim("not for longer", self.running | self.held | ~self._signal("active"))
        over = self._signal("over")
        claim("an end that was seen is remembered", over == self.seen)
        claim("a list that was left stays left", self.running | ~self._signal("active") | self.reader.quit | over)
        for slot, line in enumerate(self.line_of):
            behind = Signal(bits, name=f"behind{slot}")
            self.m.d.comb += behind.eq(slot - head)
            claim(f"slot {slot} is taken in its turn", asked[slot] == (behind < self.ahead))
            claim(f"slot {slot} has its line", ~asked[slot] | (line == (self.passed + behind)[:LINE_NUMBER_BITS]))

    def _contents(self) -> None:
        lines = f"{self.path}.lines".lstrip(".")
        come, bad = self._signal("come"), self._signal("bad")
        claim = self.harness.claim
        claim("a refused line has come", (bad & ~come) == 0)
        head, to_come, reader = self._signal("head"), [], self.reader
        claim("the next entry is there when its line has come", reader.valid == come.bit_select(head, 1))
        claim("it is refused if its line is", ~reader.valid | (reader.error == bad.bit_select(head, 1)))
        claim("it is the end if it is 0", ~reader.valid | (reader.end == (reader.entry.as_value() == 0)))
        for slot, line in enumerate(self.line_of):
            place = Signal(self.slot_bits, name=f"slot{slot}", init=slot)
            held = self.inside.look_at(lines, place, self.stored.shape())
            claim(f"slot {slot} holds the answer of memory", ~(come[slot] & (line == self.line)) | (
                (held.as_value() == self.stored.as_value()) & (bad[slot] == self.refused)))
            claim(f"the next entry is that of slot {slot}", ~(reader.valid & (head == slot)) | (
                reader.entry.as_value() == held.as_value().word_select(self.word, 44)))
            words = range(self.words)
            ends = Cat((held[word].as_value() == 0) & ((head != slot) | (word >= self.word)) for word in words)
            to_come.append(come[slot] & (bad[slot] | ends.any()))
        claim("an end that was seen is in a slot, and to come", ~self.seen | Cat(to_come).any())


class _Reader(Claims):
    """The reader alone, with any user that keeps its contract."""

    def __init__(self, config: SmConfig, *, ahead: int, burst: int, lemmas: bool) -> None:
        self.m = m = Module()
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.reader = reader = ListReader(config, ahead=ahead, burst=burst)
        inside = Internals(reader)
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
        """Return the clock and all free inputs."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        reader = self.reader
        return [clock, reader.start, reader.address, reader.stop, reader.quit, reader.next, reader.mem.request.ready,
                reader.mem.response.valid, Value.cast(reader.mem.response.payload)]


def list_problem(*, words: int = 2, ahead: int = 4, burst: int = 2, lemmas: bool = True) -> Problem:
    """Return the claims of a reader: ``words`` entries a line, ``ahead`` lines of lookahead, bursts of ``burst``."""
    lines = _Lines(line_bytes=words * ENTRY_BYTES, l1_tag_bits=(ahead - 1).bit_length())
    with collector_paused():
        return as_problem("list", _Reader(cast(SmConfig, lines), ahead=ahead, burst=burst, lemmas=lemmas))
