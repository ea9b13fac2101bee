"""Two-level round robin."""

from __future__ import annotations

from typing import Self

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data

from ..config import SmConfig
from .base import Policy, PolicyInputs, pick_after, pick_from

__all__ = ["TwoLevelRoundRobin"]


class TwoLevelRoundRobin(Policy):
    """Round robin within the group of the last warp while one of it is eligible, else in the next group that has one.

    A group is ``group_warps`` neighbours (Fermi study, section 8.2; docs/policies.md, ``two_level``). State: ``group``,
    one-hot, that of the warp selected most recently; ``lasts``, in each group one-hot, its warp selected most
    recently. At first these are the last group, and the last warp of each.

    Raises
    ------
    ValueError
        For groups that do not divide the warps.
    """

    name = "two_level"

    def __init__(self, *, warps: int, group_warps: int) -> None:
        super().__init__(warps=warps)
        if warps % group_warps:
            raise ValueError(f"group_warps must be a divisor of warps, {warps}, not {group_warps}")
        self.size = group_warps
        self.groups = warps // group_warps

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, group_warps=config.two_level_group)

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({"group": self.groups, "lasts": self.warps})

    def state_reset(self) -> dict[str, int]:
        return {
            "group": 1 << (self.groups - 1), "lasts": sum(1 << (g + 1) * self.size - 1 for g in range(self.groups)),
        }

    def _group(self, warps: Value, group: int) -> Value:
        """The part of the vector that is the group's."""
        return warps[group * self.size : (group + 1) * self.size]

    def _some(self, warps: Value) -> Value:
        """The groups that have one of ``warps``."""
        return Cat(self._group(warps, g).any() for g in range(self.groups))

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        picks = [
            pick_after(self._group(state.lasts, g), self._group(inputs.eligible, g)) for g in range(self.groups)
        ]
        group = pick_from(state.group, self._some(inputs.eligible))
        return Cat(Mux(group[g], pick, 0) for g, pick in enumerate(picks))

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        group = self._some(selected)
        with m.If(selected.any() if inputs.selects is None else inputs.selects):
            m.d.sync += state.group.eq(group)
        for g in range(self.groups):
            with m.If(group[g]):
                m.d.sync += self._group(state.lasts, g).eq(self._group(selected, g))
