"""A user's own kernels: from an empty folder to a checked result, and the ways that lead there."""

import json
import os
import struct
import uuid
from pathlib import Path

import pytest

from metronome.sim.program.kernels import KERNELS
from tests.support.builds import on

LONE = """\
#include "metronome.h"

static volatile uint32_t answers[4];

int main(void)
{
    const uint32_t *const block = kernel_arguments();
    answers[1] = block[0] + N;
    console_puts("hello\\n");
    return 0;
}
"""

#: LONE reads its argument block.
NO_BLOCK = (
    "metronome: note: the program reads its argument block at 0x10000, but has none: give it one with --arg FILE\n"
)

UNUSED = """\
int main(void)
{
    int unused;
    return 0;
}
"""


def names():
    return sorted(path.as_posix() for path in Path().rglob("*"))


@on("TINY")
@pytest.mark.slow
def test_from_an_empty_folder_to_a_checked_result(call):
    status, out, err = call("new", "mine")
    assert (status, err, names()) == (0, "", ["mine", "mine/host.py", "mine/kernel.c"])
    command = out.strip().split(": ")[-1]
    assert command == "metronome run ./mine --check"
    status, out, err = call(*command.split()[1:], "--preset", "TINY", "--json", "-")
    assert (status, err) == (0, "")
    value = json.loads(out)
    assert (value["kernel"], value["config"]["type"], value["config"]["size"]) == ("./mine", "int32", 64)
    assert value["passed"] and value["cycles"] > 0
    arguments = (Path.cwd() / "mine", "--type", "float32", "--size", "1", "--seed", "7")
    assert call("run", *arguments, "--preset", "TINY")[0] == 0
    os.chdir("mine")
    assert call("run", ".", "--preset", "TINY")[0] == 0
    assert names() == ["host.py", "kernel.c"]


@on("TINY")
@pytest.mark.slow
def test_the_check_of_a_new_kernel_finds_a_mistake(call):
    call("new", "mine")
    source = Path("mine/kernel.c")
    source.write_text(source.read_text().replace("+ (TYPE)i", "- (TYPE)i"))
    status, _, err = call("run", "mine", "--preset", "TINY")
    assert status == 1
    assert err.startswith("metronome: check: out[1] at 0x0001")


@pytest.mark.parametrize("name", [*KERNELS, "there", "file", "no/where", "", "-x", "zero\0byte"])
def test_new_refuses(call, name):
    os.mkdir("there")
    Path("file").touch()
    status, out, err = call("new", "--", name)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert names() == ["file", "there"]


