"""stdio.h, string.h, 64-bit division, SIMT_ONE_BY_ONE and block_sum on the golden model: lanes that all differ."""

import math
import random
import struct

import numpy as np
import pytest

from metronome.hdl.presets import BASE, MID, TINY
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import build_kernel
from tests.riscv_kernels.iss_runs import PROGRAMS, RESULTS, finished
from tests.riscv_kernels.library_runs import INPUTS, Cases, Kind, double_words, float_bits, prepare
from tests.support.tiers import some_more

#: Conversion, argument; what Python's % prints is expected, after the arguments' rounding to 32 bits.
WORDS = [
    ("%d", 0), ("%d", -1), ("%i", 2**31 - 1), ("%d", -(2**31)), ("%5d|", 42), ("%-5d|", 42), ("%05d|", -42), ("%+d", 7),
    ("% d", 7), ("%.3d", 7), ("%8.3d|", -7), ("%u", 2**32 - 1), ("%x", 0xDEADBEEF), ("%X", 0xBEEF), ("%#x", 255),
    ("%08x", 0xAB), ("%-8x|", 0xAB), ("%o", 511), ("%c", ord("q")), ("%3c|", ord("q")), ("%-3c|", ord("q")),
    ("100%% of %d", 3), ("plain", 0), ("", 0), ("%.0d|", 5), ("%2d|", 12345),
]
LONGS = [("%lld", -(2**63)), ("%llu", 2**64 - 1), ("%llx", 2**60 + 1), ("%25lld|", -(10**18)), ("%lld", 5)]
FLOATS = [
    ("%f", 0.0), ("%f", -0.0), ("%f", 1.5), ("%.0f", 0.5), ("%.0f", 1.5), ("%.0f", 2.5), ("%.1f", 0.25), ("%.1f", 0.75),
    ("%10.3f|", -3.14159), ("%-10.2f|", 2.5), ("%010.2f|", -2.5), ("%+f", 1.0), ("% f", 1.0), ("%.2f", 9.999),
    ("%f", 3.4028234e38), ("%.60f", 1e-45), ("%.9f", 0.1), ("%e", 0.0), ("%e", 12345.678), ("%.0e", 9.5),
    ("%.2E", 1e-40), ("%g", 100000.0), ("%g", 1e6), ("%g", 0.0001), ("%g", 0.00001), ("%g", 1.0), ("%#g", 1.0),
    ("%.3g", 0.00012345), ("%G", 1e-20), ("%g", 0.0), ("%.0g", 123.0), ("%10.4g|", 3.14159),
    ("%#.0f", 3.0), ("%#.0e", 3.0), ("%.3g", 999.9),
]


def word_text(conversion, value):
    if "%" not in conversion:
        return conversion.encode()
    return (conversion % (chr(value) if "c" in conversion else value)).encode()


def usual_cases():
    cases = Cases()
    for conversion, value in WORDS:
        cases.add(Kind.WORD, conversion, word_text(conversion, value), value)
    for conversion, value in LONGS:
        cases.add(Kind.LONG, conversion, (conversion.replace("ll", "") % value).encode(), value, value >> 32)
    for conversion, value in FLOATS:
        cases.add_float(conversion, value)
    return cases


