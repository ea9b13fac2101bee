"""What ccws knows, once more: scores, totals and the division, by docs/policies.md ("Lost locality")."""

from __future__ import annotations

from amaranth.hdl import Const, Mux, Signal, Value

from metronome.sim.parameter_policies import TOTAL_BITS, CacheConscious

from .model import Model

__all__ = ["Locality"]


class Locality:
    """The harness's own registers of ccws, which follow what the design selects.

    ``scores``: of each warp. ``queued``: the warps whose scores are compared. ``cutoff``: what the scores of the
    selectable may come to. ``invariants``: that the design's registers are the same.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._policy = model, CacheConscious.of(model.config)
        m, warps = model.m, model.config.warps
        self._active = model.dut.active
        self.queued = Signal(warps, name="expect_queued")
        m.d.comb += self.queued.eq(self._active & ~model.dut.waiting)
        self.cutoff: Value = sum((self.queued[w] for w in range(warps)), Const(0, 1)) * self._policy.base
        self.scores = [model.register(self._policy.bits, f"expect_score_{w}", self._policy.base) for w in range(warps)]
        self._owed = model.register(warps, "expect_owed")
        self._left = model.register(range(self._policy.steps + 2), "expect_left")
        self._losses, self._selections = self._totals()
        self._rest, self._digits, self._divisor = self._divide()
        self._score()
        self.invariants = self._same()

    def _totals(self) -> tuple[Signal, Signal]:
        model, m = self._model, self._model.m
        totals = [model.register(TOTAL_BITS, f"expect_{name}") for name in ("losses", "selections")]
        more = [total + each.any() for total, each in zip(totals, (model.dut.lost, model.issued), strict=True)]
        full = (more[0] >> TOTAL_BITS).any() | (more[1] >> TOTAL_BITS).any()
        for total, each in zip(totals, more, strict=True):
            m.d.sync += total.eq(Mux(full, each >> 1, each))
        return totals[0], totals[1]

    def _divide(self) -> tuple[Signal, Signal, Signal]:
        """Long division: each cycle takes the dividend's next bit, and gives the quotient's."""
        model, m, steps = self._model, self._model.m, self._policy.steps
        rest, digits = model.register(TOTAL_BITS, "expect_rest"), model.register(steps, "expect_digits")
        divisor = model.register(TOTAL_BITS, "expect_divisor")
        with m.If((self._left == 0) & (self._owed != 0)):
            m.d.sync += [
                self._left.eq(steps + 1), digits.eq(self._losses * self._policy.throttle * self.cutoff),
                divisor.eq(Mux(self._selections == 0, 1, self._selections)),
            ]
        with m.Elif(self._left == 1):
            m.d.sync += [self._left.eq(0), rest.eq(0), digits.eq(0), divisor.eq(0)]
        with m.Elif(self._left > 1):
            with_next = Signal(TOTAL_BITS + 1, name="expect_with_next")
            m.d.comb += with_next.eq((rest << 1) + digits[steps - 1])
            m.d.sync += self._left.eq(self._left - 1)
            with m.If(with_next < divisor):
                m.d.sync += [rest.eq(with_next), digits.eq(digits << 1)]
            with m.Else():
                m.d.sync += [rest.eq(with_next - divisor), digits.eq((digits << 1) + 1)]
        return rest, digits, divisor

    def _score(self) -> None:
        """1 less in each cycle, down to the base; at the end of a division its result for all that are owed it."""
        m, policy, active = self._model.m, self._policy, self._active
        ends = self._left == 1
        for w, score in enumerate(self.scores):
            with m.If(~active[w]):
                m.d.sync += score.eq(policy.base)
            with m.Elif(ends & self._owed[w] & (self._digits >= policy.base)):
                m.d.sync += score.eq(Mux(self._digits > policy.most, policy.most, self._digits))
            with m.Elif(ends & self._owed[w] | (score == policy.base)):
                m.d.sync += score.eq(policy.base)
            with m.Else():
                m.d.sync += score.eq(score - 1)
            with m.If(active[w] & self._model.dut.lost[w]):
                m.d.sync += self._owed[w].eq(1)
            with m.Elif(ends | ~active[w]):
                m.d.sync += self._owed[w].eq(0)

    def _same(self) -> list[tuple[str, Value]]:
        state = self._model.issue_state()
        said = {
            "owed": self._owed, "losses": self._losses, "selections": self._selections, "left": self._left,
            "rest": self._rest, "digits": self._digits, "divisor": self._divisor,
        }
        same = [(f"the design knows the {name} of the scores", state[name] == value) for name, value in said.items()]
        return same + [(f"the design knows the score of warp {w}", state.score[w] == score)
                       for w, score in enumerate(self.scores)]
