"""Checks of configuration values, and the parameters of the warp policies that are derived from them."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

__all__ = ["LATENCIES", "MOST_SLOTS", "PREDICTORS", "SLOTS_OF_TURNS", "is_power_of_two", "kind_of", "rate_of_each",
           "require", "require_channels", "require_latencies", "require_locality", "require_policies",
           "require_prediction", "warps_of_a_group"]

#: The least and the most cycles of each latency.
LATENCIES = {
    "issue_latency": (2, 3), "lookup_latency": (1, 2), "latency_alu": (1, 1), "latency_csr": (1, 1),
    "latency_simt": (1, 1), "latency_mul": (2, 8), "latency_div": (34, 40), "latency_fma": (4, 8),
    "latency_fcvt": (5, 8), "latency_fdiv": (16, 40), "latency_fmisc": (2, 8),
}

#: The least (besides 0) and the most entries of each predictor of a warp.
PREDICTORS = {"return_stack": (1, 16), "jump_targets": (1, 16), "branch_runs": (2, 16), "two_bit": (1, 64)}

#: The longest frame of variable_rate.
MOST_SLOTS = 256
#: After so many turns, one partition has two: more than the slots of any policy's frame.
SLOTS_OF_TURNS = MOST_SLOTS + 1


def kind_of(kind: type, each: type = str) -> str:
    """The name of a type in a message; ``each`` is the type of a tuple's elements."""
    if issubclass(kind, enum.Enum):
        return "one of " + ", ".join(f"{kind.__name__}.{name}" for name in kind.__members__)
    parts = "whole numbers" if each is int else "names"
    return {int: "a whole number", bool: "True or False", tuple: f"a tuple of {parts}"}.get(
        kind, f"a {kind.__name__}"
    )


def is_power_of_two(value: int) -> bool:
    """Whether the value is 1, 2, 4, ..."""
    return value > 0 and value & (value - 1) == 0


def require(condition: bool, field: str, allowed: str, value: object) -> None:
    """Raise ValueError unless ``condition``, naming the field, the ``allowed`` values and the value given."""
    if not condition:
        raise ValueError(f"{field} must be {allowed}, not {value!r}")


def require_latencies(latencies: Mapping[str, int]) -> None:
    """Require each of :data:`LATENCIES` to be a number of cycles that can be built."""
    for name, (least, most) in LATENCIES.items():
        allowed = f"between {least} and {most}"
        if most - least < 2:
            allowed = " or ".join(map(str, range(least, most + 1)))
        require(least <= latencies[name] <= most, name, allowed, latencies[name])


def require_prediction(entries: Mapping[str, int]) -> None:
    """Require each of :data:`PREDICTORS` to have a size that can be built, even if the prediction uses none."""
    for name, (least, most) in PREDICTORS.items():
        fits = is_power_of_two(entries[name]) and least <= entries[name] <= most
        require(entries[name] == 0 or fits, name, f"0 or a power of two from {least} to {most}", entries[name])


def warps_of_a_group(warps: int, group_warps: int) -> int:
    """The group size of two_level; by default the smallest divisor of ``warps`` whose square is at least ``warps``."""
    return group_warps or next(size for size in range(1, warps + 1) if warps % size == 0 and size * size >= warps)


def rate_of_each(warps: int, rates: Sequence[int]) -> tuple[int, ...]:
    """The rate of every warp. The last one given applies to the rest; by default warp 0 has every second slot."""
    given = tuple(rates) or (max(1, warps - 1), *[1] * (warps > 1))
    return (*given, *[given[-1]] * (warps - len(given)))


def _require_rates(warps: int, rates: Sequence[int], *, strict: bool) -> None:
    """Require a frame that can be built and, if ``strict``, has a slot for every warp."""
    require(len(rates) <= warps, "rates", f"at most one for each warp, of which there are {warps}", rates)
    require(all(rate >= 0 for rate in rates), "rates", "0 or more for each warp", rates)
    every = rate_of_each(warps, rates)
    require(any(every), "rates", "above 0 for some warp", rates)
    require(sum(every) <= MOST_SLOTS, "rates", f"of at most {MOST_SLOTS} slots for all {warps} warps together", rates)
    if strict:
        allowed = "above 0 for every warp with variable_rate_strict, which gives no slot away"
        require(all(every), "rates", allowed, rates)


def require_locality(*, base: int, throttle: int, victim_tags: int) -> None:
    """Check the parameters of ccws, even if it is not in the build."""
    require(1 <= base <= 1000, "locality_base", "between 1 and 1000", base)
    require(1 <= throttle <= 64, "locality_throttle", "between 1 and 64", throttle)
    require(1 <= victim_tags <= 64, "victim_tags", "between 1 and 64", victim_tags)


def require_policies(
    warps: int, policies: Sequence[str], fetch: Sequence[str], *, unified: bool, group_warps: int, rates: Sequence[int]
) -> None:
    """Require at least one policy for each scheduler, none twice; the schedulers check that the policies exist.

    ``unified``: there is one scheduler only. The parameters are checked even if no policy reads them.
    """
    require(len(policies) > 0, "policies", "a non-empty tuple", policies)
    require(len(set(policies)) == len(policies), "policies", "free of repeats", policies)
    wanted = "empty" if unified else "a non-empty tuple"
    require((len(fetch) == 0) == unified, "fetch_policies", wanted, fetch)
    require(len(set(fetch)) == len(fetch), "fetch_policies", "free of repeats", fetch)
    divides = group_warps == 0 or (group_warps > 0 and warps % group_warps == 0)
    require(divides, "group_warps", f"0 or a divisor of warps, {warps}", group_warps)
    _require_rates(warps, rates, strict="variable_rate_strict" in (*policies, *fetch))


def require_channels(depth: int, threads: int, policies: Sequence[str], *, ordered: bool) -> None:
    """Require a depth that can be built and, in ``ordered`` channels, no policy with which a run could hang.

    A load or store may have as many lines as lanes, and issues only if its channel has room for all of them.
    """
    if not ordered:
        require(1 <= depth <= 16, "channel_depth", "between 1 and 16", depth)
        return
    require(
        threads <= depth <= 32, "channel_depth", f"between threads, {threads}, and 32 with channels=ordered", depth,
    )
    # prr: the warp whose turn it is may have to wait for an access of another one, which never gets a turn. ccws: its
    # victim tags follow lines that come in with their bytes.
    for policy in ("prr", "ccws"):
        require(policy not in policies, "policies", f"without {policy} with channels=ordered", policies)
