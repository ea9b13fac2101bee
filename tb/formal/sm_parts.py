"""The parts of a GPU that belong to one SM, for P11: its queue of responses, its part of a divided L2, its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value

from metronome.hdl.lib.onehot import one_hot, or_all

from .inside import Internals
from .machine import cut_memories

__all__ = ["Counted", "Hands", "Held", "Part", "Port", "Queue"]

#: Registers of a part that hold bytes of answers. Their cycles may depend on all others, and on no byte.
_BYTES = {"answers: data", ": line_read"}


def _registers(fragment: Any, path: str) -> Iterator[tuple[str, Signal]]:
    """Yield the path and each register below a module."""
    if "sync" in fragment.statements:
        for signal in fragment.statements["sync"]._lhs_signals():
            yield path, signal
    for part, name, _ in fragment.subfragments:
        yield from _registers(part, f"{path}.{name}" if path else name)


#: The decisions of a part, by module: signals that are meaningful in every cycle.
_DECISIONS = {
    "tags": ("hit", "hit_ways", "use", "fill", "victim"),
    "requests": ("full", "number", "read_open", "write_open", "some_open", "add", "joins"),
    "answers": ("accepted", "answered", "install", "hit", "hit_free"),
}


class Queue:
    """The queue of responses of an SM; its memory is cut out. ``state``: its registers."""

    def __init__(self, inside: Internals, number: int, tag_bits: int) -> None:
        path = f"interconnect.responses_{number}"
        ((_, self.memory),) = cut_memories(inside.part(path), "")
        self.places = inside.component(f"{path}.waiting")
        self.level: Signal = self.places.level
        self.state = [self.level, *(inside.signal(f"{path}.waiting", name) for name in ("produce", "consume"))]
        self._tags = tag_bits

    def stored(self) -> Value:
        """The tag of the response that it stores in this cycle, one-hot, or 0."""
        stores = self.places.w_en & self.places.w_rdy
        return Mux(stores, one_hot(self.places.w_data[: self._tags], 1 << self._tags), 0)

    def first(self) -> Value:
        """The tag of its oldest response, one-hot, or 0 if it is empty."""
        return Mux(self.places.r_rdy, one_hot(self.places.r_data[: self._tags], 1 << self._tags), 0)

    def taken(self) -> Value:
        """The tag of the response that leaves it in this cycle, one-hot, or 0."""
        return Mux(self.places.r_en, self.first(), 0)


class Part:
    """The part of a divided L2 that an SM has. Its memories are cut out, also those of its tags and queues.

    ``registers``: all of them by the module, without those that hold bytes, which are ``bytes``.
    """

    def __init__(self, inside: Internals, number: int) -> None:
        path = f"l2_{number}"
        part = inside.part(path)
        self.memories = {where.removeprefix("."): memory for where, memory in cut_memories(part, "")}
        self.registers: dict[str, list[Signal]] = {}
        self.bytes: list[Signal] = []
        for where, signal in _registers(part, ""):
            holds_bytes = f"{where}: {signal.name}" in _BYTES
            (self.bytes if holds_bytes else self.registers.setdefault(where or "its lookup", [])).append(signal)
        if len(self.bytes) != len(_BYTES):
            raise LookupError(f"the proofs look for the registers {', '.join(sorted(_BYTES))} in a part of the L2")
        self.decisions = {f"{module}.{name}": getattr(inside.component(f"{path}.{module}"), name)
                          for module, names in _DECISIONS.items() for name in names}
        self._component, self._answers = inside.component(path), inside.component(f"{path}.answers")
        self._valid, self._open, self._leads = (
            inside.signal(f"{path}.requests", name) for name in ("valid", "open", "leads"))

    def sent(self, bits: int) -> Value:
        """The tag of the request in front of the interconnect, one-hot, or 0."""
        request = self._component.mem.request
        return Mux(request.valid, one_hot(request.payload.tag, bits), 0)

    def unanswered(self) -> Value:
        """The entries whose requests memory has not answered yet."""
        return self._valid & self._open & self._leads

    def is_consistent(self) -> Value:
        """The answer in the register is for an entry that was sent, and is not open."""
        filled = ~self._answers.mem.ready | self._answers.answered
        entry = one_hot(self._answers.filled, len(self._valid))
        return ~filled | (entry & self._valid & self._leads & ~self._open).any()

    @property
    def entries(self) -> int:
        """How many requests it may have under way."""
        return len(self._valid)


class Hands:
    """The dispatch port of an SM, and the registers of the dispatch unit.

    ``state``: the registers of both, without those for the blocks of other SMs. ``waits``: an answer to the SM waits.
    ``launches``: an SM launches a grid, of ``blocks`` blocks.
    """

    def __init__(self, inside: Internals, number: int) -> None:
        path, unit = f"dispatch_port{number}", inside.component("dispatch")
        self.waits = inside.signal(path, "waits")
        offers = {f"offer_{other}" for other in range(len(unit.sms.signature.members)) if other != number}
        self.state = [signal for part in (path, "dispatch") for _, signal in _registers(inside.part(part), "")
                      if signal.name not in offers]
        self.launches = or_all(getattr(unit.sms, name).launches for name in unit.sms.signature.members)
        self.blocks = inside.signal("dispatch", "total")


class Port:
    """The requests and responses of one SM at the memory port: ``asks`` if one is offered, ``answers`` if one comes."""

    def __init__(self, request: Any, response: Any, number: int, tag_bits: int) -> None:
        self._request, self._response, self._tags = request, response, tag_bits
        self.asks = request.valid & (request.payload.tag[tag_bits:] == number)
        self.answers = response.valid & (response.payload.tag[tag_bits:] == number)

    def gets(self) -> Value:
        """Memory takes a request of the SM."""
        return self.asks & self._request.ready

    def gives(self) -> Value:
        """A response of memory to the SM is taken."""
        return self.answers & self._response.ready

    def asked(self) -> Value:
        """The tag of the request that is offered, one-hot, or 0."""
        return Mux(self.asks, self._one(self._request), 0)

    def answered(self) -> Value:
        """The tag of the response that is offered, one-hot, or 0."""
        return Mux(self.answers, self._one(self._response), 0)

    def _one(self, stream: Any) -> Value:
        return one_hot(stream.payload.tag[: self._tags], 1 << self._tags)


class Counted:
    """The number of requests of an SM without an L2: ``under_way`` have no answer yet, and memory has ``owed``."""

    def __init__(self, m: Module, port: Port, hands: Hands | None, sm: Any, *, tag_bits: int, name: str) -> None:
        self._port, self._sm, self._tags = port, sm, 1 << tag_bits
        self._waits = Const(0, 1) if hands is None else hands.waits
        bits = range(2 * self._tags + 1)
        self._under_way, self._owed = Signal(bits, name=f"{name}_under_way"), Signal(bits, name=f"{name}_owed")
        accepted, taken = sm.mem.req.valid & sm.mem.req.ready, sm.mem.resp.valid & sm.mem.resp.ready
        m.d.sync += [
            self._under_way.eq(self._under_way + accepted - taken),
            self._owed.eq(self._owed + port.gets() - port.gives()),
        ]

    def rules(self) -> list[Value]:
        """Memory answers only what it was asked. An SM uses no tag twice."""
        return [~self._port.answers | (self._owed != 0), ~self._sm.mem.req.valid | (self._under_way < self._tags)]

    def in_one_place(self, queue: Queue) -> Value:
        """Every request that the SM has no answer to is in one place.

        The places: the register, memory, the queue of responses, and the port that hands out blocks.
        """
        places = self._port.asks + self._owed + queue.level + self._waits
        return (self._under_way <= self._tags) & (self._under_way == places)


class Held:
    """The requests of an SM's part of the L2, by tag: memory has ``owed``, and the queue the answers of ``waiting``."""

    def __init__(self, m: Module, port: Port, part: Part, queue: Queue | None, *, tag_bits: int, name: str) -> None:
        self._port, self._part, self._queue = port, part, queue
        self._owed, self._waiting = (Signal(1 << tag_bits, name=f"{name}_{kind}") for kind in ("owed", "waiting"))
        m.d.sync += self._owed.eq(
            (self._owed | Mux(port.gets(), port.asked(), 0)) & ~Mux(port.gives(), port.answered(), 0))
        if queue is not None:
            m.d.sync += self._waiting.eq((self._waiting | queue.stored()) & ~queue.taken())

    def rules(self) -> list[Value]:
        """Memory answers only what it was asked, and the queue gives only what is in it."""
        first = [] if self._queue is None else [(self._queue.first() & ~self._waiting) == 0]
        return [(self._port.answered() & ~self._owed) == 0, *first]

    def in_one_place(self, queue: Queue) -> Value:
        """Each entry that memory has not answered is in one place, and the queue has as many responses as it says.

        The places: the part's register, that of the interconnect, memory, and the queue.
        """
        sent = self._part.sent(len(self._owed))
        every, alone = Value.cast(0), Value.cast(1)
        for place in (sent, self._port.asked(), self._owed, self._waiting):
            alone &= (every & place) == 0
            every |= place
        level = sum(self._waiting[: self._part.entries], Value.cast(0))
        return alone & (every == self._part.unanswered()) & self._part.is_consistent() & (queue.level == level)
