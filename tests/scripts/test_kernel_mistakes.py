"""Forty mistakes in a user's C file: a line with file and line, the right exit status, and nothing left behind."""

import os
from pathlib import Path

import pytest

from tests.support.builds import on
from tests.support.tiers import more_but

#: Line 1 of every source here.
HEADER = '#include "metronome.h"\n'

#: Name -> the lines after the first, the line of the mistake, and a word of the reason.
REFUSED = {
    "no semicolon": ("int main(void)\n{\n    int a = 1\n    return a;\n}", 4, "';'"),
    "unknown name": ("int main(void) { return nothing; }", 2, "nothing"),
    "unknown type": ("int main(void)\n{\n    word_t a = 1;\n    return a;\n}", 4, "word_t"),
    "missing header": ('#include "mine.h"\nint main(void) { return 0; }', 2, "mine.h"),
    "brace left open": ("int main(void)\n{\n    if (1) {\n    return 0;\n}\n", 6, "'}'"),
    "brace too many": ("int main(void) { return 0; }\n}", 3, "brace"),
    "few arguments": ("int main(void) { return spawn_threads(1, 0); }", 2, "too few arguments"),
    "unknown function": ("int main(void)\n{\n    launch();\n    return 0;\n}", 4, "launch"),
    "const": ("int main(void)\n{\n    const int a = 1;\n    a = 2;\n    return a;\n}", 5, "const"),
    "no pointer": ("int main(void)\n{\n    int a = 1;\n    return *a;\n}", 5, "indirection"),
    "value of void": ("void f(void) { return 1; }\nint main(void) { return 0; }", 2, "should not return a value"),
    "twice": ("int main(void) { return 0; }\nint main(void) { return 1; }", 3, "redefinition"),
    "duplicate case": ("int main(void)\n{\n    switch (1) {\n    case 1:\n    case 1:\n        return 0;\n    }\n}", 6,
                       "duplicate case"),
    "number as pointer": ("int main(void)\n{\n    int *a = 5;\n    return *a;\n}", 4, "int"),
    "thread function": (
        "static void f(int a) { (void)a; }\nint main(void) { return spawn_threads(1, 0, 0, f, 0); }", 3,
        "incompatible function pointer",
    ),
    "break outside": ("int main(void)\n{\n    break;\n}", 4, "'break'"),
    "error directive": ('#error "choose a size"\nint main(void) { return 0; }', 2, "choose a size"),
    "open string": ('int main(void)\n{\n    console_puts("a);\n    return 0;\n}', 4, ""),
    "open condition": ("#if 1\nint main(void) { return 0; }", 2, "unterminated"),
    "unknown instruction": ('int main(void)\n{\n    __asm__ volatile("warp 3");\n    return 0;\n}', 4, "instruction"),
    "SIMT_ENDIF too many": ("int main(void)\n{\n    SIMT_IF(1) {\n    } SIMT_ENDIF SIMT_ENDIF\n    return 0;\n}", 5,
                            "SIMT_ENDIF or SIMT_ENDWHILE too many?"),
    "SIMT_IF without parentheses": (
        "int main(void)\n{\n    SIMT_IF 1 {\n    } SIMT_ENDIF\n    return 0;\n}", 4, ("write its condition in "
                                                                                     "parentheses")),
    "no ENDIF before a function": (
        "void f(void)\n{\n    SIMT_IF(1) {\n}\nint main(void)\n{\n    return 0;\n}", 7, ("does each block before it "
                                                                                        "have its SIMT_ENDIF or "
                                                                                        "SIMT_ENDWHILE")),
    "printf without its header": ('int main(void)\n{\n    printf("a");\n    return 0;\n}', 4, "#include <stdio.h>"),
    "expf without its header": ("int main(void)\n{\n    return (int)expf(1.0f);\n}", 4, "#include <math.h>"),
    "TYPE without a host.py": ("int main(void)\n{\n    TYPE a = 0;\n    return a;\n}", 4, "host.py"),
    "a header of a system": ("#include <stdlib.h>\nint main(void) { return 0; }", 2, "no operating system"),
    "SIMT_IF left open": ("int main(void)\n{\n    SIMT_IF(1) {\n    }\n    return 0;\n}", 7, ""),
    "label": ("int main(void)\n{\n    goto end;\n}", 4, "end"),
    "negative size": ("int a[-1];\nint main(void) { return a[0]; }", 2, "negative"),
    "static assertion": ('_Static_assert(sizeof(long) == 8, "no");\nint main(void) { return 0; }', 2, "== 8': no "),
    "C++": ("class Kernel {};\nint main(void) { return 0; }", 2, "class"),
    "member": ("int main(void)\n{\n    return (int)blockIdx.w;\n}", 4, "'w'"),
    "not in the library": (
        "void *fopen(const char *, const char *);\nint main(void)\n{\n    return fopen(0, 0) != 0;\n}", 5,
        "undefined symbol: fopen",
    ),
}

