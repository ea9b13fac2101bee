"""The warp policies, by name. A new one is a file here and its class in ``POLICIES`` (docs/extending.md)."""

from __future__ import annotations

from .base import Policy, PolicyInputs
from .ccws import CacheConscious
from .fixed import FixedPriority
from .gtlo import GreedyLooseOldest
from .gtlrr import GreedyLooseRoundRobin
from .gto import GreedyOldest
from .gto_dispatch import GreedyOldestDispatch
from .icount import FewestFetched
from .lo import LooseOldest
from .lrr import LooseRoundRobin
from .prr import PureRoundRobin
from .pta import MostActiveThreads
from .srr import StrictRoundRobin
from .two_level import TwoLevelRoundRobin
from .variable_rate import VariableRate, VariableRateStrict

__all__ = ["POLICIES", "Policy", "PolicyInputs", "add", "from_outside"]

POLICIES: dict[str, type[Policy]] = {policy.name: policy for policy in (
    FixedPriority, LooseRoundRobin, GreedyLooseRoundRobin, GreedyLooseOldest, LooseOldest, StrictRoundRobin,
    PureRoundRobin, GreedyOldest, GreedyOldestDispatch, MostActiveThreads, FewestFetched, TwoLevelRoundRobin,
    VariableRate, VariableRateStrict, CacheConscious,
)}

_OURS = dict(POLICIES)


def add(policy: type[Policy]) -> None:
    """Register a policy whose name says which source it comes from, as the names of policies from files do."""
    POLICIES[policy.name] = _OURS[policy.name] = policy


def from_outside(name: str) -> bool:
    """Whether another class than the built-in one has been put into ``POLICIES`` under this name."""
    return POLICIES.get(name) is not _OURS.get(name)