def test_new_leaves_nothing_if_it_cannot_be_written(call, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    assert call("new", "mine") == (2, "", "metronome: cannot make mine: No space left on device\n")
    assert os.listdir() == []


@on("TINY")
def test_a_lone_file(call):
    Path("my.c").write_text(LONE)
    Path("block.bin").write_bytes(struct.pack("<I", 40))
    status, out, err = call("run", "my.c", "--preset", "TINY", "--cflags", "-DN=2 -O1", "--arg", "block.bin",
                                 "--dump", "answers=out.bin", "--check")
    assert (status, err) == (0, "hello\n")
    assert struct.unpack("<4I", Path("out.bin").read_bytes()) == (0, 42, 0, 0)
    assert "my.c on TINY" in out and "passed" in out
    assert names() == ["block.bin", "my.c", "out.bin"]


@pytest.mark.slow
@on("TINY")
def test_a_folder_with_a_kernel_c_alone_is_a_lone_file(call):
    os.mkdir("part")
    Path("part/kernel.c").write_text(LONE)
    status, out, err = call("run", "part", "--preset", "TINY", "--cflags", "-DN=2", "--json", "-")
    assert (status, err) == (0, f"hello\n{NO_BLOCK}")
    assert json.loads(out)["kernel"] == "part/kernel.c"


@on("TINY")
@pytest.mark.slow
def test_build_and_run(call):
    Path("my.c").write_text('#include "sub/more.h"\n' + LONE.replace("return 0", "return MORE(block[0])"))
    os.mkdir("sub")
    Path("sub/more.h").write_text("extern int more(int);\n#define MORE(x) more((int)x)\n")
    Path("sub/more.c").write_text("int more(int x) { return x ? 7 : 9; }\n")
    status, out, err = call("build", "my.c", "sub/more.c", "-o", "out.elf", "--cflags=-DN=1")
    assert (status, err) == (0, "")
    assert "out.elf" in out
    status, _, err = call("run", "out.elf", "--preset", "TINY")
    assert (status, err) == (1, f"hello\nmetronome: exit code 9 (the word at 0x88)\n{NO_BLOCK}")
    # What is included from another folder counts as well.
    Path("sub/more.h").write_text("#define MORE(x) 4\n")
    assert call("build", "my.c", "-o", "out.elf", "--cflags=-DN=1")[0] == 0
    assert "exit code 4" in call("run", "--elf", "out.elf", "--preset", "TINY")[2]


@pytest.mark.parametrize(("sources", "name"), [(("psum",), "psum.elf"), (("psum", "--type", "float32"), "psum.elf"),
                                               (("mine",), "mine.elf"),
                                               (("mine/kernel.c", "--cflags", "-O1"), "kernel.elf")])
def test_build_of_a_kernel(call, sources, name):
    call("new", "mine")
    status, _, err = call("build", *sources)
    assert (status, err) == (0, "")
    assert Path(name).read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("arguments", [
    (), ("psort", "psum"), ("my.c", "psort"), ("my.c", "--type", "int32"), ("my.elf",), ("nothing",), ("missing.c",),
    ("my.c", "-o", "my.c"), ("my.c", "-o", "none/my.elf"), ("my.c", "-o", "."), ("my.c", "--json", "my.c"),
    ("psort", "--type", "int8"), ("my.c", "--cflags", "'"), ("my.c", "--bogus"),
])
def test_build_refuses(call, arguments):
    Path("my.c").write_text(UNUSED)
    Path("my.elf").touch()
    status, out, err = call("build", *arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert names() == ["my.c", "my.elf"] and Path("my.c").read_text() == UNUSED


@pytest.mark.slow
def test_warnings_are_shown_and_stop_nobody(call):
    Path("my.c").write_text(f"{UNUSED}/* {uuid.uuid4()}: it is in no cache. */\n")
    for _ in range(2):  # the second time it comes from the cache
        status, _, err = call("build", "my.c")
        assert status == 0
        assert err.startswith("my.c:3:9: warning: unused variable 'unused'")
    status, _, err = call("build", "my.c", "--cflags", "-Werror")
    assert status == 2
    assert err.startswith("metronome: my.c:3: unused variable 'unused' [-Werror")
    assert call("build", "my.c", "--cflags=-w")[2] == ""


@on("TINY")
@pytest.mark.slow
def test_a_kernel_of_one_type_uses_it(call):
    call("new", "mine")
    host = Path("mine/host.py")
    host.write_text(host.read_text().replace('TYPES = ("int32", "float32")', 'TYPES = ("float32",)'))
    status, out, _ = call("run", "mine", "--preset", "TINY", "--json", "-")
    assert (status, json.loads(out)["config"]["type"]) == (0, "float32")
    status, _, err = call("run", "mine", "--type", "int32")
    assert (status, err) == (2, "metronome: type of mine must be one of float32, not 'int32'\n")


def test_the_names_of_our_kernels_are_ours(call):
    """A folder of the same name goes by its path."""
    os.mkdir("psort")
    Path("psort/kernel.c").write_text("#error mine\n")
    assert call("build", "psort")[0] == 0
    assert "psort/kernel.c:1: mine" in call("build", "./psort")[2]


@on("TINY")
@pytest.mark.slow
def test_host_may_import_what_lies_beside_it(call, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    call("new", "mine")
    Path("mine/own_numbers.py").write_text("MOST = 100\n")
    host = Path("mine/host.py")
    host.write_text(host.read_text().replace("MAX_SIZE = 1 << 16", "from own_numbers import MOST\nMAX_SIZE = MOST"))
    assert call("run", "mine", "--preset", "TINY", "--size", "100")[0] == 0
    assert "between 1 and 100" in call("run", "mine", "--size", "101")[2]
    assert "mine/__pycache__" not in names()


@on("TINY")
@pytest.mark.slow
def test_a_sweep_of_one_s_own_kernel(call):
    call("new", "mine")
    source = Path("mine/kernel.c")
    source.write_text(source.read_text().replace("int main(void)\n{", "int main(void)\n{\n    int unused;"))
    status, out, err = call("sweep", "mine", "--preset", "TINY", "--mode", "swas", "--issue", "lrr,gtlo")
    assert status == 0
    assert err.count("warning: unused variable 'unused'") == 1, "once for all runs"
    assert len([line for line in out.splitlines() if line.startswith("swas ")]) == 2


@on("least")
def test_one_s_own_kernel_on_a_machine_of_one_s_own(call):
    call("new", "mine")
    cache = "--set dcache_bytes=128 --set dcache_ways=1 --set dcache_mshrs=1 --set store_buffer=1 --set load_parts=2"
    assert call("config", "--preset", "TINY", *cache.split(), "-o", "my.toml")[0] == 0
    status, out, err = call("run", "mine", "--config", "my.toml", "--check", "--json", "-")
    assert (status, err) == (0, "")
    value = json.loads(out)
    assert value["passed"] and value["config"]["dcache_bytes"] == 128
    usual = json.loads(call("run", "mine", "--preset", "TINY", "--json", "-")[1])
    assert value["dcache_misses"] > usual["dcache_misses"]


@pytest.mark.parametrize("arguments", [
    ("run", "mine", "--json", "mine/host.py"), ("sweep", "mine", "--json", "mine/kernel.c"),
    ("run", "mine", "--dump", "out=mine/kernel.c"), ("build", "mine", "-o", "mine/host.py"),
])
def test_an_output_is_no_source(call, arguments):
    call("new", "mine")
    before = {name: Path(name).read_text() for name in ("mine/host.py", "mine/kernel.c")}
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert "is already the file of " in err
    assert {name: Path(name).read_text() for name in before} == before
