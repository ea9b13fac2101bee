"""Ranges of variables, wherever they live: the bound holds for what ``main`` reads, or the range is refused."""

import itertools
import struct
from pathlib import Path

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.scripts.options.ranges import ranges_of
from metronome.scripts.process.errors import UsageError
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.inputs import Inputs, RangeError
from metronome.sim.predict.predictor import predict
from metronome.sim.program import kernels as kernel
from metronome.sim.program.kernels import Launch
from metronome.sim.run.runner import run
from tests.sim.analysis.bound.ranged import check
from tests.sim.analysis.programs import bound_of, machine, request_of
from tests.support.programs import prepared

#: Each variable is read, loops as often as it says, and is stored where a run shows it.
_VARIABLES = {
    "zero": ("int32_t zero;", "zero", "-3..9"),
    "zero_static": ("static volatile uint32_t zero_static;", "zero_static", "2..9"),
    "initialised": ("int32_t initialised = 1;", "initialised", "-9..9"),
    "byte": ("int8_t byte;", "byte", "-5..5"),
    "unsigned_byte": ("uint8_t unsigned_byte = 3;", "unsigned_byte", "1..7"),
    "half": ("static volatile int16_t half;", "half", "-5..9"),
    "unsigned_half": ("uint16_t unsigned_half = 2;", "unsigned_half", "0..6"),
    "readonly": ("static const volatile int32_t readonly = 4;", "readonly", "0..8"),
    "main.inside": ("", "inside", "-2..6"),
    "several[1]": ("int16_t several[3];", "several[1]", "-4..8"),
    "real": ("float real;", "real", "-2.5..6.5"),
    "real_set": ("float real_set = 1.0f;", "real_set", "0..7"),
}
_SHOWN = 16


def _swept(folder: Path) -> Launch:
    lines = ['#include "metronome.h"', *(each[0] for each in _VARIABLES.values()),
             f"volatile int32_t shown[{_SHOWN}];", "int main(void) {", "    static volatile int32_t inside;"]
    for number, (_, expression, _) in enumerate(_VARIABLES.values()):
        lines.append(f"    {{ const int32_t n = (int32_t){expression}; shown[{number}] = n;"
                     f" for (int32_t i = -1; i < n; i++) shown[15] += i; }}")
    return prepared(folder, "\n".join([*lines, "    return 0; }"]), TINY)


@pytest.mark.slow
def test_every_place_of_a_variable(tmp_path):
    config, launch = machine(TINY), _swept(tmp_path)
    alone = bound_of(config, launch)
    assert alone.exact and "all variables as the program initialises them" in alone.inputs
    shown, _ = launch.image.symbols["shown"]
    everything = [f"{name}={numbers}" for name, (_, _, numbers) in _VARIABLES.items()]
    bound = bound_of(config, launch, ranges=ranges_of(launch, everything))
    assert not bound.exact and all(each.partition("=")[0] in bound.inputs for each in everything)
    assert {each.name for each in bound.lost} == {
        "zero", "zero_static", "byte", "half", "main.inside", "several[1]", "real"
    }
    for number, text in enumerate(everything):
        ranges = ranges_of(launch, [text])
        inputs = Inputs(launch, ranges)
        for high in (False, True):
            filled = inputs.filled(inputs.extreme(inputs.own, high=high))
            result = predict(config, request_of(filled)).result
            assert result.status == "ended" and result.total_cycles <= bound.cycles
            found = np.array([result.memory.read_word(shown + 4 * number)], np.uint32).view(np.int32)[0]
            assert found == int(float(text.partition("=")[2].split("..")[high])), text


ZERO = """#include "metronome.h"
NAME n;
volatile uint32_t out;
int main(void) { for (int32_t i = 0; i < n; i++) out ^= i; return 0; }
"""


def _launch(folder: Path, text: str, name: str = "int32_t") -> Launch:
    return prepared(folder, text.replace("NAME", name), TINY)


