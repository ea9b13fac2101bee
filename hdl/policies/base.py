"""The interface of a warp policy: a pure pick and a state update (docs/policies.md)."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Self

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import data

from ..config import SmConfig
from ..lib.onehot import from_lowest, lowest_one

__all__ = ["LastWarpPolicy", "Policy", "PolicyInputs", "first_by", "greedy", "largest_first", "order", "pick_after",
           "pick_from"]


@dataclass(frozen=True, kw_only=True)
class PolicyInputs:
    """The signals that a policy may read in a cycle; vectors have one bit per warp, sequences one value per warp."""

    eligible: Value  # the set to pick from; comes late in the cycle
    active: Value  # the warps that have started and not ended
    waiting: Value  # active warps that wait for other warps (at a barrier, or in wspawn)
    activated: Value  # the warps that start now: they are active from the next cycle on
    lanes: Sequence[Value]  # how many lanes are active
    fetched: Sequence[Value]  # how many instructions are fetched and not issued, inserted NOPs left out
    lost: Value  # the warps that lost locality in the data cache, one cycle ago (hdl.memory.l1.victim_tags)
    #: The change of the parameters by a program (hdl.layouts.control.change_layout); None where it cannot.
    change: Any = None
    selects: Value | None = None  # for updates: whether a warp is selected, if that is known before its number


class Policy(abc.ABC):
    """A warp-scheduling policy over ``warps`` warps; without state by default.

    The pick is a pure expression of the state and the inputs, so that hardware, oracles and proofs share one
    definition: an oracle asks ``pick`` again, on the same state, with another eligible set.
    """

    #: Name in docs/policies.md and in ``SmConfig.policies``.
    name: ClassVar[str]
    #: Whether the policy may select no warp although one is eligible.
    idles: ClassVar[bool] = False

    def __init__(self, *, warps: int) -> None:
        self.warps = warps

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        """The policy of an SM; a policy with parameters takes them from ``config`` here."""
        return cls(warps=config.warps)

    def state_layout(self) -> data.StructLayout:
        """The registers of the policy."""
        return data.StructLayout({})

    def state_reset(self) -> dict[str, int]:
        """The reset value of each register."""
        return {}

    @abc.abstractmethod
    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        """The selected warp as a one-hot vector within ``inputs.eligible``; 0 when nothing is selected."""

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        """Add the state update for a cycle in which ``selected`` (one-hot or 0) was selected.

        That need not be this policy's pick: if a strap chooses, every policy follows the one in force.
        """
        return


class LastWarpPolicy(Policy):
    """A policy whose state is ``last``, the warp selected most recently, one-hot; W-1 before the first selection."""

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({"last": self.warps})

    def state_reset(self) -> dict[str, int]:
        return {"last": 1 << (self.warps - 1)}

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        with m.If(selected.any() if inputs.selects is None else inputs.selects):
            m.d.sync += state.last.eq(selected)


def pick_after(last: Value, eligible: Value) -> Value:
    """Loose round robin: the first of last+1, last+2, ... (modulo the width) in ``eligible``, one-hot."""
    return _pick_within((from_lowest(last) << 1)[: len(eligible)], eligible)


def pick_from(last: Value, eligible: Value) -> Value:
    """``last`` while it is eligible, else as :func:`pick_after`: the first of last, last+1, ... in ``eligible``."""
    return _pick_within(from_lowest(last), eligible)


def _pick_within(first: Value, eligible: Value) -> Value:
    """The lowest eligible warp within ``first``, else the lowest of all.

    ``first`` comes from registers and is known before ``eligible``; few levels lead from ``eligible`` to the pick.
    """
    within = eligible & first
    return Mux(within.any(), lowest_one(within), lowest_one(eligible))


def greedy(last: Value, eligible: Value, otherwise: Value) -> Value:
    """``last`` while it is eligible, else ``otherwise``; all one-hot."""
    again = last & eligible
    return Mux(again.any(), again, otherwise)


def first_by(ahead: Sequence[Value], eligible: Value) -> Value:
    """The eligible warp that no other eligible warp precedes, one-hot; ``ahead`` as :func:`order` returns it.

    ``ahead`` does not depend on ``eligible``, which is known late in the cycle: only one AND-NOR over the warps leads
    from there to the selection.
    """
    return Cat(eligible[w] & ~(eligible & before).any() for w, before in enumerate(ahead))


def order(warps: int, goes_first: Callable[[int, int], Value]) -> list[Value]:
    """A strict total order of the warps: bit v of value w is set if v precedes w.

    ``goes_first(v, w)``, called for every v < w, returns whether v precedes w; if not, w precedes v.
    """
    first = {pair: goes_first(*pair) for pair in combinations(range(warps), 2)}
    numbers = range(warps)
    return [
        Cat(first[v, w] if v < w else ~first[w, v] if v > w else Const(0, 1) for v in numbers) for w in numbers
    ]


def largest_first(keys: Sequence[Value]) -> list[Value]:
    """The order by decreasing key; of equal keys the lower number comes first."""
    return order(len(keys), lambda v, w: keys[v] >= keys[w])
