# amaranth: UnusedElaboratable=no
"""P11 (docs/proof.md): with the interconnect ``tdm``, the memory port of an SM is the same whatever the others do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from amaranth.hdl import Assume, Cat, ClockDomain, Const, Instance, Module, Signal, Value
from amaranth.lib import data, wiring

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.hdl.gpu.gpu import Gpu
from metronome.hdl.layouts.memory import memory_response_layout
from metronome.hdl.lib.shared import SharedModules
from metronome.hdl.sm import Sm

from .claims import Claims
from .inside import Internals
from .machine import ports
from .sm_parts import Counted, Hands, Held, Part, Port, Queue

__all__ = ["SmSeparationModel"]


#: The bound on the wait of a request: with slots of S cycles for n SMs.
_WAITS = "a request of the SM waits at most (n - 1) S cycles"


class _FreePorts(SharedModules):
    """A platform that puts nothing in the place of the SMs: their outputs are free. All other parts are there."""

    def __init__(self) -> None:
        super().__init__(prefix="free")
        self.sms: list[Any] = []

    def instances(
        self, m: Module, part: type[wiring.Component], count: int, name: str, arguments: dict[str, Any]
    ) -> list[Any]:
        if part is not Sm:
            parts = [part(**arguments) for _ in range(count)]
            wires = [Signal(8 * LINE_BYTES, name=f"{name}wires_{i}") for i in range(count)]
            for i, each in enumerate(parts):
                m.submodules[f"{name}{i}"] = each
                vars(each).update(number=i, wires=wires)  # only broken designs use them
            return parts
        signature = part(**arguments).signature
        self.sms = [signature.create(path=(f"{name}{i}",)) for i in range(count)]
        return self.sms


class _Copy:
    """A GPU without its SMs. ``sms``: their ports. ``free``: what the solver chooses.

    For each SM: ``ports`` at memory, ``queues`` if it has one, with an L2 ``parts``, and ``hands`` if blocks are handed
    out by hardware.
    """

    def __init__(self, m: Module, config: GpuConfig, name: str) -> None:
        platform, numbers, own = _FreePorts(), range(config.sms), config.sm.mem_tag_bits
        self.gpu = Gpu(config)
        self.inside = Internals(self.gpu, platform)
        self.sms, self.request = platform.sms, self.gpu.mem.req
        self.ports = [Port(self.request, self.gpu.mem.resp, number, own) for number in numbers]
        self.response, self.interconnect = self.gpu.mem.resp, self.inside.component("interconnect")
        queues, divided = config.response_queues, config.l2 is L2Kind.DIVIDED
        self.queues = [Queue(self.inside, number, own) for number in numbers] if queues else []
        self.parts = [Part(self.inside, number) for number in numbers] if divided else []
        hands_out = config.dispatch is not Dispatch.NONE
        self.hands = [Hands(self.inside, number) for number in numbers] if hands_out else []
        memories = [*(queue.memory for queue in self.queues),
                    *(memory for part in self.parts for memory in part.memories.values())]
        self.free: list[Value] = [
            *ports(self.gpu, wiring.In), *(value for sm in self.sms for value in ports(sm, wiring.Out)),
            *(port._data for memory in memories for port in memory._read_ports),
        ]
        m.submodules[name] = self.inside.fragment
        self.held: list[Counted | Held] = []
        for number in numbers:
            port, queue, whose = self.ports[number], self.queues[number] if queues else None, f"{name}_{number}"
            hands = self.hands[number] if hands_out else None
            self.held.append(Held(m, port, self.parts[number], queue, tag_bits=own, name=whose) if divided
                             else Counted(m, port, hands, self.sms[number], tag_bits=own, name=whose))

    def storage(self, number: int) -> Iterator[tuple[str, Any, data.Field | None]]:
        """Yield the memories of an SM: what to call it, the memory, and which bits of a word hold bytes of answers."""
        if self.queues:
            yield "its queue", self.queues[number].memory, memory_response_layout(self.gpu.config.sm)["data"]
        for part in self.parts[number : number + 1]:
            for path, memory in part.memories.items():
                lines = data.Field(len(memory._read_ports[0]._data), 0) if path == "lines" else None
                yield f"its part of the L2: {path.partition('_')[0]}", memory, lines

    def behind(self, number: int) -> Any:
        """The requests and responses between the SM, or its part of the L2, and the interconnect."""
        return getattr(self.interconnect.sms, f"sm_{number}")

    def rules(self) -> list[Value]:
        """Memory takes each request at once; for each SM, the rules of :class:`Counted` or :class:`Held`."""
        return [self.request.ready, *(rule for held in self.held for rule in held.rules())]


def _same(one: Any, other: Any) -> Value:
    return Value.cast(one) == Value.cast(other)


def _same_if(valid: Value, one: Any, other: Any) -> Value:
    return ~valid | _same(one, other)


class SmSeparationModel(Claims):
    """Two GPUs. The SM ``number`` does the same in both, and gets the same answers; all other SMs do anything.

    All of the GPU is there but the SMs, whose outputs are free. ``lemmas``: what an induction needs. The bytes of
    answers are the same only if ``same_bytes`` is 1, which is so in every cycle or in none. All else does not depend
    on them.
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
        self.same_bytes = Signal()
        m.submodules.same_bytes = Instance("$anyconst", p_WIDTH=1, o_Y=self.same_bytes)
        self.pair = [_Copy(m, config, name) for name in ("first", "second")]
        m.d.comb += [Assume(condition) for condition in (
            *self._rules(), *self._from_sm(), *self._from_memory(), *self._from_storage(), *self._from_launches())]
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
        """The cycles before this one in which the SM, or its part of the L2, has offered its request."""
        request = self.pair[0].behind(self.number).request
        waited = Signal(range(2 * self.config.sms * self.config.slot_cycles + 1), name="waited")
        with self.m.If(request.valid & ~request.ready):
            self.m.d.sync += waited.eq(waited + 1)
        with self.m.Else():
            self.m.d.sync += waited.eq(0)
        return waited

    def _both(self, of: Callable[[_Copy], Any]) -> tuple[Any, Any]:
        return of(self.pair[0]), of(self.pair[1])

    def _same_answer(self, one: Any, other: Any) -> Value:
        """The payload of an answer is the same: the bytes only with ``same_bytes``."""
        return self._same_but(one, other, one.shape()["data"])

    def _same_but(self, one: Any, other: Any, bytes_: data.Field | None) -> Value:
        """The two are the same, and if ``same_bytes`` those of their bits, too, that hold bytes of answers."""
        if bytes_ is None:
            return _same(one, other)
        first, last = bytes_.offset, bytes_.offset + bytes_.width
        its, others = Value.cast(one), Value.cast(other)
        return _same(Cat(its[:first], its[last:]), Cat(others[:first], others[last:])) & (
            ~self.same_bytes | _same(its[first:last], others[first:last]))

    def _rules(self) -> list[Value]:
        return [rule for copy in self.pair for rule in copy.rules()]

    def _from_sm(self) -> list[Value]:
        """The SM asks for the same, takes responses in the same cycles, and empties its part of the L2 in the same."""
        one, other = self._both(lambda copy: copy.sms[self.number])
        fences = [_same(one.fences, other.fences)] if self.pair[0].parts else []
        return [_same(one.mem.req.valid, other.mem.req.valid),
                _same_if(one.mem.req.valid, one.mem.req.payload, other.mem.req.payload),
                _same(one.mem.resp.ready, other.mem.resp.ready), *fences]

    def _from_memory(self) -> list[Value]:
        """It gives the same answers to the SM in the same cycles: it was asked the same, as is claimed."""
        mine = self._both(lambda copy: copy.ports[self.number].answers)
        answers = (copy.response.payload for copy in self.pair)
        return [_same(*mine), ~mine[0] | self._same_answer(*answers)]

    def _from_storage(self) -> list[Value]:
        """A memory of the SM that is cut out, and claimed to get the same, gives the same."""
        return [~_same(one._addr, other._addr) | self._same_but(one._data, other._data, bytes_)
                for _, one, other, bytes_ in self._storage("_read_ports")]

    def _from_launches(self) -> list[Value]:
        """Grids are launched in the same cycles, with as many blocks, by whichever SM."""
        if not self.pair[0].hands:
            return []
        one, other = self._both(lambda copy: copy.hands[self.number])
        return [_same(one.launches, other.launches), _same_if(one.launches, one.blocks, other.blocks)]

    def _storage(self, ports_: str) -> Iterator[tuple[str, Any, Any, data.Field | None]]:
        """Yield each port of the SM's memories in both copies, and which bits of a word hold bytes of answers."""
        for (name, first, bytes_), (_, second, _) in zip(
            *self._both(lambda copy: copy.storage(self.number)), strict=True,
        ):
            for one, other in zip(getattr(first, ports_), getattr(second, ports_), strict=True):
                yield name, one, other, bytes_

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
        if self.pair[0].hands:
            for one, other in zip(*self._both(lambda copy: copy.hands[self.number].state), strict=True):
                self.claim(f"the blocks of the SM: {one.name} is the same", _same(one, other))
        if self.pair[0].parts:
            self._lemmas_of_l2()
        for number in range(self.config.sms):
            self.claim(f"each request of SM {number} without an answer is in one place", Cat(
                copy.held[number].in_one_place(copy.queues[number]) for copy in self.pair).all())

    def _lemmas_of_l2(self) -> None:
        """Every register and decision of the SM's part is the same; what holds bytes, only with the same answers.

        Memories are read at the same places, but that of lines that are asked for, which also looks up no answer.
        """
        mine = self._both(lambda copy: copy.parts[self.number])
        first, *others = mine[0].registers
        for path in (*others, first):
            self.claim(f"the part of the L2: {path}: the registers are the same",
                       _same(*(Cat(part.registers[path]) for part in mine)))
        for one, other in zip(*(part.bytes for part in mine), strict=True):
            self.claim(f"the part of the L2: {one.name}: with the same answers, it holds the same bytes",
                       ~self.same_bytes | _same(one, other))
        for name, one, other, _ in reversed([*self._storage("_read_ports")]):
            if not name.endswith("requests.asked"):
                self.claim(f"{name} is read at the same place", _same(one._addr, other._addr))
        for name, one, other in zip(mine[0].decisions, *(part.decisions.values() for part in mine), strict=True):
            self.claim(f"the part of the L2: {name} is the same", _same(one, other))

    def _claims(self) -> None:
        one, other = self._both(lambda copy: copy.sms[self.number].mem)
        # The port that hands out blocks looks at a request's line to accept it: without a request that means nothing.
        offered = one.req.valid if self.pair[0].hands else Const(1)
        self.claim("its requests are accepted in the same cycles", _same_if(offered, one.req.ready, other.req.ready))
        self.claim("its responses come in the same cycles", _same(one.resp.valid, other.resp.valid))
        self.claim("its responses come with the same contents",
                   ~one.resp.valid | self._same_answer(one.resp.payload, other.resp.payload))
        asks = self._both(lambda copy: copy.ports[self.number].asks)
        self.claim("memory gets its requests in the same cycles", _same(*asks))
        self.claim("memory gets its requests with the same contents",
                   _same_if(asks[0], *self._both(lambda copy: copy.request.payload)))
        self.claim("a response waits for no SM at the memory port", Cat(
            ~copy.response.valid | copy.response.ready for copy in self.pair).all())
        if self.config.interconnect is Interconnect.TDM:
            self.claim(_WAITS, self._waited <= (self.config.sms - 1) * self.config.slot_cycles)
        stored: dict[str, list[Value]] = {}
        for name, its, its_other, bytes_ in self._storage("_write_ports"):
            stored.setdefault(name, []).append(_same(its._en, its_other._en) & (
                ~its._en.any() | (_same(its._addr, its_other._addr)
                                  & self._same_but(its._data, its_other._data, bytes_))))
        for name, same in stored.items():
            self.claim(f"{name} stores the same", Cat(same).all())

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
