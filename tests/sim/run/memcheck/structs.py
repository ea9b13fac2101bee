"""Random C structures of which not all is set, copied in every way that C has, and then used.

A program is a table of functions, one a case: each makes structures with padding, unions and bit-fields, sets some of
their members, moves them about, and adds up what it has set. A bad case then lets a member that nobody has set decide
something, in the line with ``/* decides-N */``. With -DHOST the same text is a program for valgrind (by hand).
"""

import random
from dataclasses import dataclass

HEAD = """\
#ifdef HOST
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MINE 1u
#define __syncthreads()
static uint32_t exchange[256];
#define SHARED exchange
#else
#include "metronome.h"
#include <string.h>
#define MINE (threadIdx.x)
#define SHARED ((uint32_t *)local_memory(4096))
#endif
#define HIDE(place) __asm__ volatile("" : : "r"(place) : "memory")
#define ALONE __attribute__((noinline)) static
typedef struct { uint32_t number, threads; uint32_t *out; } arguments;
static int table[4] = {3, 1, 4, 1};
static volatile int sinks[32];
#define sink sinks[MINE]
"""
TAIL = """\
static void (*const cases[])(const arguments *) = {%s};
#ifdef HOST
int main(int count, char **words)
{
    uint32_t *out = malloc(256);
    arguments args = {atoi(words[count - 1]), 4, out};
    memset(out, 0, 256);
    cases[args.number](&args);
    fwrite(out, 256, 1, stdout);
    return 0;
}
#else
static void thread(const void *block) { ((void (*)(const void *))cases[((const arguments *)block)->number])(block); }
int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t blocks = 1;
    return spawn_threads(1, &blocks, &args->threads, thread, args);
}
#endif
"""
_SCALARS = ("char", "signed char", "short", "int", "unsigned char", "unsigned short", "unsigned", "float", "long long")
WAYS = ("assign", "memcpy", "value", "return", "array", "sort", "global", "bytes", "other thread")
DECISIONS = ("branch", "address", "result", "loop", "float", "shift")


@dataclass(frozen=True)
class Leaf:
    """A member that has a value of its own."""

    path: str
    type: str
    union: int = 0  # members of one union have the same number


