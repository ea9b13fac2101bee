"""Schemes: the coordination of fetch and issue with its policies, by name, and the configuration for a scheme."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from metronome.hdl.config import Coordination, Prediction, SmConfig

from .settings import DEFAULT_FETCH, ConfigError, one_of, policy_of

__all__ = ["Scheme", "check_scheme", "coordinate", "one_policy", "schemes"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scheme:
    """The coordination of fetch and issue, the policies and the prediction. ``fetch`` is None in ``swas``."""

    mode: Coordination
    fetch: str | None
    issue: str
    prediction: Prediction


def check_scheme(
    config: SmConfig, *, mode: str | None = None, fetch: str | None = None, issue: str | None = None,
    prediction: str | None = None, label: Callable[[str], str] = str,
) -> Scheme:
    """Return the scheme of these names; a name that is None defaults to the configuration's own.

    ``label`` converts ``mode``, ``fetch`` and so on to the names that the user knows.

    Raises
    ------
    ConfigError
        If a name is unknown, ``swas`` is given a fetch policy, or a policy does not fit the configuration's ``rates``.
    """
    coordination = config.coordination if mode is None else Coordination(one_of(label("mode"), mode, Coordination))
    if fetch is not None:
        if coordination is Coordination.SWAS:
            raise ConfigError(
                f"{label('fetch')} {fetch}: swas has one scheduler for fetch and issue: name it with {label('issue')}"
            )
        fetch = policy_of(label("fetch"), fetch)
    elif coordination is config.coordination and config.fetch_policies:
        fetch = config.fetch_policies[0]
    else:
        fetch = DEFAULT_FETCH.get(coordination)
    scheme = Scheme(
        mode=coordination, fetch=fetch,
        issue=config.policies[0] if issue is None else policy_of(label("issue"), issue),
        prediction=config.prediction if prediction is None
        else Prediction(one_of(label("prediction"), prediction, Prediction)),
    )
    try:
        one_policy(config, scheme)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return scheme


def schemes(
    config: SmConfig, modes: Sequence[str], fetches: Sequence[str], issues: Sequence[str], predictions: Sequence[str],
    label: Callable[[str], str] = str,
) -> Iterator[Scheme]:
    """Yield every combination of the names, with ``swas`` only once; without ``fetches``, each scheme's own default.

    Raises
    ------
    ConfigError
        As :func:`check_scheme`; a fetch policy is refused if ``swas`` is the only mode.
    """
    for mode, prediction in product(modes, predictions):
        one_of_several = len(modes) > 1 and mode.lower() == Coordination.SWAS
        own = [None] if not fetches or one_of_several else fetches
        for fetch, issue in product(own, issues):
            yield check_scheme(config, mode=mode, fetch=fetch, issue=issue, prediction=prediction, label=label)


def coordinate(config: SmConfig, scheme: Scheme, among: Sequence[Scheme] = ()) -> SmConfig:
    """Return the configuration with this scheme; schemes in ``among`` that differ only in policies share its build.

    The usual policies, those of ``config``, share one build.
    """
    alike = [s for s in among or (scheme,) if (s.mode, s.prediction) == (scheme.mode, scheme.prediction)]
    fetched = config.fetch_policies if scheme.mode is config.coordination else ()

    def held(names: Sequence[str], *usual: tuple[str, ...]) -> tuple[str, ...]:
        asked = tuple(dict.fromkeys(names))
        return next((its for its in usual if set(asked) <= set(its)), asked)

    return dataclasses.replace(
        config, coordination=scheme.mode, prediction=scheme.prediction,
        policies=held([s.issue for s in alike], config.policies),
        fetch_policies=() if scheme.fetch is None
        else held([s.fetch for s in alike if s.fetch is not None], fetched, config.policies),
    )


def one_policy(config: SmConfig, scheme: Scheme) -> SmConfig:
    """Return the configuration with only this scheme's policies: a build without policy straps."""
    return dataclasses.replace(
        config, coordination=scheme.mode, prediction=scheme.prediction, policies=(scheme.issue,),
        fetch_policies=() if scheme.fetch is None else (scheme.fetch,),
    )
