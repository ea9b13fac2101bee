"""Cache-conscious warp scheduling: fewer warps run while some lose their data-cache lines to others."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Self

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from ..config import SmConfig
from ..isa.csrs import PolicyParameter
from .base import LastWarpPolicy, PolicyInputs, order, pick_after

__all__ = ["TOTAL_BITS", "CacheConscious"]

#: Bits of the two totals, of losses and of selections. When one would go above, both are halved.
TOTAL_BITS = 20


class CacheConscious(LastWarpPolicy):
    """Loose round robin among the warps with the highest scores, as many as fit within the cutoff, at least one.

    CS8803, task 2, after Rogers 2012, section 3.3 (docs/policies.md, "Lost locality"). A warp's score is at least
    ``base``. A warp that has lost locality (``PolicyInputs.lost``) gets losses * throttle * cutoff / selections of the
    whole SM; one division serves all warps that have lost some by its end. A score falls by 1 a cycle. The cutoff is
    ``base`` for each warp that is active and does not wait for others.

    State: ``last``; ``held``, the warps that are held back, computed in the cycle before; ``score``; ``first``, the
    order of the scores, a bit for each pair of warps; ``owed``, the warps that have lost locality and have yet to get a
    score; the totals ``losses`` and ``selections``; the division, one bit a cycle: the cycles ``left``, of which the
    last one hands out the result, ``rest`` and ``digits`` (the remaining dividend above the quotient so far),
    ``divisor``; these are 0 while no division is in progress. In the first cycle of a division the dividend is the
    product of ``digits`` and ``cutoff``, which is 0 in all others.

    The sum of the scores limits the clock rate, so nothing precedes it but the set of warps: the order of the scores is
    a cycle ahead, and the multiplication of the dividend takes two cycles.

    ``writable``: a program may choose ``base`` and ``throttle``; the given ones are the greatest and the initial
    values. Both are then state, too, and a new base becomes every warp's score.

    Raises
    ------
    ValueError
        If the base or the throttle is below 1.
    """

    name = "ccws"
    idles = True

    def __init__(self, *, warps: int, base: int, throttle: int, total_bits: int = TOTAL_BITS,
                 writable: bool = False) -> None:
        super().__init__(warps=warps)
        if base < 1 or throttle < 1:
            raise ValueError(f"base and throttle must be at least 1, not {base} and {throttle}")
        self.base = base
        self.throttle = throttle
        self.writable = writable
        self.total_bits = total_bits
        #: The greatest score: that of a loss at every selection, with the greatest base and throttle.
        self.most = warps * base * throttle
        self.score_bits = self.most.bit_length()
        self.quotient_bits = (((1 << total_bits) - 1) * self.most).bit_length()

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, base=config.locality_base, throttle=config.locality_throttle,
                   writable=config.policy_csr)

    def state_layout(self) -> data.StructLayout:
        parameters: dict[str, Any] = {}
        if self.writable:
            parameters = {"base": range(self.base + 1), "throttle": range(self.throttle + 1)}
        return data.StructLayout({
            "last": self.warps, "held": self.warps, "score": data.ArrayLayout(self.score_bits, self.warps),
            "first": max(1, len(self._pairs())), "owed": self.warps,
            "losses": self.total_bits, "selections": self.total_bits, "left": range(self.quotient_bits + 2),
            "rest": self.total_bits, "digits": self.quotient_bits, "divisor": self.total_bits,
            "cutoff": range(self.warps * self.base + 1), **parameters,
        })

    def state_reset(self) -> dict[str, Any]:
        parameters = {"base": self.base, "throttle": self.throttle} if self.writable else {}
        scores = {"score": [self.base] * self.warps, "first": self._all_equal()}
        return {**super().state_reset(), **scores, **parameters}

    def _all_equal(self) -> int:
        """``first`` while all scores are equal."""
        return (1 << len(self._pairs())) - 1

    def _pairs(self) -> list[tuple[int, int]]:
        """The pairs v < w in the order of the bits of ``first``, which are set if v has at least the score of w."""
        return list(combinations(range(self.warps), 2))

    def _parameters(self, state: data.View) -> tuple[Any, Any]:
        """Base and throttle, as registers or numbers."""
        return (state.base, state.throttle) if self.writable else (self.base, self.throttle)

    def _held_back(self, state: data.View, inputs: PolicyInputs) -> Value:
        """The warps that may not be selected next: their scores plus those of all warps ahead exceed the cutoff.

        Each warp that is not in the queue adds its ``base`` to both sides, so that the cutoff is constant.
        """
        base, _ = self._parameters(state)
        queued = _queue(inputs)
        first = {pair: state.first[bit] for bit, pair in enumerate(self._pairs())}
        # scores - cutoff - 1 is negative unless they exceed it. As one sum, it needs only one carry chain.
        sign, rest = (self.warps * self.most).bit_length(), ~(Const(0, 1) + self.warps * base).as_signed()
        bits = []
        for w, before in enumerate(order(self.warps, lambda v, w: first[v, w])):
            others = [Mux(queued[v], Mux(before[v], state.score[v], 0), base) for v in range(self.warps) if v != w]
            total = sum(others, state.score[w]) + rest
            bits.append(queued[w] & (before & queued).any() & ~total[sign])
        return Cat(bits)

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return pick_after(state.last, inputs.eligible & ~state.held)

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        super().update(m, state, inputs, selected=selected)
        selects = selected.any() if inputs.selects is None else inputs.selects
        self._count_totals(m, state, lost=inputs.lost.any(), selects=selects)
        self._divide(m, state, inputs)
        m.d.sync += state.held.eq(self._held_back(state, inputs))
        self._score(m, state, inputs)
        if self.writable:
            self._change(m, state, inputs.change)

    def _change(self, m: Module, state: data.View, change: data.View) -> None:
        """Apply a new base, which resets all scores, or a new throttle; a value that is too large or 0 is ignored."""
        fits = (change.value != 0) & (change.value <= self.base)
        with m.If((change.parameter == PolicyParameter.LOCALITY_BASE) & fits):
            m.d.sync += [state.base.eq(change.value), state.first.eq(self._all_equal())]
            m.d.sync += [state.score[w].eq(change.value) for w in range(self.warps)]
        fits = (change.value != 0) & (change.value <= self.throttle)
        with m.If((change.parameter == PolicyParameter.LOCALITY_THROTTLE) & fits):
            m.d.sync += state.throttle.eq(change.value)

    def _score(self, m: Module, state: data.View, inputs: PolicyInputs) -> None:
        """Lower scores by 1; a finished division sets those that are owed it; inactive warps get the base."""
        gets = Signal(self.warps, name=f"{self.name}_gets")
        m.d.comb += gets.eq(Mux(state.left == 1, state.owed & inputs.active, 0))
        m.d.sync += state.owed.eq((Mux(state.left == 1, 0, state.owed) | inputs.lost) & inputs.active)
        quotient, (base, _) = state.digits, self._parameters(state)
        level = Signal(self.score_bits, name=f"{self.name}_level")
        m.d.comb += level.eq(
            Mux(quotient > self.most, self.most, Mux(quotient < base, base, quotient))
        )
        for w in range(self.warps):
            score = state.score[w]
            with m.If(~inputs.active[w]):
                m.d.sync += score.eq(base)
            with m.Elif(gets[w]):
                m.d.sync += score.eq(level)
            with m.Elif(score != base):
                m.d.sync += score.eq(score - 1)
        self._order(m, state, inputs, gets=gets)

    def _order(self, m: Module, state: data.View, inputs: PolicyInputs, *, gets: Value) -> None:
        """Compute the order of the next cycle's scores, which :meth:`_score` computes, from their changes.

        Scores that fall keep their order until they reach the base. Only those that get ``quotient`` are compared.
        """
        quotient, (base, _) = state.digits, self._parameters(state)
        more = Signal(self.score_bits + 1, name=f"{self.name}_more")
        large = quotient[self.score_bits :].any()
        m.d.comb += more.eq(quotient[: self.score_bits] + 1)
        lowest, above, below = (Signal(self.warps, name=f"{self.name}_{name}") for name in ("lowest", "above", "below"))
        for w in range(self.warps):
            score = state.score[w]
            reaches = Mux(gets[w], quotient <= base, (score == base) | (score == base + 1))
            m.d.comb += [
                lowest[w].eq(~inputs.active[w] | reaches),  # the next score is the base
                above[w].eq(~large & (score > quotient[: self.score_bits])),  # score - 1 >= quotient
                below[w].eq(large | (score <= more)),  # score - 1 <= quotient
            ]
        for bit, (v, w) in enumerate(self._pairs()):
            falls = Mux(gets[w], above[v], state.first[bit])
            stays = inputs.active[v] & Mux(gets[v], gets[w] | below[w], falls)
            m.d.sync += state.first[bit].eq(lowest[w] | stays)

    def _count_totals(self, m: Module, state: data.View, *, lost: Value, selects: Value) -> None:
        """Update both totals, or halve both, rounded down. The selection comes late and only selects values."""
        losses = Mux(lost, state.losses + 1, state.losses)
        selections = Mux(selects, state.selections + 1, state.selections)
        over = lost & state.losses.all() | selects & state.selections.all()
        m.d.sync += [
            state.losses.eq(Mux(over, losses >> 1, losses)),
            state.selections.eq(Mux(over, selections >> 1, selections)),
        ]

    def _divide(self, m: Module, state: data.View, inputs: PolicyInputs) -> None:
        """Begin a division when a score is owed; one quotient bit a cycle; the last cycle clears everything."""
        base, throttle = self._parameters(state)
        bits = self.quotient_bits
        m.d.sync += state.cutoff.eq(0)
        with m.If(state.left == 0):
            with m.If(state.owed.any()):
                m.d.sync += [
                    state.left.eq(bits + 1),
                    state.digits.eq(state.losses * throttle),
                    state.cutoff.eq(_count(_queue(inputs)) * base),
                    state.divisor.eq(Mux(state.selections == 0, 1, state.selections)),
                ]
        with m.Elif(state.left == 1):
            m.d.sync += [state.left.eq(0), state.rest.eq(0), state.digits.eq(0), state.divisor.eq(0)]
        with m.Elif(state.left == bits + 1):
            dividend = Signal(bits, name=f"{self.name}_dividend")
            factor_bits = self.total_bits + self.throttle.bit_length()
            m.d.comb += dividend.eq(state.digits[:factor_bits] * state.cutoff)
            # The first bit is not below the divisor only if both are 1.
            fits = dividend[-1] & (state.divisor == 1)
            m.d.sync += [
                state.left.eq(bits),
                state.rest.eq(dividend[-1] & ~fits),
                state.digits.eq(Cat(fits, dividend)),
            ]
        with m.Else():
            rest = Cat(state.digits[-1], state.rest)
            fits = rest >= state.divisor
            m.d.sync += [
                state.left.eq(state.left - 1),
                state.rest.eq(Mux(fits, rest - state.divisor, rest)),
                state.digits.eq(Cat(fits, state.digits)),
            ]


def _queue(inputs: PolicyInputs) -> Value:
    """The warps whose scores are compared."""
    return inputs.active & ~inputs.waiting


def _count(warps: Value) -> Value:
    """The number of warps in the mask."""
    return sum((warps[w] for w in range(len(warps))), Const(0, 1))
