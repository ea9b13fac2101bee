"""The one-hot helpers against plain Python: every value of small vectors, random ones of wide vectors."""

import random

import pytest
from amaranth.hdl import Module, Signal

from metronome.hdl.lib.onehot import encode, from_lowest, highest_one, lowest_one, one_hot, or_all, select
from tests.hdl.lib.simulate import bit_list, simulate


def values(width: int, rng: random.Random) -> list[int]:
    return list(range(1 << width)) if width <= 6 else [rng.getrandbits(width) & rng.getrandbits(width)
                                                       for _ in range(150)] + [0, 1, 1 << (width - 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "width", [1, 2, 3, 4, 5, 6, 17, *(pytest.param(width, marks=pytest.mark.long) for width in (32, 33))],
)
def test_lowest_and_highest(width):
    m = Module()
    vector, low, high, upwards = Signal(width), Signal(width + 2), Signal(width + 2), Signal(width + 2)
    m.d.comb += [low.eq(lowest_one(vector)), high.eq(highest_one(vector)), upwards.eq(from_lowest(vector))]
    assert len(lowest_one(vector)) == len(highest_one(vector)) == len(from_lowest(vector)) == width

    async def testbench(ctx):
        for value in values(width, random.Random(width)):
            ctx.set(vector, value)
            ones = bit_list(value)
            assert ctx.get(low) == (1 << ones[0] if ones else 0), f"lowest of {value:#b}"
            assert ctx.get(upwards) == ((1 << width) - (1 << ones[0]) if ones else 0), f"from lowest of {value:#b}"
            assert ctx.get(high) == (1 << ones[-1] if ones else 0), f"highest of {value:#b}"

    simulate(m, testbench)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 32, 33])
def test_encode_and_one_hot(width):
    m = Module()
    vector, index = Signal(width), Signal(range(2 * width + 1))
    number, hot = Signal(8), Signal(width + 2)
    m.d.comb += [number.eq(encode(vector)), hot.eq(one_hot(index, width))]
    assert len(encode(vector)) == max(1, (width - 1).bit_length())
    assert len(one_hot(index, width)) == width

    async def testbench(ctx):
        ctx.set(vector, 0)
        assert ctx.get(number) == 0, "encode of no bit"
        for i in range(2 * width + 1):
            ctx.set(index, i)
            assert ctx.get(hot) == (1 << i if i < width else 0), f"one_hot({i}, {width})"
            if i < width:
                ctx.set(vector, 1 << i)
                assert ctx.get(number) == i, f"encode of bit {i}"

    simulate(m, testbench)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_or_all_and_select(count):
    m = Module()
    inputs = [Signal(4 + i, name=f"input_{i}") for i in range(count)]
    vector, union, chosen = Signal(count), Signal(20), Signal(20)
    m.d.comb += [union.eq(or_all(inputs)), chosen.eq(select(vector, inputs))]
    rng = random.Random(count)

    async def testbench(ctx):
        for trial in range(60):
            numbers = [rng.getrandbits(4 + i) for i in range(count)]
            for signal, number in zip(inputs, numbers, strict=True):
                ctx.set(signal, number)
            expected = 0
            for number in numbers:
                expected |= number
            assert ctx.get(union) == expected, f"or_all of {numbers}"
            bit = trial % (count + 1)
            ctx.set(vector, (1 << bit) & ((1 << count) - 1))
            assert ctx.get(chosen) == (numbers[bit] if bit < count else 0), f"select bit {bit} of {numbers}"

    simulate(m, testbench)
