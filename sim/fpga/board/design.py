"""A board's design: the requested machine, its memory and its serial line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metronome.hdl.board.regions import Regions, regions_of
from metronome.hdl.board.uart import LEAST_DIVISOR
from metronome.hdl.board.ulx3s import CLOCK_HZ
from metronome.hdl.config import SmConfig

from ...machine.settings import ConfigError, parse

__all__ = ["BAUD", "SIMULATED_BAUD", "BoardDesign", "DesignError", "design_of"]

#: Bits per second on the serial line.
BAUD = 1_000_000
#: The rate in simulation, where each cycle costs time: 8 cycles per bit.
SIMULATED_BAUD = CLOCK_HZ // 8
#: The seconds of silence after which the board treats a request as aborted.
_PATIENCE_SECONDS = 0.04
#: The relative difference allowed between the line's rate and the requested one.
_BAUD_TOLERANCE = 0.02


class DesignError(Exception):
    """The board cannot be built with these settings; the text is one clear line."""


@dataclass(frozen=True)
class BoardDesign:
    """The design in a bitstream. ``config`` is that of a chip (:meth:`SmConfig.for_chip`)."""

    config: SmConfig
    regions: Regions
    #: Cycles per bit on the serial line.
    divisor: int = round(CLOCK_HZ / BAUD)
    #: Cycles of silence after which a request is treated as aborted.
    patience: int = int(CLOCK_HZ * _PATIENCE_SECONDS)

    @classmethod
    def usual(cls, config: SmConfig) -> BoardDesign:
        """Make the design with the usual memory and baud rate."""
        return cls(config, regions_of(config))

    @property
    def baud(self) -> int:
        """Bits per second."""
        return round(CLOCK_HZ / self.divisor)

    @property
    def clock_mhz(self) -> float:
        """The machine's clock rate in MHz."""
        return CLOCK_HZ / 1e6


def design_of(
    config: SmConfig, *, baud: int | None = None, buffers: str = "64K", program: str = "32K",
    label: Callable[[str], str] = str,
) -> BoardDesign:
    """Return the design with this baud rate and this much memory for buffers and for the program (``64K``).

    ``label`` converts a parameter's name to its name in messages.

    Raises
    ------
    DesignError
        If the clock cannot produce the rate, or a size is invalid.
    """
    rate = BAUD if baud is None else baud
    divisor = round(CLOCK_HZ / rate) if rate > 0 else 0
    if divisor < LEAST_DIVISOR or abs(CLOCK_HZ / divisor / rate - 1) > _BAUD_TOLERANCE:
        raise DesignError(
            f"{label('baud')} must be within 2 % of {CLOCK_HZ} / n, n at least {LEAST_DIVISOR}, and not {rate}: "
            f"write 115200, {BAUD} or {SIMULATED_BAUD}"
        )
    sizes: dict[str, int] = {}
    for name, text in (("buffers", buffers), ("program", program)):
        try:
            sizes[name] = int(str(parse("dcache_bytes", text)))  # parsed as a field that holds bytes
        except ConfigError:
            raise DesignError(f"{label(name)} must be a number of bytes, optionally with the suffix K, not "
                              f"{text!r}") from None
    try:
        regions = regions_of(config, user_bytes=sizes["buffers"], program_bytes=sizes["program"])
    except ValueError as error:
        raise DesignError(f"memory of the board: {error}") from None
    return BoardDesign(config, regions, divisor)
