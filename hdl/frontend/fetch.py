"""The fetch pipeline that all front ends share: request, I-cache lookup, word, decode."""

from itertools import pairwise

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import SmConfig
from ..layouts.decoded import BufferEntry
from ..lib.onehot import one_hot
from ..memory.port import icache_tag_bits, memory_port_signature
from ..memory.stacks import in_stacks
from .buffers import slot_bits
from .decode import Decoder, jump_offset
from .icache_store import ICacheStore
from .line_store import LineStore
from .misses import MissUnit

__all__ = ["FetchPipeline", "stage_layout"]


def stage_layout(config: SmConfig) -> data.StructLayout:
    """A fetch on its way from request to decode: the slot that it will fill, and whether it was squashed."""
    return data.StructLayout({
        "valid": 1, "squashed": 1, "warp": config.warp_bits, "slot": slot_bits(config), "pc": 32,
    })


class FetchPipeline(wiring.Component):
    """From a fetch request in cycle t to a decoded instruction in t+3.

    - ``request`` in t with warp number and ``slot`` (carried along); ``request_if_hit`` and ``request_if_missed``: the
      warp (one-hot or 0), ``request_pc_if_hit`` and ``request_pc_if_missed``: its pc, for either value of this cycle's
      ``lookup_missed``, which comes late.
    - t+1: ``lookup`` (one-hot, a register; 0 for a squashed fetch), and late in the cycle ``lookup_missed``, which
      means nothing if ``lookup`` is 0; ``missed`` (one-hot): the lookup missed; from the next cycle on the warp is
      ``suspended`` until its line is there. ``miss``, ``miss_warp``, ``miss_pc``: such a miss that is not squashed in
      its own cycle.
    - t+3: ``done`` with warp, slot and ``entry``, or ``done_squashed`` where the fetch missed or was squashed.
      The decoder may follow it (``Prediction.BTFN``): ``turn`` (one-hot) then squashes the fetches of its warp behind
      it, those requested in t+1..t+3, and the warp goes on at ``turn_target``.
    - ``squash`` (mask): every fetch of these warps that is under way now, or requested in this cycle, is squashed, and
      their suspension ends. One in t or t+1 requests no line. It comes before ``turn``.
    - ``in_flight[w]``: fetches of the warp in t+1..t+3; ``kept_in_flight[w]``: those not squashed before this cycle.
    - ``refill``: a line comes into the cache. ``woken``: those of these warps (without an I-cache it is one, else
      all) that are suspended for ``refill_line`` are so no more from the next cycle on.
    - ``lines[w]``: the warp's fetch line, its pc after a miss. ``invalidate``: fence.i.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        counts = data.ArrayLayout(range(config.fetch_latency + 1), config.warps)
        super().__init__({
            "request": In(1),
            "request_if_hit": In(config.warps),
            "request_if_missed": In(config.warps),
            "request_warp": In(config.warp_bits),
            "request_pc_if_hit": In(32),
            "request_pc_if_missed": In(32),
            "request_slot": In(slot_bits(config)),
            "squash": In(config.warps),
            "invalidate": In(1),
            "lines": In(data.ArrayLayout(26, config.warps)),
            "lookup": Out(config.warps),
            "lookup_missed": Out(1),
            "missed": Out(config.warps),
            "suspended": Out(config.warps),
            "miss": Out(1),
            "miss_warp": Out(config.warp_bits),
            "miss_pc": Out(32),
            "done": Out(1),
            "done_squashed": Out(1),
            "done_warp": Out(config.warp_bits),
            "done_slot": Out(slot_bits(config)),
            "entry": Out(BufferEntry),
            "turn": Out(config.warps),
            "turn_target": Out(32),
            "in_flight": Out(counts),
            "kept_in_flight": Out(counts),
            "refill": Out(1),
            "woken": Out(config.warps),
            "refill_line": Out(26),
            "mem": Out(memory_port_signature(config, tag_bits=icache_tag_bits(config))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = (ICacheStore if self._config.icache_bytes else LineStore)(self._config)
        m.submodules.misses = misses = MissUnit(self._config)
        m.submodules.decoder = decoder = Decoder(prediction=self._config.prediction)
        squash = Signal(self._config.warps, name="any_squash")
        lookup, last, scattered = self._stages(m, store, squash)
        self._lookup(m, lookup, store, misses, squash)
        follows = last.valid & ~last.squashed & decoder.decoded.predicted
        m.d.comb += [
            self.turn.eq(Mux(follows, one_hot(last.warp, self._config.warps) & ~self.squash, 0)),
            self.turn_target.eq(last.pc + jump_offset(store.instruction)),
            squash.eq(self.squash | self.turn),
        ]
        m.d.comb += [
            decoder.instruction.eq(store.instruction),
            # Instructions are fetched as they lie in memory: in interleaved stacks those of a program are scattered.
            decoder.fetch_error.eq(store.error | scattered),
            self.done.eq(last.valid),
            self.done_squashed.eq(last.squashed),
            self.done_warp.eq(last.warp),
            self.done_slot.eq(last.slot),
            self.entry.decoded.eq(decoder.decoded),
            self.entry.instruction.eq(store.instruction),
            self.entry.pc.eq(last.pc),
        ]
        return m

    def _stages(self, m: Module, store: ICacheStore | LineStore, squash: Signal) -> tuple[data.View, data.View, Signal]:
        """The stages after the request; returns the one in lookup (t+1) and the one in decode (t+3).

        With them a register that says whether the pc in decode lies in interleaved stacks.
        """
        config = self._config
        layout = stage_layout(config)
        stages = [Signal(layout, name=f"fetch_{number}") for number in range(1, config.fetch_latency + 1)]
        requested = Signal(layout, name="fetch_0")
        # The lookup's outcome only chooses between what is worked out for both.
        requests = (self.request_if_missed, self.request_if_hit)
        m.d.sync += [
            requested.valid.eq(self.request),
            requested.squashed.eq(Mux(self.lookup_missed, *((request & squash).any() for request in requests))),
            self.lookup.eq(Mux(self.lookup_missed, *(request & ~squash for request in requests))),
            requested.warp.eq(self.request_warp),
            requested.slot.eq(self.request_slot),
        ]
        looked_up = [self._looked_up(m, copy) for copy in range(len(store.lookup_pc))]
        m.d.comb += [
            stages[0].eq(requested),
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
        return stages[0], stages[-1], scattered

    def _looked_up(self, m: Module, copy: int) -> Signal:
        """The pc that was requested in the last cycle; ``copy``: with registers of its own.

        The outcome of the lookup before it decides which one that was. It comes at the end of the longest path of all
        (docs/fpga.md), so in that cycle it goes into one register only, and chooses in the next.
        """
        # Copies hold something else at reset, when no lookup is under way: synthesis would make equal registers one.
        pcs = {
            outcome: Signal(32, name=f"pc_if_{outcome}_{copy}", init=-copy % (1 << 32)) for outcome in ("hit", "missed")
        }
        missed = Signal(name=f"missed_{copy}", init=copy)
        looked_up = Signal(32, name=f"looked_up_{copy}")
        m.d.sync += [
            pcs["hit"].eq(self.request_pc_if_hit),
            pcs["missed"].eq(self.request_pc_if_missed),
            missed.eq(self.lookup_missed),
        ]
        m.d.comb += looked_up.eq(Mux(missed, pcs["missed"], pcs["hit"]))
        return looked_up

    def _lookup(self, m: Module, lookup: data.View, store: ICacheStore | LineStore, misses: MissUnit,
                squash: Signal) -> None:
        m.d.comb += [
            self.lookup_missed.eq(~store.hit),
            self.missed.eq(Mux(self.lookup_missed, self.lookup, 0)),
            # A miss squashed in its own cycle still blocks selection in that cycle, but requests nothing.
            self.miss.eq(self.lookup_missed & (self.lookup & ~squash).any()),
            self.miss_warp.eq(lookup.warp),
            self.miss_pc.eq(lookup.pc),
            misses.lookup.eq(self.lookup & ~squash),
            misses.lookup_missed.eq(self.lookup_missed),
            misses.lookup_line.eq(lookup.pc[6:]),
            misses.release.eq(squash),
            misses.invalidate.eq(self.invalidate),
            misses.pending_line.eq(self.lines),
            self.suspended.eq(misses.suspended),
            store.refill_valid.eq(misses.refill_valid),
            store.refill_line.eq(misses.refill_line),
            store.refill_data.eq(misses.refill_data),
            store.refill_error.eq(misses.refill_error),
            store.invalidate.eq(self.invalidate),
            self.refill.eq(misses.refill_valid),
            self.woken.eq(misses.woken),
            self.refill_line.eq(misses.refill_line),
        ]
        if isinstance(store, LineStore):
            m.d.comb += [store.lookup_warp.eq(lookup.warp), store.refill_warp.eq(misses.refill_warp)]
        connect(m, flipped(self.mem), misses.mem)
