# amaranth: UnusedElaboratable=no
"""P11 (docs/proof.md): with the interconnect ``tdm``, the memory port of an SM is the same whatever the others do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Assume, Cat, ClockDomain, Module, Signal, Value
from amaranth.lib import wiring

from metronome.hdl.gpu.config import GpuConfig, Interconnect
from metronome.hdl.gpu.gpu import Gpu
from metronome.hdl.lib.shared import SharedModules

from .claims import Claims
from .inside import Internals
from .machine import cut_memories, ports

__all__ = ["SmSeparationModel"]


#: The bound on the wait of a request: with slots of S cycles for n SMs.
_WAITS = "a request of the SM waits at most (n - 1) S cycles"


class _FreePorts(SharedModules):
    """A platform that puts nothing in the place of the SMs: their outputs are free."""

    def __init__(self) -> None:
        super().__init__(prefix="free")
        self.sms: list[Any] = []

    def instances(
        self, m: Module, part: type[wiring.Component], count: int, name: str, arguments: dict[str, Any]
    ) -> list[Any]:
        signature = part(**arguments).signature
        self.sms = [signature.create(path=(f"{name}{i}",)) for i in range(count)]
        return self.sms


class _Queue:
    """The queue of responses of an SM; its memory is cut out. ``state``: its registers."""

    def __init__(self, inside: Internals, number: int) -> None:
        path = f"interconnect.responses_{number}"
        ((_, self.memory),) = cut_memories(inside.part(path), "")
        self.level = inside.component(f"{path}.waiting").level
        self.state = [self.level, *(inside.signal(f"{path}.waiting", name) for name in ("produce", "consume"))]


class _Copy:
    """A GPU without its SMs. ``sms``: their ports. ``free``: what the solver chooses.

    ``under_way`` and ``owed``: for each SM, its requests that it has no answer to, and those of them that memory has.
    """

    def __init__(self, m: Module, config: GpuConfig, name: str) -> None:
        platform = _FreePorts()
        self.gpu = Gpu(config)
        self.inside = Internals(self.gpu, platform)
        self.sms = platform.sms
        self.interconnect = self.inside.component("interconnect")
        self.request, self.response = self.gpu.mem.req, self.gpu.mem.resp
        separates = config.interconnect is Interconnect.TDM
        self.queues = [_Queue(self.inside, number) for number in range(config.sms)] if separates else []
        self.free: list[Value] = [*ports(self.gpu, wiring.In)]
        for sm in self.sms:
            self.free += [Value.cast(value) for _, member, value in sm.signature.flatten(sm)
                          if member.flow is wiring.Out]
        self.free += [port._data for queue in self.queues for port in queue.memory._read_ports]
        self._own, self._tags = config.sm.mem_tag_bits, 1 << config.sm.mem_tag_bits
        bits = range(2 * self._tags + 1)
        self.under_way = [Signal(bits, name=f"{name}_under_way_{i}") for i in range(config.sms)]
        self.owed = [Signal(bits, name=f"{name}_owed_{i}") for i in range(config.sms)]
        m.submodules[name] = self.inside.fragment
        self._count(m)

    def asks(self, number: int) -> Value:
        """Whether the interconnect offers memory a request of the SM."""
        return self.request.valid & (self.request.payload.tag[self._own:] == number)

    def answers(self, number: int) -> Value:
        """Whether memory presents a response to the SM."""
        return self.response.valid & (self.response.payload.tag[self._own:] == number)

    def _count(self, m: Module) -> None:
        for number, (sm, under_way, owed) in enumerate(zip(self.sms, self.under_way, self.owed, strict=True)):
            accepted, taken = sm.mem.req.valid & sm.mem.req.ready, sm.mem.resp.valid & sm.mem.resp.ready
            m.d.sync += [
                under_way.eq(under_way + accepted - taken),
                owed.eq(owed + (self.asks(number) & self.request.ready)
                        - (self.answers(number) & self.response.ready)),
            ]

    def rules(self) -> list[Value]:
        """Memory takes each request at once, and answers only what it was asked. An SM uses no tag twice."""
        return [self.request.ready, *(
            rule for number, sm in enumerate(self.sms) for rule in (
                ~self.answers(number) | (self.owed[number] != 0),
                ~sm.mem.req.valid | (self.under_way[number] < self._tags),
            ))]

    def counted(self, number: int) -> Value:
        """Every request that the SM has no answer to is in the register, with memory, or its response in the queue."""
        level = self.queues[number].level
        return (self.under_way[number] <= self._tags) & (
            self.under_way[number] == self.asks(number) + self.owed[number] + level)


def _same(one: Any, other: Any) -> Value:
    return Value.cast(one) == Value.cast(other)


def _same_if(valid: Value, one: Any, other: Any) -> Value:
    return ~valid | _same(one, other)


class SmSeparationModel(Claims):
    """Two GPUs. The SM ``number`` does the same in both, and gets the same answers; all other SMs do anything.

    All of the GPU is there but the SMs, whose outputs are free. ``lemmas``: what an induction needs.
    """

    def __init__(
        self, config: GpuConfig, number: int, *, lemmas: bool = True,
        asserts: Callable[[str], bool] = lambda text: True,
    ) -> None:
        self.config, self.number, self.asserts = config, number, asserts
        self.m = m = Module()
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.claims, self.columns = {}, []
        self.pair = [_Copy(m, config, name) for name in ("first", "second")]
        m.d.comb += [Assume(condition) for condition in (
            *self._rules(), *self._from_sm(), *self._from_memory(), *self._from_queue())]
        self._waited = self._count_wait()
        self._show()
        if lemmas and config.interconnect is Interconnect.TDM:
            self._lemmas()
        self._claims()

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        return [clock, *(value for copy in self.pair for value in copy.free)]

    def _count_wait(self) -> Signal:
        """The cycles before this one in which the SM has offered its request."""
        request = self.pair[0].sms[self.number].mem.req
        waited = Signal(range(2 * self.config.sms * self.config.slot_cycles + 1), name="waited")
        with self.m.If(request.valid & ~request.ready):
            self.m.d.sync += waited.eq(waited + 1)
        with self.m.Else():
            self.m.d.sync += waited.eq(0)
        return waited

    def _both(self, of: Callable[[_Copy], Any]) -> tuple[Any, Any]:
        return of(self.pair[0]), of(self.pair[1])

    def _streams(self, of: Callable[[_Copy], Any]) -> list[Value]:
        """A stream of the SM is the same: its ``valid``, and with it the payload."""
        one, other = self._both(of)
        return [_same(one.valid, other.valid), _same_if(one.valid, one.payload, other.payload)]

    def _rules(self) -> list[Value]:
        return [rule for copy in self.pair for rule in copy.rules()]

    def _from_sm(self) -> list[Value]:
        """The SM asks for the same, and takes responses in the same cycles."""
        return [*self._streams(lambda copy: copy.sms[self.number].mem.req),
                _same(*self._both(lambda copy: copy.sms[self.number].mem.resp.ready))]

    def _from_memory(self) -> list[Value]:
        """It gives the same answers to the SM in the same cycles: it was asked the same, as is claimed."""
        (one, other), mine = self.pair, self._both(lambda copy: copy.answers(self.number))
        return [_same(*mine), _same_if(mine[0], one.response.payload, other.response.payload)]

    def _from_queue(self) -> list[Value]:
        """The memory of its queue, which is cut out and claimed to get the same, gives the same."""
        return [_same_if(_same(one._addr, other._addr), one._data, other._data)
                for one, other in self._memories("_read_ports")]

    def _memories(self, ports_: str) -> list[tuple[Any, Any]]:
        if not self.pair[0].queues:
            return []
        one, other = self._both(lambda copy: getattr(copy.queues[self.number].memory, ports_))
        return list(zip(one, other, strict=True))

    def _lemmas(self) -> None:
        for name in ("turn", "cycle"):
            one, other = [copy.inside.signal("interconnect", name) for copy in self.pair]
            self.claim(f"the slots: {name} is the same", _same(one, other))
        turn, cycle = (self.pair[0].inside.signal("interconnect", name) for name in ("turn", "cycle"))
        self.claim("a cycle belongs to one SM", turn.any() & ((turn & (turn - 1)) == 0))
        self.claim("a slot has its length", cycle < self.config.slot_cycles)
        since = [(number - self.number - 1) % self.config.sms for number in range(self.config.sms)]
        for number, slots in enumerate(since):
            self.claim(f"in the slot of SM {number} a request has waited since that of its SM at most",
                       ~turn[number] | (self._waited <= slots * self.config.slot_cycles + cycle))
        for one, other in zip(*self._both(lambda copy: copy.queues[self.number].state), strict=True):
            self.claim(f"the queue: {one.name} is the same", _same(one, other))
        for number in range(self.config.sms):
            self.claim(f"each request of SM {number} without an answer is in one place",
                       Cat(copy.counted(number) for copy in self.pair).all())

    def _claims(self) -> None:
        def stream(text: str, same: Sequence[Value]) -> None:
            self.claim(f"{text} in the same cycles", same[0])
            self.claim(f"{text} with the same contents", same[1])

        self.claim("its requests are accepted in the same cycles",
                   _same(*self._both(lambda copy: copy.sms[self.number].mem.req.ready)))
        stream("its responses come", self._streams(lambda copy: copy.sms[self.number].mem.resp))
        asks = self._both(lambda copy: copy.asks(self.number))
        stream("memory gets its requests", [
            _same(*asks), _same_if(asks[0], *self._both(lambda copy: copy.request.payload))])
        self.claim("a response waits for no SM at the memory port", Cat(
            ~copy.response.valid | copy.response.ready for copy in self.pair).all())
        if self.config.interconnect is Interconnect.TDM:
            self.claim(_WAITS, self._waited <= (self.config.sms - 1) * self.config.slot_cycles)
        for one, other in self._memories("_write_ports"):
            self.claim("its queue stores the same", _same(one._en, other._en) & _same_if(
                one._en.any(), Cat(one._addr, one._data), Cat(other._addr, other._data)))

    def _show(self) -> None:
        own = self.config.sm.mem_tag_bits
        if self.config.interconnect is Interconnect.TDM:
            turn = self.pair[0].inside.signal("interconnect", "turn")
            self.show("slot", turn, turn.any(), kind="mask")
        for name, copy in zip(("", "'"), self.pair, strict=True):
            offered = Cat(sm.mem.req.valid for sm in copy.sms)
            accepted = offered & Cat(sm.mem.req.ready for sm in copy.sms)
            comes = Cat(sm.mem.resp.valid for sm in copy.sms)
            taken = comes & Cat(sm.mem.resp.ready for sm in copy.sms)
            for title, mask in (("ask", offered), ("go", accepted), ("come", comes), ("take", taken)):
                self.show(f"{title}{name}", mask, mask.any(), kind="mask")
            self.show(f"out{name}", copy.request.payload.tag[own:], copy.request.valid)
            self.show(f"in{name}", copy.response.payload.tag[own:], copy.response.valid)
