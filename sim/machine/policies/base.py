"""Common parts of the warp policies in plain Python: inputs, states, and sets of warps."""

from __future__ import annotations

import abc
import contextlib
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.csrs import PolicyParameter

__all__ = ["DeclaredInputs", "Last", "NoState", "Pointer", "Policy", "PolicyInputs", "State", "Stateless", "WithLast",
           "WithPointer", "after", "eligible_pick", "lowest", "members"]


@dataclass(frozen=True, kw_only=True)
class PolicyInputs:
    """The inputs of a policy in one cycle; inputs that it does not read (``Policy.reads``) may have any value.

    ``eligible`` is the set to pick from. ``active`` warps have started and not ended; ``waiting`` ones wait for other
    warps (at a barrier, or in wspawn); ``activated`` ones start now (they are ``active`` from the next cycle on).
    ``lanes`` counts the active lanes of each warp, ``fetched`` its instructions fetched and not issued, without
    inserted NOPs. ``lost``: the warps that lost locality in the data cache, as reported one cycle ago. ``change``: the
    word written to mpolicy one cycle ago, or 0 (docs/policies.md, "Changing them").
    """

    eligible: int
    active: int = 0
    waiting: int = 0
    activated: int = 0
    lanes: tuple[int, ...] = ()
    fetched: tuple[int, ...] = ()
    lost: int = 0
    change: int = 0

    def changed(self, parameter: PolicyParameter) -> int | None:
        """Return the new value of ``parameter``, or None if it is not being changed."""
        return self.change & 0xFFFF if self.change >> 24 == parameter else None

    @property
    def changed_slot(self) -> int:
        """The slot that is being changed, if one is."""
        return self.change >> 16 & 0xFF


class DeclaredInputs:
    """The inputs of a cycle restricted to the ``reads`` of a policy: others, and changes, raise AttributeError."""

    changed = PolicyInputs.changed
    changed_slot = PolicyInputs.changed_slot

    def __init__(self, inputs: PolicyInputs, reads: Iterable[str]) -> None:
        self.__dict__.update((name, getattr(inputs, name)) for name in ("eligible", *reads))

    def __getattr__(self, name: str) -> int:
        raise AttributeError(f"reads lacks {name!r}: it has to name all inputs that pick and update look at")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} is an input: a policy cannot change it")


@dataclass(frozen=True)
class NoState:
    """The state of a policy that remembers nothing."""


@dataclass(frozen=True)
class Last:
    """The warp selected most recently; W-1 before the first selection."""

    last: int


@dataclass(frozen=True)
class Pointer:
    """The warp whose turn it is; 0 at first."""

    pointer: int


State = TypeVar("State")
#: Characters of a wrong pick in a message.
_LONG = 60


class Policy(abc.ABC, Generic[State]):
    """One policy over ``warps`` warps. States are immutable and hashable."""

    name: ClassVar[str]
    #: The fields of :class:`PolicyInputs` that the policy uses.
    reads: tuple[str, ...] = ("eligible",)

    def __init__(self, *, warps: int) -> None:
        self.warps = warps

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        """Create the policy of an SM; a policy with parameters takes them from ``config`` here."""
        return cls(warps=config.warps)

    @abc.abstractmethod
    def reset(self) -> State:
        """Return the state before the first cycle."""

    @abc.abstractmethod
    def pick(self, state: State, inputs: PolicyInputs) -> int | None:
        """Return the selected warp, one of ``inputs.eligible``, or None."""

    @abc.abstractmethod
    def update(self, state: State, inputs: PolicyInputs, picked: int | None) -> State:
        """Return the state after a cycle in which this policy, or the one in force, selected ``picked``."""

    def states(self) -> Iterator[State]:
        """Yield every reachable state, for exhaustive comparison; their number grows fast with W.

        A policy from a file need not have this method, but its P3 cannot be proved without it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method states")

    def registers(self, state: State) -> dict[str, int]:
        """Return the registers of the hardware policy in this state, as integers.

        A policy from a file need not have this method.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method registers")


class Stateless(Policy[NoState]):
    """A policy whose pick depends only on the inputs."""

    def reset(self) -> NoState:
        return NoState()

    def update(self, state: NoState, inputs: PolicyInputs, picked: int | None) -> NoState:
        return state

    def states(self) -> Iterator[NoState]:
        yield NoState()

    def registers(self, state: NoState) -> dict[str, int]:
        return {}


class WithLast(Policy[Last]):
    """A policy that remembers the warp selected most recently."""

    def reset(self) -> Last:
        return Last(self.warps - 1)

    def update(self, state: Last, inputs: PolicyInputs, picked: int | None) -> Last:
        return state if picked is None else Last(picked)

    def states(self) -> Iterator[Last]:
        return map(Last, range(self.warps))

    def registers(self, state: Last) -> dict[str, int]:
        return {"last": 1 << state.last}


class WithPointer(Policy[Pointer]):
    """A policy in which one warp has the turn, whether or not it is eligible."""

    def reset(self) -> Pointer:
        return Pointer(0)

    def pick(self, state: Pointer, inputs: PolicyInputs) -> int | None:
        return state.pointer if inputs.eligible >> state.pointer & 1 else None

    def states(self) -> Iterator[Pointer]:
        return map(Pointer, range(self.warps))

    def registers(self, state: Pointer) -> dict[str, int]:
        return {"pointer": 1 << state.pointer}


def lowest(warps: int) -> int | None:
    """Return the lowest warp of a set, or None if it is empty."""
    return (warps & -warps).bit_length() - 1 if warps else None


def after(last: int, among: int) -> int | None:
    """Return the first of last+1, last+2, ... (cyclically) in the set ``among``, or None if it is empty."""
    above = lowest(among >> (last + 1) << (last + 1))
    return lowest(among) if above is None else above


def members(among: int) -> list[int]:
    """Return the warps of a set, lowest first."""
    return [w for w in range(among.bit_length()) if among >> w & 1]


def eligible_pick(picked: Any, eligible: int) -> int | None:
    """Return the pick of a policy, which may be an integer of numpy.

    Raises
    ------
    ValueError
        If it is neither None nor the number of a warp in the set ``eligible``.
    """
    if picked is None:
        return None
    number = -1
    if not isinstance(picked, bool):
        with contextlib.suppress(TypeError):
            number = operator.index(picked)
    if 0 <= number < eligible.bit_length() and eligible >> number & 1:
        return number
    among = ", ".join(map(str, members(eligible))) or "none, so pick must return None"
    raise ValueError(f"pick returned {_shortened(picked)}, which is no eligible warp (eligible: {among})")


def _shortened(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."
