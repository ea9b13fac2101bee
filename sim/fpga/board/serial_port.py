"""A board at a serial port of this computer, through pyserial."""

from __future__ import annotations

import os
import time
from typing import Any

from .link import BoardError

__all__ = ["SerialTransport"]

#: Extra time for the computer, the USB and the board.
_DELAY_SECONDS = 1.0
#: Longer than the board's timeout (:class:`sim.fpga.board.design.BoardDesign`).
_REST_SECONDS = 0.1
_BITS_PER_BYTE = 10


class SerialTransport:
    """See :class:`sim.fpga.board.link.Transport`.

    Raises
    ------
    BoardError
        If pyserial is missing, or the port cannot be opened.
    """

    def __init__(self, port: str, baud: int) -> None:
        try:
            import serial
        except ImportError:
            raise BoardError(
                f"{port}: serial ports need the Python package pyserial: pip install pyserial"
            ) from None
        self.name = port
        self._baud = baud
        self._errors: tuple[type[BaseException], ...] = (serial.SerialException, OSError, ValueError)
        self._line: Any = None
        try:
            self._line = serial.Serial(port, baud, timeout=_DELAY_SECONDS, write_timeout=5.0, exclusive=True)
            self._line.reset_input_buffer()
        except self._errors as error:
            raise BoardError(f"{port}: cannot be opened: {_reason(error)}") from None

    def write(self, content: bytes) -> None:
        """Send."""
        try:
            self._line.write(content)
        except self._errors as error:
            raise self._gone(error) from None

    def read(self, count: int, seconds: float) -> bytes:
        """Read ``count`` bytes, or fewer."""
        try:
            self._line.timeout = seconds
            return bytes(self._line.read(count))
        except self._errors as error:
            raise self._gone(error) from None

    def seconds(self, count: int) -> float:
        """The time on the line plus one second."""
        return _DELAY_SECONDS + _BITS_PER_BYTE * count / self._baud

    def rest(self) -> None:
        """Wait, then discard the received bytes."""
        time.sleep(_REST_SECONDS)
        try:
            self._line.reset_input_buffer()
        except self._errors as error:
            raise self._gone(error) from None

    def close(self) -> None:
        """Close the port."""
        self._line.close()

    def _gone(self, error: BaseException) -> BoardError:
        return BoardError(f"{self.name}: the port has failed: {_reason(error)}")


def _reason(error: BaseException) -> str:
    number = getattr(error, "errno", None)
    text = os.strerror(number) if number else " ".join(str(error).split())
    return f"{text}: add yourself to the group that owns it (often dialout)" if isinstance(error, PermissionError) or (
        number == 13) else text
