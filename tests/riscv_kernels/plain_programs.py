"""Random C programs in ordinary control flow: if, loops, switch, goto into and out of loops, calls, recursion.

The same text runs on a host compiler (``-DHOST``) and on the machine. Arithmetic is unsigned, shifts and indices are
masked, loops and jumps back are counted, floats are kept small, so nothing in it is undefined.
"""

import random

__all__ = ["WORDS", "random_plain_program"]

#: Words of results a thread.
WORDS = 12
_VALUES = ("a", "b", "c", "d")
_FLOATS = ("f", "g")
#: They begin the same in all threads, and get nothing but numbers, each other and u: only by what branches a thread
#: takes do they become different ones.
_PATHS = ("p", "q")
#: How often the body of a nest of loops may run, roughly.
_MOST_TURNS = 150

_HEAD = """#ifdef HOST
#include <stdint.h>
#define bits(x) __builtin_bit_cast(uint32_t, x)
#else
#include "metronome.h"
#define bits(x) __builtin_bit_cast(uint32_t, x)
#endif

/* What a float is as a number; never undefined. */
static inline uint32_t whole(float x) { return x > -1e6f && x < 1e6f ? (uint32_t)(int32_t)x : 7u; }
static inline float small(float x) { return x > -1e6f && x < 1e6f ? x : 1.5f; }

"""

_TAIL = """
void one(uint32_t index, uint32_t u, uint32_t *own)
{
    for (int i = 0; i < %(words)d; i++)
        own[i] = 0;
    own[%(last)d] = body(index, u, own);
}

#ifndef HOST
typedef struct {
    uint32_t *results;
    uint32_t n, u;
} arguments;

static void thread(const void *block)
{
    const arguments *const args = block;
    one(blockIdx.x, args->u, args->results + %(words)d * blockIdx.x);
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->n, 0, thread, args);
}
#endif
"""


