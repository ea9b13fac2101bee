"""The combinations of properties and configurations to prove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from metronome.hdl.config import Coordination, Prediction, SmConfig
from metronome.hdl.policies import POLICIES

from .flow import Case, schemes_of
from .picks import ORDERS
from .properties import PROPERTIES
from .tables import fits

__all__ = ["USUAL_POLICY", "USUAL_WARPS", "cases", "quick_cases"]

#: The default policy for properties that do not depend on it, and the default numbers of warps.
USUAL_POLICY, USUAL_WARPS = "lrr", (2, 4, 8)
#: A policy whose pick depends on whether the lookup hits: lrr picks a warp twice in a row only if it is alone.
GREEDY_POLICY = "gtlrr"
_PREDICTIONS = tuple(its.value for its in Prediction)


def _policies_of(name: str, scheme: str, asked: Sequence[str] | None) -> Sequence[str]:
    if name == "P6":
        return [policy for policy in asked or ("lrr",) if policy == "lrr"]
    if asked is not None:
        return asked
    if name == "P1":
        return (USUAL_POLICY, GREEDY_POLICY)
    return tuple(POLICIES) if (name, scheme) == ("P3", Coordination.SWAS) else (USUAL_POLICY,)


def _usual_warps(name: str, policy: str) -> list[int]:
    """Return the usual sizes; for P3, those at which the policy has a reference."""
    return [warps for warps in USUAL_WARPS if name != "P3" or policy in ORDERS or fits(SmConfig(warps=warps), policy)]


def cases(
    properties: Sequence[str] | None = None, schemes: Sequence[str] | None = None,
    policies: Sequence[str] | None = None, predictions: Sequence[str] | None = None,
    warps: Sequence[int] | None = None, icache: bool = True,
    parameters: Mapping[str, int | tuple[int, ...]] | None = None,
) -> list[Case]:
    """Return every applicable combination of the request; by default all properties at the usual sizes.

    P3 is proved for every policy (of ``swas``), P6 is a property of ``lrr``. The rest do not depend on the policy, but
    P1 is also proved for one whose pick depends on the lookup. ``parameters``: fields that policies read.
    """
    def found() -> Iterator[Case]:
        for name in properties or PROPERTIES:
            its_schemes = [scheme for scheme in schemes or schemes_of(name) if scheme in schemes_of(name)]
            for scheme in its_schemes:
                for policy, prediction in product(
                    _policies_of(name, scheme, policies), predictions or _PREDICTIONS,
                ):
                    for count in warps or _usual_warps(name, policy):
                        yield Case(name, scheme, policy, prediction, count, icache, tuple((parameters or {}).items()))

    return list(found())


def quick_cases() -> list[Case]:
    """Return a quick subset: every property at 2 warps with both predictions, every policy, and 4 warps with btfn."""
    swas = [Coordination.SWAS.value]
    others = [name for name in PROPERTIES if name not in {"P3", "P4"}]
    return [
        *cases(policies=[USUAL_POLICY], warps=[2]),
        *cases(["P3"], swas, [name for name in POLICIES if name != USUAL_POLICY], predictions=["btfn"], warps=[2]),
        *cases(["P1"], swas, [GREEDY_POLICY], warps=[2]),
        *cases(others, swas, predictions=["btfn"], warps=[4]),
        *cases(["P3"], swas, [USUAL_POLICY], predictions=["btfn"], warps=[4]),
        # Without an I-cache the miss unit differs, which is the subject of P7.
        *cases(["P7"], swas, predictions=["btfn"], warps=[2, 4], icache=False),
    ]
