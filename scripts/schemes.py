"""The front ends that a command line asks for: their names checked, and the configuration that has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import product

from metronome.hdl.config import Coordination, Prediction, SmConfig
from metronome.sim.policies import POLICIES

from .errors import UsageError
from .options import choose

__all__ = ["Scheme", "check_scheme", "coordinate", "schemes"]

#: The fetch policy where none is given; swas has none of its own (docs/policies.md).
DEFAULT_FETCH = {Coordination.BASELINE: "lrr", Coordination.VORTEX: "fixed"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scheme:
    """Who coordinates fetch and issue, by which policies. ``fetch`` is None in ``swas``."""

    mode: Coordination
    fetch: str | None
    issue: str
    prediction: Prediction


def check_scheme(mode: str, fetch: str | None, issue: str, prediction: str, *, option: str = "--issue") -> Scheme:
    """The scheme of these names; ``option`` is the one that names the issue policy.

    Raises
    ------
    UsageError
        For an unknown name, and for a fetch policy of ``swas``.
    """
    coordination = Coordination(choose("--mode", mode, tuple(Coordination)))
    if fetch is not None:
        if coordination is Coordination.SWAS:
            raise UsageError(f"--fetch {fetch}: swas has one scheduler for fetch and issue: name it with {option}")
        choose("--fetch", fetch, tuple(POLICIES))
    choose(option, issue, tuple(POLICIES))
    choose("--prediction", prediction, tuple(Prediction))
    return Scheme(
        mode=coordination, fetch=fetch or DEFAULT_FETCH.get(coordination), issue=issue,
        prediction=Prediction(prediction),
    )


def schemes(modes: Sequence[str], fetches: Sequence[str], issues: Sequence[str],
            predictions: Sequence[str]) -> Iterator[Scheme]:
    """Every combination of the names, ``swas`` once for all fetch policies; no ``fetches``: each scheme's own default.

    Raises
    ------
    UsageError
        As :func:`check_scheme`; a fetch policy is refused where ``swas`` alone is asked for.
    """
    for mode, prediction in product(modes, predictions):
        own = [None] if not fetches or (mode == Coordination.SWAS and len(modes) > 1) else fetches
        for fetch, issue in product(own, issues):
            yield check_scheme(mode, fetch, issue, prediction)


def coordinate(config: SmConfig, scheme: Scheme, among: Sequence[Scheme] = ()) -> SmConfig:
    """The configuration with this scheme. Schemes ``among`` which it is that differ in policies only share its build.

    The usual policies, those of ``config``, share one build.
    """
    alike = [s for s in among or (scheme,) if (s.mode, s.prediction) == (scheme.mode, scheme.prediction)]
    usual = config.policies

    def held(names: Sequence[str]) -> tuple[str, ...]:
        asked = tuple(dict.fromkeys(names))
        return usual if set(asked) <= set(usual) else asked

    return dataclasses.replace(
        config, coordination=scheme.mode, prediction=scheme.prediction, policies=held([s.issue for s in alike]),
        fetch_policies=held([s.fetch for s in alike if s.fetch is not None]) if scheme.fetch is not None else (),
    )
