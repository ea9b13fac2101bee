"""The command line with the real simulator underneath, on the TINY machine."""

import json
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from metronome.scripts.cli import main
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import KERNELS
from tests.support.programs import built
from tests.support.tiers import more_but, some_more

#: One worker runs them all, so that the machine is built once.
pytestmark = pytest.mark.build("TINY")

SOURCE = """\
#include "metronome.h"

int main(void)
{
    const uint32_t *const block = kernel_arguments();
    volatile uint32_t *const out = (uint32_t *)0x20000;
    console_puts("before\\n");
    out[0] = block[1];
    out[1] = block[0];
    if (block[2])
        __asm__ volatile(".word 0xffffffff"); /* the fault */
    return (int)block[3];
}
"""


#: Every hart of TINY writes eight words near the bottom of its stack.
STACKS = """\
#include "metronome.h"

static void thread(const void *nothing)
{
    (void)nothing;
    volatile uint32_t *const place = (uint32_t *)(0xffff0000 - 8192 * (simt_hart_id() + 1) + 64);
    for (uint32_t k = 0; k < 8; k++)
        place[k] = simt_hart_id() * 100 + k;
}

int main(void)
{
    const uint32_t harts = 4;
    return spawn_threads(1, &harts, 0, thread, 0);
}
"""


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    """A program that is no kernel of ours: it swaps two words, may fault, and ends with a given exit code."""
    return built(tmp_path_factory.mktemp("program"), SOURCE, "swap")


@pytest.fixture
def argument(tmp_path):
    """Write an argument block of four words for ``elf`` and return its path."""

    def write(first, second, fault=0, exit_code=0):
        path = tmp_path / "block.bin"
        path.write_bytes(struct.pack("<4I", first, second, fault, exit_code))
        return path

    return write


@pytest.mark.parametrize(("policy", "memory"), more_but(
    list(product(["lrr", "gtlo"], ["fixed", "dram", "tdm", "random"])), [("lrr", "fixed"), ("gtlo", "dram")],
))
def test_a_kernel_passes_in_lock_step(run, policy, memory):
    status, value, err = run("psort", "--size", 20, "--issue", policy, "--memory", memory, "--check")
    assert (status, err) == (0, "")
    assert (value["passed"], value["config"]["issue"], value["config"]["size"]) == (True, policy, 20)
    assert 0 < value["cycles"] < value["total_cycles"]
    assert value["committed"] + value["nops"] + sum(value["stalls"].values()) == value["cycles"]
    assert value["committed"] <= value["committed_threads"] <= 2 * value["committed"]
    assert value["ipc"] == pytest.approx(value["committed_threads"] / value["cycles"])
    # Every thread compares its element with all 20: at least two instructions each, on two lanes.
    assert value["committed_threads"] > 2 * 20 * 20


@pytest.mark.slow
def test_a_dump_is_the_kernels_result(run, tmp_path):
    status, _, _ = run("psort", "--size", 8, "--dump", f"target={tmp_path / 'target'}", "--dump",
                       f"source={tmp_path / 'source'}")
    assert status == 0
    source, target = (struct.unpack("<8i", (tmp_path / name).read_bytes()) for name in ("source", "target"))
    assert sorted(source) == list(target)
    assert len(set(source)) > 1


@pytest.mark.slow
def test_a_dump_of_a_stack_is_what_the_program_sees(run, tmp_path):
    """Although memory holds the words of a warp's stacks interleaved."""
    source = tmp_path / "stacks.c"
    source.write_text(STACKS)
    out, whole = tmp_path / "out", tmp_path / "whole"
    hart = 2
    start = 0xFFFF_0000 - 8192 * (hart + 1) + 64
    status, _, err = run("--elf", build_elf([source], name="stacks"), "--dump", f"{start:#x}:32={out}",
                         "--dump", f"{0xFFFF_0000 - 4 * 8192:#x}:{3 * 8192}={whole}", "--check")
    assert (status, err) == (0, "")
    assert struct.unpack("<8I", out.read_bytes()) == tuple(hart * 100 + k for k in range(8))
    stacks = whole.read_bytes()
    for hart, place in ((3, 0), (2, 8192), (1, 2 * 8192)):
        words = struct.unpack("<10I", stacks[place + 60 : place + 100])
        assert words == (0, *(hart * 100 + k for k in range(8)), 0)


def test_a_foreign_elf_gets_its_arguments(run, elf, argument, tmp_path):
    out = tmp_path / "out"
    status, value, err = run("--elf", elf, "--arg", argument(11, 22), "--dump", f"0x20000:8={out}", "--check")
    assert (status, err) == (0, "before\n")
    assert struct.unpack("<2I", out.read_bytes()) == (22, 11)
    assert (value["kernel"], value["exit_code"], value["cycles"]) == ("swap.elf", 0, None)


