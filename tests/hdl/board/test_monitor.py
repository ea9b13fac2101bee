"""The monitor: requests with all their ways to go wrong, against words in a dictionary."""

import binascii
import functools
import random
import struct

import pytest
from amaranth.hdl import Const, Module, Signal

from metronome.hdl.board import protocol
from metronome.hdl.board.monitor import Monitor
from metronome.hdl.board.protocol import MAX_WORDS, Mark, Space
from tests.hdl.lib.simulate import Simulation, drive, simulate

pytestmark = pytest.mark.slow

PATIENCE = 60
#: Addresses from here on are in no space.
END = 0x8000


def with_crc(content):
    return content + struct.pack(">H", binascii.crc_hqx(content, protocol.CRC_START))


def request(space, address, words=None, count=None, fill=False):
    """A frame; ``words`` are written, else ``count`` are read."""
    number = (len(words) if words is not None else 1) if count is None else count
    code = protocol.operation(space, words is not None, fill) if isinstance(space, Space) else space
    head = with_crc(bytes([Mark.REQUEST]) + struct.pack("<BBI", code, number % MAX_WORDS, address))
    return head + (b"" if words is None else with_crc(struct.pack(f"<{len(words)}I", *words)))


def answer(mark=Mark.DONE, words=(), flags=0):
    return with_crc(bytes([mark]) + struct.pack(f"<{len(words)}I", *words) + bytes([flags]))


@functools.cache
def simulated():
    """The monitor, compiled once; the words beside it are those of the bench that talks."""
    m = Module()
    m.submodules.monitor = monitor = Monitor(PATIENCE)

    async def board(ctx):
        await Bench.talking.answer(ctx)

    return monitor, Simulation(m, board)


class Bench:
    """A monitor between bytes and words."""

    talking = None

    def __init__(self, seed=0):
        self.rng = random.Random(seed)
        self.monitor, self._simulation = simulated()
        self.words, self.writes = {}, []
        #: Cycles for which an answer is waited for.
        self.silence = 3 * PATIENCE

    def talk(self, *frames):
        """The answer to each of (frame, cycles of silence in front of it)."""
        found = []
        Bench.talking = self

        async def host(ctx):
            for frame in frames:
                for piece in [frame] if isinstance(frame, bytes) else frame:
                    await (ctx.tick().repeat(piece) if isinstance(piece, int) else self._send(ctx, piece))
                found.append(await self._taken(ctx))

        self._simulation.run(host)
        return found

    async def _send(self, ctx, content):
        received = self.monitor.received
        for byte in content:
            drive(ctx, received, valid=1, payload=byte)
            while not (await ctx.tick().sample(received.ready))[2]:
                pass
            ctx.set(received.valid, 0)
            await ctx.tick().repeat(self.rng.randrange(1, 4))

    async def answer(self, ctx):
        """Answers the monitor after a while."""
        monitor = self.monitor
        while True:
            _, _, valid = await ctx.tick().sample(monitor.valid)
            if valid and self.rng.random() < 0.5:
                space, address = Space(ctx.get(monitor.space)), 4 * ctx.get(monitor.address)
                there = address < END
                if ctx.get(monitor.write):
                    self.writes.append((space, address, ctx.get(monitor.data)))
                    if there:
                        self.words[space, address] = ctx.get(monitor.data)
                drive(ctx, monitor, read=self.words.get((space, address), 0), error=not there, done=1)
                await ctx.tick()
                ctx.set(monitor.done, 0)

    async def _taken(self, ctx):
        """What the monitor says until it has been silent for long."""
        monitor, content, quiet = self.monitor, b"", 0
        while quiet < (3 * PATIENCE if content else self.silence):
            ready = self.rng.random() < 0.5
            ctx.set(monitor.sent.ready, ready)
            _, _, valid, byte = await ctx.tick().sample(monitor.sent.valid, monitor.sent.payload)
            quiet = 0 if valid else quiet + 1
            if valid and ready:
                content += bytes([byte])
        ctx.set(monitor.sent.ready, 0)
        return content


def test_the_crc_is_pythons():
    content = random.Random(3).randbytes(20)
    m = Module()
    crc, byte = Signal(16), Signal(8)
    following = Signal(16)
    m.d.comb += following.eq(protocol.crc_step(crc, byte))

    async def bench(ctx):
        value = protocol.CRC_START
        for each in content:
            ctx.set(crc, value)
            ctx.set(byte, each)
            value = ctx.get(following)
        assert value == binascii.crc_hqx(content, protocol.CRC_START)

    simulate(m, bench)
    assert len(Const(protocol.PROTOCOL_VERSION)) <= 32


