"""A board's design: the machine that was asked for, its memory and its serial line; as Verilog and as RTLIL."""

from __future__ import annotations

from dataclasses import dataclass

from metronome.hdl.board.regions import Regions, regions_of
from metronome.hdl.board.ulx3s import CLOCK_HZ
from metronome.hdl.config import SmConfig

__all__ = ["BAUD", "BoardDesign"]

#: Bits a second on the serial line: 25 cycles each, exactly.
BAUD = 1_000_000
#: The board takes a request for broken off after so many seconds of silence.
_PATIENCE_SECONDS = 0.04


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
