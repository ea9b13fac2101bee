"""Programs that go for the weak places of sim.program.divergence: all must do what one lane does without it."""

import functools
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metronome.hdl.presets import BASE, MID, PAPER, TINY
from metronome.sim.program import divergence
from metronome.sim.program.compiler import elf_cache as toolchain
from metronome.sim.program.divergence import insert_divergence
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from tests.riscv_kernels.iss_runs import RESULTS, finished
from tests.support.tiers import some_more

FOLDER = Path(__file__).parent / "plain_attacks"
ALONE = replace(TINY, warps=1, threads=1)
THREADS = 48


def sources():
    for path in sorted(FOLDER.glob("*.c")):
        yield pytest.param(path, id=path.stem)


def results(source, config, level, **how):
    elf = toolchain.build_elf([source], name=source.stem, flags=(level, "-w"), **{"simt": True} | how)
    launch = Launch(
        name=source.stem, image=load_elf(elf, config.memory_map), memory_map=config.memory_map,
        arguments=struct.pack("<2I", RESULTS, THREADS),
    )
    run = finished(launch, config)
    assert not run.iss.stack.pointer.any(), "a split was left without its join"
    return run.words(RESULTS, 4 * THREADS).reshape(-1, 4)


def check(source, machines, **how):
    expected = results(source, ALONE, "-O0", simt=False)
    assert len(np.unique(expected, axis=0)) > 5, "its threads all do the same"
    for config, level in machines:
        got = results(source, config, level, **how)
        wrong = np.flatnonzero((got != expected).any(axis=1))
        assert not len(wrong), f"{level} {config.threads} lanes: {wrong[:9]}: {got[wrong[0]]} for {expected[wrong[0]]}"


@pytest.mark.more
@pytest.mark.parametrize("source", some_more(sorted(FOLDER.glob("*.c")), 2), ids=lambda path: path.stem)
def test_attack(source):
    check(source, [(BASE, "-O2")])


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os"])
@pytest.mark.parametrize("source", list(sources()))
def test_attack_on_every_machine(source, level, request):
    if source.stem == "pointers" and level == "-O0":
        request.applymarker(pytest.mark.xfail(
            strict=True, raises=toolchain.ToolchainError,
            reason="refused: a pointer that is a variable in the frame",
        ))
    check(source, [(TINY, level), (MID, level), (PAPER, level)])


@pytest.mark.long
@pytest.mark.parametrize("source", list(sources()))
def test_attack_with_all_branches_divergent(source, tmp_path, monkeypatch):
    expected = results(source, ALONE, "-O0", simt=False)
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(divergence, "insert_divergence", functools.partial(insert_divergence, everything=True))
    for level in ("-O2", "-Os"):
        assert (results(source, MID, level) == expected).all()


@pytest.mark.long
@pytest.mark.parametrize("level", ["-O2", "-Os"])
def test_values_in_memory_in_a_deep_recursion(level):
    check(FOLDER / "special" / "deep_recursion.c", [(TINY, level), (MID, level)])


def large_function(path, lines):
    """Branches over more than 4 KiB: the assembler turns them into jumps."""
    body = "".join(
        f"            x = x * {3 + 2 * line}u + (x >> {1 + line % 30}); o[{line % 3}] ^= x;\n" for line in range(lines)
    )
    path.write_text(f"""#include "{FOLDER.parent}/plain/plain.h"
static void plain(uint32_t index, uint32_t *out)
{{
    volatile uint32_t *const o = out;
    uint32_t s = index, x = index;
    for (uint32_t i = 0; i < 3 + index % 4; i++) {{
        if (draw(&s) & 1) {{
{body}            if (x & 64)
                break;
        }} else if (x & 2) {{
{body}            if (x & 128)
                continue;
        }} else {{
            x ^= o[1];
        }}
        o[3]++;
    }}
}}
""")


@pytest.mark.long
def test_branches_over_much_code(tmp_path):
    large_function(tmp_path / "large.c", 400)
    check(tmp_path / "large.c", [(TINY, "-O2"), (MID, "-Os")])


@pytest.mark.more
@pytest.mark.parametrize("calls", [60, pytest.param(540, marks=pytest.mark.long)])
def test_many_calls_in_branches(calls, tmp_path):
    text = "".join(f"    if (x >> {place % 7} & 1)\n        x = f(x + {place}, out);\n" for place in range(calls))
    (tmp_path / "calls.c").write_text(f"""#include "{FOLDER.parent}/plain/plain.h"
static __attribute__((noinline)) uint32_t f(uint32_t x, volatile uint32_t *out)
{{
    if (x & 3)
        out[2]++;
    return x * 3 + 1;
}}
static void plain(uint32_t index, uint32_t *out)
{{
    uint32_t x = index;
{text}    out[0] = x;
}}
""")
    check(tmp_path / "calls.c", [(MID, "-Os")])