@pytest.mark.slow
def test_zero_at_the_start(tmp_path):
    """The start-up code clears it, and the range holds all the same; a wider one has a greater bound."""
    config, launch = machine(TINY), _launch(tmp_path, ZERO)
    bounds = [bound_of(config, launch, ranges=ranges_of(launch, [f"n={text}"])) for text in ("-9..4", "-9..30")]
    for bound, high in zip(bounds, (4, 30), strict=True):
        search = Search(config, request_of(launch), launch, 1, ranges_of(launch, [f"n=-9..{high}"]))
        observed = search.run(3)
        assert observed.cycles <= bound.cycles < 3 * observed.cycles and not bound.exact
    assert bounds[0].cycles < bounds[1].cycles
    # What is set for main is refused by the hardware, which cannot do so: no other run passes for it.
    inputs = Inputs(launch, ranges_of(launch, ["n=1..4"]))
    with pytest.raises(ValueError, match="when main is entered"):
        run(config, request_of(inputs.filled(inputs.own)))


@pytest.mark.slow
def test_observation_begins_within_the_ranges(tmp_path):
    launch = _launch(tmp_path, ZERO)
    ranges = ranges_of(launch, ["n=-1000..1000"])
    found = set()
    for seed in range(20):
        search = Search(machine(TINY), request_of(launch), launch, seed, ranges)
        first = next(search._candidates(1))
        found |= {struct.unpack("<i", data)[0] for data in first.values()}
        for candidate, _ in zip(search._candidates(40), range(40), strict=False):
            (data,) = candidate.values()
            assert -1000 <= struct.unpack("<i", data)[0] <= 1000
    assert len(found) > 15 and min(found) < -100 and max(found) > 100


REFUSED = """#include "metronome.h"
static int32_t folded = 5;
const int32_t constant = 6;
int32_t stored, unread = 3, n;
uint8_t byte;
float real = 1;
int64_t wide = 2;
struct { int32_t a; float b; } both = {1, 2};
volatile int32_t out;
/* The compiler makes a bit of it. */
static int32_t flag;
/* It computes with the first of these, and loads another. */
static int32_t table[4] = {1, 2, 3, 4};
int main(void) {
    static int32_t inside;
    stored = 7;
    for (int32_t round = 0; round < 2; round++) {
        for (int32_t i = 0; i < flag; i++) out++;
        if (out == 9) flag = 42;
    }
    for (int32_t i = 0; i < table[0]; i++) out++;
    out += table[out & 3];
    out = stored + folded + constant + n + byte + (int32_t)real + (int32_t)wide + both.a + inside++;
    return 0; }
"""


@pytest.mark.slow
def test_ranges_that_cannot_hold(tmp_path):
    launch = _launch(tmp_path, REFUSED)
    for text, words in (
        ("folded=1..9", "no buffer or variable is named 'folded'"),
        ("inside=1..9", "similar names: main.inside"),
        ("unraed=1..9", "similar names: unread"),
        ("main=1..9", "main is a function"),
        ("byte=0..300", "its range must lie in 0 to 255"),
        ("byte=-1..1", "its range must lie in 0 to 255"),
        ("n=0.5..2.5", "n is int: its range must consist of integers"),
        ("n=9..3", "9 is above 3: write 3..9"),
        ("real=0.0..1e39", "finite"),
        ("real=-3.4028236e38..1", "finite"),
        ("real=0.0..-0.0", "0.0 is above -0.0: write -0.0..0.0"),
        ("n=0..0x1ffffffff", "its range must lie in"),
        ("wide=1..9", "give the range of one of its 32-bit words, such as wide[0]"),
        ("both=1..9", "give the range of one of its 32-bit words, such as both[0]"),
        ("n[1]=1..9", "n has 1 words"),
        ("constant=1..9", "constant is const and not volatile: the compiler may have used its initial value"),
        ("main.inside=1..9", "main.inside is static and not volatile"),
        ("flag=1..9", "flag is static and not volatile"),
        ("table[0..3]=1..9", "table is static and not volatile"),
    ):
        with pytest.raises(UsageError) as refused:
            ranges_of(launch, [text])
        assert words in str(refused.value) and "\n" not in str(refused.value), (text, refused.value)
    with pytest.raises(UsageError, match="overlap: give each word one range"):
        ranges_of(launch, ["n=1..2", "n=2..3"])
    for text, words in (
        ("unread=1..9", "does not read unread"),
        ("stored=1..9", "stores to stored before it reads it"),
    ):
        with pytest.raises(RangeError, match=words):
            bound_of(machine(TINY), launch, ranges=ranges_of(launch, [text]))
    assert ranges_of(launch, ["real=-3.4028235e38..-0.0"])[0].low < -3.4e38
    # A range of what is read, though it changes nothing, says for which inputs the time is exact.
    (known,) = ranges_of(launch, ["real=1..9"])
    assert known.real and known.low == 1.0
    bound = bound_of(machine(TINY), launch, ranges=[known])
    assert bound.exact and bound.inputs.startswith("with real in 1..9 (float32)")


