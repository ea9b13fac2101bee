"""Random C thread functions with nested data-dependent control flow, in the macros of metronome.h."""

import random

_INTEGERS = ("a", "b", "c", "d")
_FLOATS = ("f", "g")
_DEPTH = 4

_FRAME = """#include "metronome.h"

typedef struct {{
    uint32_t *results; /* 8 words a thread */
    uint32_t n;
    uint32_t u;        /* the same for all threads */
}} arguments;

static void thread(const void *block)
{{
    const arguments *const args = block;
    const uint32_t u = args->u;
    uint32_t *const own = args->results + 8 * blockIdx.x;
    uint32_t a = blockIdx.x, b = a * 2654435761u, c = b >> 7 ^ a, d = u;
    float f = (float)(int32_t)b, g = 1.5f;
{body}
    own[0] = a;
    own[1] = b;
    own[2] = c;
    own[3] = d;
    own[4] = __builtin_bit_cast(uint32_t, f);
    own[5] = __builtin_bit_cast(uint32_t, g);
}}

int main(void)
{{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->n, 0, thread, args);
}}
"""


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.counters = 0

    def integer(self) -> str:
        return self.rng.choice([*_INTEGERS, *_INTEGERS, "u", str(self.rng.randrange(100))])

    def condition(self) -> str:
        rng = self.rng
        simple = [
            f"({self.integer()} >> {rng.randrange(8)} & 1)",
            f"({self.integer()} < {self.integer()})",
            f"((int32_t){self.integer()} < (int32_t){self.integer()})",
            f"({self.integer()} % {rng.randrange(2, 9)} == {rng.randrange(3)})",
            f"({rng.choice(_FLOATS)} < {rng.choice([*_FLOATS, '0.25f'])})",
        ]
        first = rng.choice(simple)
        return first if rng.random() < 0.6 else f"({first} {rng.choice('&|^')} {rng.choice(simple)})"

    def assignment(self) -> str:
        rng = self.rng
        x, f, g = rng.choice(_INTEGERS), rng.choice(_FLOATS), rng.choice(_FLOATS)
        return rng.choice([
            f"{x} = {self.integer()} {rng.choice(['+', '-', '*', '^', '|', '&'])} {self.integer()};",
            f"{x} += {self.integer()};",
            f"{x} = {self.condition()} ? {self.integer()} : {self.integer()};",
            f"{x} = {self.integer()} / ({self.integer()} | 1);",
            # A plain copy of a float is what a compiler would love to make a select of.
            f"{f} = {g};",
            f"{f} = {f} * 0.5f + {g};",
            f"{f} = simt_select_float({self.condition()}, {f}, {g});",
            f"own[6] = {self.integer()};",
            f"own[7] += {self.integer()};",
            f"{x} = own[{rng.choice([6, 7])}];",
        ])

    def block(self, depth: int) -> list[str]:
        lines = []
        for _ in range(self.rng.randrange(1, 4)):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int) -> list[str]:
        choice = self.rng.random()
        if depth == 0 or choice < 0.4:
            return [self.assignment()]
        inner = self.block(depth - 1)
        if choice < 0.6:
            return [f"SIMT_IF({self.condition()}) {{", *inner, "} SIMT_ENDIF"]
        if choice < 0.8:
            other = self.block(depth - 1)
            return [f"SIMT_IF({self.condition()}) {{", *inner, "} SIMT_ELSE {", *other, "} SIMT_ENDIF"]
        if choice < 0.93:
            self.counters += 1
            k = f"k{self.counters}"
            limit = f"({k} < ({self.integer()} & 3))"
            head = f"SIMT_WHILE({limit} & ({k} < 4)) {{"
            return [f"uint32_t {k} = 0;", head, *inner, f"{k} += 1;", "} SIMT_ENDWHILE"]
        return [f"if (u >> {self.rng.randrange(4)} & 1) {{", *inner, "}"]


def random_program(rng: random.Random) -> str:
    """The C text of one program; its argument block is {results, threads, a uniform word}."""
    writer = _Writer(rng)
    lines = []
    for _ in range(4):
        lines += writer.statement(_DEPTH)
    return _FRAME.format(body="\n".join(f"    {line}" for line in lines))
