"""A component with one port for each field: names, places, directions, and that nothing else happens."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from metronome.hdl.bus.flat import Flat, flat_ports
from tests.hdl.lib.simulate import simulate

PAIR = data.StructLayout({"low": 3, "high": 5})
INNER = data.StructLayout({"pair": PAIR, "lanes": data.ArrayLayout(4, 3), "named": data.ArrayLayout(PAIR, 2)})


class Part(wiring.Component):
    """Turns a request around; ``sums`` is a register."""

    def __init__(self):
        super().__init__({
            "plain": In(7), "result": Out(7), "sums": Out(INNER),
            "link": Out(wiring.Signature({"ask": Out(stream.Signature(PAIR)), "tell": In(stream.Signature(8))})),
        })

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.result.eq(~self.plain),
            self.link.ask.valid.eq(self.link.tell.valid),
            self.link.tell.ready.eq(self.link.ask.ready),
            self.link.ask.payload.low.eq(self.link.tell.payload[5:]),
            self.link.ask.payload.high.eq(self.link.tell.payload),
        ]
        m.d.sync += self.sums.as_value().eq(self.sums.as_value() * 5 + self.plain + 1)
        return m


ELEMENTS = {"sums.named": ("first", None)}


def test_names_widths_and_directions():
    part = Part()
    ports = flat_ports(part, names={"sums": "sum"}, elements=ELEMENTS)
    assert [(port.name, port.width, port.is_input) for port in ports] == [
        ("plain", 7, True), ("result", 7, False),
        ("sum_pair_low", 3, False), ("sum_pair_high", 5, False), ("sum_lanes", 12, False),
        ("sum_named_first_low", 3, False), ("sum_named_first_high", 5, False),
        ("link_ask_low", 3, False), ("link_ask_high", 5, False), ("link_ask_valid", 1, False),
        ("link_ask_ready", 1, True), ("link_tell_payload", 8, True), ("link_tell_valid", 1, True),
        ("link_tell_ready", 1, False),
    ]
    assert ports[5].dotted == "sums.named.first.low"
    flat = Flat(Part())
    assert flat.sums_named.shape().width == 16  # without names an array is one port


def test_two_ports_of_one_name_are_refused():
    class Twice(wiring.Component):
        a: Out(data.StructLayout({"b": 1}))
        a_b: Out(1)

    with pytest.raises(ValueError, match=r"a\.b and a_b would both be called a_b|a_b and a\.b would both"):
        flat_ports(Twice())


def test_it_does_in_every_cycle_what_the_component_does():
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    part, flat = Part(), Flat(Part(), elements=ELEMENTS)
    m = Module()
    m.submodules.part, m.submodules.flat = part, flat
    seen = set()

    async def bench(ctx):
        for cycle in range(200):
            plain, tell, valid, ready = (rng.randrange(1 << bits) for bits in (7, 8, 1, 1))
            for port, value in (
                (part.plain, plain), (flat.plain, plain),
                (part.link.tell.payload, tell), (flat.link_tell_payload, tell),
                (part.link.tell.valid, valid), (flat.link_tell_valid, valid), (part.link.ask.ready, ready),
                (flat.link_ask_ready, ready),
            ):
                ctx.set(port, value)
            sums, ask = ctx.get(part.sums), ctx.get(part.link.ask.payload)
            expected = {
                "result": ctx.get(part.result), "sums_pair_low": sums.pair.low, "sums_pair_high": sums.pair.high,
                "sums_lanes": sum(lane << 4 * place for place, lane in enumerate(sums.lanes)),
                "sums_named_first_low": sums.named[0].low, "sums_named_first_high": sums.named[0].high,
                "link_ask_low": ask.low, "link_ask_high": ask.high, "link_ask_valid": ctx.get(part.link.ask.valid),
                "link_tell_ready": ctx.get(part.link.tell.ready),
            }
            got = {name: ctx.get(getattr(flat, name)) for name in expected}
            assert got == expected, f"cycle {cycle}, seed {seed}"
            seen.add(tuple(got.values()))
            await ctx.tick()

    simulate(m, bench)
    assert len(seen) > 100
