"""Front end options of the command line, and the checks of their names (:mod:`sim.machine.schemes`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from metronome.hdl.config import SmConfig
from metronome.sim.machine import schemes as known
from metronome.sim.machine import settings
from metronome.sim.machine.conditions import without_effect
from metronome.sim.machine.policies import hardware
from metronome.sim.machine.policies.files import PolicyFileError, is_there
from metronome.sim.machine.policies.plain import POLICIES
from metronome.sim.machine.schemes import Scheme, coordinate, one_policy
from metronome.sim.machine.settings import ConfigError

from ..process.errors import UsageError
from .common import listed
from .machine import Machine

__all__ = ["POLICY_NAMES", "IssueOption", "PredictionOption", "Scheme", "SchemeOptions", "check_scheme", "chip_of",
           "coordinate", "listed_policies", "one_policy", "policy_of", "require_effects", "require_hardware", "schemes"]

POLICY_NAMES = ", ".join(POLICIES)
#: The policy of a machine that is synthesised.
_USUAL_POLICY = "gtlrr"

#: `--policy` is the name that prove and older scripts use.
IssueOption = Annotated[
    str | None,
    typer.Option("--issue", "--policy", metavar="POLICY", help=f"The warp policy: {POLICY_NAMES}; or FILE.py:CLASS."),
]
PredictionOption = Annotated[
    str | None,
    typer.Option("--prediction", metavar="NAME", help="btfn (default), not_taken as in Crouzet 2024, or private."),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SchemeOptions:
    """One front end as the command line names it."""

    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="The front end: swas (default), baseline or vortex.")
    ] = None
    issue: IssueOption = None
    fetch: Annotated[
        str | None,
        typer.Option("--fetch", metavar="POLICY", help="The fetch policy of baseline (lrr) and vortex (fixed)."),
    ] = None
    prediction: PredictionOption = None


def _option(name: str) -> str:
    return f"--{name}"


def check_scheme(machine: Machine, options: SchemeOptions) -> Scheme:
    """See :func:`sim.machine.schemes.check_scheme`; a wrong name is a UsageError, and so is a --set without effect."""
    try:
        scheme = known.check_scheme(
            machine.config, mode=options.mode, fetch=options.fetch, issue=options.issue,
            prediction=options.prediction, label=_option,
        )
    except ConfigError as error:
        raise UsageError(str(error)) from None
    require_effects(machine, [coordinate(machine.config, scheme)])
    return scheme


def require_effects(machine: Machine, configs: Sequence[SmConfig]) -> None:
    """Raise UsageError for a field of ``--set`` that has an effect in none of ``configs``.

    Fields of a file or a preset are not refused: they describe a machine for any front end.
    """
    for field in machine.asked:
        if needs := without_effect(field, configs):
            raise UsageError(f"--set {field}={machine.settings[field]}: it has no effect without {needs}")


def require_hardware(config: SmConfig) -> None:
    """See :func:`sim.machine.policies.hardware.require_hardware`; a refusal is a UsageError."""
    try:
        hardware.require_hardware(config)
    except PolicyFileError as error:
        raise UsageError(str(error)) from None


def chip_of(machine: Machine, options: SchemeOptions) -> SmConfig:
    """Return the machine with one front end, as it is synthesised: gtlrr unless a policy is named, no observers.

    Raises
    ------
    UsageError
        If the front end does not fit the machine, or a policy has no hardware.
    """
    issue = options.issue or (None if machine.names("policies") else _USUAL_POLICY)
    scheme = check_scheme(machine, dataclasses.replace(options, issue=issue))
    config = machine.for_chip(one_policy(machine.config, scheme))
    require_hardware(config)
    return config


def policy_of(option: str, text: str) -> str:
    """See :func:`sim.machine.settings.policy_of`; a wrong name is a UsageError."""
    try:
        return settings.policy_of(option, text)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def listed_policies(option: str, text: str) -> list[str]:
    """Return the names and files of a comma-separated list; a file's own name may have commas."""
    parts, names = text.split(","), []
    while parts:
        count = next((n for n in range(len(parts), 1, -1) if is_there(",".join(parts[:n]))), 1)
        names.append(",".join(parts[:count]).strip())
        parts = parts[count:]
    if not all(names):
        listed(option, text)
    return list(dict.fromkeys(names))


def schemes(
    config: SmConfig, modes: Sequence[str], fetches: Sequence[str], issues: Sequence[str], predictions: Sequence[str]
) -> Iterator[Scheme]:
    """See :func:`sim.machine.schemes.schemes`; a wrong name is a UsageError."""
    try:
        yield from known.schemes(config, modes, fetches, issues, predictions, _option)
    except ConfigError as error:
        raise UsageError(str(error)) from None
