"""The warp policies, by name."""

from __future__ import annotations

from .base import Policy
from .gtlo import GreedyLooseOldest
from .gtlrr import GreedyLooseRoundRobin
from .lrr import LooseRoundRobin

__all__ = ["POLICIES", "Policy"]

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (LooseRoundRobin, GreedyLooseRoundRobin, GreedyLooseOldest)
}
