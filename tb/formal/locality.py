"""Reference model of the ccws state: scores, totals and the division, from docs/policies.md ("Lost locality")."""

from __future__ import annotations

from itertools import accumulate, combinations

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from metronome.hdl.isa.csrs import PolicyParameter
from metronome.sim.machine.policies.with_parameters import TOTAL_BITS, CacheConscious

from .model import Model

__all__ = ["Locality"]


class Locality:
    """The harness's own ccws registers, updated from the design's selections.

    ``held``: the warps that may not be selected. ``invariants``: the design's registers have the same values.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._policy = model, CacheConscious.of(model.config)
        m, warps = model.m, model.config.warps
        self._active = model.dut.flow.active
        self._base: Value = Const(self._policy.base)
        self._throttle: Value = Const(self._policy.throttle)
        if model.config.policy_csr:
            self._base = model.register(range(self._policy.base + 1), "expect_base", self._policy.base)
            self._throttle = model.register(range(self._policy.throttle + 1), "expect_throttle", self._policy.throttle)
        self._queued = Signal(warps, name="expect_queued")
        m.d.comb += self._queued.eq(self._active & ~model.dut.flow.waiting)
        self._cutoff: Value = sum((self._queued[w] for w in range(warps)), Const(0, 1)) * self._base
        self._scores = [model.register(self._policy.bits, f"expect_score_{w}", self._policy.base) for w in range(warps)]
        self._owed = model.register(warps, "expect_owed")
        self._left = model.register(range(self._policy.steps + 2), "expect_left")
        self._losses, self._selections = self._totals()
        self._scaled, self._factor = self._factors()
        self._rest, self._digits, self._divisor = self._divide()
        self._score()
        if model.config.policy_csr:
            self._change()
        #: For each warp: its score plus those of the warps ahead, up to each warp; whether the last exceeds the cutoff.
        self._sums_up_to: list[list[Value]] = []
        self._exceeds = Signal(warps, name="expect_exceeds")
        self.held = self._hold_back()
        self.invariants = self._same()

    def _totals(self) -> tuple[Signal, Signal]:
        model, m = self._model, self._model.m
        totals = [model.register(TOTAL_BITS, f"expect_{name}") for name in ("losses", "selections")]
        more = [total + each.any() for total, each in zip(totals, (model.dut.lost, model.issued), strict=True)]
        full = (more[0] >> TOTAL_BITS).any() | (more[1] >> TOTAL_BITS).any()
        for total, each in zip(totals, more, strict=True):
            m.d.sync += total.eq(Mux(full, each >> 1, each))
        return totals[0], totals[1]

    def _factors(self) -> tuple[Signal, Signal]:
        """The factors of the dividend, which is multiplied in the first cycle of a division."""
        model, begins = self._model, (self._left == 0) & (self._owed != 0)
        scaled = model.register(TOTAL_BITS + self._policy.throttle.bit_length(), "expect_scaled")
        factor = model.register(range(self._policy.warps * self._policy.base + 1), "expect_factor")
        with model.m.If(begins):
            model.m.d.sync += [scaled.eq(self._losses * self._throttle), factor.eq(self._cutoff)]
        return scaled, factor

    def _divide(self) -> tuple[Signal, Signal, Signal]:
        """Long division: each cycle takes the dividend's next bit and yields the quotient's.

        The dividend is the product of the design's own factors, which ``invariants`` compares with the expected ones:
        to a solver, equal products of different registers are a hard question.
        """
        model, m, steps, state = self._model, self._model.m, self._policy.steps, self._model.issue_state()
        rest, digits = model.register(TOTAL_BITS, "expect_rest"), model.register(steps, "expect_digits")
        divisor = model.register(TOTAL_BITS, "expect_divisor")
        with m.If((self._left == 0) & (self._owed != 0)):
            m.d.sync += [
                self._left.eq(steps + 1),
                divisor.eq(Mux(self._selections == 0, 1, self._selections)),
            ]
        with m.Elif(self._left == 1):
            m.d.sync += [self._left.eq(0), rest.eq(0), digits.eq(0), divisor.eq(0)]
        with m.Elif(self._left > 1):
            with_next = Signal(TOTAL_BITS + 1, name="expect_with_next")
            taken = Signal(steps, name="expect_taken")
            m.d.comb += taken.eq(state.digits[: len(self._scaled)] * state.cutoff)
            with m.If(self._left <= steps):
                m.d.comb += taken.eq(digits)
            m.d.comb += with_next.eq((rest << 1) + taken[steps - 1])
            m.d.sync += self._left.eq(self._left - 1)
            with m.If(with_next < divisor):
                m.d.sync += [rest.eq(with_next), digits.eq(taken << 1)]
            with m.Else():
                m.d.sync += [rest.eq(with_next - divisor), digits.eq((taken << 1) + 1)]
        return rest, digits, divisor

    def _score(self) -> None:
        """Scores fall by 1 per cycle to the base; the end of a division sets its result for all warps owed one."""
        m, policy, base, active = self._model.m, self._policy, self._base, self._active
        ends = self._left == 1
        for w, score in enumerate(self._scores):
            with m.If(~active[w]):
                m.d.sync += score.eq(base)
            with m.Elif(ends & self._owed[w] & (self._digits >= base)):
                m.d.sync += score.eq(Mux(self._digits > policy.most, policy.most, self._digits))
            with m.Elif(ends & self._owed[w] | (score == base)):
                m.d.sync += score.eq(base)
            with m.Else():
                m.d.sync += score.eq(score - 1)
            with m.If(active[w] & self._model.dut.lost[w]):
                m.d.sync += self._owed[w].eq(1)
            with m.Elif(ends | ~active[w]):
                m.d.sync += self._owed[w].eq(0)

    def _change(self) -> None:
        """Change the base, to which all scores are then set, or the throttle; each is limited to its initial value."""
        m, change, policy = self._model.m, self._model.dut.flow.change, self._policy
        for parameter, register, most in (
            (PolicyParameter.LOCALITY_BASE, self._base, policy.base),
            (PolicyParameter.LOCALITY_THROTTLE, self._throttle, policy.throttle),
        ):
            with m.If((change.parameter == parameter) & (change.value >= 1) & (change.value <= most)):
                m.d.sync += register.eq(change.value)
                if register is self._base:
                    m.d.sync += [score.eq(change.value) for score in self._scores]

    def _hold_back(self) -> Signal:
        """Hold back, in the next cycle, warps with others ahead whose score plus those ahead exceeds the cutoff."""
        m, scores, queued = self._model.m, self._scores, self._queued
        held = self._model.register(len(scores), "expect_held")
        for w, score in enumerate(scores):
            ahead = Signal(len(scores), name=f"expect_ahead_of_{w}")
            m.d.comb += ahead.eq(Cat(
                queued[v] & (~(score >= scores[v]) if v > w else scores[v] >= score) if v != w else Const(0, 1)
                for v in range(len(scores))
            ))
            above = (Mux(ahead[v], scores[v], 0) for v in range(len(scores)))
            _, *sums = accumulate(above, initial=score)
            self._sums_up_to.append(sums)
            m.d.comb += self._exceeds[w].eq(sums[-1] > self._cutoff)
            m.d.sync += held[w].eq(queued[w] & ahead.any() & self._exceeds[w])
        return held

    def _same(self) -> list[tuple[str, Value]]:
        state = self._model.issue_state()
        said = {
            "owed": self._owed, "losses": self._losses, "selections": self._selections, "left": self._left,
            "rest": self._rest, "divisor": self._divisor,
        }
        if self._model.config.policy_csr:
            said |= {"base": self._base, "throttle": self._throttle}
        same = [(f"the design knows the {name} of the scores", state[name] == value) for name, value in said.items()]
        for w, score in enumerate(self._scores):
            same += [(f"the design knows the score of warp {w}", state.score[w] == score),
                     (f"the score of warp {w} is in its range", (score >= self._base) & (score <= self._policy.most))]
        same += [*self._order(state), *self._sums(state)]
        same += [(f"the design knows whether warp {w} is held back", state.held[w] == self.held[w])
                 for w in range(len(self._scores))]
        return same + self._dividend(state)

    def _sums(self, state: data.View) -> list[tuple[str, Value]]:
        """The design's sums, term by term. They also have the base for each warp outside the queue.

        To a solver, equal sums in different orders are a hard question. Adding one more term on both sides is not.
        """
        warps, base, queued = len(self._scores), self._base, self._queued
        first = {pair: state.first[bit] for bit, pair in enumerate(combinations(range(warps), 2))}
        absent, present, numbers = (list(accumulate(terms, initial=Const(0, 1))) for terms in (
            [Mux(its, 0, base) for its in queued], [Mux(its, base, 0) for its in queued], queued,
        ))
        same = []
        for count in range(1, warps + 1):
            same += [(f"the base for each of {count} warps in the queue", present[count] == numbers[count] * base),
                     (f"the base for each of {count} warps", absent[count] + present[count] == count * base)]
        # The sums are those of the design's own registers. It compares by a sign: that of a sum - cutoff - 1.
        its_base = state.base if self._model.config.policy_csr else base
        sign, rest = (warps * self._policy.most).bit_length(), ~(Const(0, 1) + warps * its_base).as_signed()
        for w, expected in enumerate(self._sums_up_to):
            total: Value = state.score[w]
            for v in (v for v in range(warps) if v != w):
                before = first[v, w] if v < w else ~first[w, v]
                total = total + Mux(queued[v], Mux(before, state.score[v], 0), its_base)
                same.append((f"the design's sum for warp {w}, up to warp {v}",
                             ~queued[w] | (total == expected[v] + absent[v + 1])))
            same.append((f"the design knows whether the sum of warp {w} exceeds the cutoff",
                         ~queued[w] | (~(total + rest)[sign] == self._exceeds[w])))
        return same

    def _order(self, state: data.View) -> list[tuple[str, Value]]:
        """The design keeps the order of the scores in registers."""
        pairs = enumerate(combinations(range(len(self._scores)), 2))
        return [(f"the design knows the order of the warps {v} and {w}",
                 state.first[bit] == (self._scores[v] >= self._scores[w])) for bit, (v, w) in pairs]

    def _dividend(self, state: data.View) -> list[tuple[str, Value]]:
        """In the first cycle of a division the design keeps the dividend as two factors."""
        begun, idle = self._left == self._policy.steps + 1, self._left == 0
        return [("a division has no more cycles than bits", self._left <= self._policy.steps + 1),
                ("the design knows the digits of the scores",
                 state.digits == Mux(begun, self._scaled, self._digits)),
                ("the design knows the cutoff of a division", state.cutoff == Mux(begun, self._factor, 0)),
                ("a division begins without a rest", ~begun & ~idle | (self._rest == 0)),
                ("the divisor of a division is not 0", idle | (self._divisor != 0))]
