"""The units in which the partitions of an SM take turns."""

from __future__ import annotations

from typing import NamedTuple

from ..config import SmConfig, Turns, Units
from ..config_checks import MOST_SLOTS
from .latencies import unit_latencies
from .ops import ROUNDED_UNITS, Unit

__all__ = ["DIVISION_WINDOW", "PARTITIONS", "TurnGroup", "partitions_of_a_port", "partitions_of_an_alu", "reserves",
           "shares_units", "turn_groups"]

#: With fixed turns in one set of units, so many cycles belong to the divisions of one partition. They end in these.
DIVISION_WINDOW = MOST_SLOTS // 4
#: The fields of SmConfig that are about partitions.
PARTITIONS = ("schedulers", "units", "turns", "alu_ports", "writeback_ports")


class TurnGroup(NamedTuple):
    """Units with one turn: in a cycle, one partition may select an instruction for one of them."""

    units: tuple[Unit, ...]
    #: In fixed turns, the partition that has the first turn.
    phase: int
    #: Computed turns are given only for cycles in which the partition has the turn of its writeback port.
    with_port: bool = False


#: The groups that exist with every value of ``units``.
_ALWAYS = (TurnGroup((Unit.LSU,), 0), TurnGroup((Unit.SIMT, Unit.CSR), 1))
#: The additional groups with one set of units. FMA, FCVT and FDIV use the same rounder. The phases differ, so that a
#: partition has the turn of some unit in most cycles.
_SHARED = (
    TurnGroup((Unit.MUL,), 2, True), TurnGroup(ROUNDED_UNITS, 3, True), TurnGroup((Unit.DIV,), 2),
    TurnGroup((Unit.FMISC,), 2, True),
)


def shares_units(config: SmConfig) -> bool:
    """Whether several partitions issue into one set of units."""
    return config.schedulers > 1 and config.units is Units.SHARED


def reserves(config: SmConfig) -> bool:
    """Whether a partition may find a unit or port reserved by another one: with one set of units and computed turns."""
    return shares_units(config) and config.turns is Turns.OLDER


def partitions_of_an_alu(config: SmConfig) -> int:
    """Partitions that take turns in an ALU: p and the next ones, if p is a multiple of their number."""
    return config.schedulers // (config.alu_ports or min(config.schedulers, 2)) if shares_units(config) else 1


def partitions_of_a_port(config: SmConfig) -> int:
    """Partitions that take turns in a writeback port, likewise."""
    return config.schedulers // (config.writeback_ports or min(config.schedulers, 2)) if shares_units(config) else 1


def turn_groups(config: SmConfig) -> tuple[TurnGroup, ...]:
    """The groups of a machine; none with one scheduler."""
    if config.schedulers == 1:
        return ()
    # The turn of a group and that of a writeback port have to meet in every partition.
    step, count = partitions_of_a_port(config), config.schedulers
    # With fixed turns, the port's turn counts in the cycle of the write. Divisions have windows in place of turns.
    latencies = unit_latencies(config) if config.divides_time else {}
    groups = _ALWAYS + (_SHARED if shares_units(config) else ())
    return tuple(
        group._replace(phase=(group.phase * step + (latencies.get(group.units[0], 1) - 1) % step) % count)
        for group in groups if group.units != (Unit.DIV,) or not config.divides_time
    )