@pytest.mark.parametrize("seed", range(2))
def test_words_are_written_and_read(seed):
    bench = Bench(seed)
    found = bench.talk(
        request(Space.MEMORY, 0x100, [1, 0x80000000, 3]), request(Space.MEMORY, 0x100, count=4),
        request(Space.REGISTERS, 0x10, [7]), request(Space.REGISTERS, 0x10), request(Space.CONSOLE, 0, count=2),
    )
    assert found == [answer(), answer(words=[1, 0x80000000, 3, 0]), answer(), answer(words=[7]), answer(words=[0, 0])]


@pytest.mark.more
def test_as_many_words_as_a_frame_has():
    words = [random.Random(4).getrandbits(32) for _ in range(MAX_WORDS)]
    bench = Bench()
    assert bench.talk(request(Space.MEMORY, 0, words), request(Space.MEMORY, 0, count=MAX_WORDS)) == [
        answer(), answer(words=words)]


def test_memory_is_filled():
    bench = Bench()
    bench.silence = 20 * protocol.FILL_WORDS
    assert bench.talk(request(Space.MEMORY, 0x40, [9], count=3, fill=True)) == [answer()]
    assert bench.writes == [(Space.MEMORY, 0x40 + 4 * place, 9) for place in range(3 * protocol.FILL_WORDS)]


def test_a_word_that_is_not_there_is_told():
    bench = Bench()
    found = bench.talk(request(Space.MEMORY, END - 4, [1, 2, 3]), request(Space.MEMORY, END - 4, count=2),
                       request(Space.REGISTERS, END, [1]), request(Space.MEMORY, 0, count=1))
    assert found == [answer(flags=1), answer(words=[1, 0], flags=1), answer(flags=1), answer(words=[0])]


@pytest.mark.parametrize("frame", [
    request(Space.REGISTERS, 0, [1, 2]), request(Space.INFO, 0, [1]), request(Space.CONSOLE, 0, [1]),
    request(Space.REGISTERS, 0, [1], fill=True), request(0x14, 0, [1]), request(0x84, 0, [1]),
])
def test_what_cannot_be_done_is_refused_and_not_done(frame):
    bench = Bench()
    assert bench.talk(frame, request(Space.MEMORY, 0)) == [answer(flags=2), answer(words=[0])]
    assert bench.writes == []


def test_an_operation_without_meaning_reads_nothing():
    assert Bench().talk(request(0x10, 0, count=1)) == [answer(words=[0], flags=2)]


def damaged(frame, place):
    return frame[:place] + bytes([frame[place] ^ 0x10]) + frame[place + 1 :]


@pytest.mark.parametrize("place", range(1, 9))
def test_a_damaged_header_does_nothing(place):
    """What follows is not taken for a request, though it looks like one."""
    inside = request(Space.REGISTERS, 0, [5])
    bench = Bench(place)
    found = bench.talk(damaged(request(Space.MEMORY, 0, [1]), place) + inside, request(Space.MEMORY, 0))
    assert found == [answer(Mark.REPEAT), answer(words=[0])]
    assert bench.writes == []


def test_a_register_is_not_written_with_a_damaged_word():
    frame = request(Space.REGISTERS, 0x10, [1])
    for place in range(9, len(frame)):
        bench = Bench(place)
        assert bench.talk(damaged(frame, place), frame) == [answer(Mark.REPEAT), answer()]
        assert bench.writes == [(Space.REGISTERS, 0x10, 1)]


def test_a_request_that_breaks_off_is_forgotten():
    frame = request(Space.REGISTERS, 0x10, [1])
    for length in (1, 8, 9, 12, 14):
        bench = Bench(length)
        assert bench.talk(frame[:length], frame) == [answer(Mark.REPEAT), answer()]
        assert bench.writes == [(Space.REGISTERS, 0x10, 1)]


def test_a_pause_that_is_short_enough_does_no_harm():
    frame = request(Space.MEMORY, 0, [1])
    assert Bench().talk([frame[:5], PATIENCE - 20, frame[5:]]) == [answer()]


def test_noise_between_requests_is_ignored():
    frame = request(Space.MEMORY, 0, [1])
    assert Bench().talk([b"\x00\xff\x06", frame]) == [answer()]


def test_no_patience_at_all_is_refused():
    with pytest.raises(ValueError, match="patience must be at least 1, not 0"):
        Monitor(0)
