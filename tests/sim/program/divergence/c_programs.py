"""Small programs in C whose threads run ``thread``, and building them."""

import re

from tests.support.programs import built

LEVELS = ("-O2", "-O1", "-Os")
_HEAD = """#include "metronome.h"

typedef struct {
    volatile uint32_t *out;
    uint32_t n;
} arguments;

"""
_OPEN = """static void thread(const void *block)
{
    const arguments *const args = block;
    volatile uint32_t *const out = args->out;
    const uint32_t n = args->n, x = threadIdx.x;
    (void)out, (void)n, (void)x;
"""
_MAIN = """
int main(void)
{
    const uint32_t grid = 4, block = 4;
    return spawn_threads(1, &grid, &block, thread, kernel_arguments());
}
"""


def program(body, before=""):
    """The program whose threads run ``body``, with ``out``, ``n`` (the same in all) and ``x``, behind ``before``."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{_HEAD}{before.strip()}\n\n{_OPEN}{lines}}}\n{_MAIN}"


def marked_lines(text):
    """The numbers of the lines with HERE in them."""
    return [number for number, line in enumerate(text.splitlines(), 1) if re.search(r"\bHERE\b", line)]


def build(folder, text, level="-O2"):
    """Build it as ``own.c``."""
    return built(folder, text, "own", (level, "-w"))
