"""`metronome run --region` with the real simulator underneath, on the TINY machine."""

import struct

import pytest

from metronome.scripts.cli import main
from metronome.sim.program.assembler import asm
from metronome.sim.program.elf import load_elf
from tests.scripts.lines import only_line
from tests.support.programs import built
from tests.support.tiers import some_more

#: One worker runs them all, so that the machine is built once.
pytestmark = pytest.mark.build("TINY")

SOURCE = """\
#include "metronome.h"

__attribute__((noinline)) int leaf(int a) { __asm__ volatile("" ::: "memory"); return 3 * a; }
__attribute__((noinline)) int tail(int a) { return leaf(a + 1); }
__attribute__((noinline)) int first_loads(const int *a) { return *a; /* the fault */ }

__attribute__((noinline)) int factorial(int n)
{
    if (n < 2)
        return 1;
    const int rest = factorial(n - 1);
    __asm__ volatile("" ::: "memory");
    return n * rest;
}

static void thread(const void *sums)
{
    ((volatile int *)sums)[simt_hart_id()] = leaf(1);
}

int main(void)
{
    static int sums[4];
    const uint32_t harts = 4;
    const uint32_t *const block = kernel_arguments();
    const int tailed = tail(4);
    spawn_threads(1, &harts, 0, thread, sums);
    if (block[0])
        return first_loads((const int *)block[1]);
    return tailed == 15 && factorial(5) == 120 && sums[3] == 3 ? 0 : 7;
}
"""


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    return built(tmp_path_factory.mktemp("program"), SOURCE, "calls")


@pytest.fixture
def block(tmp_path):
    path = tmp_path / "block.bin"
    path.write_bytes(struct.pack("<2I", 0, 0))
    return path


@pytest.mark.slow
def test_without_it_nothing_is_measured(run, elf, block):
    status, value, _ = run(elf, "--arg", block)
    assert (status, value["cycles"], value["region"]) == (0, None, None)


@pytest.mark.parametrize("region", some_more(["whole", "tail", "main", "factorial", "leaf"], 2))
def test_in_lock_step(run, elf, block, region):
    status, value, err = run(elf, "--arg", block, "--region", region, "--check")
    assert (status, err, value["region"], value["memcheck"]) == (0, "", region, [])
    assert value["exit_code"] == 0
    assert value["committed"] + value["nops"] + sum(value["stalls"].values()) == value["cycles"] > 0
    assert value["cycles"] < value["total_cycles"]
    if region == "whole":
        # All but the first fetch and the opening write.
        assert value["total_cycles"] - value["cycles"] < 60


@pytest.mark.slow
def test_every_kind_of_program(run, elf, block, tmp_path):
    """They are the same program."""
    (segments, entry) = load_elf(elf).segments, load_elf(elf).entry
    end = max(segment.end for segment in segments)
    image = bytearray(end - entry)
    for segment in segments:
        image[segment.address - entry : segment.address - entry + len(segment.data)] = segment.data
    raw, vxbin = tmp_path / "calls.bin", tmp_path / "calls.vxbin"
    raw.write_bytes(image)
    vxbin.write_bytes(struct.pack("<2Q", entry, end) + image)
    values = [
        run(*program, "--arg", block, "--region", "whole", "--check")[1]
        for program in ((elf,), ("--bin", raw), (vxbin,))
    ]
    assert [value["passed"] for value in values] == [True] * 3
    assert len({(value["cycles"], value["total_cycles"], value["committed"]) for value in values}) == 1
    for program in (("--bin", raw), (vxbin,)):
        status, value, err = run(*program, "--arg", block, "--region", "main")
        assert (status, value) == (2, None)
        assert only_line(err).endswith("has no symbols: use --region whole")


