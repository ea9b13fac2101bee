"""The warp policies with parameters as plain Python: two_level, variable_rate and variable_rate_strict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

from metronome.hdl.config import SmConfig

from .policy_base import Policy, PolicyInputs, State, after

__all__ = ["TwoLevelRoundRobin", "VariableRate", "VariableRateStrict", "frame_of"]


@dataclass(frozen=True)
class Groups:
    """The group selected from most recently, and the warp of each group that was selected most recently."""

    group: int
    lasts: tuple[int, ...]


@dataclass(frozen=True)
class Slot:
    """The slot of this cycle, by its number in the frame."""

    slot: int


@dataclass(frozen=True)
class SlotAndLast:
    """The slot of this cycle, and the warp that was most recently selected in a slot that its own could not use."""

    slot: int
    last: int


class TwoLevelRoundRobin(Policy[Groups]):
    """Of the last group that has an eligible warp, else of the next one that has: the first after its last."""

    name = "two_level"

    def __init__(self, *, warps: int, group_warps: int) -> None:
        super().__init__(warps=warps)
        self.size = group_warps
        self.groups = warps // group_warps

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, group_warps=config.two_level_group)

    def reset(self) -> Groups:
        return Groups(self.groups - 1, tuple((g + 1) * self.size - 1 for g in range(self.groups)))

    def pick(self, state: Groups, inputs: PolicyInputs) -> int | None:
        for distance in range(self.groups):
            group = (state.group + distance) % self.groups
            own = inputs.eligible & ((1 << self.size) - 1) << group * self.size
            if own:
                return after(state.lasts[group], own)
        return None

    def update(self, state: Groups, inputs: PolicyInputs, picked: int | None) -> Groups:
        if picked is None:
            return state
        group = picked // self.size
        return Groups(group, (*state.lasts[:group], picked, *state.lasts[group + 1 :]))

    def states(self) -> Iterator[Groups]:
        lasts = product(*(range(g * self.size, (g + 1) * self.size) for g in range(self.groups)))
        return (Groups(group, each) for each in lasts for group in range(self.groups))

    def registers(self, state: Groups) -> dict[str, int]:
        return {"group": 1 << state.group, "lasts": sum(1 << w for w in state.lasts)}


def frame_of(rates: Sequence[int]) -> tuple[int, ...]:
    """Whose each slot is: the k-th of n / r slots' time, of whom it runs out first, then the lowest number."""
    slots = sum(rates)
    # (first slot, one past the last one, warp) of what is to be placed.
    parts = [
        (k * slots // rate, (k * slots + slots + rate - 1) // rate, w)
        for w, rate in enumerate(rates) for k in range(rate)
    ]
    frame = []
    for slot in range(slots):
        part = min((part for part in parts if part[0] <= slot), key=lambda part: part[1:])
        parts.remove(part)
        frame.append(part[2])
    return tuple(frame)


class _Framed(Policy[State]):
    """A policy with a slot in each cycle."""

    reads = ("eligible", "active")

    def __init__(self, *, warps: int, rates: Sequence[int]) -> None:
        super().__init__(warps=warps)
        self.frame = frame_of(rates)

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, rates=config.slot_rates)

    def following(self, slot: int, inputs: PolicyInputs) -> int:
        """The slot of the next cycle: the frame starts over while no warp is active."""
        return (slot + 1) % len(self.frame) if inputs.active else 0


class VariableRateStrict(_Framed[Slot]):
    """Whose slot it is, or nobody."""

    name = "variable_rate_strict"

    def reset(self) -> Slot:
        return Slot(0)

    def pick(self, state: Slot, inputs: PolicyInputs) -> int | None:
        owner = self.frame[state.slot]
        return owner if inputs.eligible >> owner & 1 else None

    def update(self, state: Slot, inputs: PolicyInputs, picked: int | None) -> Slot:
        return Slot(self.following(state.slot, inputs))

    def states(self) -> Iterator[Slot]:
        return map(Slot, range(len(self.frame)))

    def registers(self, state: Slot) -> dict[str, int]:
        return {"slot": state.slot}


class VariableRate(_Framed[SlotAndLast]):
    """Whose slot it is, else the first after the one that got such a slot last."""

    name = "variable_rate"

    def reset(self) -> SlotAndLast:
        return SlotAndLast(0, self.warps - 1)

    def _owner_uses(self, state: SlotAndLast, inputs: PolicyInputs) -> bool:
        return bool(inputs.eligible >> self.frame[state.slot] & 1)

    def pick(self, state: SlotAndLast, inputs: PolicyInputs) -> int | None:
        return self.frame[state.slot] if self._owner_uses(state, inputs) else after(state.last, inputs.eligible)

    def update(self, state: SlotAndLast, inputs: PolicyInputs, picked: int | None) -> SlotAndLast:
        slot = self.following(state.slot, inputs)
        return SlotAndLast(slot, state.last if picked is None or self._owner_uses(state, inputs) else picked)

    def states(self) -> Iterator[SlotAndLast]:
        return (SlotAndLast(slot, last) for slot in range(len(self.frame)) for last in range(self.warps))

    def registers(self, state: SlotAndLast) -> dict[str, int]:
        return {"slot": state.slot, "last": 1 << state.last}