class _Writer:
    """One function's body."""

    def __init__(self, rng: random.Random, name: str, callees: list[str], recursive: bool) -> None:
        self.rng, self.name, self.callees, self.recursive = rng, name, callees, recursive
        self.counters = 0
        self.labels: list[str] = []
        self.placed: set[str] = set()
        self.turns = 1
        self.loops: list[bool] = []  # a loop, or a switch in one

    # ---- expressions ----

    def value(self) -> str:
        rng = self.rng
        return rng.choice([*_VALUES, *_VALUES, "u", str(rng.randrange(100)), "m[a & 7]", "m[(b ^ c) & 7]", "own[3]"])

    def simple_condition(self) -> str:
        rng = self.rng
        return rng.choice([
            f"({self.value()} >> {rng.randrange(8)} & 1)", f"({self.value()} & {1 << rng.randrange(5)})",
            f"{self.value()} < {self.value()}", f"(int32_t){self.value()} < (int32_t){self.value()}",
            f"(int32_t){self.value()} >= {rng.randrange(-3, 30)}",
            f"{self.value()} % {rng.randrange(2, 9)} == {rng.randrange(3)}", f"{self.value()} == {self.value()}",
            f"{rng.choice(_FLOATS)} < {rng.choice([*_FLOATS, '0.25f'])}",
            f"u {rng.choice(['<', '>', '&'])} {rng.randrange(1, 60)}",
            f"{rng.choice(_PATHS)} & {1 << rng.randrange(3)}", f"{rng.choice(_PATHS)} & {1 << rng.randrange(3)}",
            f"p {rng.choice(['<', '==', '!='])} q", f"{rng.choice(_PATHS)} % 3 == {rng.randrange(3)}",
        ])

    def step(self) -> str:
        """An assignment to a value that tells paths."""
        rng = self.rng
        x, y = rng.sample(_PATHS, 2)
        return rng.choice([
            f"{x} = {rng.randrange(8)};", f"{x} += {rng.randrange(1, 4)};", f"{x} ^= {y};", f"{x} = {y} + 1;",
            f"{x} = u & 3;", f"{x}++;", f"w[{rng.randrange(3)}] = {x};", f"{x} = w[{rng.randrange(3)}];",
        ])

    def condition(self, depth: int = 2) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.5:
            return f"({self.simple_condition()})"
        operation = rng.choice(["&&", "||", "&&", "||", "^"])
        if operation == "^":
            return f"((!({self.simple_condition()})) ^ (!({self.simple_condition()})))"
        return f"({self.condition(depth - 1)} {operation} {self.condition(depth - 1)})"

    def assignment(self) -> str:
        rng = self.rng
        x, f, g = rng.choice(_VALUES), rng.choice(_FLOATS), rng.choice(_FLOATS)
        options = [
            f"{x} = {self.value()} {rng.choice('+-*^|&')} {self.value()};", f"{x} += {self.value()};",
            f"{x} = {self.condition(1)} ? {self.value()} : {self.value()};",
            f"{x} = {self.value()} / ({self.value()} | 1);", f"{x} = {self.value()} >> ({self.value()} & 31);",
            f"m[{self.value()} & 7] = {self.value()};", f"{f} = {g};", f"{f} = small({f} * 0.5f + {g});",
            f"{f} = (float)({self.value()} & 1023);", f"if ({self.condition(1)}) {f} = {g} + 1.25f;",
            f"{x} ^= whole({f});", f"own[{rng.randrange(8)}] = {self.value()};",
            f"own[{rng.randrange(8)}] += {self.value()};", f"{x} = own[{self.value()} & 7];",
            f"{x} += {rng.choice(_PATHS)};",
        ]
        if self.callees and self.turns < 20:
            callee = rng.choice(self.callees)
            options += [
                f"{x} = {callee}({self.value()}, {self.value()}, own, &{rng.choice(_VALUES)}, 2);",
                f"if ({self.condition(1)}) {x} += {callee}({x}, u, own, &{rng.choice(_VALUES)}, 1);",
                f"{rng.choice(_PATHS)} = {callee}({rng.choice(_PATHS)}, u, own, &{x}, 2) & 15;",
            ]
        return rng.choice(options)

    # ---- statements ----

    def counter(self) -> str:
        self.counters += 1
        return f"n{self.counters - 1}"

    def block(self, depth: int) -> list[str]:
        lines = []
        for _ in range(self.rng.randrange(1, 4)):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int) -> list[str]:
        rng = self.rng
        kinds = [self.plain, self.plain, self.leave]
        if depth:
            kinds += [self.choice, self.choice, self.choice, self.loop, self.loop, self.switch, self.label, self.jump]
        return rng.choice(kinds)(depth)

    def plain(self, depth: int) -> list[str]:
        return [self.step() if self.rng.random() < 0.4 else self.assignment()]

    def leave(self, depth: int) -> list[str]:
        rng = self.rng
        ways = ["break;", "continue;"] if self.loops and self.loops[-1] else []
        ways += ["break;"] if self.loops else []
        ways += [f"return {self.value()};"] if rng.random() < 0.4 else []
        if self.recursive and self.turns < 6 and rng.random() < 0.5:
            ways.append(f"{rng.choice(_VALUES)} += {self.name}(a + 1, b, own, &c, left - 1);")
        if not ways:
            return [self.assignment()]
        return [f"if ({self.condition()})", f"    {rng.choice(ways)}"]

    def choice(self, depth: int) -> list[str]:
        lines = [f"if ({self.condition()}) {{", *_deeper(self.block(depth - 1))]
        while self.rng.random() < 0.3:
            lines += [f"}} else if ({self.condition()}) {{", *_deeper(self.block(depth - 1))]
        if self.rng.random() < 0.5:
            lines += ["} else {", *_deeper(self.block(depth - 1))]
        return [*lines, "}"]

    def loop(self, depth: int) -> list[str]:
        rng = self.rng
        most = rng.randrange(2, 7)
        if self.turns * most > _MOST_TURNS:
            return self.choice(depth)
        n = self.counter()
        self.turns *= most
        self.loops.append(True)
        body = _deeper(self.block(depth - 1))
        self.loops.pop()
        self.turns //= most
        bound = rng.choice([
            f"{n} < {most}", f"{n} < ({self.value()} & {most})", f"({n} < {most} && {self.condition(1)})",
            f"{n} < ({rng.choice(_PATHS)} & {most})",
        ])
        before, behind = [], []
        if rng.random() < 0.4:
            # Only the number of turns makes it another one in each thread.
            x = rng.choice(_PATHS)
            before, body = [f"{x} = {rng.randrange(4)};"], [f"    {x} += {rng.randrange(1, 4)};", *body]
            # A store: the compiler would make a select of an assignment.
            behind = [f"if ({x} & {1 << rng.randrange(3)})", f"    own[{rng.randrange(8)}] += {self.value()};"]
        kind = rng.randrange(3)
        if kind == 0:
            return [*before, f"for ({n} = 0; {bound}; {n}++) {{", *body, "}", *behind]
        if kind == 1:
            return [*before, f"{n} = 0;", f"while ({n}++ < {most} && {self.condition(1)}) {{", *body, "}", *behind]
        return [*before, f"{n} = 0;", "do {", *body, f"}} while (++{n} < {most} && {self.condition(1)});", *behind]

    def switch(self, depth: int) -> list[str]:
        rng = self.rng
        lines = [f"switch ({rng.choice([self.value(), self.value(), 'p'])} & 7) {{"]
        self.loops.append(False)
        cases = rng.sample(range(8), rng.randrange(2, 6))
        default = rng.randrange(len(cases) + 1)
        for place, case in enumerate(cases):
            if place == default:
                lines += ["default:", *_deeper(self.block(depth - 1)), *(["    break;"] if rng.random() < 0.5 else [])]
            lines += [f"case {case}:", *_deeper(self.block(depth - 1))]
            lines += ["    break;"] if rng.random() < 0.6 else []
        self.loops.pop()
        return [*lines, "}"]

    def label(self, depth: int) -> list[str]:
        name = f"l{len(self.labels)}"
        self.labels.append(name)
        return [f"{name}:", self.assignment()]

    def jump(self, depth: int) -> list[str]:
        """A goto to some label of the function, forwards or back, each a few times at most."""
        n = self.counter()
        if self.turns > 12:
            return [self.assignment()]
        return [f"if ({n}++ < 2 && {self.condition(1)})", f"    goto LABEL{self.rng.randrange(1 << 30)};"]

    def function(self) -> str:
        depth = self.rng.choice((2, 3, 3, 4))
        lines = [*self.block(depth), *self.block(depth - 1)]
        if not self.labels:
            lines.append("l0:")
            lines.append("a += 3;")
            self.labels.append("l0")
        text = []
        for line in lines:
            if "goto LABEL" in line:
                head, number = line.split("LABEL")
                line = f"{head}{self.labels[int(number.rstrip(';')) % len(self.labels)]};"
            text.append(line)
        counters = "".join(f"    uint32_t n{number} = 0;\n" for number in range(self.counters))
        body = "\n".join(f"    {line}" for line in text)
        return (
            f"uint32_t {self.name}(uint32_t a, uint32_t b, uint32_t *own, uint32_t *out, uint32_t left)\n{{\n"
            "    uint32_t c = a * 2654435761u, d = b >> 3 ^ a, u = b;\n"
            "    uint32_t m[8] = {a, b, c, 1, 2, 3, 4, 5}, p = b & 7, q = 1, w[3] = {0, 1, 2};\n"
            f"    float f = (float)(a & 255), g = 0.5f;\n{counters}"
            "    if (left == 0)\n        return a + b;\n"
            f"{body}\n"
            "    *out ^= d + m[a & 7];\n    own[8] += whole(f) + whole(g);\n"
            "    own[10] += 64 * (8 * p + q) + w[0] + w[1] + w[2];\n"
            "    (void)c, (void)u;\n    return a ^ b ^ c ^ d;\n}\n\n"
        )


def _deeper(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def random_plain_program(rng: random.Random) -> str:
    """One program: some functions that call those before them, or themselves, and a thread function."""
    text, names = _HEAD, []
    for number in range(rng.randrange(3)):
        inline = rng.choice(["static ", "static __attribute__((noinline)) ", "__attribute__((noinline)) "])
        name = f"f{number}"
        text += inline + _Writer(rng, name, list(names), rng.random() < 0.4).function()
        names.append(name)
    body = _Writer(rng, "start", names, False).function()
    text += "static " + body
    text += (
        "static uint32_t body(uint32_t index, uint32_t u, uint32_t *own)\n{\n"
        "    uint32_t out = 0;\n    const uint32_t result = start(index, u, own, &out, 3);\n"
        "    own[9] = out;\n    return result;\n}\n"
    )
    return text + _TAIL % {"words": WORDS, "last": WORDS - 1}
