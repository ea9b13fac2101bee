"""The fields of ``SmConfig`` that have an effect only with certain values of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from metronome.hdl.config import Channels, SmConfig, Units

from .policies.files import loaded

__all__ = ["CONDITIONS", "Condition", "without_effect"]


@dataclass(frozen=True)
class Condition:
    """The condition under which a field has an effect."""

    needs: str  # in words, after "without"
    holds: Callable[[SmConfig], bool]


def _policy(*names: str) -> Condition:
    """One of these policies for fetch or issue. A policy from a file may read the parameters of any."""
    def holds(config: SmConfig) -> bool:
        built = (*config.policies, *config.fetch_policies)
        return not set(names).isdisjoint(built) or bool(loaded(built))

    return Condition(f"the policy {' or '.join(names)}", holds)


_PRIVATE = Condition("prediction=private", lambda config: config.learns)
_CHANNELS = Condition("channels", lambda config: config.channels is not Channels.NONE)
_ICACHE = Condition("an I-cache", lambda config: config.icache_bytes > 0)
_DCACHE = Condition("a data cache", lambda config: config.dcache_bytes > 0)
_FPU = Condition("an FPU", lambda config: config.fpu)
_THREADS = Condition("several threads of a warp", lambda config: config.threads > 1)
_CCWS = _policy("ccws")
_SCHEDULERS = Condition("several schedulers", lambda config: config.schedulers > 1)
_SHARED = Condition("several schedulers with units=shared", lambda config: (
    config.schedulers > 1 and config.units is Units.SHARED))

#: Field -> its condition; every other field always has an effect.
CONDITIONS = {
    **dict.fromkeys(("return_stack", "jump_targets", "branch_runs", "two_bit"), _PRIVATE),
    "group_warps": _policy("two_level"),
    "rates": _policy("variable_rate", "variable_rate_strict"),
    **dict.fromkeys(("locality_base", "locality_throttle", "victim_tags"), _CCWS),
    "channel_depth": _CHANNELS,
    **dict.fromkeys(("icache_ways", "icache_mshrs"), _ICACHE),
    **dict.fromkeys(("dcache_ways", "dcache_mshrs"), _DCACHE),
    **dict.fromkeys(("latency_fma", "latency_fcvt", "latency_fdiv", "latency_fmisc"), _FPU),
    "interleave_stacks": _THREADS,
    **dict.fromkeys(("units", "turns"), _SCHEDULERS),
    **dict.fromkeys(("alu_ports", "writeback_ports"), _SHARED),
}


def without_effect(field: str, configs: Iterable[SmConfig]) -> str | None:
    """Return what ``field`` needs if it has an effect in none of the configurations, else None."""
    condition = CONDITIONS.get(field)
    return None if condition is None or any(map(condition.holds, configs)) else condition.needs
