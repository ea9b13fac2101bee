"""A policy in Python in place of those of the model: asked in every cycle for its pick, and told what it may see."""

from __future__ import annotations

from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

from ..machine.events import NONE
from ..machine.policies.base import Policy, PolicyInputs
from .model.compiled import as_python
from .model.policies import fetched
from .model.records import Machine

__all__ = ["Chooser", "PickError"]


class PickError(ValueError):
    """The pick is no eligible warp."""


class Chooser:
    """Asks ``policy`` for each cycle of a machine, from its first one on, and keeps its state."""

    def __init__(self, config: SmConfig, policy: Policy[Any]) -> None:
        self._warps, self._policy = config.warps, policy
        self._state = policy.reset()
        reads = getattr(policy, "reads", ("eligible",))
        self._lanes, self._fetched = "lanes" in reads, "fetched" in reads

    def choose(self, machine: Machine) -> None:
        """The pick of the cycle ``port.cycle``, and the state behind it.

        Raises
        ------
        PickError
            If the pick is neither None nor one of the eligible warps.
        """
        front, control, cycle = machine.front[0], machine.control[0], int(machine.port["cycle"][0])
        eligible = int(front["eligible"])
        inputs = PolicyInputs(
            eligible=eligible, active=int(control["active"]), waiting=int(control["waiting"]),
            activated=int(control["activates"]), lost=int(machine.lsu["lost"][0]),
            change=int(control["change"]),
            lanes=tuple(control["lanes"].tolist()) if self._lanes else (),
            fetched=self._counts(machine) if self._fetched else (),
        )
        picked = self._policy.pick(self._state, inputs)
        if picked is not None and not _is_one_of(picked, eligible):
            may = ", ".join(str(w) for w in range(self._warps) if eligible >> w & 1) or "none"
            raise PickError(f"in cycle {cycle} pick returned {picked!r}, which is no eligible warp (eligible: {may})")
        self._state = self._policy.update(self._state, inputs, picked)
        front["choice"] = NONE if picked is None else picked
        front["chosen_at"] = cycle

    def _counts(self, machine: Machine) -> tuple[int, ...]:
        front = machine.front.view(np.recarray)[0]
        return tuple(int(as_python(fetched)(front, w)) for w in range(self._warps))


def _is_one_of(picked: Any, eligible: int) -> bool:
    return isinstance(picked, int) and not isinstance(picked, bool) and picked >= 0 and bool(eligible >> picked & 1)
