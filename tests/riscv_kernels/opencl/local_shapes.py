"""Ways in which the threads of a group share an object that a compiler could take for one thread's own.

A shape has a declaration, statements, and the ``r`` of every thread as a function of the values ``v`` of all threads.
``@`` stands for a unique name. ``LOCAL`` declares a shared object, ``WAIT`` is a barrier, and threads disagree about
the condition of ``IF``. ``l`` is the thread's number, ``n`` the number of threads, ``v`` the thread's value.
"""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["FUNCTIONS", "SHAPES", "Shape", "body", "expected"]


@dataclass(frozen=True)
class Shape:
    declaration: str
    statements: str
    #: The values of all threads -> what each has found.
    result: Callable[[list[int]], list[int]]


def _last(v: list[int]) -> list[int]:
    return [v[-1]] * len(v)


def _next(v: list[int]) -> list[int]:
    return v[1:] + v[:1]


#: Helpers: the barrier and the object are in different functions.
FUNCTIONS = """
typedef struct { int a; int b[3]; char c; } record;
typedef LOCAL_POINTER int *pointer;
typedef union { int word; short part[2]; } word_or_parts;
static void wait_here(void) { WAIT; }
static __attribute__((noinline)) void wait_there(void) { WAIT; }
static __attribute__((noinline)) void keep(LOCAL_POINTER int *place, int value) { *place = value; }
static int taken(LOCAL_POINTER const int *place) { wait_there(); return *place; }
"""

