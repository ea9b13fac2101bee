"""Proof harness of the front end: the design, the assumptions about its environment, and the signals properties use.

Every input is free in every cycle, within the limits of :class:`hdl.observe.environment.EnvironmentWatch`. The tags
and data of the I-cache are cut out, so whether a lookup hits, and the word it returns, are free too. So are the
predictors of ``Prediction.PRIVATE``: any instruction may be predicted to go to any address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from amaranth.hdl import Array, Assume, Cat, ClockDomain, Const, Instance, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring

from metronome.hdl.config import LINE_NUMBER_BITS, Coordination, SmConfig
from metronome.hdl.frontend.fetch import stage_layout
from metronome.hdl.frontend.frontend import FrontEnd
from metronome.hdl.frontend.signatures import slot_bits
from metronome.hdl.layouts.decoded import BufferEntry, IssueInfo
from metronome.hdl.lib.onehot import one_hot, or_all, select
from metronome.hdl.observe.environment import EnvironmentWatch
from metronome.hdl.policies import POLICIES

from .claims import Claims
from .inside import Internals
from .paths import PredictedPath
from .records import Column, Misses, RingPlace

__all__ = ["Model"]


class Model(Claims):
    """The harness without its properties, which :mod:`tb.formal.properties` adds.

    ``m`` is the module, ``dut`` the front end, ``inside`` its internal signals. ``mine`` is the symbolic warp, one-hot:
    an arbitrary but constant warp, so a property proved for it holds for every warp. Vectors have one bit per warp.
    """

    def __init__(self, config: SmConfig, *, lemmas: bool = True) -> None:
        self.config = config
        self._lemmas = lemmas
        self.m = Module()
        # Without reset: the proof starts from the registers' initial values.
        self.clock = ClockDomain("sync", reset_less=True)
        self.m.domains += self.clock
        self.dut = FrontEnd(config)
        self.inside = Internals(self.dut)
        self.store = self.inside.component("fetch.store")
        self.suspended = self.inside.component("fetch").lookup.suspended
        self.inside.cut("fetch.store")
        self.predictors: Any = None
        if config.learns:
            self.predictors = self.inside.component("fetch.predictors")
            self.inside.cut("fetch.predictors")
        self.m.submodules.frontend = self.inside.fragment
        self.claims: dict[str, str] = {}
        self.columns: list[Column] = []
        self.path: PredictedPath | None = None
        self._choose_warp()
        self._observe()
        self._assume()
        self._show_cycle()

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        inputs = [Value.cast(value) for _, member, value in self.dut.signature.flatten(self.dut)
                  if member.flow is wiring.In]
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        free: list[Value] = [self.store.hit, self.store.instruction, self.store.error]
        if self.predictors is not None:
            free += [self.predictors.predicted, self.predictors.target, self.predictors.prediction]
        return [clock, *inputs, *(Value.cast(value) for value in free)]

    def lemma(self, text: str, holds: Value) -> None:
        """Add an invariant that the induction needs; skip it if ``lemmas`` is false."""
        if self._lemmas:
            self.claim(text, holds)

    def of_mine(self, vector: Value) -> Value:
        """Return the symbolic warp's bit of ``vector``."""
        return (Value.cast(vector) & self.mine).any()

    def mine_of(self, values: Sequence[Value]) -> Value:
        """Return the symbolic warp's element of ``values``."""
        return select(self.mine, values)

    def register(self, shape: ShapeLike, name: str, init: int | None = None) -> Any:
        """Create a register of the harness; it starts at 0 unless ``init`` is given."""
        # The stubs know only numbers as `init`.
        return Signal(shape, name=name, init=init)  # type: ignore[arg-type]

    def _choose_warp(self) -> None:
        config = self.config
        self.warp = Signal(config.warp_bits)
        self.mine = Signal(config.warps)
        self.m.submodules.warp = Instance("$anyconst", p_WIDTH=config.warp_bits, o_Y=self.warp)
        self.m.d.comb += [self.mine.eq(one_hot(self.warp, config.warps)), Assume(self.mine.any())]

    def _observe(self) -> None:
        """Define the events of this cycle, each from ports or from the harness's own registers."""
        m, config, dut = self.m, self.config, self.dut
        scheme = self.inside.component("scheme")
        resolution = dut.flow.resolution
        self.issued = dut.selection.select
        self.fetched = scheme.fetch.select
        self.resolved = Signal(config.warps)
        self.redirected = Signal(config.warps)
        self.unresolved = self.register(config.warps, "expect_unresolved")
        # Warps whose fetch, made one, two and three cycles ago, has not become a NOP.
        self.live = [self.register(config.warps, f"expect_live_{number}") for number in (1, 2, 3)]
        self.missed, self.turned = Signal(config.warps), Signal(config.warps)
        last = self.stages()[-1]
        self.follows, self.target = self._predict(last.pc)
        issues_control = Mux(dut.selection.info.control & ~dut.selection.nop, self.issued, 0)
        m.d.comb += [
            self.resolved.eq(Mux(resolution.valid, one_hot(resolution.warp, config.warps), 0)),
            self.redirected.eq(Mux(resolution.redirect, self.resolved, 0)),
            self.missed.eq(Mux(self.store.hit, 0, self.live[0])),
            self.turned.eq(Mux(self.follows, self.live[2] & ~self.redirected, 0)),
        ]
        squashed = self.redirected | self.turned
        m.d.sync += [
            self.unresolved.eq((self.unresolved | issues_control) & ~self.resolved & ~dut.flow.release),
            self.live[0].eq(self.fetched & ~squashed),
            self.live[1].eq(self.live[0] & ~self.missed & ~squashed),
            self.live[2].eq(self.live[1] & ~squashed),
        ]

    def in_stacks(self, pc: Value) -> Value:
        """Whether a fetch from ``pc`` faults because the interleaved stacks are there."""
        stacks = self.config.interleaved_stacks
        return (pc >= stacks.start) & (pc < stacks.stop)

    def _predict(self, pc: Value) -> tuple[Signal, Signal]:
        """Whether the instruction in decode is followed, and its target.

        ``static``: the same without predictors, for a ``jal`` or a branch that is statically predicted taken.
        """
        follows, target = Signal(name="expect_follows"), Signal(32, name="expect_target")
        if self.config.follows:
            word, sign = self.store.instruction, self.store.instruction[31]
            in_stacks = self.in_stacks(pc)
            jal = word[:7] == 0b1101111
            branch = (word[1:7] == 0b110001) & (word[13:15] != 1)
            forward = Cat(Const(0, 1), word[21:31], word[20], word[12:20], sign.replicate(12))
            backward = Cat(Const(0, 1), word[8:12], word[25:31], word[7], sign.replicate(20))
            self.m.d.comb += [
                follows.eq(~self.store.error & ~in_stacks & (jal | branch & (sign != ~word[0]))),
                target.eq(pc + Mux(jal, forward, backward)),
            ]
        self.static = follows, target
        return self.static if self.predictors is None else (self.predictors.predicted, self.predictors.target)

    def _assume(self) -> None:
        m, dut = self.m, self.dut
        environment = EnvironmentWatch(self.config)
        self.environment = Internals(environment)
        m.submodules.environment = self.environment.fragment
        request, response = dut.mem.request, dut.mem.response
        m.d.comb += [
            environment.control.active.eq(dut.flow.active),
            environment.front.unresolved.eq(self.unresolved),
            environment.control.resolution.eq(dut.flow.resolution),
            environment.control.release.eq(dut.flow.release),
            environment.control.activation.eq(dut.flow.activation),
            environment.front.request.eq(request.valid & request.ready),
            environment.front.request_tag.eq(request.payload.tag),
            environment.front.answer.eq(response.valid & response.ready),
            environment.front.answer_tag.eq(response.payload.tag),
            Assume(environment.broken.as_value() == 0),
        ]

    def _show_cycle(self) -> None:
        """Define the trace columns of a cycle, in the order in which a reader needs them."""
        dut = self.dut
        pops = self.issued.any()
        word = select(self.fetched, self.fetch_pcs())
        self.show("warp in question", self.warp)
        self.show("active", dut.flow.active, kind="mask")
        self.show("eligible", dut.event.eligible, kind="mask")
        self.show("selected", dut.selection.select, kind="mask")
        self.show("pops", dut.selection.nop, pops, kind="popped")
        self.show("fetches", word, self.fetched.any(), kind="pc")
        self.show("misses", self.missed, self.missed.any(), kind="mask")
        self.show("redirect", self.redirected, self.redirected.any(), kind="mask")
        self.show("to", dut.flow.resolution.target, self.redirected.any(), kind="pc")
        self.show("jumps in decode", self.turned, self.turned.any(), kind="mask")
        self.show("starts", dut.flow.activation.warps, dut.flow.activation.warps.any(), kind="mask")
        self.show("unresolved", dut.event.unresolved, dut.event.unresolved.any(), kind="mask")
        self.show("suspended", self.suspended, self.suspended.any(), kind="mask")

    # The symbolic warp's ring, place 0 the next to issue.

    @property
    def replaces(self) -> bool:
        """Whether wrong-path instructions are replaced by NOPs (``swas``)."""
        return self.config.coordination is Coordination.SWAS

    def ring(self, *, contents: bool) -> list[RingPlace]:
        """Return the d slots of the symbolic warp, the oldest first; ``contents`` adds what the entries hold."""
        if contents and self.predictors is not None:
            self.path = PredictedPath(self)
        places = [self._place(number, contents=contents) for number in range(self.config.buffer_depth)]
        self.show("its ring", Cat(Cat(place.nop, place.decoded) for place in places), kind="ring")
        if contents:
            for number, place in enumerate(places):
                self.show(f"pc {number}", place.pc, ~place.nop, kind="pc")
        return places

    def head(self) -> Value:
        """The slot of the symbolic warp's next instruction."""
        return self.mine_of(self.heads())

    def tail(self) -> Value:
        """The slot of the symbolic warp's next entry (not ``swas``)."""
        return self.mine_of([self.inside.signal("buffers", f"tail_{w}") for w in range(self.config.warps)])

    def heads(self) -> list[Signal]:
        """The head slot of every warp."""
        return [self.inside.signal("buffers", f"head_{w}") for w in range(self.config.warps)]

    def flags(self, name: str) -> list[Signal]:
        """``filled`` or ``nop`` of every warp: one bit a slot."""
        return [self.inside.signal("buffers", f"{name}_{w}") for w in range(self.config.warps)]

    def stages(self) -> list[data.View]:
        """Return the fetches in flight, the youngest first."""
        layout = stage_layout(self.config)
        numbers = range(1, self.config.fetch_latency + 1)
        return [self.inside.signal("fetch", f"fetch_{number}", layout) for number in numbers]

    def _place(self, number: int, *, contents: bool) -> RingPlace:
        m, depth = self.m, self.config.buffer_depth
        slot = Signal(slot_bits(self.config), name=f"slot_{number}")
        m.d.comb += slot.eq(self.head() + number)
        filled = self.mine_of(self.flags("filled")).bit_select(slot, 1)
        flying = [(stage, self._is_for(stage, slot)) for stage in self.stages()]
        held = RingPlace(
            nop=Signal(name=f"place_{number}_nop"), decoded=Signal(name=f"place_{number}_decoded"),
            pc=Signal(32, name=f"place_{number}_pc"), after=Signal(32, name=f"after_place_{number}"),
            info=Signal(IssueInfo.as_shape().size, name=f"info_{number}"),
            entry=self.inside.look_at("buffers.entries", Cat(slot, self.warp), BufferEntry) if contents else None,
        )
        m.d.comb += [
            held.decoded.eq(filled),
            held.nop.eq(Mux(filled, self.mine_of(self.flags("nop")).bit_select(slot, 1),
                            or_all([its & stage.squashed for stage, its in flying]))),
        ]
        if contents:
            infos = [self.mine_of([self.inside.signal("buffers", f"info_{w}_{s}") for w in range(self.config.warps)])
                     for s in range(depth)]
            m.d.comb += [
                held.info.eq(Array(infos)[slot]),
                held.after.eq(self._after(held, slot, filled)),
                held.pc.eq(Mux(filled, held.entry.pc, or_all([Mux(its, stage.pc, 0) for stage, its in flying]))),
            ]
        return held

    def _after(self, place: RingPlace, slot: Value, filled: Value) -> Value:
        """The pc of the instruction that the warp fetched after this one."""
        if self.path is not None:
            return Mux(filled, self.path.of(slot).after << 2, place.pc + 4 & ~3)
        return place.pc + Mux(filled & place.entry.decoded.predicted, place.entry.decoded.imm, 4) & ~3

    def _is_for(self, stage: data.View, slot: Value) -> Value:
        return stage.valid & (stage.warp == self.warp) & (stage.slot == slot)

    def policy_states(self) -> Iterator[tuple[str, str, data.View]]:
        """Yield scheduler, policy name and policy registers for each policy that has state."""
        config = self.config
        unified = {"scheduler": config.policies}
        split = {"issuing": config.policies, "fetching": config.fetch_policies}
        for scheduler, policies in (unified if self.replaces else split).items():
            for name in policies:
                layout = POLICIES[name].of(config).state_layout()
                if layout.size:
                    yield scheduler, name, self.inside.signal(f"scheme.{scheduler}", f"{name}_state", layout)

    def issue_state(self) -> data.View:
        """Return the registers of the issue policy."""
        return next(state for scheduler, _, state in self.policy_states() if scheduler != "fetching")

    # Fetch, misses and memory.

    def fetch_pcs(self) -> list[Value]:
        """The fetch pc of every warp."""
        return [self.inside.component("warps").pc[w] for w in range(self.config.warps)]

    def pc_registers(self) -> list[Value]:
        """Return each warp's pc without its two low bits; a fetch advances it in the cycle after its lookup hits."""
        advances, advanced = self.advances(), self.inside.signal("warps", "advanced")
        registers = [self.inside.signal("warps", f"pc_{w}") for w in range(self.config.warps)]
        return [Mux(advances[w], advanced, register) for w, register in enumerate(registers)]

    def advances(self) -> Signal:
        """Return the warp whose fetch hit in the last cycle; its pc is not yet in its register."""
        return self.inside.signal("warps", "advances")

    def misses(self) -> Misses:
        """The MSHRs."""
        path = "fetch.misses"
        plain = ("valid", "sent", "locked", "warp", "wanted_line", "granted", "answered")
        names = {"waiting": "_waiting", **{name: name for name in plain}}
        lines = [self.inside.signal(path, f"line_{i}") for i in range(self.config.fetch_requests)]
        return Misses(lines=lines, **{field: self.inside.signal(path, name) for field, name in names.items()})

    def track_requests(self) -> None:
        """Track memory requests by tag in ``owed`` and ``asked``.

        ``answered``, ``answered_tag`` and ``answered_line`` are memory's response in the previous cycle, which takes
        effect in this one. ``serves`` is 1 if that response may wake the symbolic warp.
        """
        m, config = self.m, self.config
        request, response = self.dut.mem.request, self.dut.mem.response
        self.owed = self.register(config.fetch_requests, "expect_owed")
        self.asked = [self.register(LINE_NUMBER_BITS, f"expect_asked_{tag}") for tag in range(config.fetch_requests)]
        self.answered = self.register(1, "expect_answered")
        self.answered_line = self.register(LINE_NUMBER_BITS, "expect_answer")
        self.answered_tag = self.register(response.payload.tag.shape(), "expect_answered_tag")
        # Without an I-cache nothing is shared: a response serves the requesting warp, and its tag is that warp.
        self.serves: Value = self.answered
        if not config.icache_bytes:
            self.serves = self.answered & (self.answered_tag == self.warp)
        answers = response.valid & response.ready
        m.d.sync += [
            self.answered.eq(answers),
            self.answered_tag.eq(response.payload.tag),
            self.answered_line.eq(Array(self.asked)[response.payload.tag]),
        ]
        with m.If(answers):
            m.d.sync += self.owed.bit_select(response.payload.tag, 1).eq(0)
        with m.If(request.valid & request.ready):
            m.d.sync += [
                self.owed.bit_select(request.payload.tag, 1).eq(1),
                Array(self.asked)[request.payload.tag].eq(request.payload.line),
            ]
