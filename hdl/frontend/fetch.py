"""The fetch pipeline that all front ends share: request, I-cache lookup, word, decode."""

from itertools import pairwise

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from ..layouts.memory import memory_port_signature
from ..layouts.prediction import outcome_layout
from ..lib.component import Component
from ..lib.onehot import one_hot
from ..lib.stacks import in_stacks
from .decode import Decoder, jump_offset
from .icache_store import ICacheStore
from .line_store import LineStore
from .misses import MissUnit
from .prediction.predictors import Predictors
from .signatures import arrival_signature, choice_signature, lookup_signature, slot_bits, turn_signature

__all__ = ["FetchPipeline", "stage_layout"]


def stage_layout(config: SmConfig) -> data.StructLayout:
    """A fetch between request and decode: the slot that it will fill, and whether it was squashed."""
    return data.StructLayout({
        "valid": 1, "squashed": 1, "warp": config.warp_bits, "slot": slot_bits(config), "pc": 32,
    })


class FetchPipeline(Component):
    """Turns a fetch request in cycle t into a decoded instruction in t+3; takes one request a cycle.

    A fetch requested in t is looked up in t+1 and decoded in t+3. It is squashed by a miss, by ``squash``, or by the
    ``turn`` of an older fetch of its warp; it then comes out as ``done.squashed``, and requests no line if squashed in
    t or t+1. ``squash`` has priority over ``turn``. A warp whose lookup has missed is suspended until its line arrives.

    Reset: no fetch in flight, no warp suspended. A suspended warp may not request a fetch.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        counts = data.ArrayLayout(range(config.fetch_latency + 1), config.warps)
        learning: dict[str, wiring.Member] = {}
        if config.learns:
            learning = {
                "start": In(config.warps),  # warps that start: their predictions begin anew
                "outcome": In(outcome_layout(config)),  # of a jump or branch, in the cycle of its redirect
            }
        super().__init__({
            **learning,
            # Masks have one bit per warp.
            #: In t: the warp that fetches; whether this cycle's lookup misses comes late.
            "request": In(choice_signature(config)),
            "request_pc_if_hit": In(32),  # in t: the pc of ``request.if_hit``
            "request_pc_if_missed": In(32),  # in t: the pc of ``request.if_missed``
            "request_slot": In(slot_bits(config)),  # in t+1: the slot for the instruction; returned as ``done.slot``
            #: All fetches of these warps that are in flight, or requested in this cycle, are squashed. From the next
            #: cycle on, these warps are not suspended.
            "squash": In(config.warps),
            "invalidate": In(1),  # fence.i: lookups from the next cycle on miss all lines present now
            #: Each warp's fetch line; after a miss, the line that it waits for.
            "lines": In(data.ArrayLayout(LINE_NUMBER_BITS, config.warps)),
            "lookup": Out(lookup_signature(config)),  # in t+1: the fetch that is looked up
            "miss": Out(1),  # in t+1: a lookup misses, and is not squashed in this cycle
            "miss_warp": Out(config.warp_bits),  # in t+1: the warp of this fetch
            "done": Out(arrival_signature(config)),  # in t+3: the fetch that comes out
            #: In t+3: the jump that the decoder follows (not with ``Prediction.NOT_TAKEN``): the fetches of its warp
            #: after it, those requested in t+1 to t+3, are squashed.
            "turn": Out(turn_signature(config)),
            "in_flight": Out(counts),  # fetches of each warp in t+1 to t+3
            "kept_in_flight": Out(counts),  # those fetches that were not squashed before this cycle
            "refill": Out(1),  # a line enters the cache
            #: Among these warps, those suspended for ``refill_line`` are released from the next cycle on. All warps, or
            #: without an I-cache only one.
            "woken": Out(config.warps),
            "refill_line": Out(LINE_NUMBER_BITS),  # the line of ``refill`` and ``woken``
            "mem": Out(memory_port_signature(config, tag_bits=config.icache_tag_bits)),  # lines of instructions
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = (ICacheStore if self._config.icache_bytes else LineStore)(self._config)
        m.submodules.misses = misses = MissUnit(self._config)
        m.submodules.decoder = decoder = Decoder(
            prediction=self._config.prediction, ordered=self._config.ordered, fpu=self._config.fpu,
        )
        squash = Signal(self._config.warps, name="any_squash")
        lookup, early, last, scattered = self._stages(m, store, squash)
        self._lookup(m, lookup, store, misses, squash)
        offset = jump_offset(store.instruction)
        if self._config.learns:
            # That of a jalr is 0, so that the adder has the high bits of its target.
            offset = Mux(store.instruction[2:4] == 1, 0, offset)
        predicted, target = decoder.decoded.predicted, last.pc + offset
        if self._config.learns:
            predicted, target = self._predict(m, early, last, decoder, store.instruction, target)
        follows = last.valid & ~last.squashed & predicted
        m.d.comb += [
            self.turn.warps.eq(Mux(follows, one_hot(last.warp, self._config.warps) & ~self.squash, 0)),
            self.turn.target.eq(target),
            squash.eq(self.squash | self.turn.warps),
        ]
        m.d.comb += [
            decoder.instruction.eq(store.instruction),
            # Instructions are fetched by memory address: a program's instructions in interleaved stacks are scattered.
            decoder.fetch_error.eq(store.error | scattered),
            self.done.valid.eq(last.valid),
            self.done.squashed.eq(last.squashed),
            self.done.warp.eq(last.warp),
            self.done.slot.eq(last.slot),
            self.done.entry.decoded.eq(decoder.decoded),
            self.done.entry.decoded.predicted.eq(predicted),
            self.done.entry.instruction.eq(store.instruction),
            self.done.entry.pc.eq(last.pc),
        ]
        return m

    def _predict(self, m: Module, early: data.View, last: data.View, decoder: Decoder, word: Value,
                 direct: Value) -> tuple[Value, Value]:
        """Whether the instruction in decode is predicted to be taken, and where it goes then."""
        m.submodules.predictors = predictors = Predictors(self._config)
        m.d.comb += [
            predictors.start.eq(self.start),
            predictors.restore.eq(self.squash),
            predictors.valid.eq(last.valid & ~last.squashed & ~Array(self.squash)[last.warp]),
            predictors.early_warp.eq(early.warp),
            predictors.early_pc.eq(early.pc),
            predictors.warp.eq(last.warp),
            predictors.pc.eq(last.pc),
            predictors.instruction.eq(Cat(word[0], word[1] & ~decoder.fetch_error, word[2:])),
            predictors.usual.eq(decoder.decoded.predicted),
            predictors.direct.eq(direct),
            predictors.outcome.eq(self.outcome),
            self.done.prediction.eq(predictors.prediction),
        ]
        return predictors.predicted, predictors.target

    def _stages(
        self, m: Module, store: ICacheStore | LineStore, squash: Signal,
    ) -> tuple[data.View, data.View, data.View, Signal]:
        """The stages after the request; returns those in lookup (t+1), before decode (t+2) and in decode (t+3).

        Also returns a register that says whether the pc in decode lies in interleaved stacks.
        """
        config = self._config
        layout = stage_layout(config)
        stages = [Signal(layout, name=f"fetch_{number}") for number in range(1, config.fetch_latency + 1)]
        requested = Signal(layout, name="fetch_0")
        # The lookup's outcome only selects between values computed for both outcomes.
        requests = (self.request.if_missed, self.request.if_hit)
        m.d.sync += [
            requested.valid.eq(self.request.valid),
            self.lookup.warps.eq(Mux(self.lookup.missed, *(request & ~squash for request in requests))),
            requested.warp.eq(self.request.warp),
        ]
        looked_up = self._looked_up(m, len(store.lookup_pc))
        m.d.comb += [
            stages[0].eq(requested),
            stages[0].squashed.eq(~self.lookup.warps.any()),
            stages[0].slot.eq(self.request_slot),
            stages[0].pc.eq(looked_up[0]),
            store.lookup_valid.eq(requested.valid),
            *(port.eq(pc) for port, pc in zip(store.lookup_pc, looked_up, strict=True)),
        ]
        for number, (stage, following) in enumerate(pairwise(stages)):
            squashed = Array(squash)[stage.warp]
            missed = stage.valid & ~stage.squashed & ~store.hit if number == 0 else 0
            m.d.sync += [following.eq(stage), following.squashed.eq(stage.squashed | squashed | missed)]
        for w in range(config.warps):
            mine = [stage.valid & (stage.warp == w) for stage in stages]
            kept = [its & ~stage.squashed for its, stage in zip(mine, stages, strict=True)]
            m.d.comb += [
                self.in_flight[w].eq(sum(mine, Const(0, 1))),
                self.kept_in_flight[w].eq(sum(kept, Const(0, 1))),
            ]
        scattered = Signal()
        m.d.sync += scattered.eq(in_stacks(m, config, stages[-2].pc, "fetch"))
        return stages[0], stages[-2], stages[-1], scattered

    def _looked_up(self, m: Module, copies: int) -> list[Signal]:
        """The pc that was requested in the last cycle.

        Which pc that was depends on the lookup before it, which ends the longest path of the design (docs/fpga.md). The
        first copy is selected by a register with the outcome, so that it drives only one register in that cycle. The
        others, of which a memory needs a few bits as address, are registers.
        """
        pcs = {outcome: Signal(32, name=f"pc_if_{outcome}") for outcome in ("hit", "missed")}
        missed = Signal(name="missed")
        looked_up = [Signal(32, name=f"looked_up_{copy}", init=-(copy == 2) % (1 << 32)) for copy in range(copies)]
        m.d.sync += [
            pcs["hit"].eq(self.request_pc_if_hit),
            pcs["missed"].eq(self.request_pc_if_missed),
            missed.eq(self.lookup.missed),
        ]
        m.d.comb += looked_up[0].eq(Mux(missed, pcs["missed"], pcs["hit"]))
        # Their reset values differ (no lookup is in progress then): synthesis would merge equal registers.
        for register in looked_up[1:]:
            m.d.sync += register.eq(Mux(self.lookup.missed, self.request_pc_if_missed, self.request_pc_if_hit))
        return looked_up

    def _lookup(self, m: Module, lookup: data.View, store: ICacheStore | LineStore, misses: MissUnit,
                squash: Signal) -> None:
        m.d.comb += [
            self.lookup.missed.eq(~store.hit),
            self.lookup.misses.eq(Mux(self.lookup.missed, self.lookup.warps, 0)),
            # A miss squashed in its own cycle still blocks selection in that cycle, but requests nothing.
            self.miss.eq(self.lookup.missed & (self.lookup.warps & ~squash).any()),
            self.miss_warp.eq(lookup.warp),
            self.lookup.pc.eq(lookup.pc),
            misses.lookup.eq(self.lookup.warps & ~squash),
            misses.lookup_missed.eq(self.lookup.missed),
            misses.lookup_line.eq(lookup.pc[LINE_OFFSET_BITS:]),
            misses.release.eq(squash),
            misses.invalidate.eq(self.invalidate),
            misses.pending_line.eq(self.lines),
            self.lookup.suspended.eq(misses.suspended),
            store.invalidate.eq(self.invalidate),
            self.refill.eq(misses.refill.valid),
            self.woken.eq(misses.woken),
            self.refill_line.eq(misses.refill.line),
        ]
        if isinstance(store, LineStore):
            m.d.comb += store.lookup_warp.eq(lookup.warp)
        connect(m, misses.refill, store.refill)
        connect(m, flipped(self.mem), misses.mem)