@pytest.mark.more
def test_a_program_that_has_a_region_of_its_own(run, tmp_path):
    """Its writes act all the same: here it closes the region early."""
    source = tmp_path / "own.c"
    source.write_text(
        '#include "metronome.h"\nint main(void)\n{\n'
        "    region_begin();\n    region_end();\n"
        "    for (volatile int i = 0; i < 100; i++)\n        ;\n    return 0;\n}\n"
    )
    own = run(source)[1]
    status, value, _ = run(source, "--region", "main")
    assert (status, own["region"], value["region"]) == (0, None, "main")
    assert own["cycles"] < value["cycles"] < 200 < value["total_cycles"]


@pytest.mark.slow
def test_a_fault_names_the_function(run, elf, tmp_path):
    """Its first instruction is executed elsewhere."""
    block = tmp_path / "block.bin"
    block.write_bytes(struct.pack("<2I", 1, 0x20002))
    _, plain, _ = run(elf, "--arg", block, "--check")
    status, value, err = run(elf, "--arg", block, "--check", "--region", "first_loads")
    assert (status, value["status"], value["fault"]["cause"]) == (3, "fault", "load_misaligned")
    image = load_elf(elf)
    assert plain["fault"]["pc"] == image.symbols["first_loads"][0], "else this is no test of what is displaced"
    assert value["fault"]["pc"] < image.entry
    for field in ("function", "source", "address"):
        assert value["fault"][field] == plain["fault"][field]
    assert " in first_loads" in err


@pytest.mark.slow
def test_memcheck_finds_what_is_in_a_displaced_function(run, tmp_path):
    source = tmp_path / "unwritten.c"
    source.write_text(
        '#include "metronome.h"\n'
        "__attribute__((noinline)) int load(const volatile int *a) { return *a == 1 ? a[1] : 0; }\n"
        "int main(void) { return load((const volatile int *)0x30000); }\n"
    )
    (found,) = run(source, "--memcheck", "--region", "load")[1]["memcheck"]
    assert (found["kind"], found["function"]) == ("unwritten", "load")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("psort", "--size", 4, "--region", "main"), "--region is for programs without a host.py: a kernel calls"),
        (("--region", "mian"), "--region mian: calls.elf has no function of this name (did you mean main?)"),
        (("--region", ""), "--region : calls.elf has no function of this name"),
        (("--region", "_start"), "--region _start: the program starts there, without a stack: use --region whole"),
        (("--region", "sums"), "--region sums: calls.elf has no function of this name"),
    ],
)
def test_refusals(run, elf, arguments, complaint):
    status, value, err = run(*(arguments if "psort" in arguments else (elf, *arguments)))
    assert (status, value) == (2, None)
    assert only_line(err).startswith(f"metronome: {complaint}")


@pytest.mark.slow
def test_a_function_that_is_never_called(elf, block, capsys):
    assert main(["run", str(elf), "--arg", str(block), "--region", "first_loads", "--preset", "TINY"]) == 0
    assert "not measured: the program never called first_loads" in " ".join(capsys.readouterr().out.split())


def test_a_load_that_leaves_no_place(run, elf, tmp_path):
    big = tmp_path / "big"
    big.write_bytes(bytes(1 << 20))
    status, _, err = run(elf, "--load", f"0x7ff00000={big}", "--region", "main")
    assert status == 2
    assert only_line(err).startswith("metronome: --region main: no 64 bytes are free in the 1 MiB below 0x8000")


@pytest.mark.slow
def test_it_is_where_no_file_is(run, tmp_path):
    program = asm.Program()
    program.li(5, 0x7FFF_FFC0)
    program.add(asm.lw(6, 0, 5), asm.sw(6, 0x88, 0), asm.tmc(0))
    image, data = tmp_path / "own.bin", tmp_path / "data"
    image.write_bytes(program.assemble())
    data.write_bytes(struct.pack("<I", 5))
    status, value, _ = run("--bin", image, "--load", f"0x7fffffc0={data}", "--region", "whole", "--check")
    # Five of the program: the jump to it is within two cycles of the write that opens the region.
    assert (status, value["exit_code"], value["committed"]) == (1, 5, 5)
