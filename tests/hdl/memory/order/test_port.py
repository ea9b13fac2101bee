"""The list's reads and the L1's lines on one port: the L1 first, what is offered stays, answers to who asked."""

import random
from typing import Any

from metronome.hdl.config import Channels, SmConfig
from metronome.hdl.memory.order.port import ListPort
from tests.hdl.lib.simulate import drive, simulate

CONFIG = SmConfig(channels=Channels.ORDERED)


def test_random_requests() -> None:
    rng, port = random.Random(3), ListPort(CONFIG)
    sides = {"l1": port.l1.request, "list": port.reader.request}
    offers: dict[str, tuple[int, int]] = {}
    served: list[str] = []
    held: tuple[int, int] | None = None

    async def testbench(ctx: Any) -> None:
        nonlocal held
        for cycle in range(600):
            for name, request in sides.items():
                if name not in offers and rng.random() < (0.5, 0.9)[cycle // 100 % 2]:
                    offers[name] = rng.getrandbits(26), rng.getrandbits(CONFIG.l1_tag_bits)
                    line, tag = offers[name]
                    ctx.set(request.payload, {"line": line, "tag": tag, "write": name == "l1" and line & 1})
                ctx.set(request.valid, name in offers)
            ready = rng.random() < 0.6
            ctx.set(port.mem.request.ready, ready)
            out = ctx.get(port.mem.request.payload)
            assert ctx.get(port.mem.request.valid) == bool(offers), cycle
            if not offers:
                await ctx.tick()
                continue
            name = "list" if out.tag >> CONFIG.l1_tag_bits else "l1"
            line, tag = offers[name]
            assert (out.line, out.tag & (1 << CONFIG.l1_tag_bits) - 1) == (line, tag), cycle
            assert out.write == (name == "l1" and line & 1), cycle
            assert held in (None, (line, out.tag)), cycle
            assert name == "l1" or "l1" not in offers or held is not None, cycle
            held = None if ready else (line, out.tag)
            assert [ctx.get(request.ready) for request in sides.values()] == [ready and name == "l1",
                                                                              ready and name == "list"] or (
                not ready or len(offers) == 1), cycle
            assert bool(ctx.get(sides[name].ready)) == ready, cycle
            if ready:
                served.append(name)
                del offers[name]
            await ctx.tick()

    simulate(port, testbench)
    assert min(served.count("l1"), served.count("list")) > 30


def test_answers() -> None:
    rng, port = random.Random(4), ListPort(CONFIG)

    async def testbench(ctx: Any) -> None:
        for _ in range(100):
            tag, ready, valid = rng.getrandbits(CONFIG.lsu_tag_bits), rng.getrandbits(2), rng.getrandbits(1)
            to_list = tag >> CONFIG.l1_tag_bits
            drive(ctx, port.mem.response, valid=valid, payload={"tag": tag, "error": ready & 1, "data": tag + 5})
            for number, side in enumerate((port.l1, port.reader)):
                ctx.set(side.response.ready, ready >> number & 1)
                mine = number == to_list
                assert ctx.get(side.response.valid) == (valid and mine)
                if mine:
                    got = ctx.get(side.response.payload)
                    assert (got.tag, got.error, got.data) == (tag & (1 << CONFIG.l1_tag_bits) - 1, ready & 1, tag + 5)
            assert ctx.get(port.mem.response.ready) == ready >> to_list & 1
            await ctx.tick()

    simulate(port, testbench)
