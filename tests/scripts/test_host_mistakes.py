"""Mistakes in a user's host.py: a line with file and line, exit status 2, and nothing left behind."""

import contextlib
import os
from pathlib import Path

import pytest

from metronome.riscv_kernels import skeleton
from metronome.scripts.cli import main
from metronome.scripts.process.backend import Backend
from tests.support.builds import on
from tests.support.tiers import some_more

SKELETON = Path(skeleton.__file__).parent
HOST = (SKELETON / "host.py").read_text()


def line_of(text, part):
    return 1 + text[: text.index(part)].count("\n")


#: Name -> a text of the skeleton, what stands there instead, and a word of the line. The mistake is in that place.
AT_A_LINE = {
    "syntax": ("TYPES = (", "TYPES = ((", "SyntaxError"),
    "indentation": ("    rng = np.random", "      rng = np.random", "IndentationError"),
    "missing module": ("import struct", "import struck", "ModuleNotFoundError: No module named 'struck'"),
    "missing import": ("import numpy as np\n", "import numpy\n", "NameError: name 'np'"),
    "unknown name": ("expected = reference(factor, values)", "expected = refrence(factor, values)", "NameError"),
    "not in the module": ("Buffers, Problem", "Bufers, Problem", "ImportError"),
    "division": ("DEFAULT_SIZE = 64", "DEFAULT_SIZE = 64 // 0", "ZeroDivisionError"),
    "pack": ('"<4I", size', '"<5I", size', "struct.error"),
    "pack a float": ('size, value_word(factor[0], dtype)', 'size, 0.5', "struct.error"),
    "arguments of place": ('buffers.place("in", values)', 'buffers.place(values)', "TypeError"),
    "shape": ("return factor * values + numbers", "return factor * values + numbers[1:]", "ValueError"),
    "no elements": ('place_output("out", size)', 'place_output("out", 0)', "buffer 'out' has no elements"),
    "fewer than none": ('place_output("out", size)', 'place_output("out", (2, -size))', "is not a number of elements"),
    "dtype of a buffer": ('place_output("out", size)', 'place_output("out", "size")', "Error"),
    "argument of the Problem": ("buffers=buffers.placed", "bufers=buffers.placed", "TypeError"),
    "exit": ("DEFAULT_SIZE = 64", "raise SystemExit(3)", "SystemExit"),
    "attribute": ("np.random.default_rng", "np.random.default_generator", "AttributeError"),
    "bare assertion": ("    rng = np.random", "    assert size <  2\n    rng = np.random",
                       "AssertionError: assert size < 2"),
    "make of another kind": ("def make(dtype: str, size: int, seed: int, config: SmConfig)", "def make(dtype, size)",
                             "make must be make(dtype, size, seed, config), not make(dtype, size)"),
    "parameters of make in another order": (
        "def make(dtype: str, size: int, seed: int,", "def make(size: int, dtype: str, seed: int,",
        "make must be make(dtype, size, seed, config), not make(size, dtype, seed, config)"),
    "check without read": ('check=lambda read: compare(read,', 'check=lambda: compare(read,',
                           "check of the Problem must be check(read), not check()"),
}

#: Name -> a text of the skeleton, what stands there instead, and the line that is expected after the file's name.
OF_A_PART = {
    "no make": ("def make(", "def made(", "make is missing: it must be a function make("),
    "no ABOUT": ("ABOUT =", "ABOVE =", "ABOUT is missing: it must be a line of text"),
    "TYPES is no tuple": ('TYPES = ("int32", "float32")', 'TYPES = ("int32")', "TYPES must be a tuple of "),
    "unknown type": ('TYPES = ("int32", "float32")', 'TYPES = ("int64",)', "TYPES must be a tuple of 'int32' and "),
    "size 0": ("DEFAULT_SIZE = 64", "DEFAULT_SIZE = 0", "DEFAULT_SIZE must be a whole number of at least 1, not 0"),
    "size of text": ("DEFAULT_SIZE = 64", 'DEFAULT_SIZE = "64"', "DEFAULT_SIZE must be a whole number"),
    "most below the default": ("MAX_SIZE = 1 << 16", "MAX_SIZE = 8", "MAX_SIZE must be at least DEFAULT_SIZE (64), n"),
    "nothing returned": ("    return Problem(", "    Problem(", "make() must return a Problem, not None"),
    "arguments of text": ('arguments=struct.pack("<4I", size, value_word(factor[0], dtype), source, target)',
                          'arguments="none"', "arguments of the Problem must be bytes, not 'none'"),
    "buffers is no dict": ("buffers=buffers.placed", "buffers=[buffers]", "buffers of the Problem must be a dict"),
    "buffer without a place": ("buffers=buffers.placed", 'buffers={"in": values.tobytes()}', "buffer 'in' must be ("),
    "buffer over another": ("buffers=buffers.placed", 'buffers=buffers.placed | {"b": (source, bytes(4))}',
                            "buffer 'b' and buffer 'in' overlap, at 0x00011000"),
    "buffer over the program": ("buffers=buffers.placed", 'buffers={"b": (0x80000000, bytes(4))}', "overlap"),
    "buffer outside": ("buffers=buffers.placed", 'buffers={"b": (1 << 32, bytes(4))}', "is not in memory"),
    "check is no function": ('check=lambda read: compare(read, "out", target, expected)', "check=[]",
                             "check of the Problem must be a function check(read), not []"),
}