class Shape:
    """A structure type: its text and its leaves."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.leaves = [Leaf("key", "int")]
        self._unions = 0
        members = ["    int key;"]
        for number in range(rng.randrange(2, 6)):
            members += self._member(rng, f"m{number}", "", rng.randrange(5))
        self.text = f"typedef struct {{\n{chr(10).join(members)}\n}} {name};\n"

    def _member(self, rng: random.Random, name: str, prefix: str, kind: int) -> list[str]:
        path = prefix + name
        if kind == 0:
            widths = [rng.randrange(1, 13) for _ in range(rng.randrange(2, 5))]
            self.leaves += [Leaf(f"{path}b{at}", "unsigned") for at in range(len(widths))]
            return [f"    unsigned {name}b{at} : {width};" for at, width in enumerate(widths)]
        if kind == 1:
            count, scalar = rng.randrange(2, 4), rng.choice(("char", "short", "unsigned char"))
            self.leaves += [Leaf(f"{path}[{at}]", scalar) for at in range(count)]
            return [f"    {scalar} {name}[{count}];"]
        if kind == 2 and not prefix:
            inner = [line for at in range(2) for line in self._member(rng, f"n{at}", f"{path}.", rng.choice((0, 1, 4)))]
            return ["    struct {", *inner, f"    }} {name};"]
        if kind == 3:
            self._unions += 1
            parts = rng.sample(_SCALARS, 2)
            self.leaves += [Leaf(f"{path}.u{at}", scalar, self._unions) for at, scalar in enumerate(parts)]
            return ["    union {", *(f"    {scalar} u{at};" for at, scalar in enumerate(parts)), f"    }} {name};"]
        scalar = rng.choice(_SCALARS)
        self.leaves.append(Leaf(path, scalar))
        return [f"    {scalar} {name};"]


def _move(way: str, name: str, at: str) -> list[str]:
    """Statements that bring ``at`` (a structure called x) to itself by one way."""
    return {
        "assign": [f"{name} t = {at};", "HIDE(&t);", f"{at} = t;"],
        "memcpy": [f"{name} t;", f"memcpy(&t, &{at}, sizeof t);", "HIDE(&t);", f"memcpy(&{at}, &t, sizeof t);"],
        "value": [f"{at} = {name}_pass({at}, 3);"],
        "return": [f"{at} = {name}_take(&{at});"],
        "array": [f"{name} a[3];", f"a[MINE % 3] = {at};", "HIDE(a);", f"{at} = a[MINE % 3];"],
        "sort": [
            f"{name} a[3];", f"for (int i = 0; i < 3; i++) {{ a[i] = {at}; a[i].key = (int)((MINE + 5u * i) % 4u); }}",
            f"for (int i = 1; i < 3; i++) {{ {name} t = a[i]; int j = i - 1;",
            "while (j >= 0 && a[j].key > t.key) { a[j + 1] = a[j]; j--; }", "a[j + 1] = t; }",
            f"HIDE(a); {at} = a[1];",
        ],
        "global": [f"static {name} all[32];", f"all[MINE] = {at};", "HIDE(all);", f"{at} = all[MINE];"],
        "bytes": [
            f"unsigned char *from = (unsigned char *)&{at}, to[sizeof({name})]; HIDE(from);",
            f"for (unsigned i = 0; i < sizeof({name}); i++) to[i] = from[i];",
            f"HIDE(to); memcpy(&{at}, to, sizeof({name}));",
        ],
        "other thread": [
            f"enum {{ EACH = (sizeof({name}) + 7) / 8 * 8 / 4 }};",
            f"memcpy(SHARED + MINE * EACH, &{at}, sizeof({name}));", "__syncthreads();",
            f"memcpy(&{at}, SHARED + MINE * EACH, sizeof({name}));", "__syncthreads();",
        ],
    }[way]


def _use(decision: str, what: str) -> str:
    """A statement that is decided by the expression ``what``."""
    return {
        "branch": f"if ({what} == 0) sink = 1;",
        "address": f"sink = table[(unsigned){what} & 3];",
        "result": f"args->out[MINE] = (uint32_t){what};",
        "loop": f"for (unsigned i = 0; i < ((unsigned){what} & 3); i++) sink = 2;",
        "float": f"if ((float){what} * 2.0f != 0.0f) sink = 3;",
        "shift": f"args->out[MINE] = 1u << ((unsigned){what} & 7);",
    }[decision]


def _set(rng: random.Random, leaves: list[Leaf]) -> tuple[list[Leaf], list[Leaf]]:
    """The members that are set, and others that nobody sets; of a union at most one is either."""
    chosen = [leaf for leaf in leaves if leaf.path == "key" or rng.random() < 0.5]
    seen: set[int] = set()
    apart = []
    for leaf in chosen:
        if not leaf.union or leaf.union not in seen:
            apart.append(leaf)
            seen.add(leaf.union)
    return apart, [leaf for leaf in leaves if leaf not in chosen and not (leaf.union and leaf.union in seen)]


def case(rng: random.Random, number: int, *, bad: bool) -> tuple[str, str, bool]:
    """The text of case ``number``, what it does in words, and whether it is bad (if it has something unset)."""
    name = f"s{number}"
    shape = Shape(rng, name)
    ways = [rng.choice(WAYS) for _ in range(rng.randrange(2, 5))]
    decision = rng.choice(DECISIONS)
    written, unset = _set(rng, shape.leaves)
    bad = bad and bool(unset)
    body = [f"    {name} x;", "    HIDE(&x);"]
    body += [f"    x.{leaf.path} = ({leaf.type})(args->number + MINE + {at});" for at, leaf in enumerate(written)]
    for way in ways:
        body += ["    {", *("        " + line for line in _move(way, name, "x")), "    }", "    HIDE(&x);"]
    total = " + ".join(f"(int)x.{leaf.path}" for leaf in written)
    body += [f"    args->out[MINE] = (uint32_t)({total});", "    if (args->out[MINE] == 77) sink = 4;"]
    if bad:
        body.append(f"    {_use(decision, 'x.' + rng.choice(unset).path)} /* decides-{number} */")
    text = (
        f"{shape.text}ALONE {name} {name}_pass({name} x, int add) {{ HIDE(&x); x.key += add - 3; return x; }}\n"
        f"ALONE {name} {name}_take(const {name} *x) {{ HIDE(x); return *x; }}\n"
        f"ALONE void case_{number}(const arguments *args)\n{{\n" + "\n".join(body) + "\n}\n"
    )
    return text, f"{', '.join(ways)}; {decision if bad else 'nothing'} decided", bad


def program(seed: int, count: int) -> tuple[str, list[str], list[bool]]:
    """A source with ``count`` cases, every other one bad: the text, each case in words, and whether it is bad."""
    rng = random.Random(f"structures/{seed}")
    made = [case(rng, number, bad=number % 2 == 1) for number in range(count)]
    texts, words, bad = zip(*made, strict=True)
    return HEAD + "".join(texts) + TAIL % ", ".join(f"case_{number}" for number in range(count)), [*words], [*bad]
