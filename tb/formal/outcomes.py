"""The control unit's side of P8: the outcome of every jump and branch, and the redirect of a wrong one.

The control unit is the real one, without its units for SIMT and CSRs, whose outputs are free. Stage X holds any
instruction, decoded by the real decoder, with any prediction and any operands.
"""

from __future__ import annotations

from amaranth.hdl import Assume, Mux, Signal, Value
from amaranth.lib import wiring

from metronome.hdl.config import SmConfig
from metronome.hdl.execute.controls import Controls
from metronome.hdl.frontend.decode import Decoder
from metronome.hdl.isa.ops import Unit
from metronome.hdl.layouts.execute import operands_layout

from .claims import Claims
from .ideal import Word, event_layout, told, wrong
from .inside import Internals

__all__ = ["OutcomeClaims"]

_CUT = ("simt", "csr")


class OutcomeClaims:
    """Adds the control unit, stage X and the claims to a harness; ``free`` are its inputs."""

    def __init__(self, model: Claims, config: SmConfig) -> None:
        self._model, self._config, self._m = model, config, model.m
        self._unit = Controls(config)
        inside = Internals(self._unit)
        self.free: list[Value] = [
            Value.cast(value) for _, member, value in self._unit.signature.flatten(self._unit)
            if member.flow is wiring.In and value is not self._unit.x
        ]
        for name in _CUT:
            part = inside.component(name)
            inside.cut(name)
            self.free += [Value.cast(value) for _, member, value in part.signature.flatten(part)
                          if member.flow is wiring.Out]
        self._m.submodules.control = inside.fragment
        self._stage()
        self._claims()

    def _stage(self) -> None:
        """Stage X: an instruction of a warp with an active lane. A jal is predicted (P8)."""
        m, unit, config = self._m, self._unit, self._config
        any_x, predicted = Signal(operands_layout(config), name="any_x"), Signal(name="any_predicted")
        self.free += [Value.cast(any_x), predicted]
        m.submodules.decoder = decoder = Decoder(
            prediction=config.prediction, ordered=config.ordered, fpu=config.fpu,
        )
        self._word = word = Word(any_x.entry.instruction)
        m.d.comb += [
            decoder.instruction.eq(any_x.entry.instruction), unit.x.eq(any_x),
            unit.x.entry.decoded.eq(decoder.decoded),
            unit.x.entry.decoded.predicted.eq(Mux(word.conditional | word.indirect, predicted, word.usual)),
            Assume(~any_x.valid | any_x.mask.any()),
        ]

    def _claims(self) -> None:
        model, m, unit, word = self._model, self._m, self._unit, self._word
        x, flow = unit.x, unit.flow
        jumps = x.valid & (x.entry.decoded.info.unit == Unit.BRANCH)
        model.claim("X: the jumps and branches are those that decode takes for them", ~x.valid | (jumps == (
            x.valid & word.jumps)))
        #: Of the last cycle.
        came, event = Signal(name="expect_outcome"), Signal(event_layout(), name="expect_event")
        warp = Signal(len(x.warp), name="expect_outcome_warp")
        m.d.sync += [
            came.eq(jumps & ~unit.fault_valid), warp.eq(x.warp), event.pc.eq(x.entry.pc),
            event.word.eq(x.entry.instruction), event.predicted.eq(x.entry.decoded.predicted),
            event.prediction.eq(x.prediction),
        ]
        outcome, resolution = flow.outcome, flow.resolution
        seen = Signal(event_layout())
        m.d.comb += [seen.eq(event), seen.taken.eq(outcome.taken), seen.target.eq(outcome.target),
                     seen.wrong.eq(outcome.wrong)]
        record = Signal(outcome.shape(), name="expect_record")
        m.d.comb += [record.valid.eq(1), record.warp.eq(warp), *told(record, seen, outcome)]
        kind = Word(event.word)
        model.claim("X: a jump or branch without a fault has an outcome in the next cycle", outcome.valid == came)
        model.claim("X: the outcome says what the predictors expect", ~came | (outcome.as_value() == record.as_value()))
        model.claim("X: a jump is taken", ~came | kind.conditional | outcome.taken)
        model.claim("X: an outcome is wrong iff its prediction was", ~came | (outcome.wrong == wrong(seen)))
        redirects = resolution.valid & resolution.redirect
        model.claim("X: a wrong outcome redirects its warp in the same cycle",
                    ~(came & outcome.wrong) | redirects & (resolution.warp == warp))
        model.claim("X: to where it continues", ~(came & outcome.wrong) | (
            resolution.target[2:] == Mux(outcome.taken, outcome.target, event.pc + 4)[2:32]))
        model.claim("X: with a right outcome, no warp is redirected", ~(came & ~outcome.wrong) | ~redirects)
