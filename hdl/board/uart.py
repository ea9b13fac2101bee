"""A serial line: 8 bits, no parity, one stop bit."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ..lib.component import Component

__all__ = ["LEAST_DIVISOR", "UartReceiver", "UartTransmitter"]

#: Cycles of a bit, at least: a sample is within a quarter of a bit of the middle.
LEAST_DIVISOR = 4
_FRAME_BITS = 10  # start, data, stop


def _require_divisor(divisor: int) -> None:
    if divisor < LEAST_DIVISOR:
        raise ValueError(f"divisor must be at least {LEAST_DIVISOR}, not {divisor!r}")


class UartReceiver(Component):
    """Bytes from a line of ``divisor`` cycles a bit.

    Each bit is sampled in its middle. A byte is offered in the middle of its stop bit. There is no queue: a byte that
    is not taken before the next one comes is lost. A byte without its stop bit is dropped. Reset: the line is idle.

    Raises
    ------
    ValueError
        For a divisor below :data:`LEAST_DIVISOR`.
    """

    def __init__(self, divisor: int) -> None:
        _require_divisor(divisor)
        self._divisor = divisor
        super().__init__({
            "rx": In(1, init=1),  # type: ignore[call-arg]  # the line, of no clock
            "bytes": Out(stream.Signature(8)),  # the received byte
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        timer, left = Signal(range(self._divisor)), Signal(range(_FRAME_BITS + 1))
        bits = Signal(8)
        with m.If(self.bytes.ready):
            m.d.sync += self.bytes.valid.eq(0)
        with m.If(left == 0):
            with m.If(~line):
                m.d.sync += [left.eq(_FRAME_BITS), timer.eq(self._divisor // 2 - 1)]
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self._divisor - 1), left.eq(left - 1)]
            with m.If((left == _FRAME_BITS) & line):  # a glitch, not a start bit
                m.d.sync += left.eq(0)
            with m.If(left == 1):
                with m.If(line):
                    m.d.sync += [self.bytes.valid.eq(1), self.bytes.payload.eq(bits)]
            with m.Else():
                m.d.sync += bits.eq(Cat(bits[1:], line))
        return m


class UartTransmitter(Component):
    """Bytes to a line of ``divisor`` cycles a bit, back to back. Reset: the line is idle.

    Raises
    ------
    ValueError
        For a divisor below :data:`LEAST_DIVISOR`.
    """

    def __init__(self, divisor: int) -> None:
        _require_divisor(divisor)
        self._divisor = divisor
        super().__init__({
            "bytes": In(stream.Signature(8)),  # the byte to send
            "tx": Out(1, init=1),  # type: ignore[call-arg]  # the line, from a register
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timer, left = Signal(range(self._divisor)), Signal(range(_FRAME_BITS + 1))
        bits = Signal(_FRAME_BITS - 1, init=-1)  # after the one on the line
        m.d.comb += self.bytes.ready.eq((left == 0) | ((left == 1) & (timer == 0)))
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left - 1), timer.eq(self._divisor - 1), Cat(self.tx, bits).eq(Cat(bits, 1))]
        with m.If(self.bytes.valid & self.bytes.ready):
            m.d.sync += [
                left.eq(_FRAME_BITS), timer.eq(self._divisor - 1), self.tx.eq(0), bits.eq(Cat(self.bytes.payload, 1)),
            ]
        return m
