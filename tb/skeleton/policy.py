"""A warp policy: stay with a warp for four selections, then take the next one.

Mine is the policy in plain Python, which `metronome predict` asks. MineHardware is the same policy in Amaranth, for
`metronome run`, `verilog`, `synth` and `prove`. test_mine.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data

from metronome.hdl.policies.base import LastWarpPolicy, greedy, pick_after
from metronome.hdl.policies.base import PolicyInputs as HardwareInputs
from metronome.sim.machine.policies.base import Policy, PolicyInputs, after


@dataclass(frozen=True)
class State:
    """The memory of the policy from one cycle to the next. A state never changes: update returns a new one."""

    last: int  # the warp selected most recently
    run: int  # its selections in a row, less one


class Mine(Policy[State]):
    """Both methods depend on their arguments alone. A set of warps is an integer: bit w is set for warp w."""

    #: The inputs that matter: eligible, active, waiting, activated, lanes or fetched (docs/policies.md).
    reads = ("eligible",)

    def reset(self) -> State:
        """The state before the first cycle."""
        return State(self.warps - 1, 3)

    def pick(self, state: State, inputs: PolicyInputs) -> int | None:
        """The warp to select: one of inputs.eligible, or None."""
        if state.run < 3 and inputs.eligible >> state.last & 1:
            return state.last
        return after(state.last, inputs.eligible)

    def update(self, state: State, inputs: PolicyInputs, picked: int | None) -> State:
        """The state after a cycle in which the warp was selected."""
        if picked is None:
            return state
        return State(picked, state.run + 1 if picked == state.last and state.run < 3 else 0)

    # Only `metronome prove` asks these two: every state, and the registers of the hardware in it.

    def states(self) -> Iterator[State]:
        return (State(last, run) for last in range(self.warps) for run in range(4))

    def registers(self, state: State) -> dict[str, int]:
        return {"last": 1 << state.last, "run": state.run}


class MineHardware(LastWarpPolicy):
    """The same in hardware: LastWarpPolicy has the register `last`, with a bit for each warp, one of them set.

    A policy that may select no warp although one is eligible also needs the line `idles = True`.
    """

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({"last": self.warps, "run": 2})

    def state_reset(self) -> dict[str, int]:
        return {**super().state_reset(), "run": 3}

    def pick(self, state: data.View, inputs: HardwareInputs) -> Value:
        """An expression of state and inputs: the warp to select as a vector with one bit set, or 0."""
        again = Mux(state.run == 3, 0, state.last)
        return greedy(again, inputs.eligible, pick_after(state.last, inputs.eligible))

    def update(self, m: Module, state: data.View, inputs: HardwareInputs, *, selected: Value) -> None:
        """Set the registers for the next cycle."""
        super().update(m, state, inputs, selected=selected)
        with m.If(selected.any()):
            m.d.sync += state.run.eq(Mux((selected == state.last) & (state.run != 3), state.run + 1, 0))
