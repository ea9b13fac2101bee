"""The serial line: what one side sends the other receives, at any rate, and with a clock that is a bit off."""

import random

import pytest
from amaranth.hdl import Module

from metronome.hdl.board.uart import LEAST_DIVISOR, UartReceiver, UartTransmitter
from tests.hdl.lib.simulate import drive, simulate
from tests.support.tiers import some_more, some_slow

BYTES = [0x00, 0xFF, 0x55, 0xAA, *random.Random(1).randbytes(12)]


async def taken(ctx, stream, limit):
    """The bytes that come until so many cycles have passed without one."""
    found, quiet = [], 0
    ctx.set(stream.ready, 1)
    while quiet < limit:
        _, _, valid, payload = await ctx.tick().sample(stream.valid, stream.payload)
        quiet = 0 if valid else quiet + 1
        found += [payload] * valid
    return found


@pytest.mark.parametrize("divisor", some_slow([LEAST_DIVISOR, 7, 25], 1))
def test_what_is_sent_is_received(divisor):
    m = Module()
    m.submodules.sender, m.submodules.receiver = sender, receiver = UartTransmitter(divisor), UartReceiver(divisor)
    m.d.comb += receiver.rx.eq(sender.tx)
    found, cycles = [], []

    async def send(ctx):
        for byte in BYTES:
            drive(ctx, sender.bytes, valid=1, payload=byte)
            count = 1
            while not (await ctx.tick().sample(sender.bytes.ready))[2]:
                count += 1
            cycles.append(count)
        ctx.set(sender.bytes.valid, 0)

    async def receive(ctx):
        found.extend(await taken(ctx, receiver.bytes, 15 * divisor))

    simulate(m, send, receive)
    assert found == BYTES
    assert set(cycles[1:]) == {10 * divisor}, "bytes go out without a gap, ten bits each"


def line_of(byte, stop=1):
    return [0, *((byte >> place) & 1 for place in range(8)), stop]


def received(divisor, levels):
    """What comes of (level, cycles), one behind the other."""
    receiver, found = UartReceiver(divisor), []

    async def drive(ctx):
        for level, cycles in levels:
            ctx.set(receiver.rx, level)
            await ctx.tick().repeat(cycles)

    async def take(ctx):
        found.extend(await taken(ctx, receiver.bytes, 25 * divisor))

    simulate(receiver, drive, take)
    return found


@pytest.mark.parametrize("cycles", some_more([24, 25, 26], 1))
def test_a_clock_that_is_off_by_four_percent_is_followed(cycles):
    assert received(25, [(level, cycles) for byte in BYTES for level in line_of(byte)]) == BYTES


def test_a_byte_without_its_stop_bit_is_dropped():
    broken = [(level, 8) for level in line_of(0x41, stop=0)] + [(1, 20)]
    whole = [(level, 8) for level in line_of(0x42)]
    assert received(8, broken + whole) == [0x42]


def test_a_spike_is_no_byte():
    assert received(25, [(1, 10), (0, 5), (1, 60), *((level, 25) for level in line_of(0x42))]) == [0x42]


@pytest.mark.parametrize("part", [UartReceiver, UartTransmitter])
def test_a_bit_of_too_few_cycles_is_refused(part):
    with pytest.raises(ValueError, match="divisor must be at least 4, not 3"):
        part(3)