def other_cases():
    """What Python's % does not have, or prints otherwise."""
    cases = Cases()
    for conversion, text in (("%s", b"hello"), ("%8s|", b"   hello|"), ("%-8s|", b"hello   |"), ("%.2s|", b"he|")):
        cases.add(Kind.WORD, conversion, text, INPUTS)
    cases.add(Kind.WORD, "<%s>", b"<>", INPUTS + 6)
    cases.add(Kind.WORD, "%s", b"(null)", 0)
    cases.add(Kind.WORD, "%p", b"0x1000", 0x1000)
    cases.add(Kind.WORD, "%#o", b"017", 0o17)
    cases.add(Kind.WORD, "%#x", b"0", 0)
    cases.add(Kind.WORD, "%.0d|", b"|", 0)
    cases.add(Kind.WORD, "%08.3d|", b"    -007|", -7)
    cases.add(Kind.WORD, "%hd", b"-1", 0xFFFF)
    cases.add(Kind.WORD, "%hhu", b"255", 0x1FF)
    cases.add(Kind.WORD, "%zu %%", b"7 %", 7)
    cases.add(Kind.WORD, "%ld", b"-7", -7)
    cases.add(Kind.WORD, "%y%", b"%y%")
    cases.add(Kind.TWO_WORDS, "%*d|", b"    7|", 5, 7)
    cases.add(Kind.TWO_WORDS, "%s=%d", b"hello=-3", INPUTS, -3)
    cases.add(Kind.STARRED, "%*.*f|", b"    2.50|", float_bits(2.5), 8, 2)
    cases.add(Kind.STARRED, "%*.*f|", b"2.50    |", float_bits(2.5), -8, 2)
    for value, text in ((float("inf"), b"  inf"), (float("-inf"), b" -inf"), (float("nan"), b"  nan")):
        cases.add(Kind.SINGLE, "%05f", text, float_bits(value))
    cases.add(Kind.SINGLE, "%G", b"INF", float_bits(float("inf")))
    for value in (0.1, 1e-40, 1e-46, 1e39, 3.4028235677973366e38, 1 + 2**-24, 1 + 3 * 2**-24, -2.0**-149, 2.0**-150):
        with np.errstate(over="ignore"):
            near = np.float32(value)
        text = "inf" if np.isinf(near) else f"{near:.20e}"
        cases.add(Kind.DOUBLE, "%.20e", text.encode(), *double_words(value))
    cases.add(Kind.DOUBLE, "%f", b"inf", *double_words(float("inf")))
    cases.add(Kind.DOUBLE, "%f", b"nan", *double_words(float("nan")))
    cases.add(Kind.WORD, "%d", b"123456", 123456, room=4)
    cases.add(Kind.WORD, "%d", b"123456", 123456, room=1)
    cases.add(Kind.WORD, "%d", b"123456", 123456, room=0)
    return cases


def random_cases(count, seed):
    rng = random.Random(seed)
    cases = Cases()
    for _ in range(count):
        flags = "".join(rng.sample("-0+ #", rng.randrange(3)))
        width = rng.choice(["", str(rng.randrange(1, 30))])
        precision = rng.choice(["", f".{rng.randrange(12)}"])
        value = struct.unpack("<f", struct.pack("<I", rng.getrandbits(32)))[0]
        value = rng.choice([value, rng.uniform(-1000, 1000), float(rng.randrange(-20, 20)) / 8])
        conversion = f"%{flags}{width}{precision}{rng.choice('eEfgG')}|"
        if math.isfinite(value):
            cases.add_float(conversion, value)
        number = rng.getrandbits(32) >> rng.randrange(32)
        # Python ignores the flag 0 beside a precision otherwise than C, and has another #o.
        flags = flags.replace("#", "").replace("0", "") if precision else flags.replace("#", "")
        conversion = f"%{flags}{width}{precision}{rng.choice('du' if flags else 'duxXo')}|"
        if conversion[-2] == "u":
            conversion = conversion.replace("+", "").replace(" ", "")
        signed = number - (1 << 32) if conversion[-2] == "d" and number >> 31 else number
        if not (precision == ".0" and number == 0):
            cases.add(Kind.WORD, conversion, (conversion % signed).encode(), number)
    return cases


@pytest.mark.slow
@pytest.mark.parametrize("cases", [usual_cases, other_cases], ids=["usual", "other"])
def test_formats(cases):
    assert cases().problems(BASE) == []


@pytest.mark.more
@pytest.mark.parametrize("count", some_more([40, 150], 1))
def test_random_formats(count):
    assert random_cases(count, seed=7).problems(MID) == [], "seed 7"


def test_some_formats():
    cases = Cases()
    cases.add(Kind.WORD, "%5d|", b"   42|", 42)
    cases.add_float("%.2f", 1.005)
    assert cases.problems(TINY) == []


def areas(rng, count):
    """Five areas a thread, and where each moves what: aligned or not, overlapping or not."""
    data = rng.integers(0, 256, (5, count, 64), np.uint8)
    data[3:] = rng.integers(97, 100, (2, count, 64), np.uint8)
    data[3:, :, 40:] = 0
    for thread in range(count):
        data[3, thread, rng.integers(0, 41):] = 0
        data[4, thread] = np.where(rng.random() < 0.5, data[3, thread], data[4, thread])
    places = np.stack([rng.integers(0, 16, count), rng.integers(0, 16, count), rng.integers(0, 17, count)], 1)
    places[::3] &= ~3
    return data, places.astype(np.uint32)


def c_string(row):
    return bytes(row).split(b"\0")[0]


def sign(a, b):
    return int(a > b) - int(a < b)


