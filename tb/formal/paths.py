"""The path that a warp fetches if any instruction may be predicted to go anywhere, and what goes along with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from metronome.hdl.layouts.decoded import BufferEntry
from metronome.hdl.layouts.prediction import packed, prediction_layout
from metronome.hdl.lib.onehot import one_hot
from metronome.hdl.prediction_sizes import NEAR_BITS

from .ideal import Word
from .records import RingPlace

__all__ = ["PredictedPath", "predicted_bit"]

#: Of an instruction of the symbolic warp: the word fetched next, and what was predicted when it was decoded.
_DECODED = data.StructLayout({"after": 30, "predicted": 1, "prediction": prediction_layout()})


def predicted_bit(model: Any) -> Value:
    """The bit of an entry that says whether it was predicted taken, if that is free; else no bit."""
    entry = data.View(BufferEntry, Const(0, BufferEntry.as_shape().size))
    if model.predictors is None:
        return entry.as_value()
    return Value.cast(BufferEntry.const({"decoded": {"predicted": 1}}))


class PredictedPath:
    """Registers of the harness with the prediction of each slot of the symbolic warp's ring.

    ``model`` is a :class:`tb.formal.model.Model`, which imports this module.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._fetch = model.inside.component("fetch")
        self._slots = [model.register(_DECODED, f"expect_decoded_{slot}") for slot in range(model.config.buffer_depth)]
        done, predictors = self._fetch.done, model.predictors
        mine = done.valid & ~done.squashed & (done.warp == model.warp)
        fills = done.slot if model.replaces else model.tail()
        for slot, held in enumerate(self._slots):
            with model.m.If(mine & (fills == slot)):
                model.m.d.sync += [
                    held.after.eq(Mux(predictors.predicted, predictors.target, done.entry.pc + 4)[2:]),
                    held.predicted.eq(predictors.predicted), held.prediction.eq(predictors.prediction),
                ]

    def inputs(self) -> None:
        """What the predictors receive is what P8 assumes."""
        model, done, dut = self._model, self._fetch.done, self._model.dut
        its, word, (usual, target) = model.predictors, model.store.instruction, model.static
        redirected = (model.redirected & one_hot(done.warp, model.config.warps)).any()
        failed = model.store.error | model.in_stacks(done.entry.pc)
        kind = Word(its.instruction)
        model.claim("the predictors receive what arrives, unless its warp is redirected",
                    its.valid == (done.valid & ~done.squashed & ~redirected))
        model.claim("but no instruction of a warp that starts",
                    ~(its.valid & (its.warp == model.warp) & model.of_mine(dut.flow.activation.warps)))
        warp, pc = model.register(len(its.early_warp), "expect_decode_warp"), model.register(32, "expect_decode_pc")
        dropped, decoded = model.register(1, "expect_dropped"), model.register(1, "expect_decoded_before")
        last_pc, mine = model.register(32, "expect_last_pc"), its.valid & (its.warp == model.warp)
        model.m.d.sync += [
            warp.eq(its.early_warp), pc.eq(its.early_pc),
            dropped.eq(model.of_mine(model.redirected | dut.flow.activation.warps) | (mine & its.predicted)),
            decoded.eq(mine), last_pc.eq(its.pc),
        ]
        model.claim("nor of one that was started, redirected or predicted to jump in the last cycle", ~(mine & dropped))
        if model.replaces:  # the others lack the invariants of the path, from which it follows
            model.claim("and if it was the same warp's in the last cycle, the pc before it",
                        ~(mine & decoded) | (its.pc == (last_pc + 4)[:32]))
        model.claim("its warp and its pc have come a cycle early", (its.warp == warp) & (its.pc == pc))
        model.claim("with its warp and its pc", (its.warp == done.warp) & (its.pc == done.entry.pc))
        model.claim("and its word, or none", its.instruction == Mux(failed, word & ~0b10, word))
        model.claim("and its static prediction", (its.usual == usual) & (kind.usual == usual))
        model.claim("and the target of a jal or branch", ~(kind.jal | kind.conditional) | (its.direct == target))
        model.claim("or the pc of a jalr", ~kind.indirect | (its.direct == its.pc))
        model.claim("they receive redirects and starts",
                    (its.restore == model.redirected) & (its.start == dut.flow.activation.warps))
        model.claim("and outcomes", its.outcome.as_value() == dut.flow.outcome.as_value())

    def of(self, slot: Value) -> Any:
        """What is known of the instruction in ``slot``."""
        return data.View(_DECODED, Array([held.as_value() for held in self._slots])[slot])

    def claims(self, places: Sequence[RingPlace], issues: Value) -> None:
        """An instruction that issues takes along the prediction that was made for it."""
        model = self._model
        self.inputs()
        for number, place in enumerate(places):
            slot = (model.head() + number)[:len(model.head())]
            self._kept(f"place {number} of the ring", slot, place.decoded & ~place.nop, place.entry)
        self._taken_along(issues)

    def queue_claims(self, issues: Value) -> None:
        """The same without NOPs (``baseline``, ``vortex``)."""
        model = self._model
        self.inputs()
        filled = model.mine_of(model.flags("filled"))
        for number in range(model.config.buffer_depth):
            slot = Const(number, len(model.head()))
            entry = model.inside.look_at("buffers.entries", Cat(slot, model.warp), BufferEntry)
            self._kept(f"slot {number}", slot, filled[number], entry)
        self._taken_along(issues)

    def _kept(self, name: str, slot: Value, kept: Value, entry: Any) -> None:
        """The memories of the buffers hold what was predicted."""
        model, held = self._model, self.of(slot)
        address = Signal(len(slot) + len(model.warp), name=f"prediction_{name.replace(' ', '_')}_address")
        model.m.d.comb += [address[:len(slot)].eq(slot), address[len(slot):].eq(model.warp)]
        known = model.inside.look_at("buffers.predictions", address, data.StructLayout({"packed": NEAR_BITS}))
        model.lemma(f"{name} holds the prediction of its instruction",
                    ~kept | (entry.decoded.predicted == held.predicted)
                    & (known.packed == packed(held.prediction, entry.instruction)))

    def _taken_along(self, issues: Value) -> None:
        model, m = self._model, self._model.m
        issued, issued_with = model.register(1, "expect_told"), model.register(_DECODED, "expect_issued_decoded")
        m.d.sync += [issued.eq(issues), issued_with.eq(self.of(model.head()))]
        selection = model.dut.selection
        kind, its, made = Word(selection.entry.instruction), selection.prediction, issued_with.prediction
        model.claim("the entry that follows takes along whether it was predicted taken",
                    ~issued | (selection.entry.decoded.predicted == issued_with.predicted))
        model.claim("the entry that follows takes along its prediction",
                    ~issued | (~kind.indirect | (its.target == made.target))
                    & (~kind.conditional | (its.run == made.run) & (its.way == made.way)))
