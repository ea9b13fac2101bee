"""The warp policies as plain Python (docs/policies.md): the reference for hardware and oracles.

Sets of warps are integers, with bit w for warp w. A policy is two pure functions of a state: ``pick`` and ``update``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

from .base import Last, NoState, Pointer, Policy, PolicyInputs, Stateless, WithLast, WithPointer, after, lowest, members
from .with_parameters import CacheConscious, TwoLevelRoundRobin, VariableRate, VariableRateStrict

__all__ = ["POLICIES", "Policy", "PolicyInputs", "add", "from_outside"]

#: Bits of an age of ``gto``, as in the hardware.
AGE_BITS = 12


@dataclass(frozen=True)
class Ages:
    """``last``, and for each warp the cycles in which it was eligible since it last lost its turn."""

    last: int
    ages: tuple[int, ...]


@dataclass(frozen=True)
class Order:
    """``last``, and all warps in the order of their activation, the first activated first."""

    last: int
    order: tuple[int, ...]


class Fixed(Stateless):
    """The lowest number."""

    name = "fixed"

    def pick(self, state: NoState, inputs: PolicyInputs) -> int | None:
        return lowest(inputs.eligible)


class LooseOldest(Stateless):
    """The oldest, which is the lowest number: warps are activated in number order."""

    name = "lo"

    def pick(self, state: NoState, inputs: PolicyInputs) -> int | None:
        return lowest(inputs.eligible)


class LooseRoundRobin(WithLast):
    """The first after the last."""

    name = "lrr"

    def pick(self, state: Last, inputs: PolicyInputs) -> int | None:
        return after(state.last, inputs.eligible)


class GreedyLooseRoundRobin(WithLast):
    """The last if eligible, else the first after it."""

    name = "gtlrr"

    def pick(self, state: Last, inputs: PolicyInputs) -> int | None:
        return after(state.last - 1, inputs.eligible)


class GreedyLooseOldest(WithLast):
    """The last if eligible, else the lowest number."""

    name = "gtlo"

    def pick(self, state: Last, inputs: PolicyInputs) -> int | None:
        return state.last if inputs.eligible >> state.last & 1 else lowest(inputs.eligible)


class StrictRoundRobin(WithPointer):
    """One cycle for each active warp in turn."""

    name = "srr"
    reads = ("eligible", "active")

    def update(self, state: Pointer, inputs: PolicyInputs, picked: int | None) -> Pointer:
        following = after(state.pointer, inputs.active)
        return state if following is None else Pointer(following)


class PureRoundRobin(WithPointer):
    """One instruction in turn of each warp that is active and is not waiting for other warps."""

    name = "prr"
    reads = ("eligible", "active", "waiting")

    def update(self, state: Pointer, inputs: PolicyInputs, picked: int | None) -> Pointer:
        takers = inputs.active & ~inputs.waiting
        following = after(state.pointer, takers)
        if following is None or (picked != state.pointer and takers >> state.pointer & 1):
            return state
        return Pointer(following)


class GreedyOldest(Policy[Ages]):
    """The last if eligible, else the one with the greatest age, lowest number first. Ages saturate."""

    name = "gto"

    def __init__(self, *, warps: int, age_bits: int = AGE_BITS) -> None:
        super().__init__(warps=warps)
        self.oldest = (1 << age_bits) - 1

    def reset(self) -> Ages:
        return Ages(self.warps - 1, (0,) * self.warps)

    def pick(self, state: Ages, inputs: PolicyInputs) -> int | None:
        if inputs.eligible >> state.last & 1:
            return state.last
        return max(members(inputs.eligible), key=lambda w: (state.ages[w], -w), default=None)

    def update(self, state: Ages, inputs: PolicyInputs, picked: int | None) -> Ages:
        ages = [min(age + (inputs.eligible >> w & 1), self.oldest) for w, age in enumerate(state.ages)]
        if picked != state.last:
            ages[state.last] = 0
        return Ages(state.last if picked is None else picked, tuple(ages))

    def states(self) -> Iterator[Ages]:
        ages = product(range(self.oldest + 1), repeat=self.warps)
        return (Ages(last, each) for each in ages for last in range(self.warps))

    def registers(self, state: Ages) -> dict[str, int]:
        bits = self.oldest.bit_length()
        return {"last": 1 << state.last, "age": sum(age << w * bits for w, age in enumerate(state.ages))}


class GreedyOldestDispatch(Policy[Order]):
    """The last if eligible, else the one activated first; among those activated in one cycle, the lowest number."""

    name = "gto_dispatch"
    reads = ("eligible", "activated")

    def reset(self) -> Order:
        return Order(self.warps - 1, tuple(range(self.warps)))

    def pick(self, state: Order, inputs: PolicyInputs) -> int | None:
        if inputs.eligible >> state.last & 1:
            return state.last
        return next((w for w in state.order if inputs.eligible >> w & 1), None)

    def update(self, state: Order, inputs: PolicyInputs, picked: int | None) -> Order:
        before = [w for w in state.order if not inputs.activated >> w & 1]
        return Order(state.last if picked is None else picked, (*before, *members(inputs.activated)))

    def states(self) -> Iterator[Order]:
        return (Order(last, order) for order in permutations(range(self.warps)) for last in range(self.warps))

    def registers(self, state: Order) -> dict[str, int]:
        pairs = [(v, w) for v in range(self.warps) for w in range(v + 1, self.warps)]
        older = (state.order.index(v) < state.order.index(w) for v, w in pairs)
        return {"last": 1 << state.last, "ahead": sum(bit << n for n, bit in enumerate(older))}


class MostActiveThreads(Stateless):
    """The warp with the most active lanes; on a tie, the lowest number."""

    name = "pta"
    reads = ("eligible", "lanes")

    def pick(self, state: NoState, inputs: PolicyInputs) -> int | None:
        return max(members(inputs.eligible), key=lambda w: (inputs.lanes[w], -w), default=None)


class FewestFetched(WithLast):
    """The warp with the fewest instructions fetched and not issued; on a tie, the first after the last."""

    name = "icount"
    reads = ("eligible", "fetched")

    def pick(self, state: Last, inputs: PolicyInputs) -> int | None:
        def preference(w: int) -> tuple[int, int]:
            return inputs.fetched[w], (w - state.last - 1) % self.warps

        return min(members(inputs.eligible), key=preference, default=None)


POLICIES: dict[str, type[Policy]] = {policy.name: policy for policy in (
    Fixed, LooseRoundRobin, GreedyLooseRoundRobin, GreedyLooseOldest, LooseOldest, StrictRoundRobin, PureRoundRobin,
    GreedyOldest, GreedyOldestDispatch, MostActiveThreads, FewestFetched, TwoLevelRoundRobin, VariableRate,
    VariableRateStrict, CacheConscious,
)}
_OURS = dict(POLICIES)


def add(policy: type[Policy]) -> None:
    """Register a policy whose name identifies its source, as the name of a policy from a file does."""
    POLICIES[policy.name] = _OURS[policy.name] = policy


def from_outside(name: str) -> bool:
    """Whether another policy of this name has replaced the built-in one, here or in the hardware."""
    hardware = sys.modules.get("metronome.hdl.policies")
    replaced = hardware is not None and hardware.from_outside(name)
    return replaced or POLICIES.get(name) is not _OURS.get(name)
