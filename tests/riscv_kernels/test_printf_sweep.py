"""Every conversion, flag, width, precision and length of printf against the host's printf."""

import ctypes
import random

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from tests.riscv_kernels.iss_runs import RESULTS, run_program

CELL = 256
#: Length -> bits of the argument on the machine, the host's type, and the type in the program.
INTEGERS = {
    "hh": (8, ctypes.c_int, "char"), "h": (16, ctypes.c_int, "short"), "": (32, ctypes.c_int, "int"),
    "l": (32, ctypes.c_long, "long"), "ll": (64, ctypes.c_longlong, "long long"),
    "j": (64, ctypes.c_longlong, "long long"),
    "z": (31, ctypes.c_size_t, "int"), "t": (31, ctypes.c_ssize_t, "int"),
}
FLOATS = (0.0, -0.0, 1.5, -2.5, 3.14159274, 1e-45, 1.17549435e-38, 3.4028235e38, 0.099999994, 9.5, 1e10, float("inf"),
          float("nan"))


def drawn(rng):
    """A format, its argument in C, and what the host takes for it."""
    conversion = rng.choice("diuxXocs%fFeEgGaAfeg")
    flags = {"%": "", "c": "-", "s": "-", "d": "-0+ ", "i": "-0+ ", "u": "-0"}.get(conversion, "-0#")
    if conversion in "fFeEgGaA":
        flags = "-0+ #"
    chosen = "".join(rng.sample(flags, rng.randint(0, len(flags)))) if flags else ""
    width = rng.choice(["", "", str(rng.randint(1, 40))]) if flags else ""
    precision = rng.choice(["", "", ".", f".{rng.randint(0, 12)}"]) if conversion not in "c%" else ""
    head = f"%{chosen}{width}{precision}"
    if conversion in "c%":
        character = rng.choice("aZ~ 0")
        return (f"{head}c", f"'{character}'", ctypes.c_int(ord(character))) if conversion == "c" else ("%%", "", None)
    if conversion == "s":
        text = "".join(rng.choice("abc XYZ") for _ in range(rng.randint(0, 9)))
        return f"{head}s", f'"{text}"', ctypes.c_char_p(text.encode())
    if conversion in "fFeEgGaA":
        value = float(np.float32(rng.choice([*FLOATS, rng.uniform(-100, 100), 10 ** rng.uniform(-40, 38)])))
        written = f"__builtin_bit_cast(float, {int(np.float32(value).view(np.uint32)):#x}u)"
        if rng.random() < 0.2 and np.isfinite(value):
            return f"{head}L{conversion}", f"{value.hex()}L", ctypes.c_longdouble(value)
        return head + conversion, written, ctypes.c_double(value)
    length = rng.choice(list(INTEGERS))
    bits, host, kind = INTEGERS[length]
    value = rng.choice([0, 1, rng.getrandbits(bits), (1 << bits) - 1, 1 << (bits - 1)])
    if conversion in "di" and bits != 31:
        value -= (value >> (bits - 1)) << bits
    written = f"({kind}){value}LL" if conversion in "di" else f"(unsigned {kind}){value}ULL"
    return f"{head}{length}{conversion}", written, host(value)


def expected(text, argument):
    """The host's text; a is of a double there and here, but of a long double it is written in another way."""
    buffer = ctypes.create_string_buffer(CELL)
    if isinstance(argument, ctypes.c_longdouble) and text[-1] in "aA":
        text, argument = text.replace("L", ""), ctypes.c_double(argument.value)
    libc = ctypes.CDLL(None)
    libc.snprintf.restype = ctypes.c_int
    length = libc.snprintf(buffer, ctypes.c_size_t(CELL), text.encode(), *([] if argument is None else [argument]))
    return length, buffer.value


@pytest.mark.more
@pytest.mark.parametrize(
    ("seed", "count"), [(1, 60), *(pytest.param(k, 400, marks=pytest.mark.long) for k in range(2, 6))]
)
def test_printf_is_the_hosts(tmp_path, seed, count):
    rng = random.Random(seed)
    cases = [drawn(rng) for _ in range(count)]
    calls = "\n".join(
        f'    lengths[{k}] = snprintf(out + {CELL} * {k}, {CELL}, "{text}"{", " if written else ""}{written});'
        for k, (text, written, _) in enumerate(cases)
    )
    source = tmp_path / "sweep.c"
    source.write_text(
        '#include <stdio.h>\n#include "metronome.h"\nint main(void)\n{\n'
        "    char *out = *(char *const *)kernel_arguments();\n    int *lengths = (int *)(out + "
        f"{CELL * count});\n{calls}\n    return 0;\n}}\n"
    )
    done = run_program(source, TINY, flags=("-w", "-O0"))
    lengths = done.words(RESULTS + CELL * count, count)
    for k, (text, written, argument) in enumerate(cases):
        got = done.memory.read(RESULTS + CELL * k, CELL).split(b"\0")[0]
        assert (int(lengths[k]), got) == expected(text, argument), f"seed {seed}: {text} of {written}"


def test_how_many_characters_there_have_been(tmp_path):
    """%n writes it, and what C does not have takes no argument."""
    source = tmp_path / "count.c"
    source.write_text("""
#include <stdio.h>
#include "metronome.h"
int main(void)
{
    char out[40];
    int n = 0;
    short half[2] = {1, 2};
    signed char bytes[4] = {1, 2, 3, 4};
    snprintf(out, sizeof out, "12%n345%hn6%hhn%d", &n, &half[0], &bytes[1], 7);
    return !(n == 2 && half[0] == 5 && half[1] == 2 && bytes[0] == 1 && bytes[1] == 6 && bytes[2] == 3
             && out[6] == '7');
}
""")
    assert run_program(source, TINY, flags=("-w",)).exit_code == 0