@pytest.mark.parametrize("memory", some_more(["fixed", "dram"], 1))
@pytest.mark.slow
def test_a_foreign_elf_without_its_arguments(run, elf, memory):
    status, _, err = run("--elf", elf, "--memory", memory)
    console, note = err.splitlines()
    assert (status, console) == (0, "before")
    assert note.startswith("metronome: note: the program reads its argument block at 0x10000")


@pytest.mark.slow
def test_a_program_without_arguments_that_reads_none(run, tmp_path):
    """It writes there first, and reads what it wrote."""
    program = asm.Program()
    program.li(5, 0x10000)
    program.add(asm.sw(5, 0, 5), asm.lw(6, 0, 5), asm.add(6, 6, 6), asm.tmc(0))
    image = tmp_path / "own.bin"
    image.write_bytes(program.assemble())
    status, _, err = run("--bin", image)
    assert (status, err) == (0, "")


@pytest.mark.slow
def test_the_image_of_an_elf_in_the_format_of_vortex_runs_like_it(run, elf, argument, tmp_path):
    segments = load_elf(elf).segments
    first, end = segments[0].address, segments[-1].end
    image = bytearray(max(segment.address + len(segment.data) for segment in segments) - first)
    for segment in segments:
        place = segment.address - first
        image[place : place + len(segment.data)] = segment.data
    path, out = tmp_path / "swap.vxbin", tmp_path / "out"
    path.write_bytes(struct.pack("<2Q", first, end) + image)
    status, value, err = run(path, "--arg", argument(11, 22, exit_code=5), "--dump", f"0x20000:8={out}", "--check")
    assert (status, value["kernel"], value["exit_code"]) == (1, "swap.vxbin", 5)
    assert err.splitlines()[0] == "before"
    assert struct.unpack("<2I", out.read_bytes()) == (22, 11)
    path.write_bytes(path.read_bytes()[:14])
    status, _, err = run(path)
    assert (status, len(err.splitlines())) == (2, 1)
    assert "swap.vxbin: a .vxbin file of 14 bytes, with no program in it; it is truncated" in err


@pytest.mark.slow
def test_a_file_in_memory_is_read_by_the_program(run, elf, argument, tmp_path):
    """The argument block itself, placed by --load: nothing is missing, and memcheck knows that it is written."""
    out, more = tmp_path / "out", tmp_path / "more.bin"
    more.write_bytes(b"0123456789")
    status, _, err = run("--elf", elf, "--load", f"0x10000={argument(11, 22)}", "--load", f"0x20010={more}",
                         "--dump", f"0x20000:32={out}", "--check")
    assert (status, err) == (0, "before\n")
    assert out.read_bytes() == struct.pack("<4I", 22, 11, 0, 0) + b"0123456789" + bytes(6)


@pytest.mark.parametrize(("addresses", "message"), [
    (["0x80000004"], "the program's segment at 0x80000000 and the file of --load 0x80000004={} overlap, at 0x80000004"),
    (["0x1000c"], "the argument block and the file of --load 0x1000c={} overlap, at 0x0001000c"),
    (["0x20000", "0x2000f"], "the file of --load 0x20000={} and the file of --load 0x2000f={} overlap, at 0x0002000f"),
    (["0x20000", "0x20000"], "overlap, at 0x00020000"),
    (["0"], "--load 0={}: 16 bytes from 0x00000000 are not all in memory, which is 0x40 to 0xfffeffff"),
    (["0xfffefff1"], "--load 0xfffefff1={}: 16 bytes from 0xfffefff1 are not all in memory"),
    (["-1"], "--load -1={}: 16 bytes from -0x0000001 are not all in memory"),
    (["main"], "--load main={}: ADDR must be a number such as 0x20000, not 'main'"),
])
def test_files_that_cannot_be_placed(run, elf, argument, addresses, message):
    block = argument(1, 2)
    loads = [part for address in addresses for part in ("--load", f"{address}={block}")]
    status, value, err = run("--elf", elf, "--arg", block, *loads)
    assert (status, value, len(err.splitlines())) == (2, None, 1)
    assert message.replace("{}", str(block)) in err


def test_a_load_that_is_none(run, elf, argument, tmp_path):
    empty = tmp_path / "empty.bin"
    empty.write_bytes(b"")
    for arguments, message in (
        (["--elf", elf, "--load", "0x20000"], "--load 0x20000: write ADDR=FILE"),
        (["--elf", elf, "--load", "0x20000=none.bin"], "--load 0x20000=none.bin: cannot read 'none.bin': No such file"),
        (["--elf", elf, "--load", f"0x20000={empty}"], "the file is empty: name another one"),
        (["psort", "--load", f"0x20000={argument(1, 2)}"], "--load is for programs without a host.py"),
    ):
        status, value, err = run(*arguments)
        assert (status, value, len(err.splitlines())) == (2, None, 1)
        assert message in err


