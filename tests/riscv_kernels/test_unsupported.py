"""What the machine or the macros cannot do is refused when a program is built: what, and in which line."""

import re

import pytest

from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf
from metronome.sim.program.compiler.refusals import link_failure
from tests.support.tiers import more_but

HEAD = '#include "metronome.h"\n'
MAIN = "int main(void) { return 0; }\n"


def message(tmp_path, *lines, head=HEAD):
    """The refusal of a program whose third line (with head) is the first of ``lines``."""
    source = tmp_path / "own.c"
    source.write_text(head + MAIN + "\n".join(lines) + "\n")
    with pytest.raises(ToolchainError) as refusal:
        build_elf([source], name="own")
    return str(refusal.value)


JUMPS = {
    "return": "int f(int x) { SIMT_IF(x) { return 1; } SIMT_ENDIF return x; }",
    "return behind else": "int f(int x) { SIMT_IF(x) { x = 2; } SIMT_ELSE { return 1; } SIMT_ENDIF return x; }",
    "return in a loop": "int f(int x) { SIMT_WHILE(x) { if (x == 3) return 1; x--; } SIMT_ENDWHILE return x; }",
    "break": "int f(int x) { for (;;) { SIMT_IF(x) { break; } SIMT_ENDIF } return x; }",
    "break out of SIMT_WHILE": "int f(int x) { SIMT_WHILE(x) { x--; if (x == 3) break; } SIMT_ENDWHILE return x; }",
    "continue": "int f(int x) { while (x) { SIMT_IF(x & 1) { continue; } SIMT_ENDIF x--; } return x; }",
    "continue in SIMT_WHILE": "int f(int x) { SIMT_WHILE(x) { if (x-- == 3) continue; x--; } SIMT_ENDWHILE return x; }",
    "goto": "int f(int x) { SIMT_IF(x) { goto out; } SIMT_ENDIF x++; out: return x; }",
    "goto into": "int f(int x) { if (x) goto in; SIMT_IF(x) { x++; in: x--; } SIMT_ENDIF return x; }",
    "one by one": "int f(int x) { SIMT_ONE_BY_ONE { return x; } SIMT_ENDONE return x + 1; }",
    "nested": "int f(int x) { SIMT_IF(x) { SIMT_IF(x & 2) { return 1; } SIMT_ENDIF } SIMT_ENDIF return x; }",
}


@pytest.mark.slow
@pytest.mark.parametrize("line", JUMPS.values(), ids=JUMPS)
def test_no_jump_leaves_a_divergent_block(tmp_path, line):
    first, *_ = message(tmp_path, line).splitlines()
    assert re.match(rf"{tmp_path}/own\.c:3: not supported: return, break, continue or goto", first)


@pytest.mark.slow
def test_jumps_inside_a_block_are_allowed(tmp_path):
    source = tmp_path / "own.c"
    source.write_text(HEAD + """
int f(int x)
{
    SIMT_IF(x) {
        for (int i = 0; i < 5; i++) {
            if (i == 1)
                continue;
            if (i == 3)
                break;
            x += i;
        }
        if (simt_num_threads() == 2)
            goto end;
        x++;
        end: x--;
    } SIMT_ENDIF
    return x;
}
""" + MAIN)
    assert build_elf([source], name="own").exists()


UNSUPPORTED = {
    "double": ("double f(double a, double b) { return a / b; }", "arithmetic in double"),
    "double from float": ("int f(float x) { return x < 0.1; }", "arithmetic in double"),
    "long double": ("long double f(long double a) { return a * a; }", "arithmetic in long double"),
    "atomic": ("int f(int *p) { return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }", "atomic operations"),
    "sync": ("int f(int *p) { return __sync_fetch_and_add(p, 1); }", "atomic operations"),
    "_Atomic": ("int f(_Atomic int *p) { return (*p)++; }", "atomic operations"),
    "heap": ("void *malloc(unsigned); void *f(void) { return malloc(4); }", "a heap"),
    "stdatomic.h": ("#include <stdatomic.h>", "atomic operations"),
    "exp": ("#include <math.h>\n__attribute__((used)) float f(float x) { return exp(x); }", "double; use expf"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "what"), more_but(UNSUPPORTED.values(), list(UNSUPPORTED.values())[:3]), ids=UNSUPPORTED)
def test_unsupported(tmp_path, line, what):
    text = message(tmp_path, line)
    assert f"not supported: {what}" in text
    place = r"own\.c:4" if "\n" in line else r"own\.c:3"
    assert re.search(place, text), text


@pytest.mark.slow
def test_a_misspelt_name_is_no_unsupported_one(tmp_path):
    text = message(tmp_path, "int foo(int); int f(int x) { return foo(x); }")
    assert "undefined symbol: foo" in text and "not supported" not in text


def test_each_reason_is_given_once():
    line = "ld.lld: error: undefined symbol: __{}df3\n>>> referenced by own.c:{}"
    text = line.format("mul", 7) + "\n" + line.format("add", 9)
    assert link_failure("own.elf", text).splitlines()[0].startswith("own.c:7: not supported: arithmetic in double")
    assert link_failure("own.elf", text).count("not supported") == 1
    assert "not supported" not in link_failure("own.elf", "ld.lld: error: something else")
