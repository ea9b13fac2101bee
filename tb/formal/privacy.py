"""P8 (docs/proof.md): a warp's predictions are a function of the instructions that it has executed."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Const, Value

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.prediction import with_high_bits

from .operand_claims import OperandClaims
from .outcomes import OutcomeClaims
from .predictor_lemmas import PredictorLemmas
from .privacy_world import PrivacyWorld

__all__ = ["PrivacyModel"]


class PrivacyModel(PrivacyWorld):
    """The harness with its claims, and the way from selection to an outcome."""

    def __init__(
        self, config: SmConfig, *, lemmas: bool = True, asserts: Callable[[str], bool] = lambda text: True,
    ) -> None:
        super().__init__(config)
        self.asserts = asserts
        if lemmas:
            PredictorLemmas(self)
        self._predictions()
        self.free += [*OperandClaims(self, config).free, *OutcomeClaims(self, config).free]
        self._show()

    def _predictions(self) -> None:
        """What is predicted on the path is what the reference predicts."""
        config, dut, word, ideal, state = self.config, self.dut, self.word, self.ideal, self.state
        plain = ~(word.indirect | word.conditional)
        self.claim("another instruction is predicted as the decoder says", ~plain | (dut.predicted == word.usual))
        self.claim("a jal or branch goes where it says", word.indirect | (dut.target == dut.direct))
        self.claim("a jalr goes where its prediction says",
                   ~word.indirect | (dut.target == with_high_bits(dut.prediction.target, dut.pc)[:32]))
        jumps, branches = self.decodes & word.indirect, self.decodes & word.conditional
        stacked = ideal.stacked(state, word)
        if config.return_stack:
            self.claim("a return whose stack is not empty is predicted", ~(jumps & stacked) | dut.predicted)
            self.claim("a return goes to the last return address of the warp",
                       ~(jumps & stacked & (state.top == self.spot.place))
                       | (dut.prediction.target == state.call))
        asks: Value = jumps & ~stacked
        known: Value = Const(0, 1)
        if config.jump_targets:
            asks, known = asks & ideal.is_target(dut.pc), state.known
            self.claim("another jalr goes to the last target that the warp has learned",
                       ~(asks & known) | (dut.prediction.target == state.target))
        self.claim("another jalr is predicted if the warp has learned a target", ~asks | (dut.predicted == known))
        if config.branch_runs:
            branches = branches & ideal.is_set(dut.pc)
            hit, way = ideal.hit(state, dut.pc)
            self.claim("a branch is found among those of its warp", ~branches | (dut.prediction.run == hit))
            self.claim("and in its way", ~(branches & hit) | (dut.prediction.way == way))
        if config.two_bit:
            branches = branches & ideal.is_counter(dut.pc)
        self.claim("a branch goes as the outcomes of its warp say",
                   ~branches | (dut.predicted == ideal.direction(state, word, dut.pc)))

    def _show(self) -> None:
        dut, outcome = self.dut, self.dut.outcome
        self.show("warp in question", self.warp)
        self.show("decodes", dut.warp, dut.valid)
        self.show("pc", dut.pc, dut.valid, kind="pc")
        self.show("word", dut.instruction, dut.valid, kind="pc")
        self.show("on its path", self.right)
        self.show("predicted", dut.predicted, dut.valid)
        self.show("target", dut.target, dut.valid & dut.predicted, kind="pc")
        self.show("is taken", self.event.taken, self.decodes & self.word.jumps)
        self.show("outcome of", outcome.warp, outcome.valid)
        self.show("outcome at", outcome.pc, outcome.valid, kind="pc")
        self.show("wrong", outcome.wrong, outcome.valid)
        self.show("redirects", dut.restore, dut.restore.any(), kind="mask")
        self.show("starts", dut.start, dut.start.any(), kind="mask")
        self.show("unsettled", self.held)