#: Mistakes that the end of a run brings to light.
IN_THE_CHECK = {
    "error": ('compare(read, "out", target, expected)', 'compare(read, "out", target, expcted)', "NameError"),
    "nothing returned": ('compare(read, "out", target, expected)', "print('checked')", "check must return a list"),
    "True": ('compare(read, "out", target, expected)', "True", "empty if all is right, not True"),
    "reads outside": ('compare(read, "out", target, expected)', "[str(read(1 << 33, 4))]",
                      "4 bytes from 0x200000000 are not all in memory, which is 0x40 to 0x"),
    "reads before": ('compare(read, "out", target, expected)', "[str(read(0, 4))]", "4 bytes from 0x0 are not all in"),
    "reads less than nothing": ('compare(read, "out", target, expected)', "[str(read(target, -4))]",
                                "count of read must be at least 0, not -4"),
    "reads at a name": ('compare(read, "out", target, expected)', "[str(read('out', 4))]",
                        "address of read must be a whole number, not 'out'"),
    "expects less": ('"out", target, expected)', '"out", target, expected[:-4])',
                     ("the expected value of 'out' has 60 elements (240 bytes), but buffer 'out' has 64 (256 bytes) "
                     "from 0x")),
    "expects more": ('"out", target, expected)', '"out", target, np.append(expected, expected[:1]))',
                     "has 65 elements (260 bytes), but buffer 'out' has 64 (256 bytes) from 0x"),
}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Write the skeleton with another text in its host.py into ``mine``, the only folder here."""
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    # Most programs here never come to it: the simulation starts when it is needed.
    monkeypatch.setattr(Backend, "begun", lambda backend, config: contextlib.nullcontext())

    def write(part, other):
        assert HOST.count(part) >= 1
        text = HOST.replace(part, other, 1)
        Path("mine/host.py").write_text(text)
        Path("mine/kernel.c").write_text((SKELETON / "kernel.c").read_text())
        return text

    return write


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = main(["run", "mine", "--preset", "TINY", *arguments])
        assert sorted(path.as_posix() for path in Path().rglob("*")) == ["mine", "mine/host.py", "mine/kernel.c"]
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize("name", AT_A_LINE)
def test_a_mistake_at_a_line(kernel, run, name):
    part, other, word = AT_A_LINE[name]
    text = kernel(part, other)
    status, out, err = run("--json", "-")
    (line,) = err.splitlines()
    assert (status, out) == (2, "")
    first = 1 + text[: HOST.index(part)].count("\n")
    lines = range(first, first + 1 + other.count("\n"))
    if name == "missing import":
        lines = [line_of(text, "factor: np.ndarray, values"), line_of(text, "np.random")]
    elif name == "argument of the Problem":
        lines = [line_of(text, "return Problem(")]
    elif name == "syntax":
        lines = range(first, first + 3)
    assert any(line.startswith(f"metronome: mine/host.py:{number}: ") for number in lines), line
    assert word in line


@pytest.mark.parametrize("name", OF_A_PART)
def test_a_part_that_will_not_do(kernel, run, name):
    part, other, what = OF_A_PART[name]
    kernel(part, other)
    status, out, err = run()
    (line,) = err.splitlines()
    assert (status, out) == (2, "")
    assert line.startswith("metronome: mine/host.py: ") and what in line


@on("TINY")
@pytest.mark.parametrize("name", some_more(IN_THE_CHECK, 3))
@pytest.mark.slow
def test_a_mistake_in_the_check(kernel, run, name):
    part, other, what = IN_THE_CHECK[name]
    text = kernel(part, other)
    status, out, err = run("--json", "-")
    assert (status, out) == (2, "")
    line = err.splitlines()[-1]
    assert line.startswith(("metronome: mine/host.py: ", f"metronome: mine/host.py:{line_of(text, 'check=lambda')}: "))
    assert what in line


@on("TINY")
def test_a_check_may_assert(kernel, run):
    text = kernel('compare(read, "out", target, expected)', 'np.testing.assert_array_equal(np.zeros(2), np.ones(2))')
    status, _, err = run()
    assert status == 1
    place = line_of(text, "check=lambda")
    assert err.startswith(f"metronome: check: mine/host.py:{place}: AssertionError: Arrays are not equal ")
    assert len(err.splitlines()) == 1


@on("TINY")
def test_a_check_may_assert_without_a_word(kernel, run):
    text = kernel('compare(read, "out", target, expected)', "check(read)")
    check = "    def check(read):\n        assert  read(target, 4) == b''\n\n"
    text = text.replace("    return Problem(", f"{check}    return Problem(")
    Path("mine/host.py").write_text(text)
    status, _, err = run()
    place = f"mine/host.py:{line_of(text, 'assert  read')}"
    assert (status, err) == (1, f"metronome: check: {place}: AssertionError: assert read(target, 4) == b''\n")


@on("TINY")
def test_what_is_printed_stays_out_of_the_json(kernel, run):
    kernel("    rng = np.random", '    print("seed", seed)\n    rng = np.random')
    status, out, err = run("--json", "-", "--seed", "7")
    assert (status, err) == (0, "seed 7\n")
    assert out.startswith("{")


def test_a_size_that_is_too_large(kernel, run):
    kernel("MAX_SIZE = 1 << 16", "MAX_SIZE = 100")
    assert run("--size", "101") == (2, "", "metronome: size of mine must be between 1 and 100, not 101\n")


#: What is in a folder (a folder, if there is a / behind it), and the line about it.
FOLDERS = [
    ("", "the folder has no kernel.c (metronome new writes a first kernel)"),
    ("host.py", "the folder has no kernel.c (metronome new writes a first kernel)"),
    ("kernel.c/ host.py", "its kernel.c is a folder: it must be a C file"),
    ("Kernel.C host.py", "the folder has no kernel.c, but Kernel.C: rename it to kernel.c"),
    ("kernel.cpp host.py", "the folder has no kernel.c, but kernel.cpp: rename it to kernel.c"),
    ("kernels.c other.c", ("the folder has no kernel.c, but kernels.c: rename it to kernel.c, or run it alone: "
                          "metronome run mine/kernels.c")),
    ("sort.c host.py", ("the folder has no kernel.c, but sort.c: rename it to kernel.c, or run it alone: "
                       "metronome run mine/sort.c")),
    ("a.c b.c host.py", "the folder has no kernel.c, but a.c, b.c: rename the one that is the kernel"),
    ("kernel.c Host.py", ("the folder has no host.py, but Host.py: rename it to host.py, or run kernel.c alone: "
                         "metronome run mine/kernel.c")),
    ("kernel.c hosts.py", ("the folder has no host.py, but hosts.py: rename it to host.py, or run kernel.c alone: "
                          "metronome run mine/kernel.c")),
    ("kernel.c host.py/", "its host.py is a folder: it must be a Python file"),
]


@pytest.mark.parametrize(("inside", "line"), FOLDERS, ids=[inside for inside, _ in FOLDERS])
def test_a_folder_that_is_no_kernel(tmp_path, monkeypatch, capsys, inside, line):
    monkeypatch.chdir(tmp_path)
    os.mkdir("mine")
    for name in inside.split():
        path = Path("mine", name)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_text("int main(void) { return 0; }" if path.suffix == ".c" else HOST)
    for command in (["run", "mine"], ["sweep", "mine"], ["build", "mine"]):
        assert main(command) == 2
        assert capsys.readouterr() == ("", f"metronome: mine: {line}\n")


def test_a_source_that_is_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine/kernel.c").mkdir(parents=True)
    assert main(["run", "mine/kernel.c"]) == 2
    assert capsys.readouterr().err == "metronome: mine/kernel.c: it is a folder: kernel.c must be a C file\n"


@pytest.mark.parametrize("command", ["run", "sweep", "build"])
def test_a_name_that_is_empty(capsys, command):
    assert main([command, ""]) == 2
    line = "KERNEL is empty: name a kernel (metronome kernels lists them), a folder or a file"
    assert capsys.readouterr().err == f"metronome: {line}\n"


def test_a_helper_is_no_mistyped_host(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkdir("mine")
    Path("mine/kernel.c").write_text("int main(void) { return 0; }")
    Path("mine/plots.py").touch()
    assert main(["build", "mine", "-o", "mine.elf"]) == 0


def test_a_broken_folder_breaks_nothing_else(kernel, capsys):
    kernel("TYPES = (", "TYPES = ((")
    assert main(["kernels"]) == 0
    out, err = capsys.readouterr()
    assert "psort" in out and "mine" not in out
    (line,) = err.splitlines()
    assert line.startswith("metronome: kernel ./mine is broken and left out: mine/host.py:")
    Path("mine/host.py").write_text(HOST)
    assert main(["kernels", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert '"folder": "mine"' in out and err == ""
