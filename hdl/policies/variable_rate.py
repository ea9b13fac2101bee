"""Fixed slots: each warp has as many in a frame as its rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from amaranth.hdl import Array, Cat, Const, Module, Mux, Value
from amaranth.lib import data

from ..config import SmConfig
from ..isa.csrs import PolicyParameter
from ..lib.onehot import one_hot
from .base import Policy, PolicyInputs, greedy, pick_after

__all__ = ["VariableRate", "VariableRateStrict", "slots_of"]


def slots_of(rates: Sequence[int]) -> list[int]:
    """The owner of each slot of the frame: warp w has ``rates[w]`` slots, evenly spread (docs/policies.md, "Frames").

    With n slots, the k-th of the r slots of w lies in the k-th of r parts of the frame: from slot k n / r, rounded
    down, to before (k + 1) n / r, rounded up. A slot goes to the warp whose part ends first, of equal ones to the
    lowest number, which keeps every warp within its parts (Baruah 1996).
    """
    frame, given = sum(rates), [0] * len(rates)
    owners = []
    for slot in range(frame):
        ends = [
            (-((k + 1) * frame // -rate), w)
            for w, (k, rate) in enumerate(zip(given, rates, strict=True)) if k < rate and k * frame // rate <= slot
        ]
        _, owner = min(ends)
        given[owner] += 1
        owners.append(owner)
    return owners


class VariableRateStrict(Policy):
    """Every cycle is a slot of one warp; if that warp is not eligible, no warp is selected.

    The Fermi study, section 8 (docs/policies.md, ``variable_rate_strict``). State: ``slot``, the number of this
    cycle's slot in the frame. It is 0 at first, and in the cycle after one in which no warp is active.

    ``writable``: a program may give each of these slots to another warp, and use fewer of them. Then the state also has
    ``owners``, the number of each slot's warp, and ``length``, the slots of a frame.

    Raises
    ------
    ValueError
        If there is not one rate for each warp, or the frame has no slot.
    """

    name = "variable_rate_strict"
    idles = True

    def __init__(self, *, warps: int, rates: Sequence[int], writable: bool = False) -> None:
        super().__init__(warps=warps)
        if len(rates) != warps or not any(rates):
            raise ValueError(f"rates must be {warps} numbers that are not all 0, not {tuple(rates)}")
        self.owners = slots_of(rates)
        self.writable = writable

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, rates=config.slot_rates, writable=config.policy_csr)

    def state_layout(self) -> data.StructLayout:
        slots = len(self.owners)
        # At least one bit: registers without bits do not survive the way to Verilog.
        layout: dict[str, Any] = {"slot": max(1, (slots - 1).bit_length())}
        if self.writable:
            number = max(1, (self.warps - 1).bit_length())
            layout |= {"owners": data.ArrayLayout(number, slots), "length": range(slots + 1)}
        return data.StructLayout(layout)

    def state_reset(self) -> dict[str, Any]:
        return {"slot": 0} | ({"owners": self.owners, "length": len(self.owners)} if self.writable else {})

    def owner(self, state: data.View) -> Value:
        """The owner of this slot, one-hot."""
        if self.writable:
            return one_hot(Array(state.owners[slot] for slot in range(len(self.owners)))[state.slot], self.warps)
        return Cat(self._table(w).bit_select(state.slot, 1) for w in range(self.warps))

    def _table(self, warp: int) -> Const:
        """One bit for each slot: whether it belongs to this warp."""
        return Const(sum((owner == warp) << slot for slot, owner in enumerate(self.owners)), len(self.owners))

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return self.owner(state) & inputs.eligible

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        ends = state.slot + 1 >= state.length if self.writable else state.slot == len(self.owners) - 1
        m.d.sync += state.slot.eq(Mux(~inputs.active.any() | ends, 0, state.slot + 1))
        if self.writable:
            self._change(m, state, inputs.change)

    def _change(self, m: Module, state: data.View, change: data.View) -> None:
        """Give a slot to another warp, or the frame another length; a value that does not exist is ignored."""
        for slot in range(len(self.owners)):
            is_slot = (change.parameter == PolicyParameter.SLOT) & (change.slot == slot)
            with m.If(is_slot & (change.value < self.warps)):
                m.d.sync += state.owners[slot].eq(change.value)
        fits = (change.value != 0) & (change.value <= len(self.owners))
        with m.If((change.parameter == PolicyParameter.FRAME) & fits):
            m.d.sync += state.length.eq(change.value)


class VariableRate(VariableRateStrict):
    """The same, but a slot whose warp is not eligible goes to another warp, in round robin (``variable_rate``).

    State besides ``slot``: ``last``, one-hot, the warp that was selected most recently in a slot whose own warp was not
    eligible; W-1 before the first such slot. The next one goes to the first of last+1, last+2, ...
    """

    name = "variable_rate"
    idles = False

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({**super().state_layout().members, "last": self.warps})

    def state_reset(self) -> dict[str, Any]:
        return {**super().state_reset(), "last": 1 << (self.warps - 1)}

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return greedy(self.owner(state), inputs.eligible, pick_after(state.last, inputs.eligible))

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        super().update(m, state, inputs, selected=selected)
        selects = selected.any() if inputs.selects is None else inputs.selects
        with m.If(selects & ~(self.owner(state) & inputs.eligible).any()):
            m.d.sync += state.last.eq(selected)