def test_a_buffer_is_named_in_the_condition():
    launch = kernel.prepare("psort", None, 8, 1, TINY)
    said = Inputs(launch, ranges_of(launch, ["source[0..3]=-5..5"])).said
    assert said == (
        "with source[0..3] in -5..5 (32-bit signed integers), whatever source and target hold elsewhere, "
        "with arguments as given and all variables as the program initialises them"
    )


LOOP = """#include "metronome.h"
volatile KIND n = 1;
volatile uint32_t out;
int main(void) { for (int32_t i = LOOP) out ^= i; return 0; }
"""
#: A compiler loads a variable of one or two bytes without its sign, halves it, and gives it its sign last.
_LOOPS = {
    f"{kind} / {by}": (kind, f"0; i < n / {by} + 2; i++", -5 * by - 1, range(-2 * by, 2 * by),
                       lambda n, by=by: int(n / by) + 2)
    for by in (2, 4, 8) for kind in ("int8_t", "int16_t", "int32_t")
} | {
    # The branch at its end asks of what the counter was before.
    "down by two": ("uint8_t", "n; i > 0; i -= 2", 1, range(2, 9), lambda n: (n + 1) // 2),
}


@pytest.mark.more
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[[], pytest.mark.more, pytest.mark.long][min(at, 2)]) for at, name in enumerate(_LOOPS)
])
def test_turns_of_a_loop(tmp_path, name: str):
    """Ranges with the same greatest number of turns have the same bound, and those with more a greater one."""
    kind, loop, low, tops, turns = _LOOPS[name]
    text = LOOP.replace("KIND", kind).replace("LOOP", loop)
    config, launch = machine(TINY), _launch(tmp_path, text)
    bounds: dict[int, set[int]] = {}
    for high in tops:
        ranges = ranges_of(launch, [f"n={low}..{high}"])
        bound = bound_of(config, launch, ranges=ranges).cycles
        inputs = Inputs(launch, ranges)
        for ends in (False, True):
            result = predict(config, request_of(inputs.filled(inputs.extreme(inputs.own, high=ends)))).result
            assert result.total_cycles <= bound
        bounds.setdefault(turns(high), set()).add(bound)
    ordered = [bounds[each] for each in sorted(bounds)]
    assert all(len(each) == 1 for each in ordered)
    assert all(max(one) < min(other) for one, other in itertools.pairwise(ordered))


@pytest.mark.more
@pytest.mark.parametrize("seed", [
    2, pytest.param(5, marks=pytest.mark.more), *(pytest.param(each, marks=pytest.mark.long) for each in (136, 191))
])
def test_random_programs(seed: int):
    """136: as many turns as an absolute value says, if that is not 0. 191: a quotient where ways have met."""
    found = check(seed, runs=6)
    assert found.narrowed and found.longest <= found.bound
