"""A board's design: the machine that was asked for, its memory and its serial line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metronome.hdl.board.regions import Regions, regions_of
from metronome.hdl.board.uart import LEAST_DIVISOR
from metronome.hdl.board.ulx3s import CLOCK_HZ
from metronome.hdl.config import SmConfig

from ...machine.settings import ConfigError, parse

__all__ = ["BAUD", "SIMULATED_BAUD", "BoardDesign", "DesignError", "design_of"]

#: Bits a second on the serial line: 25 cycles each, exactly.
BAUD = 1_000_000
#: In simulation each cycle costs: 8 for a bit.
SIMULATED_BAUD = 3_125_000
#: The board takes a request for broken off after so many seconds of silence.
_PATIENCE_SECONDS = 0.04
#: By so much of itself the rate of the line may differ from what was asked for.
_BAUD_TOLERANCE = 0.02


class DesignError(Exception):
    """A board cannot be built like this; the text is one clear line."""


@dataclass(frozen=True)
class BoardDesign:
    """What a bitstream is of. ``config`` is that of a chip (:meth:`SmConfig.for_chip`)."""

    config: SmConfig
    regions: Regions
    #: Cycles of a bit on the serial line.
    divisor: int = CLOCK_HZ // BAUD
    #: Cycles of silence after which a request is broken off.
    patience: int = int(CLOCK_HZ * _PATIENCE_SECONDS)

    @classmethod
    def usual(cls, config: SmConfig) -> BoardDesign:
        """With the usual memory and baud rate."""
        return cls(config, regions_of(config))

    @property
    def baud(self) -> int:
        """Bits a second."""
        return round(CLOCK_HZ / self.divisor)

    @property
    def clock_mhz(self) -> float:
        """Of the board's clock."""
        return CLOCK_HZ / 1e6


def design_of(
    config: SmConfig, *, baud: int | None = None, buffers: str = "64K", program: str = "32K",
    label: Callable[[str], str] = str,
) -> BoardDesign:
    """The design with this baud rate, and so much memory for buffers and for the program (``64K``).

    ``label`` makes of a parameter's name what the message calls it.

    Raises
    ------
    DesignError
        For a rate that the clock does not give, or a size that is none.
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
            sizes[name] = int(str(parse("dcache_bytes", text)))  # a field with bytes
        except ConfigError:
            raise DesignError(f"{label(name)} must be a number of bytes, perhaps with K, and not {text!r}") from None
    try:
        regions = regions_of(config, user_bytes=sizes["buffers"], program_bytes=sizes["program"])
    except ValueError as error:
        raise DesignError(f"memory of the board: {error}") from None
    return BoardDesign(config, regions, divisor)