SHAPES = {
    "scalar": Shape("LOCAL int @;", "@ = 0; WAIT; IF(l == n - 1, @ = v;) WAIT; r = @;", _last),
    "scalar of a byte": Shape(
        "LOCAL uchar @;", "@ = 0; WAIT; IF(l == n - 1, @ = 77;) WAIT; r = @;", lambda v: [77] * len(v)
    ),
    "scalar of 64 bits": Shape(
        "LOCAL ulong @;", "@ = 1; WAIT; IF(l == n - 1, @ = (ulong)v << 32;) WAIT; r = @ >> 32;", _last
    ),
    "float": Shape("LOCAL float @;", "@ = 0; WAIT; IF(l == n - 1, @ = v;) WAIT; r = @;", _last),
    "pointer": Shape(
        "LOCAL pointer @; LOCAL int @to[2];",
        "@ = @to; @to[0] = 3; @to[1] = 0; WAIT; IF(l == n - 1, @ = @to + 1; @to[1] = v;) WAIT; r = *@;",
        _last,
    ),
    "volatile": Shape("LOCAL volatile int @;", "@ = 0; WAIT; IF(l == n - 1, @ = v;) WAIT; r = @;", _last),
    "element": Shape("LOCAL int @[3];", "@[1] = 0; WAIT; IF(l == n - 1, @[1] = v;) WAIT; r = @[1];", _last),
    "row": Shape(
        "LOCAL int @[2][16];",
        "@[0][l] = v; @[1][l] = 0; WAIT; @[1][(l + 1) % n] = @[0][l] + 1; WAIT; r = @[1][l] - 1;",
        lambda v: v[-1:] + v[:-1],
    ),
    "member": Shape(
        "LOCAL record @;",
        "@.a = 0; @.b[2] = 1; WAIT; IF(l == n - 1, @.a = v; @.b[2] = 2;) WAIT; r = @.a * @.b[2];",
        lambda v: [2 * v[-1]] * len(v),
    ),
    "array of structures": Shape(
        "LOCAL record @[2];", "@[1].c = 5; WAIT; IF(l == n - 1, @[1].c = 6;) WAIT; r = @[1].c;", lambda v: [6] * len(v)
    ),
    "structure as a whole": Shape(
        "LOCAL record @;",
        "record mine = {0, {0, 0, 0}, 1}; @ = mine; WAIT; mine.b[1] = v; IF(l == n - 1, @ = mine;) WAIT; r = @.b[1];",
        _last,
    ),
    "union": Shape(
        "LOCAL word_or_parts @;",
        "@.word = 0; WAIT; IF(l == n - 1, @.part[1] = 9;) WAIT; r = @.word >> 16;",
        lambda v: [9] * len(v),
    ),
    "two objects": Shape(
        "LOCAL int @a; LOCAL int @b;",
        "@a = 1; @b = 2; WAIT; IF(l == n - 1, @a = v;) WAIT; IF(l == 0, @b = @a + 1;) WAIT; r = @a + @b;",
        lambda v: [2 * v[-1] + 1] * len(v),
    ),
    "stored for others": Shape(
        "LOCAL int @; LOCAL int @from;",
        "@from = 0; @ = 0; WAIT; IF(l == 0, @from = v;) WAIT; IF(l == n - 1, @ = @from;) WAIT; @from = 0; r = @;",
        lambda v: [v[0]] * len(v),
    ),
    "forwarded": Shape(
        "LOCAL int @;",
        "IF(l == 0, @ = 1;) WAIT; r = @; WAIT; IF(l == n - 1, @ = v;) WAIT; r += @;",
        lambda v: [v[-1] + 1] * len(v),
    ),
    "twice the same": Shape(
        "LOCAL int @;",
        "@ = 5; WAIT; r = @; WAIT; IF(l == n - 1, @ = v;) WAIT; r += @; WAIT; @ = 5; WAIT; r += @;",
        lambda v: [v[-1] + 10] * len(v),
    ),
    "sum in a loop": Shape(
        "LOCAL int @;",
        "@ = 0; WAIT; for (int k = 0; k < n; k++) { IF(l == n - 1, @ += v;) WAIT; } r = @;",
        lambda v: [len(v) * v[-1]] * len(v),
    ),
    "handed on in a loop": Shape(
        "LOCAL int @;",
        "r = 0; for (int k = 0; k < n; k++) { @ = k; WAIT; IF(l == n - 1, @ = v;) WAIT; r += @; WAIT; }",
        lambda v: [len(v) * v[-1]] * len(v),
    ),
    "array in a loop": Shape(
        "LOCAL int @[16];",
        "@[l] = v; WAIT; for (int k = 1; k < n; k <<= 1) { const int other = "
        "@[(l + k) % n]; WAIT; @[l] += other; WAIT; } r = @[l];",
        lambda v: [sum(v[(i + k) % len(v)] for k in range(1 << (len(v) - 1).bit_length())) for i in range(len(v))],
    ),
    "bound of a loop": Shape(
        "LOCAL int @;",
        "@ = 0; WAIT; IF(l == n - 1, @ = 3;) WAIT; r = 0; for (int k = 0; k < @; k++) r += v;",
        lambda v: [3 * one for one in v],
    ),
    "pointer to it": Shape(
        "LOCAL int @;", "LOCAL_POINTER int *const at = &@; *at = 0; WAIT; IF(l == n - 1, @ = v;) WAIT; r = *at;", _last
    ),
    "pointer to one of two": Shape(
        "LOCAL int @a; LOCAL int @b;",
        "LOCAL_POINTER int *const at = n > 1 ? &@a : &@b; @a = 0; @b = 1; WAIT; IF(l == n - 1, *at = v;) WAIT; r = @a;",
        _last,
    ),
    "pointer into an array": Shape(
        "LOCAL int @[16];", "LOCAL_POINTER int *at = @ + l; *at = v; WAIT; at = @ + (l + 1) % n; r = *at;", _next
    ),
    "stored by a helper": Shape("LOCAL int @;", "@ = 0; WAIT; IF(l == n - 1, keep(&@, v);) WAIT; r = @;", _last),
    "read by a helper": Shape("LOCAL int @;", "@ = 0; WAIT; IF(l == n - 1, @ = v;) r = taken(&@);", _last),
    "barrier in a helper": Shape(
        "LOCAL int @;", "@ = 0; wait_here(); IF(l == n - 1, @ = v;) wait_here(); r = @;", _last
    ),
    "barrier in a function": Shape(
        "LOCAL int @;", "@ = 0; wait_there(); IF(l == n - 1, @ = v;) wait_there(); r = @;", _last
    ),
}


def body(names: list[str]) -> tuple[str, str]:
    """Declarations, and statements that store to ``out[n * k + l]`` what shape number k has found."""
    declarations, statements = [], []
    for number, name in enumerate(names):
        shape = SHAPES[name]
        declarations.append(shape.declaration.replace("@", f"x{number}_"))
        statements.append(f"{{ int r; {shape.statements.replace('@', f'x{number}_')} out[n * {number} + l] = r; }}")
    return "\n".join(declarations), "\n".join(statements)


def expected(names: list[str], values: list[int]) -> list[int]:
    """All of ``out`` after :func:`body`."""
    return [one for name in names for one in SHAPES[name].result(values)]