#: The linker's refusals that no line is to blame for.
UNLINKED = {
    "no main": ("static int f(void) { return 0; }\nint (*keep)(void) = f;", "no source has a function main()"),
    "too large": ("char a[0x7fff0000];\nint main(void) { return a[5]; }", "is outside memory"),
}

DIVERGENT = """
static volatile uint32_t a;

static void thread(const void *unused)
{
    (void)unused;
    if (simt_thread_id() & 1)
        a++;
}

int main(void)
{
    const uint32_t n = 4;
    return spawn_threads(1, &n, 0, thread, 0);
}
"""

#: Name -> the lines after the first, options, the exit status, and what is said.
ENDED = {
    "exit code": ("int main(void) { return 3; }", (), 1, "exit code 3"),
    "negative": ("int main(void) { return -1; }", (), 1, "exit code -1 (0xffffffff, the word at 0x88): spawn"),
    "exit": ("int main(void)\n{\n    exit(9);\n}", (), 1, "exit code 9"),
    "divergence": (DIVERGENT, ("--no-simt",), 3, "divergent branch, warp 0"),
    "null": ("int main(void)\n{\n    *(volatile int *)0 = 1;\n    return 0;\n}", (), 3, "store access, warp 0"),
    "outside": ("int main(void)\n{\n    return *(volatile int *)0xfffffff0;\n}", (), 3, "load access, warp 0"),
    "misaligned": ("int main(void)\n{\n    return *(volatile int *)0x20001;\n}", (), 3, "load misaligned, warp 0"),
    "illegal": ('int main(void)\n{\n    __asm__ volatile(".word 0xffffffff");\n    return 0;\n}', (), 3,
                "illegal instruction, warp 0"),
    "call of nothing": ("int main(void)\n{\n    int (*volatile f)(void) = 0;\n    return f();\n}", (), 3,
                        "fetch access, warp 0"),
    "breakpoint": ("int main(void)\n{\n    __builtin_trap();\n}", (), 3, "warp 0"),
    "environment call": ('int main(void)\n{\n    __asm__ volatile("ecall");\n    return 0;\n}', (), 3,
                         "environment call, warp 0"),
    "unknown CSR": ('int main(void)\n{\n    __asm__ volatile("csrr a0, 0x123");\n    return 0;\n}', (), 3,
                    "unknown csr, warp 0"),
    "for ever": ("int main(void)\n{\n    for (volatile int a = 0;; a++)\n        ;\n}", ("--max-cycles", "3000"), 4,
                 "not ended after 3000 cycles"),
    "barrier alone": ("int main(void)\n{\n    simt_bar(0, 2);\n    return 0;\n}", ("--max-cycles", "3000"), 4, "barr"),
}


