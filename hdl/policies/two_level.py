"""Two-level round robin."""

from __future__ import annotations

from typing import Self

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import data

from ..config import SmConfig
from ..isa.csrs import PolicyParameter
from ..lib.onehot import or_all
from .base import Policy, PolicyInputs, pick_after, pick_from

__all__ = ["TwoLevelRoundRobin"]


class TwoLevelRoundRobin(Policy):
    """Round robin within the last warp's group while one of its warps is eligible, else in the next group that has one.

    A group is ``group_warps`` neighbours (Fermi study, section 8.2; docs/policies.md, ``two_level``). State: ``group``,
    one-hot, that of the warp selected most recently; ``lasts``, in each group one-hot, its warp selected most
    recently. At first these are the last group, and the last warp of each.

    ``writable``: a program may choose any size that divides the warps. Then the state also has ``size``, a bit for each
    of :attr:`sizes`; changing it resets the rest of the state.

    Raises
    ------
    ValueError
        If the group size does not divide the number of warps.
    """

    name = "two_level"

    def __init__(self, *, warps: int, group_warps: int, writable: bool = False) -> None:
        super().__init__(warps=warps)
        if warps % group_warps:
            raise ValueError(f"group_warps must be a divisor of warps, {warps}, not {group_warps}")
        self.size = group_warps
        self.writable = writable
        #: The sizes that a group may have.
        self.sizes = [size for size in range(1, warps + 1) if warps % size == 0] if writable else [group_warps]

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, group_warps=config.two_level_group, writable=config.policy_csr)

    def state_layout(self) -> data.StructLayout:
        size = {"size": len(self.sizes)} if self.writable else {}
        return data.StructLayout({"group": self.warps // self.sizes[0], "lasts": self.warps, **size})

    def state_reset(self) -> dict[str, int]:
        return self._first(self.size)

    def _first(self, size: int) -> dict[str, int]:
        """The initial state for groups of ``size``."""
        groups = self.warps // size
        first = {"group": 1 << (groups - 1), "lasts": sum(1 << (g + 1) * size - 1 for g in range(groups))}
        return first | ({"size": 1 << self.sizes.index(size)} if self.writable else {})

    def _groups(self, warps: Value, size: int) -> list[Value]:
        """Split the vector into one part per group."""
        return [warps[first : first + size] for first in range(0, self.warps, size)]

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        picks = [self._pick(state, inputs.eligible, size) for size in self.sizes]
        if not self.writable:
            return picks[0]
        return or_all([Mux(state.size[number], pick, 0) for number, pick in enumerate(picks)])

    def _pick(self, state: data.View, eligible: Value, size: int) -> Value:
        """The pick with groups of ``size``."""
        lasts, some = self._groups(state.lasts, size), self._groups(eligible, size)
        group = pick_from(state.group[: len(some)], Cat(each.any() for each in some))
        return Cat(Mux(group[g], pick_after(*each), 0) for g, each in enumerate(zip(lasts, some, strict=True)))

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        if not self.writable:
            self._follow(m, state, inputs, selected, self.size)
            return
        for number, size in enumerate(self.sizes):
            with m.If(state.size[number]):
                self._follow(m, state, inputs, selected, size)
        change = inputs.change
        for size in self.sizes:
            with m.If((change.parameter == PolicyParameter.GROUP_WARPS) & (change.value == size)):
                m.d.sync += [state[field].eq(value) for field, value in self._first(size).items()]

    def _follow(self, m: Module, state: data.View, inputs: PolicyInputs, selected: Value, size: int) -> None:
        """Make the selected warp the last of its group, and its group the last one."""
        parts = self._groups(selected, size)
        with m.If(selected.any() if inputs.selects is None else inputs.selects):
            m.d.sync += state.group.eq(Cat(part.any() for part in parts))
        for last, part in zip(self._groups(state.lasts, size), parts, strict=True):
            with m.If(part.any()):
                m.d.sync += last.eq(part)
