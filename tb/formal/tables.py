"""Reference for P3 built from a policy's plain Python, as tables over all states and inputs.

This proves a new policy as soon as sim/machine/policies/plain.py has it, at sizes for which its tables stay small.
Larger sizes need an order in picks.py, which is also a reading of docs/policies.md independent of either source.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice, product
from math import prod
from typing import Any

from amaranth.hdl import Cat, Const, Signal, Value
from amaranth.lib import data

from metronome.hdl.config import SmConfig
from metronome.hdl.policies import POLICIES as POLICIES_IN_HARDWARE
from metronome.sim.machine.policies.base import eligible_pick
from metronome.sim.machine.policies.files import (
    PolicyFileError,
    policy_code,
    raised_in_a_policy,
    require_python,
    text_of,
)
from metronome.sim.machine.policies.plain import POLICIES, Policy, PolicyInputs

from .model import Model

__all__ = ["MOST_ROWS", "NoReference", "TableReference", "fits", "no_reference"]

#: Limit for one table: 4096 rows take the solver a few seconds.
MOST_ROWS = 4096

#: Policy inputs that are a number for each warp; the others are sets of warps.
_COUNTS = ("lanes", "fetched")
#: The inputs that a table can have.
_INPUTS = ("eligible", "active", "waiting", "activated", *_COUNTS)


class NoReference(Exception):
    """No reference exists for this policy; the text is one line with the remedy."""


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    """Convert whatever a policy raises to NoReference."""
    try:
        with policy_code():
            yield
    except NotImplementedError as error:
        raise NoReference(f"P3 of {name} needs its states: {error} (docs/extending.md)") from None
    except NoReference:
        raise
    except Exception as error:
        raise NoReference(f"P3 of {name}: {raised_in_a_policy(error) or text_of(error)}") from None


def _policy(name: str, config: SmConfig) -> Policy:
    try:
        require_python(name)
    except PolicyFileError as error:
        raise NoReference(str(error)) from None
    if name not in POLICIES:
        raise NoReference(f"policy {name} is in hdl/policies and not in sim/machine/policies/plain.py: add it there "
                          "(docs/extending.md)")
    with _errors(name):
        policy = POLICIES[name].of(config)
    if unknown := [field for field in policy.reads if field not in _INPUTS]:
        raise NoReference(f"P3 of {name}: there is no reference for a policy that reads {unknown[0]}")
    return policy


def _rows(policy: Policy, config: SmConfig) -> int:
    """Return the number of rows in the policy's tables; any larger number if it exceeds :data:`MOST_ROWS`."""
    counts = {"lanes": config.threads + 1, "fetched": config.buffer_depth + 1}
    inputs = prod(counts.get(field, 2) ** config.warps for field in policy.reads)
    with _errors(policy.name):
        states = sum(1 for _ in islice(policy.states(), MOST_ROWS + 1))
        policy.registers(policy.reset())
    return inputs * states


def fits(config: SmConfig, name: str) -> bool:
    """Whether tables can prove P3 for this policy at this size; also True if there is another obstacle."""
    try:
        return _rows(_policy(name, config), config) <= MOST_ROWS
    except NoReference:
        return True


def no_reference(config: SmConfig, name: str) -> str | None:
    """Return the line that says why P3 cannot be proved for this policy at this size; None if it can."""
    try:
        rows = _rows(_policy(name, config), config)
    except NoReference as error:
        return str(error)
    if rows <= MOST_ROWS:
        return None
    return (f"P3 of {name} at {config.warps} warps: a table of {rows} rows or more, of {MOST_ROWS} at most: ask "
            "for fewer --warps, or add its order to tb/formal/picks.py")


