"""Requests to a board over a serial line, and its answers (docs/board.md)."""

from __future__ import annotations

import binascii
import struct
from typing import Protocol

from metronome.hdl.board.protocol import CRC_START, FILL_WORDS, MAX_WORDS, Flag, Mark, Space, operation

__all__ = ["BoardError", "BoardRefused", "Link", "NoAnswer", "Transport"]

#: The number of attempts to send a request.
_TRIES = 3
#: After the words of an answer: flags and CRC.
_TAIL_BYTES = 3


class BoardError(Exception):
    """The board cannot be used, or its answer is wrong; the text is one clear line."""


class BoardRefused(BoardError):
    """The board has understood the request, but cannot execute it."""


class NoAnswer(BoardError):
    """No answer, or an incomplete one."""


class Transport(Protocol):
    """A serial line of any kind."""

    #: Its name in messages.
    name: str

    def write(self, content: bytes) -> None:
        """Send bytes. Raises BoardError if the line is gone."""

    def read(self, count: int, seconds: float) -> bytes:
        """Read ``count`` bytes, or fewer if ``seconds`` pass first. Raises BoardError if the line is gone."""

    def seconds(self, count: int) -> float:
        """The maximum time for ``count`` bytes, including the delays of the board and the computer."""

    def rest(self) -> None:
        """Wait until the board treats an incomplete request as aborted, and discard the bytes that it has sent."""

    def close(self) -> None:
        """Close the line."""


class Link:
    """Words of a board's spaces. Damaged requests and answers are repeated if that is harmless."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.name = transport.name

    def read(self, space: Space, address: int, count: int) -> list[int]:
        """Read ``count`` words from a byte address.

        Raises
        ------
        NoAnswer
            If the board does not answer.
        BoardRefused
            If it reports that a word does not exist.
        BoardError
            If the answer is damaged repeatedly.
        """
        words: list[int] = []
        while len(words) < count:
            part = min(MAX_WORDS, count - len(words))
            header = struct.pack("<BBI", operation(space, False), part % MAX_WORDS, address + 4 * len(words))
            content = self._ask(header, b"", 4 * part, again=True)
            words += struct.unpack(f"<{part}I", content)
        return words

    def write(self, space: Space, address: int, words: list[int]) -> None:
        """Write words from a byte address; registers one at a time. Raises as :meth:`read`."""
        most = MAX_WORDS if space is Space.MEMORY else 1
        for first in range(0, len(words), most):
            part = words[first : first + most]
            header = struct.pack("<BBI", operation(space, True), len(part) % MAX_WORDS, address + 4 * first)
            # Writing a register a second time may start a second run.
            self._ask(header, struct.pack(f"<{len(part)}I", *part), 0, again=space is Space.MEMORY)

    def clear(self, address: int, size: int) -> None:
        """Fill memory with 0. ``size``, in bytes, is rounded down to whole pieces. Raises as :meth:`read`."""
        piece = 4 * FILL_WORDS
        pieces = size // piece
        while pieces > 0:
            part = min(MAX_WORDS, pieces)
            header = struct.pack("<BBI", operation(Space.MEMORY, True, fill=True), part % MAX_WORDS, address)
            self._ask(header, bytes(4), 0, again=True)
            pieces -= part
            address += part * piece

    def close(self) -> None:
        """Close the line."""
        self._transport.close()

    def _ask(self, header: bytes, data: bytes, expected: int, *, again: bool) -> bytes:
        """Send a request and return the words of its answer. ``again``: it may be executed more than once."""
        frame = _with_crc(bytes([Mark.REQUEST]) + header) + (_with_crc(data) if data else b"")
        problem: BoardError = NoAnswer("")
        for _ in range(_TRIES):
            self._transport.write(frame)
            try:
                answer = self._answer(len(frame), expected)
            except BoardError as error:
                if not again or isinstance(error, BoardRefused):
                    raise
                problem = error
            else:
                if answer is not None:
                    return answer
                problem = BoardError(f"{self.name}: the board receives damaged data: check the baud rate")
                continue
            self._transport.rest()
        raise problem

    def _answer(self, sent: int, expected: int) -> bytes | None:
        """Return the words of an answer; None if the board asks for the request to be repeated."""
        seconds = self._transport.seconds(sent + expected + _TAIL_BYTES + 1)
        mark = self._transport.read(1, seconds)
        if not mark:
            raise NoAnswer(
                f"{self.name}: no answer from the board after {seconds:.1f} s: check that it is connected, holds a "
                "bitstream of metronome board, and uses this baud rate"
            )
        if mark[0] not in (Mark.DONE, Mark.REPEAT):
            raise BoardError(f"{self.name}: the answer is not from a board with a bitstream of metronome board, or "
                             f"the baud rate is wrong: it begins with {mark[0]:#04x}")
        if mark[0] == Mark.REPEAT:
            expected = 0
        rest = self._transport.read(expected + _TAIL_BYTES, seconds)
        if len(rest) < expected + _TAIL_BYTES:
            raise NoAnswer(f"{self.name}: the board stopped in the middle of its answer")
        if binascii.crc_hqx(mark + rest, CRC_START) != 0:
            raise BoardError(f"{self.name}: the board's answer is damaged")
        if mark[0] == Mark.REPEAT:
            return None
        flags = Flag(rest[expected])
        if flags:
            what = "refuses the request" if flags & Flag.REFUSED else "has no such memory or register"
            raise BoardRefused(f"{self.name}: the board {what}")
        return rest[:expected]


def _with_crc(content: bytes) -> bytes:
    return content + struct.pack(">H", binascii.crc_hqx(content, CRC_START))