#: Division by zero, the one overflow, the largest; the low words as floats are 0, subnormal, negative, infinity.
NUMBERS = np.array([
    (7, 0), (-7, 0), (-(1 << 63), -1), (-1, -2), (0x8000_0000, 3), (0x8000_0001, -(1 << 63)), (0x7F80_0000, 5),
    (0x0070_0000, 5),
], np.int64).view(np.uint64)


def check_library(config, count, block, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 1 << 64, (count, 2), np.uint64) >> rng.integers(0, 64, (count, 2)).astype(np.uint64)
    numbers[:len(NUMBERS)] = NUMBERS
    data, places = areas(rng, count)
    launch = prepare("library", config, (count, block), (numbers, data, places))
    done = finished(launch, config)
    after = np.frombuffer(done.memory.read(launch.buffers["1"][0], data.nbytes), np.uint8).reshape(data.shape)
    cells = done.words(RESULTS, 16 * count).reshape(count, 16)
    for i in range(count):
        check_division(cells[i, :8].view(np.uint64), *map(int, numbers[i]))
        single = numbers[i, :1].view(np.float32)[0]
        widened = cells[i, 14:].view(np.float64)[0]
        assert np.isnan(widened) if np.isnan(single) else double_words(single) == tuple(cells[i, 14:]), single
        target, source, size = map(int, places[i])
        copied, filled, moved = data[:3, i].copy()
        copied[target:target + size] = data[0, i, 32 + source:32 + source + size]
        filled[target:target + size] = i & 0xFF
        moved[target:target + size] = data[2, i, source:source + size]
        for got, wanted in zip(after[:3, i], (copied, filled, moved), strict=True):
            assert bytes(got) == bytes(wanted), (i, places[i])
        assert cells[i, 8] == 0
        signed = cells[i].view(np.int32)
        assert sign(signed[9], 0) == sign(bytes(filled[:size]), bytes(moved[:size])), i
        text, other = c_string(data[3, i]), c_string(data[4, i])
        assert cells[i, 10] == len(text)
        assert sign(signed[11], 0) == sign(text, other)
        assert c_string(after[4, i]) == text and cells[i, 12] == 0 and cells[i, 13] == 0
        assert bytes(after[4, i, len(text) + 1:]) == bytes(data[4, i, len(text) + 1:])
    check_sums(done, config, RESULTS + 64 * count, block)


def check_division(cells, a, b):
    """As RISC-V: by zero all ones and the dividend; the one overflow wraps."""
    def as_signed(value):
        return value - (1 << 64) if value >> 63 else value

    def quotient(n, d):
        return -1 if d == 0 else abs(n) // abs(d) * (-1 if (n < 0) != (d < 0) else 1)

    def rest(n, d):
        return n if d == 0 else n - quotient(n, d) * d

    signed = as_signed(a), as_signed(b)
    expected = [quotient(a, b), rest(a, b), quotient(*signed), rest(*signed)]
    assert [int(cell) for cell in cells] == [value & (1 << 64) - 1 for value in expected], (a, b)


def check_sums(done, config, address, block):
    cells = done.words(address, config.warps)
    before = done.words(address + 4 * config.warps, 3 * block)
    sums = done.words(address + 4 * config.warps + 12 * block, 6 * block).reshape(-1, 2)
    numbers = np.arange(3 * block)
    # Every thread adds number + 1 once; within a warp each sees what those before it have made.
    assert cells.sum() == (numbers + 1).sum()
    assert len(set(zip(before.tolist(), (numbers + 1).tolist(), strict=True))) == 3 * block
    for start in range(0, 3 * block, block):
        own = numbers[start:start + block]
        assert (sums[start:start + block, 0] == own.sum()).all()
        assert (sums[start:start + block, 1].view(np.float32) == np.float32(own.sum() + 0.25 * block)).all()


def test_library_on_tiny():
    check_library(TINY, 9, 3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(("config", "block"), [(BASE, 16), (BASE, 5), (MID, 1), (MID, 64)])
def test_library(config, block):
    check_library(config, 40, block, seed=block)


def test_a_program_gets_only_what_it_calls():
    kernel = load_elf(build_kernel("psort"), TINY.memory_map).symbols
    program = load_elf(build_elf([PROGRAMS / "functions.c"], name="functions"), TINY.memory_map).symbols
    library = {"expf", "powf", "printf", "__metronome_lane_memcpy", "__udivdi3", "block_sum"}
    assert library & kernel.keys() == set()
    assert library & program.keys() == {"expf", "powf"}
