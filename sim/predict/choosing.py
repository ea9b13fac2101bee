"""Run a warp policy written in Python in place of the model's own: pass it its inputs and take its pick."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

from ..machine.events import NONE
from ..machine.policies.base import DeclaredInputs, Policy, PolicyInputs
from .model.choices import INPUTS
from .model.compiled import as_python
from .model.policies import fetched
from .model.records import Machine

__all__ = ["Chooser", "PickError"]

#: The most choices kept for comparison when the policy is asked again, and the most states that get numbers.
_MOST = 1 << 20


class PickError(ValueError):
    """The pick is not an eligible warp, or differs from an earlier pick in the same state with the same inputs."""


class Chooser:
    """Asks ``policy`` for the choices of a machine from its first cycle on, and holds the policy's state.

    If ``keeps`` is set, the machine remembers the choices (:mod:`.model.choices`), so the policy is asked once for each
    combination of state and inputs. This requires hashable states, and ``lanes`` and ``fetched`` must not be among the
    inputs. Otherwise the policy is asked in every cycle.
    """

    def __init__(self, config: SmConfig, policy: Policy[Any], *, keeps: bool = False) -> None:
        self._warps, self._policy = config.warps, policy
        self._state = policy.reset()
        self._title = f"{policy.name}: " if keeps else ""
        reads = getattr(policy, "reads", ("eligible",))
        self._lanes, self._fetched = "lanes" in reads, "fetched" in reads
        #: The inputs that the policy reads, a bit each in the order of :data:`.model.choices.INPUTS`.
        self.reads = sum(1 << number for number, name in enumerate(INPUTS) if name in reads)
        self._reads = tuple(dict.fromkeys(("eligible", *reads)))
        self._keeps = keeps and not self._lanes and not self._fetched
        #: The number of each state, counting from 1, and the states by number.
        self._numbers: dict[Any, int] = {}
        self._states: list[Any] = [None]
        self._known: dict[tuple, tuple[int | None, Any]] = {}
        #: How often the policy was asked.
        self.asked = 0

    def choose(self, machine: Machine) -> None:
        """Make the pick for cycle ``port.cycle`` and update the policy's state.

        Raises
        ------
        PickError
            If the pick is neither None nor an eligible warp, or differs from an earlier pick in the same situation.
        """
        front, control, cycle = machine.front[0], machine.control[0], int(machine.port["cycle"][0])
        eligible = int(front["eligible"])
        if front["policy_state"]:
            self._state = self._states[int(front["policy_state"])]
        inputs = PolicyInputs(
            eligible=eligible, active=int(control["active"]), waiting=int(control["waiting"]),
            activated=int(control["activates"]), lost=int(machine.lsu["lost"][0]),
            change=int(control["change"]),
            lanes=tuple(control["lanes"].tolist()) if self._lanes else (),
            fetched=self._counts(machine) if self._fetched else (),
        )
        try:
            before, picked, after = self._state, *self._asked(inputs)
        except Exception as error:
            if not self._title:
                raise
            raise PickError(f"{self._title}in cycle {cycle} {self._raised(error)}") from None
        if picked is not None and not _is_one_of(picked, eligible):
            may = ", ".join(str(w) for w in range(self._warps) if eligible >> w & 1) or "none"
            raise PickError(
                f"{self._title}in cycle {cycle} pick returned {picked!r}, which is no eligible warp (eligible: {may})"
            )
        self._state = after
        self.asked += 1
        if self._keeps:
            self._keep(front, cycle, before, inputs, picked)
        front["choice"] = NONE if picked is None else picked
        front["chosen_at"] = cycle

    def _asked(self, inputs: PolicyInputs) -> tuple[int | None, Any]:
        """Return the pick and the next state; the policy is not updated if the pick is not an eligible warp."""
        # Choices are kept by the declared inputs, so the policy must not see any others.
        seen: Any = DeclaredInputs(inputs, self._reads) if self._title else inputs
        picked = self._policy.pick(self._state, seen)
        if picked is not None and not _is_one_of(picked, inputs.eligible):
            return picked, None
        return picked, self._policy.update(self._state, seen, picked)

    def _raised(self, error: Exception) -> str:
        """Describe the exception that the policy raised, with the line in its file."""
        file = inspect.getsourcefile(type(self._policy))
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        place = f" ({Path(file).name}, line {lines[-1]})" if file and lines else ""
        text = str(error).partition("\n")[0]
        return f"it raised {type(error).__name__}: {text}{place}"

    def _keep(self, front: np.void, cycle: int, before: Any, inputs: PolicyInputs, picked: int | None) -> None:
        """Let the machine keep the choice, after checking that it matches any earlier one."""
        try:
            key = (before, *(getattr(inputs, name) for name in self._reads))
            known = self._known.setdefault(key, (picked, self._state))
            numbers = [self._number(state) for state in (before, self._state)]
        except TypeError:  # no hash
            self._keeps = False
            front["policy_state"] = 0
            return
        if known != (picked, self._state):
            raise PickError(
                f"{self._title}in cycle {cycle} pick or update did not do what it did before in the same state and "
                "with the same inputs: both must depend on these alone"
            )
        if max(len(self._known), len(self._states)) > _MOST:
            self._keeps = False
            front["policy_state"] = 0
            return
        front["state_before"], front["policy_state"], front["keeps"] = *numbers, 1

    def _number(self, state: Any) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _counts(self, machine: Machine) -> tuple[int, ...]:
        front = machine.front.view(np.recarray)[0]
        return tuple(int(as_python(fetched)(front, w)) for w in range(self._warps))


def _is_one_of(picked: Any, eligible: int) -> bool:
    return isinstance(picked, int) and not isinstance(picked, bool) and picked >= 0 and bool(eligible >> picked & 1)
