"""The combinations of properties and configurations to prove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from metronome.hdl.config import LINE_BYTES, Coordination, Prediction, SmConfig, Turns
from metronome.hdl.gpu.config import Interconnect, L2Kind
from metronome.hdl.isa.sharing import PARTITIONS
from metronome.hdl.policies import POLICIES
from metronome.hdl.presets import PIPELINES

from .flow import Case, Parameters, schemes_of
from .picks import ORDERS
from .properties import FRONT_END, OF_PARTITIONS, OF_SMS, PRIVACY, PROPERTIES, SEPARATION, TURNS
from .tables import fits

__all__ = ["USUAL_POLICY", "USUAL_WARPS", "cases", "quick_cases"]

#: The default policy for properties that do not depend on it, and the default numbers of warps.
USUAL_POLICY, USUAL_WARPS = "lrr", (2, 4, 8)
#: A policy whose pick depends on whether the lookup hits: lrr picks a warp twice in a row only if it is alone.
GREEDY_POLICY = "gtlrr"
_PREDICTIONS = tuple(its.value for its in Prediction)
_STATIC = [Prediction.NOT_TAKEN.value, Prediction.BTFN.value]
#: The sizes of the predictors for P8: the defaults, and the same with counters.
_COUNTERS: Parameters = (("two_bit", 4),)
#: The cycles of a slot for P11, and the warps of an SM, on which it hardly depends.
_SLOTS, _WARPS_OF_SMS = (1, 4), 4
#: Fields that have nothing to do with the sizes of the predictors.
_OTHERS = {*PARTITIONS, *(field for fields in PIPELINES.values() for field in fields)}


def _policies_of(name: str, scheme: str, asked: Sequence[str] | None) -> Sequence[str]:
    if name in ("P6", TURNS):
        return [policy for policy in asked or ("lrr",) if policy == "lrr"]
    if asked is not None:
        return asked
    if name == "P1":
        return (USUAL_POLICY, GREEDY_POLICY)
    return tuple(POLICIES) if (name, scheme) == ("P3", Coordination.SWAS) else (USUAL_POLICY,)


def _predictions_of(name: str, scheme: str, asked: Sequence[str] | None) -> Sequence[str]:
    """P8, and P4 of other schemes than ``swas``, are about private predictions. Turns do not depend on them."""
    if asked is None and name == OF_SMS:
        return [Prediction.NOT_TAKEN.value]
    if asked is None and name in OF_PARTITIONS:
        return [Prediction.NOT_TAKEN.value, *([Prediction.PRIVATE.value] if name == SEPARATION else [])]
    private = name == PRIVACY or (name == "P4" and scheme != Coordination.SWAS.value)
    return [its for its in asked or _PREDICTIONS if not private or its == Prediction.PRIVATE.value]


def _usual_warps(name: str, policy: str, schedulers: int) -> list[int]:
    """Return the usual sizes of a partition, in warps of the SM; for P3, those at which the policy has a reference."""
    if name == OF_SMS:
        return [schedulers * _WARPS_OF_SMS]
    return [schedulers * warps for warps in USUAL_WARPS
            if name != "P3" or policy in ORDERS or fits(SmConfig(warps=warps), policy)]


def _small_l2(its: Mapping[str, Any]) -> dict[str, int]:
    """The sizes of the L2 that are not given: two ways for each SM, if there may be as many, two requests and sets."""
    ways = its.get("l2_ways", min(16, 2 * its["sms"]))
    least = {"l2_ways": ways, "l2_requests": 2 * its["sms"], "l2_bytes": max(512, 2 * LINE_BYTES * ways)}
    return {name: size for name, size in least.items() if name not in its}


def _parameters_of(name: str, asked: Mapping[str, Any] | None) -> list[Parameters]:
    parameters = tuple((asked or {}).items())
    if name == OF_SMS:
        its = {"interconnect": Interconnect.TDM} | dict(parameters)
        if its.get("l2") is L2Kind.DIVIDED:
            its |= _small_l2(its)
        several = its["interconnect"] is Interconnect.TDM and "slot_cycles" not in its
        return [tuple((its | {"slot_cycles": slot}).items()) for slot in _SLOTS] if several else [tuple(its.items())]
    if name != PRIVACY or not set(asked or ()) <= _OTHERS:
        return [parameters]
    return [parameters, parameters + _COUNTERS]


def cases(
    properties: Sequence[str] | None = None, schemes: Sequence[str] | None = None,
    policies: Sequence[str] | None = None, predictions: Sequence[str] | None = None,
    warps: Sequence[int] | None = None, icache: bool = True,
    parameters: Mapping[str, Any] | None = None,
) -> list[Case]:
    """Return every applicable combination of the request; by default all properties at the usual sizes.

    P3 is proved for every policy (of ``swas``), P6 is a property of ``lrr``. The rest do not depend on the policy, but
    P1 is also proved for one whose pick depends on the lookup. P8 is a property of ``private``, with and without
    counters. ``parameters``: fields that policies and predictors read, and those of partitions; with several, P9 is
    proved of the SM, and P10 of each partition if its turns are fixed. With ``sms``, P11 alone is proved, of each SM.
    """
    asked = parameters or {}
    schedulers, sms, computed = asked.get("schedulers", 1), asked.get("sms", 1), asked.get("turns") is Turns.OLDER

    def there(name: str) -> bool:
        if name == OF_SMS or sms > 1:
            return name == OF_SMS and sms > 1
        return name not in OF_PARTITIONS or (schedulers > 1 and not (name == SEPARATION and computed))

    def found() -> Iterator[Case]:
        for name in filter(there, properties or PROPERTIES):
            its_schemes = [scheme for scheme in schemes or schemes_of(name) if scheme in schemes_of(name)]
            for scheme in its_schemes:
                for policy, prediction in product(
                    _policies_of(name, scheme, policies), _predictions_of(name, scheme, predictions),
                ):
                    for count, its, partition in product(
                        warps or _usual_warps(name, policy, schedulers), _parameters_of(name, parameters),
                        range({SEPARATION: schedulers, OF_SMS: sms}.get(name, 1)),
                    ):
                        yield Case(name, scheme, policy, prediction, count, icache, its, partition)

    return list(found())


def quick_cases() -> list[Case]:
    """Return a quick subset: the front end at 2 warps without predictors, every policy, and 4 warps with btfn.

    With predictors: P4, which is about what is predicted, and P8.
    """
    swas = [Coordination.SWAS.value]
    others = [name for name in FRONT_END if name not in {"P3", "P4"}]
    return [
        *cases(policies=[USUAL_POLICY], predictions=_STATIC, warps=[2]),
        *cases(["P3"], swas, [name for name in POLICIES if name != USUAL_POLICY], predictions=["btfn"], warps=[2]),
        *cases(["P1"], swas, [GREEDY_POLICY], predictions=_STATIC, warps=[2]),
        *cases(others, swas, predictions=["btfn"], warps=[4]),
        *cases(["P3"], swas, [USUAL_POLICY], predictions=["btfn"], warps=[4]),
        # Without an I-cache the miss unit differs, which is the subject of P7.
        *cases(["P7"], swas, predictions=["btfn"], warps=[2, 4], icache=False),
        *(Case(name, prediction=Prediction.PRIVATE.value, warps=2) for name in ("P4", PRIVACY)),
    ]