@pytest.fixture
def write(call, tmp_path, monkeypatch):
    """Write the file in an empty folder, which is the current one, and return its name."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def write(text, name="my kernel.c"):
        Path(name).write_text(HEADER + text)
        return name

    return write


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


#: Of those that do not compile: what the compiler says, the preprocessor, the assembler, and every hint of ours.
OFTEN = ("no semicolon", "missing header", "brace left open", "unknown instruction", "SIMT_ENDIF too many",
         "SIMT_IF without parentheses", "no ENDIF before a function", "printf without its header",
         "expf without its header", "TYPE without a host.py", "a header of a system", "static assertion")


def test_there_are_forty():
    assert len(REFUSED) + len(UNLINKED) + len(ENDED) >= 40


@pytest.mark.parametrize("name", more_but(REFUSED, OFTEN))
def test_a_source_that_does_not_compile(call, write, fresh_cache, name):
    text, line, word = REFUSED[name]
    file = write(text)
    status, out, err = call("run", file, "--preset", "TINY")
    first, *rest = err.splitlines()
    assert (status, out) == (2, "")
    assert first.startswith(f"metronome: {file}:{line}: ") and word in first
    assert " lines follow)" in first
    assert any("error: " in each for each in rest), "the compiler's or the linker's own lines"
    assert os.listdir() == [file]
    # What all programs have in common is whole before the program is linked, and stays.
    assert {path.name for path in fresh_cache.glob("kernels/*/*")} <= {"library.a", "part.o", "part.s"}


@pytest.mark.parametrize("name", UNLINKED)
@pytest.mark.slow
def test_a_source_that_does_not_link(call, write, name):
    text, word = UNLINKED[name]
    file = write(text, "own.c")
    status, out, err = call("run", file, "--preset", "TINY")
    first = err.splitlines()[0]
    assert (status, out) == (2, "")
    assert first.startswith("metronome: ") and "own.elf" in first and word in first
    assert os.listdir() == [file]


#: The linker's refusals that a line is to blame for.
UNLINKED_LINES = {
    "not in the library": REFUSED["not in the library"],
    "double": ("int main(void)\n{\n    volatile double a = 2;\n    return a * a > 3;\n}", 5, "not supported: arith"),
    "twice": ("int main(void) { return 0; }\nint number;", 3, "duplicate symbol: number"),
}


@pytest.mark.parametrize("name", UNLINKED_LINES)
@pytest.mark.slow
def test_the_linker_names_the_folder_as_the_compiler_does(call, write, name):
    text, line, word = UNLINKED_LINES[name]
    (Path("k") / "my folder").mkdir(parents=True)
    file = write(text, "k/my folder/kernel.c")
    other = write("int number;", "k/other.c")
    status, _, err = call("build", file, other, "-o", "out.elf")
    first = err.splitlines()[0]
    assert (status, first.partition(": ")[2].partition(": ")[0]) == (2, f"{file}:{line}")
    assert word in first
    assert call("build", file)[2].startswith(f"metronome: {file}:{line}: ") or name == "twice"


@pytest.mark.parametrize("arguments", [
    ("missing.c",), ("own.cpp",), ("own.txt",), ("folder.c",), ("./nothing",), ("empty",),
    ("own.c", "--cflags", "-fno-such"),
    ("own.c", "--cflags", "'-O2"), ("own.c", "--size", "4"), ("own.c", "--type", "int32"),
    ("own.c", "--arg", "none.bin"),
    ("own.c", "--dump", "nothing=out"), ("own.c", "--json", "own.c"), ("own.c", "--dump", "main=own.c"),
    ("own.c", "--elf", "own.c"), ("own.c", "--cflags", "-include none.h"),
    ("own.c", "--cflags", "-march=rv32imfc_zicond_zicsr_zifencei"),
])
def test_bad_use_of_a_source(call, write, arguments):
    for name in ("own.c", "own.cpp", "own.txt"):
        write("int main(void) { return 0; }", name)
    for name in ("folder.c", "empty"):
        Path(name).mkdir()
    before = sorted(os.listdir())
    status, out, err = call("run", *arguments, "--preset", "TINY")
    first = err.splitlines()[0]
    assert (status, out) == (2, "")
    assert first.startswith("metronome: ")
    assert len(err.splitlines()) == 1 or "lines follow)" in first or "--cflags" in first
    assert sorted(os.listdir()) == before
    assert Path("own.c").read_text().startswith(HEADER)


#: One of each exit status, and what a compiler makes of undefined behaviour; the other causes of a fault are alike.
QUICK = ("exit code", "divergence", "null", "breakpoint", "for ever", "barrier alone")


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("name", more_but(ENDED, QUICK))
def test_a_source_that_ends_badly(call, write, name):
    text, options, expected, word = ENDED[name]
    file = write(text, "own.c")
    status, _, err = call("run", file, "--preset", "TINY", *options)
    lines = err.splitlines()
    assert status == expected
    assert all(line.startswith("metronome: ") for line in lines)
    assert word in err
    if expected == 3 and name != "call of nothing":
        assert " at own.c:" in lines[0]
    assert os.listdir() == [file]