@pytest.mark.slow
def test_a_foreign_elf_that_ends_with_a_code_has_failed(run, elf, argument):
    status, value, err = run("--elf", elf, "--arg", argument(0, 0, exit_code=6))
    assert (status, value["exit_code"], value["passed"]) == (1, 6, False)
    assert "exit code 6" in err


def test_a_fault_names_the_source_line_and_still_dumps(run, elf, argument, tmp_path):
    out = tmp_path / "out"
    status, value, err = run("--elf", elf, "--arg", argument(11, 22, fault=1), "--dump", f"0x20000:8={out}")
    line = 1 + SOURCE[: SOURCE.index("the fault")].count("\n")
    assert status == 3
    assert value["fault"]["cause"] == "illegal_instruction"
    assert (value["fault"]["warp"], value["fault"]["function"]) == (0, "main")
    assert value["fault"]["source"].endswith(f"swap.c:{line}")
    console, complaint = err.splitlines()
    assert console == "before"
    assert "illegal instruction, warp 0, pc 0x8000" in complaint
    assert f"swap.c:{line} in main" in complaint
    assert len(out.read_bytes()) == 8


def test_a_raw_image_that_never_ends_is_a_hang(run, tmp_path):
    image = tmp_path / "loop.bin"
    image.write_bytes(struct.pack("<2I", asm.nop(), asm.jal(0, -4)))
    status, value, err = run("--bin", image, "--max-cycles", 2000)
    assert (status, value["status"], value["passed"]) == (4, "hang", False)
    assert value["total_cycles"] >= 2000
    # The pc is the fetch's, at most the four slots of the buffer ahead of the loop.
    assert "warp 0: last issued 0x800000" in err
    assert "warp 1: not active" in err


@pytest.mark.slow
def test_a_deadlock_at_a_barrier_says_so(run, tmp_path):
    program = asm.Program()
    program.li(5, 2)
    program.add(asm.bar(0, 5))
    image = tmp_path / "alone.bin"
    image.write_bytes(program.assemble())
    status, value, err = run("--bin", image)
    assert (status, value["status"]) == (4, "deadlock")
    assert "deadlock: after 1" in err
    (line,) = [line for line in err.splitlines() if "warp 0:" in line]
    assert line.endswith("barrier")
    assert value["hang"][0] in line


@pytest.fixture(scope="module")
def bad_files(elf, tmp_path_factory):
    """Name -> a file that --elf must refuse."""
    folder = tmp_path_factory.mktemp("bad")
    good = elf.read_bytes()
    machine = good[:18] + struct.pack("<H", 62) + good[20:]
    (first_header,) = struct.unpack_from("<I", good, 28)
    outside = bytearray(good)
    struct.pack_into("<2I", outside, first_header + 8, 0xFFFF_F000, 0xFFFF_F000)
    contents = {
        "empty": b"", "text": b"not an ELF file", "truncated": good[:60], "64 bit": good[:4] + b"\2" + good[5:],
        "other machine": machine, "outside memory": bytes(outside),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["empty", "text", "truncated", "64 bit", "other machine", "outside memory", "missing"])
def test_a_bad_elf_is_one_line_and_status_2(run, bad_files, name):
    status, value, err = run("--elf", bad_files / name)
    assert (status, value) == (2, None)
    (line,) = err.splitlines()
    assert name in line


@pytest.mark.parametrize(
    "arguments", [("nothing",), ("psort", "--size", "100000000"), ("psort", "--type", "float64"), ("../psort",)]
)
def test_a_bad_kernel_is_one_line_and_status_2(run, arguments):
    status, value, err = run(*arguments)
    assert (status, value, len(err.splitlines())) == (2, None, 1)


@pytest.mark.long  # tests/sim/build/export has the command write the module, and reads it
def test_verilog_is_a_module_with_and_without_the_probe(capsys):
    texts = {}
    for arguments in ((), ("--probe",)):
        assert main(["verilog", "--preset", "TINY", *arguments]) == 0
        texts[arguments] = capsys.readouterr().out
        assert "module metronome_sm(" in texts[arguments]
    assert len(texts[()]) < len(texts["--probe",])
    assert "probe" not in texts[()]


def test_the_installed_command_lists_every_kernel():
    program = Path(sys.executable).with_name("metronome")
    done = subprocess.run([program, "kernels", "--json", "-"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    names = [kernel["name"] for kernel in json.loads(done.stdout)]
    assert names == list(KERNELS)


@pytest.mark.more
def test_bench_runs_the_real_thing(capsys):
    assert main(["bench", "--preset", "TINY", "--repeat", "1", "--json", "-"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["presets"]["TINY"]["total_cycles"] > 256 * 256
    assert value["presets"]["TINY"]["cycles_per_second"] > 0
    assert value["iss_instructions_per_second"] > 0