class TableReference:
    """Reference for a single-policy model: the result of sim/machine/policies/plain.py in every state."""

    def __init__(self, model: Model) -> None:
        config = model.config
        (name,) = config.policies
        self._model = model
        if (line := no_reference(config, name)) is not None:
            raise NoReference(line)
        self._policy = _policy(name, config)
        with _errors(name):
            self._states = list(self._policy.states())
            self._number = {state: number for number, state in enumerate(self._states)}
            reset = self._policy.reset()
        if reset not in self._number:
            raise NoReference(f"P3 of {name}: reset returns {reset}, which states leaves out")
        self._state = model.register(range(len(self._states)), "expect_state", self._number[reset])
        self._others = [field for field in self._policy.reads if field != "eligible"]
        self._follow()

    def _values(self, field: str) -> tuple[list[Value], int]:
        """Return the input as one value per warp, and the number of values each can take."""
        model, dut = self._model, self._model.dut
        warps, threads = model.config.warps, model.config.threads
        if field == "lanes":
            return [sum(model.dut.flow.masks[w], Const(0, 1)) for w in range(warps)], threads + 1
        if field == "fetched":
            fetched = model.inside.component("scheme").fetched
            return [fetched[w] for w in range(warps)], model.config.buffer_depth + 1
        sets = {"active": dut.flow.active, "waiting": dut.flow.waiting, "activated": dut.flow.activation.warps}
        return [sets[field][w] for w in range(warps)], 2

    def _each_row(self) -> Iterator[tuple[tuple[int, ...], object, PolicyInputs]]:
        """Yield (numbers of state and inputs, state, inputs) for every row."""
        warps = self._model.config.warps
        per_field = [list(product(range(self._values(field)[1]), repeat=warps)) for field in self._others]
        for (number, state), eligible in product(enumerate(self._states), range(1 << warps)):
            for each in product(*per_field):
                given = dict(zip(self._others, each, strict=True))
                read: dict[str, Any] = {
                    field: values if field in _COUNTS else sum(bit << w for w, bit in enumerate(values))
                    for field, values in given.items()
                }
                pattern = (number, eligible, *(value for values in each for value in values))
                yield pattern, state, PolicyInputs(eligible=eligible, **read)

    def _key(self, eligible: Value) -> tuple[Value, list[int]]:
        """Return state and inputs as one value, and the width of each of its parts."""
        parts = [self._state, eligible]
        for field in self._others:
            values, count = self._values(field)
            for w, value in enumerate(values):
                part = Signal(range(count), name=f"expect_{field}_{w}")
                self._model.m.d.comb += part.eq(value)
                parts.append(part)
        return Cat(parts), [len(part) for part in parts]

    def _table(self, eligible: Value) -> Iterator[tuple[object, PolicyInputs]]:
        """Yield every row, inside the case of the design's module that matches the row's state and inputs."""
        key, widths = self._key(eligible)
        with self._model.m.Switch(key):
            for pattern, state, inputs in self._each_row():
                parts = list(zip(pattern, widths, strict=True))
                bits = "".join(f"{value:0{width}b}" for value, width in reversed(parts) if width)
                with self._model.m.Case(bits):
                    yield state, inputs

    def _picked(self, state: Any, inputs: PolicyInputs) -> int | None:
        return eligible_pick(self._policy.pick(state, inputs), inputs.eligible)

    def _follow(self) -> None:
        """Compute the next state, assuming the selection of this policy's pick, which P3 claims."""
        for state, inputs in self._table(self._model.dut.event.eligible):
            with _errors(self._policy.name):
                following = self._policy.update(state, inputs, self._picked(state, inputs))
                known = following in self._number
            if not known:
                raise NoReference(f"P3 of {self._policy.name}: update goes from {state} to {following}, which states "
                                  "leaves out")
            self._model.m.d.sync += self._state.eq(self._number[following])

    def add_invariants(self) -> None:
        """Claim that the design's registers match the reference's state."""
        model, policy = self._model, self._policy
        model.lemma("the reference is in one of its states", self._state < len(self._states))
        if not policy.registers(policy.reset()):
            return
        registers, told = self._registers(), Signal(name="told")
        with model.m.Switch(self._state):
            for number, state in enumerate(self._states):
                with model.m.Case(number):
                    with _errors(policy.name):
                        same = [Value.cast(registers[field]) == value
                                for field, value in policy.registers(state).items()]
                    model.m.d.comb += told.eq(Cat(same).all())
        model.lemma("the design's registers are those of this state", told)

    def _registers(self) -> data.View:
        """Return the registers of the design. Raises NoReference if the reference names another."""
        named = list(self._policy.registers(self._policy.reset()))
        layout = POLICIES_IN_HARDWARE[self._policy.name].of(self._model.config).state_layout()
        if missing := sorted(set(named) - set(dict(layout))):
            raise NoReference(f"P3 of {self._policy.name}: registers names {missing[0]!r}, which the class for the "
                              "hardware does not have")
        return self._model.issue_state()

    def pick(self, eligible: Value, name: str) -> Signal:
        """Return the warp of ``eligible`` that the policy picks, one-hot."""
        picked = Signal(len(eligible), name=name)
        for state, inputs in self._table(eligible):
            with _errors(self._policy.name):
                pick = self._picked(state, inputs)
            self._model.m.d.comb += picked.eq(0 if pick is None else 1 << pick)
        return picked
