"""Memory on the chip: random lines and words against a dictionary, the cycles of an answer, errors, the console."""

import random

import pytest
from amaranth.hdl import Module

from metronome.hdl.board.memory import BoardMemory
from metronome.hdl.board.regions import Region, Regions
from metronome.hdl.presets import TINY
from tests.hdl.lib.simulate import drive, simulate

CONFIG = TINY
REGIONS = Regions((
    Region(name="low", first=0, size=512), Region(name="user", first=0x10000, size=1024),
    Region(name="program", first=0x80000000, size=256),
))
LINES = [2, 3, 7, 0x400, 0x40F, 0x2000000, 0x2000003]
OUTSIDE = [0, 8, 0x3FF, 0x410, 0x2000004, 0x3FFFFFF]


class Bench:
    """A memory in simulation. ``run(bench)`` runs a coroutine that uses the methods here."""

    def __init__(self):
        self.memory = BoardMemory(CONFIG, REGIONS)
        self.console, self.content = [], {}
        self.cycle = 0

    def run(self, bench):
        m = Module()
        m.submodules.memory = self.memory
        async def main(ctx):
            self.ctx = ctx
            ctx.set(self.memory.console.ready, 1)
            await bench(self)

        simulate(m, main)

    async def tick(self):
        memory = self.memory
        if self.ctx.get(memory.console.valid & memory.console.ready):
            payload = memory.console.payload
            self.console.append((self.ctx.get(payload.slot), self.ctx.get(payload.character)))
        await self.ctx.tick()
        self.cycle += 1

    async def line(self, number, data=None, mask=0, tag=0, patience=0):
        """Error, data and the cycles from the request to the answer; ``data`` is written."""
        ctx, request, response = self.ctx, self.memory.port.request, self.memory.port.response
        ctx.set(request.valid, 1)
        ctx.set(request.payload, {"line": number, "tag": tag, "write": data is not None, "byte_mask": mask,
                                  "data": int.from_bytes(data or bytes(64), "little")})
        while not ctx.get(request.ready):
            await self.tick()
        taken = self.cycle
        await self.tick()
        ctx.set(request.valid, 0)
        ctx.set(request.payload.data, (1 << 512) - 1)
        while not ctx.get(response.valid):
            await self.tick()
        cycles = self.cycle - taken
        for _ in range(patience):
            await self.tick()
        answer = ctx.get(response.payload)
        assert answer.tag == tag
        ctx.set(response.ready, 1)
        await self.tick()
        ctx.set(response.ready, 0)
        return answer.error, answer.data.to_bytes(64, "little"), cycles

    async def word(self, address, value=None):
        """Error and value of the host's access."""
        ctx, memory = self.ctx, self.memory
        drive(ctx, memory, host_valid=1, host_address=address // 4, host_write=value is not None,
              host_data=value or 0)
        while not ctx.get(memory.host_done):
            await self.tick()
        found = ctx.get(memory.host_error), ctx.get(memory.host_read)
        await self.tick()
        ctx.set(memory.host_valid, 0)
        return found


@pytest.mark.parametrize("seed", range(2))
def test_lines_and_words_are_where_they_were_written(seed):
    rng = random.Random(seed)
    model = {number: bytes(64) for number in LINES}

    async def bench(its):
        for number in LINES:
            await its.line(number, bytes(64), (1 << 64) - 1)
        for _ in range(120):
            number, kind = rng.choice(LINES), rng.randrange(4)
            if kind == 0:
                data, mask = rng.randbytes(64), rng.getrandbits(64)
                error, _, cycles = await its.line(number, data, mask, tag=rng.randrange(8), patience=rng.randrange(3))
                model[number] = bytes(new if mask >> place & 1 else old
                                      for place, (new, old) in enumerate(zip(data, model[number], strict=True)))
                assert (error, cycles) == (0, 10)
            elif kind == 1:
                error, data, cycles = await its.line(number, tag=rng.randrange(8), patience=rng.randrange(3))
                assert (error, data, cycles) == (0, model[number], 10), f"seed {seed}"
            else:
                place, value = 4 * rng.randrange(16), rng.getrandbits(32)
                if kind == 2:
                    assert (await its.word(64 * number + place, value))[0] == 0
                    model[number] = model[number][:place] + value.to_bytes(4, "little") + model[number][place + 4 :]
                else:
                    found = await its.word(64 * number + place)
                    assert found == (0, int.from_bytes(model[number][place : place + 4], "little")), f"seed {seed}"
        for number in LINES:
            assert (await its.line(number))[1] == model[number]

    Bench().run(bench)


def test_what_is_not_there_is_an_error_and_changes_nothing():
    async def bench(its):
        for number in LINES:
            await its.line(number, bytes([number & 0xFF]) * 64, (1 << 64) - 1)
        for number in OUTSIDE:
            for data in (None, bytes([0xEE]) * 64):
                error, _, cycles = await its.line(number, data, (1 << 64) - 1)
                assert (error, cycles) == (1, 3), hex(number)
            if number:  # the host may look at the line that is no memory to the SM
                assert (await its.word(64 * number, 5))[0] == 1
        for number in LINES:
            assert (await its.line(number))[:2] == (0, bytes([number & 0xFF]) * 64)

    Bench().run(bench)


def test_the_console_gets_each_byte_once_and_in_order():
    async def bench(its):
        mask = 1 << 0 | 1 << 1 | 1 << 9 | 1 << 63
        error, _, cycles = await its.line(1, bytes(range(64)), mask)
        assert (error, its.console) == (0, [(0, 0), (1, 1), (9, 9), (63, 63)])
        assert 10 < cycles <= 10 + 56
        its.console.clear()
        assert (await its.line(1))[1][63] == 63, "a read of the console prints nothing"
        await its.line(2, bytes(range(64)), mask)
        assert its.console == []

    Bench().run(bench)


def test_a_full_console_holds_the_store_and_loses_nothing():
    async def bench(its):
        its.ctx.set(its.memory.console.ready, 0)
        request = its.memory.port.request
        its.ctx.set(request.valid, 1)
        its.ctx.set(request.payload, {"line": 1, "tag": 3, "write": 1, "byte_mask": 6, "data": 0x434241})
        await its.tick()
        its.ctx.set(request.valid, 0)
        for _ in range(300):
            await its.tick()
            assert not its.ctx.get(its.memory.port.response.valid)
        its.ctx.set(its.memory.console.ready, 1)
        for _ in range(100):
            await its.tick()
        assert its.console == [(1, 0x42), (2, 0x43)]
        assert its.ctx.get(its.memory.port.response.valid)

    Bench().run(bench)
