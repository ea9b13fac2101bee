"""The FPGA that ``metronome synth`` maps to: its options, and the refusal of those that do not fit together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from ..options.common import choose, given, listed
from ..process.errors import UsageError

if TYPE_CHECKING:
    from metronome.sim.fpga.synth import Target

__all__ = ["DeviceOptions", "as_json", "targets_of"]

#: Options of a family that nextpnr places and routes.
_OF_ROUTING = ("freq", "seed", "seeds", "minutes", "placer", "router")


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """The FPGA."""

    family: Annotated[
        str, typer.Option(metavar="NAME", help="ecp5, nexus or gowin; for area only xilinx or ice40. --price: several.")
    ] = "ecp5"
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="25F, 45F, 85F; LIFCL-17, LIFCL-40; GW1N-9, GW2A-18.")
    ] = None
    package: Annotated[str | None, typer.Option(metavar="NAME", help="The package, for example CABGA381.")] = None
    grade: Annotated[
        int | None, typer.Option(metavar="N", help="The speed grade: 6 (slowest) to 8; of nexus 7 to 9.")
    ] = None


class _Figures(Protocol):
    """The requested figures, as far as they decide which FPGA is possible."""

    @property
    def area(self) -> bool: ...
    @property
    def compare(self) -> bool: ...
    @property
    def breakdown(self) -> bool: ...


def targets_of(ctx: typer.Context, asked: DeviceOptions, figures: _Figures, *, price: bool) -> list[Target]:
    """Return the FPGA, or with ``price`` the FPGAs, of the options.

    Raises
    ------
    UsageError
        In one line, for unknown names, options that do not fit together, and a missing nextpnr.
    """
    from metronome.sim.fpga.synth import FAMILIES, SynthesisError, target_of
    from metronome.sim.fpga.synth.tools import wheel_version

    names = [choose("--family", name, FAMILIES) for name in (listed("--family", asked.family) if price
                                                             else [asked.family])]
    own = given(ctx, ("device", "package", "grade"))
    if own and len(names) > 1:
        raise UsageError(f"{own} is for one family, not for {', '.join(names)}")
    fixed = "--breakdown" if figures.breakdown else "--compare" if figures.compare else None
    if fixed and (option := given(ctx, ("family", "device", "package", "grade"))):
        raise UsageError(f"{option} is for other figures, not for {fixed}, which has those of the ECP5 LFE5U-85F")
    try:
        targets = [target_of(name, asked.device, asked.package, asked.grade) for name in names]
    except ValueError as error:
        raise UsageError(str(error)) from None
    routers = [target.family.router for target in targets if target.family.router is not None]
    if not routers and (option := given(ctx, _OF_ROUTING)):
        raise UsageError(f"{option} is for placement and routing: {', '.join(names)} is mapped for area only")
    try:
        for router in [] if figures.area or figures.breakdown else routers:
            wheel_version(router.wheel)
    except SynthesisError as error:
        raise UsageError(str(error)) from None
    return targets


def as_json(target: Target) -> dict[str, Any]:
    """Return the FPGA for the JSON report."""
    return {"family": target.family.name, "device": target.part if target.device else None,
            "package": target.package, "grade": target.grade}
