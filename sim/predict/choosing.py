"""A policy in Python in place of those of the model: called for its pick, with the inputs that it may see."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

from ..machine.events import NONE
from ..machine.policies.base import DeclaredInputs, Policy, PolicyInputs, eligible_pick
from ..machine.policies.files import changed_outside_the_state, policy_code
from ..machine.policies.plain import POLICIES
from ..machine.policies.purity import held_by, plain_data
from .model.choices import INPUTS
from .model.compiled import as_python
from .model.policies import fetched
from .model.records import Machine

__all__ = ["Chooser", "PickError"]

#: Choices that are compared when the policy is called again, and states that have numbers.
_MOST = 1 << 20
#: Numbers and texts in all states that are kept.
_MOST_PARTS = 1 << 24


class PickError(ValueError):
    """The pick is not an eligible warp, or differs from an earlier pick for the same state and inputs."""


class _WrongPickError(ValueError):
    """The pick is not an eligible warp."""


class Chooser:
    """Asks ``policy`` for the choices of a machine, from its first cycle on, and keeps its state.

    With ``keeps`` the machine remembers the choices (:mod:`.model.choices`), so that the policy is called once for each
    state and inputs. This needs states of plain data (:func:`.plain_data`), and inputs without ``lanes`` and
    ``fetched``. Otherwise the policy is called in every cycle. A policy with a ``title`` comes from a file: it sees
    only the inputs that it declares, and its errors become PickErrors that begin with the title.
    """

    def __init__(self, config: SmConfig, policy: Policy[Any], *, keeps: bool = False, title: str = "") -> None:
        self._warps, self._policy, self._schedulers = config.partition.warps, policy, config.schedulers
        #: The state in each partition.
        self._state = [policy.reset() for _ in range(config.schedulers)]
        self._title = title
        self._held: dict[str, bytes] = {}
        reads = getattr(policy, "reads", ("eligible",))
        self._lanes, self._fetched = "lanes" in reads, "fetched" in reads
        #: The inputs that the policy reads, as bits in the order of :data:`.model.choices.INPUTS`.
        self.reads = sum(1 << number for number, name in enumerate(INPUTS) if name in reads)
        self._reads = tuple(dict.fromkeys(("eligible", *reads)))
        self._keeps = keeps and not self._lanes and not self._fetched
        #: A number for each state, from 1 on, and the states by their numbers.
        self._numbers: dict[Any, int] = {}
        self._states: list[Any] = [None]
        self._known: dict[tuple, tuple[int | None, Any]] = {}
        #: The number of further parts of states that may be cached.
        self._room = _MOST_PARTS
        #: The number of calls of the policy, and why it is called after the first cycles.
        self.asked = 0
        self.reason = "these cycles have a new state or new inputs"
        if self._lanes or self._fetched:
            self.reason = f"it reads {'lanes' if self._lanes else 'fetched'}"

    @classmethod
    def of_file(cls, config: SmConfig, name: str) -> Chooser:
        """The chooser of a policy of ``sim.machine.policies``, such as one from a file. Raises PickError."""
        try:
            with policy_code():
                made = cls(config, POLICIES[name].of(config.partition), keeps=True, title=f"{name}: ")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise PickError(f"{name}: it cannot begin: {_raised(error, POLICIES[name])}") from None
        made._held = held_by(made._policy)
        return made

    def choose(self, machine: Machine) -> None:
        """The pick of the cycle ``port.cycle``, and the state after it.

        Raises
        ------
        PickError
            If the pick is neither None nor one of the eligible warps, or not the same as before.
        """
        whole, cycle = machine.whole[0], int(machine.port["cycle"][0])
        part = int(whole["asks"])
        front, control = machine.front[part], machine.control[part]
        eligible = int(front["eligible"])
        if front["policy_state"]:
            self._state[part] = self._states[int(front["policy_state"])]
        inputs = PolicyInputs(
            eligible=eligible, active=int(control["active"]), waiting=int(control["waiting"]),
            activated=int(control["activates"]), lost=self._owned(int(machine.lsu["lost"][0]), part),
            change=int(whole["change"]),
            lanes=tuple(control["lanes"].tolist()) if self._lanes else (),
            fetched=self._counts(machine, part) if self._fetched else (),
        )
        try:
            before, picked, after = self._state[part], *self._asked(inputs, part)
        except KeyboardInterrupt:
            raise
        except _WrongPickError as error:
            raise PickError(f"{self._title}in cycle {cycle} {error}") from None
        except BaseException as error:
            if not self._title:
                raise
            raise PickError(f"{self._title}in cycle {cycle} {_raised(error, type(self._policy))}") from None
        self._state[part] = after
        self.asked += 1
        if self._keeps:
            self._keep(machine.front, part, cycle, (before, after), inputs, picked)
        front["choice"] = NONE if picked is None else picked
        front["chosen_at"] = cycle

    def _asked(self, inputs: PolicyInputs, part: int) -> tuple[int | None, Any]:
        """Return the pick and the state after it. Raises _WrongPickError, and whatever the policy raises."""
        # Cached choices depend only on the inputs that the policy declares.
        if not self._title:
            return self._answers(self._state[part], inputs, inputs.eligible)
        with policy_code():
            answers = self._answers(self._state[part], DeclaredInputs(inputs, self._reads), inputs.eligible)
        if name := changed_outside_the_state(self._policy, self._held):
            raise ValueError(f"{name} has changed: a policy may remember in its state alone, which update returns")
        return answers

    def _answers(self, state: Any, seen: Any, eligible: int) -> tuple[int | None, Any]:
        answer = self._policy.pick(state, seen)
        try:
            picked = eligible_pick(answer, eligible)
        except ValueError as error:
            raise _WrongPickError(str(error)) from None
        return picked, self._policy.update(state, seen, picked)

    def _keep(
        self, fronts: np.ndarray, part: int, cycle: int, states: tuple[Any, Any], inputs: PolicyInputs,
        picked: int | None,
    ) -> None:
        """Let the machine keep the choice between two states, if it was made as before."""
        before, after = states
        try:
            first, second = plain_data(before), plain_data(after)
            self._room -= _parts(second)
            key = (first, *(getattr(inputs, name) for name in self._reads))
            known = self._known.setdefault(key, (picked, second))
            numbers = [self._number(first, before), self._number(second, after)]
        except TypeError as error:  # no plain data
            self._keep_no_more(fronts, part, str(error))
            return
        except RecursionError:
            self._keep_no_more(fronts, part, "its states are nested too deeply")
            return
        if known != (picked, second):
            raise PickError(
                f"{self._title}in cycle {cycle} pick or update did not do what it did before in the same state and "
                "with the same inputs: both must depend on these alone"
            )
        if max(len(self._known), len(self._states)) > _MOST or self._room < 0:
            self._keep_no_more(fronts, part, self.reason)
            return
        fronts[part]["state_before"], fronts[part]["policy_state"], fronts[part]["keeps"] = *numbers, 1

    def _keep_no_more(self, fronts: np.ndarray, part: int, reason: str) -> None:
        """Ask the policy in every cycle from now on."""
        self._keeps, self.reason = False, reason
        for other, number in enumerate(fronts["policy_state"].tolist()):
            # The partition that asks already has its state.
            if number and other != part:
                self._state[other] = self._states[number]
        fronts["policy_state"] = 0
        self._known.clear()
        self._numbers.clear()
        self._states.clear()

    def _number(self, plain: Any, state: Any) -> int:
        number = self._numbers.setdefault(plain, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _owned(self, warps: int, part: int) -> int:
        """The partition's part of a set of warps of the SM."""
        return sum((warps >> w * self._schedulers + part & 1) << w for w in range(self._warps))

    def _counts(self, machine: Machine, part: int) -> tuple[int, ...]:
        front = machine.front.view(np.recarray)[part]
        return tuple(int(as_python(fetched)(front, w)) for w in range(self._warps))


def _parts(plain: Any) -> int:
    """The number of numbers and texts in a state that :func:`plain_data` has returned."""
    return sum(map(_parts, plain)) if isinstance(plain, tuple | frozenset) else 1


def _raised(error: BaseException, policy: type) -> str:
    """Describe an exception of a policy, with its place in the file."""
    file = inspect.getsourcefile(policy)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    place = f" ({Path(file).name}, line {lines[-1]})" if file and lines else ""
    text = str(error).partition("\n")[0]
    return f"it raised {type(error).__name__}: {text}{place}"

