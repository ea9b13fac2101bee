"""What is written by hand beside the pass: SIMT_ONE_BY_ONE, SIMT_IF, the C library; and what needs nothing."""

import pytest

from metronome.hdl.presets import BASE, MID, TINY
from metronome.sim.program import divergence
from metronome.sim.program.kernels import prepare
from tests.riscv_kernels.iss_runs import RESULTS, run_program
from tests.support.tiers import slow_then_more, some_more

HEAD = """#include <stdio.h>
#include "metronome.h"

typedef struct {
    uint32_t *out, n;
} arguments;

static uint32_t count[64];
"""
MAIN = """
int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->n, 0, thread, args);
}
"""

#: Threads add up 0 + 1 + .. + i if i is odd, else 100, each warp in a cell of its own.
TURNS = """
static void thread(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    SIMT_ONE_BY_ONE {
        if (i & 1)
            for (uint32_t k = 0; k <= i; k++)
                count[simt_warp_id()] += k;
        else
            count[simt_warp_id()] += 100;
    } SIMT_ENDONE
    args->out[simt_warp_id()] = count[simt_warp_id()];
}
"""
#: The same in a function with SIMT_IF, which is left as it is.
BY_HAND = """
static void thread(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    SIMT_IF(i & 1) {
        SIMT_ONE_BY_ONE { count[simt_warp_id()] += i * (i + 1) / 2; } SIMT_ENDONE
    } SIMT_ELSE {
        SIMT_ONE_BY_ONE { count[simt_warp_id()] += 100; } SIMT_ENDONE
    } SIMT_ENDIF
    args->out[simt_warp_id()] = count[simt_warp_id()];
}
"""
#: The library's functions call memcpy and memset, which the pass has changed: its registers have to be left alone.
LIBRARY = """
static void thread(const void *block)
{
    const arguments *const args = block;
    char text[24];
    if (blockIdx.x & 1)
        snprintf(text, sizeof text, "%.2f", (double)(0.25f * (float)blockIdx.x));
    else
        snprintf(text, sizeof text, "<%5d>", (int)blockIdx.x);
    uint32_t sum = 0;
    for (const char *at = text; *at; at++)
        sum = 31 * sum + (uint8_t)*at;
    args->out[blockIdx.x] = sum;
}
"""

#: Only how often a lane goes round makes p another one.
ROUNDS = """
static void thread(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    uint32_t p = 1, n = 0;
    while (n++ < 6 && (i >> n & 1)) {
        count[i] += n;
        p += 3;
    }
    if (p & 2)
        count[i] += 100;
    args->out[i] = count[i];
}
"""


def run(tmp_path, thread, config, threads):
    source = tmp_path / "own.c"
    source.write_text(HEAD + thread + MAIN)
    done = run_program(source, config, (threads,))
    assert done.exit_code == 0
    assert not done.iss.stack.pointer.any()
    return done.words(RESULTS, 64).tolist()


@pytest.mark.parametrize("config", slow_then_more([TINY, BASE, MID], 1, 2), ids=["TINY", "BASE", "MID"])
@pytest.mark.parametrize("thread", [TURNS, BY_HAND], ids=["plain", "by hand"])
def test_lanes_one_by_one(tmp_path, thread, config):
    threads = 37
    found = run(tmp_path, thread, config, threads)
    assert sum(found[: config.warps]) == sum(i * (i + 1) // 2 if i & 1 else 100 for i in range(threads))


def test_what_only_the_number_of_turns_makes_different(tmp_path):
    wanted = []
    for i in range(40):
        turns = next(n for n in range(6) if not i >> (n + 1) & 1)
        wanted.append(turns * (turns + 1) // 2 + (100 if 1 + 3 * turns & 2 else 0))
    assert run(tmp_path, ROUNDS, BASE, 40)[:40] == wanted


@pytest.mark.parametrize("config", [TINY, BASE], ids=["TINY", "BASE"])
def test_the_library_with_lanes_apart(tmp_path, config):
    found = run(tmp_path, LIBRARY, config, 13)
    for i in range(13):
        text = f"{0.25 * i:.2f}" if i & 1 else f"<{i:5}>"
        wanted = 0
        for character in text.encode():
            wanted = (31 * wanted + character) & 0xFFFF_FFFF
        assert found[i] == wanted, text


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(["psort", "transpose", "vecadd", "saxpy", "sgemm"], 1))
def test_a_kernel_without_such_branches_stays_as_it_is(name, own_cache, monkeypatch):
    texts = []

    def recorded(before, **options):
        after = original(before, **options)
        texts.extend(zip(before, after, strict=True))
        return after

    original = divergence.insert_divergence
    monkeypatch.setattr(divergence, "insert_divergence", recorded)
    prepare(name)
    kernel, _ = texts
    assert kernel[0] == kernel[1] and "main:" in kernel[0]
