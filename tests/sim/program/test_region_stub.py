"""The region that is opened for a program which does not open it, on the golden model."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from metronome.hdl.config import MemoryMap
from metronome.hdl.presets import BASE, TINY
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import ElfImage, ImageError, Segment, load_elf
from metronome.sim.program.kernels import Launch, prepare_source, with_loads
from metronome.sim.program.region_stub import with_region
from tests.support.programs import launched

START, DATA = 0x8000_0000, 0x9000_0000
ZERO, RA, SP, T0, A0, A1 = 0, 1, 2, 5, 10, 11

SOURCE = """\
#include "metronome.h"

__attribute__((noinline)) int leaf(int a) { __asm__ volatile("" ::: "memory"); return 3 * a; }
__attribute__((noinline)) int tail(int a) { return leaf(a + 1); }

__attribute__((noinline)) int factorial(int n)
{
    if (n < 2)
        return 1;
    const int rest = factorial(n - 1);
    __asm__ volatile("" ::: "memory");
    return n * rest;
}

static void thread(const void *sum)
{
    leaf(1);
    ((volatile int *)sum)[simt_hart_id()] = 1;
}

int main(void)
{
    static int sums[64];
    const uint32_t harts = simt_num_warps() * simt_num_threads();
    const int first = tail(4);
    spawn_threads(1, &harts, 0, thread, sums);
    return first == 15 && factorial(5) == 120 && sums[harts - 1] == 1 ? 0 : 7;
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("region") / "calls.c"
    path.write_text(SOURCE)
    return path


def launch_of(program, functions, entry=START, **values):
    """A launch of an assembled program; ``functions`` are (label, end label)."""
    table = tuple(sorted((program.address(name), program.address(end), name) for name, end in functions))
    data = program.assemble()
    image = ElfImage(
        path=Path("x.elf"), entry=entry, segments=(Segment(program.base, data, len(data)),), functions=table,
        symbols={name: (first, end - first) for first, end, name in table},
    )
    return Launch(name="x.elf", image=image, memory_map=MemoryMap(), **values)


def run(launch, config=TINY, poked=()):
    """Run it by turns of the warps: (the pcs inside the region, those of all, memory, the golden model)."""
    iss = launched(launch, config)
    for register in poked:
        iss.poke(0, register, 1, np.full(config.threads, poked[register], np.uint32))
    inside, every = [], []
    while any(iss.active):
        for warp in range(config.warps):
            if iss.active[warp] and iss.waiting[warp] is None:
                pc = int(iss.pc[warp])
                if iss.mregion:
                    inside.append(pc)
                every.append(pc)
                assert len(every) < 100_000
                commit = iss.step(warp)
                assert commit.fault is None, (hex(pc), commit.fault)
    return inside, every, iss.memory, iss


def own(launch, pcs):
    """Of ``pcs`` those in the program itself, not in what is added."""
    return [pc for pc in pcs if not any(first <= pc < end for first, end, _ in launch.image.stand_ins)]


def names(launch, pcs):
    return {launch.image.function_at(pc) for pc in own(launch, pcs)}


def test_the_whole_program(source):
    plain = prepare_source(source, config=TINY)
    launch = with_region(plain, "whole", TINY)
    inside, every, memory, _ = run(launch)
    # Two are added; the first opens the region.
    assert every[0] == launch.entry and inside == every[1:] and own(launch, every) == run(plain)[1]
    assert memory.read(0x88, 4) == bytes(4)
    assert launch.region == "whole" and plain.region is None
    assert launch.image.function_at(launch.entry) == "_start"
    assert launch.image.source_line(launch.entry).startswith("riscv_kernels/runtime/crt0.S:")


@pytest.mark.parametrize("config", [TINY, BASE], ids=["TINY", "BASE"])
@pytest.mark.parametrize("region", ["main", "tail", "leaf", "factorial"])
def test_a_function(source, region, config):
    """Counted is what it does and what it calls, and nothing else of the program; the result is the same."""
    plain = prepare_source(source, config=config)
    launch = with_region(plain, region, config)
    inside, every, memory, iss = run(launch, config)
    assert memory.read(0x88, 4) == bytes(4) and iss.mregion == 0
    counted = names(launch, inside)
    # The stack of calls: what runs in the region is called by the function.
    assert counted >= {"main": {"main", "leaf", "factorial", "thread"}}.get(region, {region})
    assert "_start" not in counted and (region == "main" or "main" not in counted)
    if region == "tail":
        assert counted == {"tail", "leaf"}
    if region == "factorial":
        # All five calls, not only up to the first return.
        first, size = launch.image.symbols["factorial"]
        body = range(first + 4, first + size)
        assert counted == {"factorial"} and every.count(first + 4) == 5
        assert [pc for pc in inside if pc in body] == [pc for pc in every if pc in body]
    # All else executes what it did without; the first instruction is a jump now.
    assert len(own(launch, every)) == len(run(plain, config)[1])


def test_reports_name_the_function(source):
    launch = with_region(prepare_source(source, config=TINY), "leaf", TINY)
    ((first, end, target),) = launch.image.stand_ins
    assert {launch.image.function_at(pc) for pc in range(first, end, 4)} == {"leaf"}
    assert {launch.image.source_line(pc) for pc in range(first, end, 4)} == {launch.image.source_line(target)}
    assert launch.image.source_line(target).endswith("calls.c:3")
    assert launch.image.function_at(first - 4) is None and launch.image.function_at(end) != "leaf"


def calling(*function, before=(), arguments=(0, 0)):
    """A program: calls ``work`` with two arguments, stores a0 to 0x9000_0000, ends. ``function`` appends to it."""
    p = asm.Program(START)
    p.li(SP, 0xFFFF_0000)
    for register, value in zip((A0, A1), arguments, strict=True):
        p.li(register, value)
    p.jal(RA, "work")
    p.li(T0, DATA)
    p.add(asm.sw(A0, 0, T0), asm.tmc(ZERO))
    p.label("work")
    for part in function:
        part(p)
    p.label("end of work")
    return p


def add(*words):
    return lambda p: p.add(*words)


def label(name):
    return lambda p: p.label(name)


RET = asm.jalr(ZERO, RA, 0)
#: First instructions that mean another thing in another place, each with what the function gives for (3, 4).
DISPLACED = {
    "auipc": ([add(asm.auipc(A0, 0), asm.addi(A0, A0, 1), RET)], lambda p: p.address("work") + 1),
    "auipc of x0": ([add(asm.auipc(ZERO, 1), asm.addi(A0, ZERO, 9), RET)], lambda p: 9),
    "auipc backwards": ([add(asm.auipc(A0, 0xFFFFF), RET)], lambda p: p.address("work") - 4096),
    "a branch, taken": (
        [lambda p: p.branch(asm.bne, A0, A1, "far"), add(RET), label("far"), add(asm.addi(A0, A0, 5), RET)],
        lambda p: 8,
    ),
    "a branch, not taken": (
        [lambda p: p.branch(asm.bgeu, A0, A1, "far"), add(RET), label("far"), add(asm.addi(A0, A0, 5), RET)],
        lambda p: 3,
    ),
    "a branch with a hint, taken": (
        [lambda p: p.branch(asm.hinted(asm.bne), A0, A1, "far"), add(RET), label("far"),
         add(asm.addi(A0, A0, 5), RET)], lambda p: 8,
    ),
    "a loop back to it, by a branch with a hint": (
        [add(asm.addi(A0, A0, 2), asm.addi(A1, A1, -1)), lambda p: p.branch(asm.hinted(asm.bne), A1, ZERO, "work"),
         add(RET)], lambda p: 11,
    ),
    "a tail call": ([lambda p: p.jal(ZERO, "other"), label("other"), add(asm.add(A0, A0, A1), RET)], lambda p: 7),
    "a call through t0": (
        [lambda p: p.jal(T0, "other"), add(asm.addi(A0, A0, 1), RET), label("other"),
         add(asm.add(A0, A0, A1), asm.jalr(ZERO, T0, 0))], lambda p: 8,
    ),
    "a return": ([add(RET)], lambda p: 3),
    "a loop back to it, by a branch": (
        [add(asm.addi(A0, A0, 2), asm.addi(A1, A1, -1)), lambda p: p.branch(asm.bne, A1, ZERO, "work"), add(RET)],
        lambda p: 11,
    ),
    "a loop back to it, by a jump": (
        [add(asm.addi(A0, A0, 2), asm.addi(A1, A1, -1)), lambda p: p.branch(asm.beq, A1, ZERO, "out"),
         lambda p: p.jal(ZERO, "work"), label("out"), add(RET)], lambda p: 11,
    ),
}


@pytest.mark.parametrize("name", DISPLACED)
def test_a_displaced_instruction(name):
    parts, expected = DISPLACED[name]
    program = calling(*parts, arguments=(3, 4))
    plain = launch_of(program, [("work", "end of work")])
    launch = with_region(plain, "work", TINY)
    inside, every, memory, iss = run(launch)
    assert int.from_bytes(memory.read(DATA, 4), "little") == expected(program) & 0xFFFF_FFFF
    assert memory.read(DATA, 4) == run(plain)[2].read(DATA, 4)
    assert iss.mregion == 0
    # The function is entered, and left, once: a loop does not go through what is added again.
    first = launch.image.stand_ins[0][0]
    assert every.count(first) == 1
    work = range(program.address("work") + 4, program.address("end of work"))
    assert [pc for pc in own(launch, every) if pc in work] == [pc for pc in own(launch, inside) if pc in work]


@pytest.mark.parametrize("forever", [asm.jal(ZERO, 0), asm.beq(A0, A0, 0)])
def test_a_jump_to_itself_takes_no_stack(forever):
    launch = with_region(launch_of(calling(add(forever)), [("work", "end of work")]), "work", TINY)
    iss = launched(launch, TINY)
    pcs = []
    for _ in range(100):
        pcs.append(int(iss.pc[0]))
        iss.step(0)
    assert pcs.count(launch.image.stand_ins[0][0]) == 1 and iss.mregion == 1


@pytest.mark.parametrize("register", [r for r in range(1, 32) if r not in (SP, T0, RA)])
def test_what_a_function_finds_and_leaves(register):
    """Every register but t0 and ra is its caller's, and its caller's again when it is back."""
    for change in (asm.add(A0, register, ZERO), asm.addi(register, register, 1)):
        p = calling(add(change, asm.add(A0, register, A0), RET))
        plain = launch_of(p, [("work", "end of work")])
        poked = {number: 1000 * number for number in range(6, 32)}
        results = [run(launch, poked=poked)[2].read(DATA, 4) for launch in (plain, with_region(plain, "work", TINY))]
        assert results[0] == results[1]


def test_the_stack_pointer():
    p = calling(add(asm.add(A0, SP, ZERO), RET))
    plain = launch_of(p, [("work", "end of work")])
    before, after = (
        int.from_bytes(run(launch)[2].read(DATA, 4), "little") for launch in (plain, with_region(plain, "work", TINY))
    )
    assert after == before - 16


def test_the_place_is_free():
    p = calling(add(RET))
    plain = launch_of(p, [("work", "end of work")])
    assert [place for place, _, _ in with_region(plain, "work", TINY).image.stand_ins] == [START - 64]
    loaded = with_loads(plain, {"--load f": (START - 100, bytes(60)), "--load g": (START - 4096, bytes(64))})
    assert [place for place, _, _ in with_region(loaded, "work", TINY).image.stand_ins] == [START - 192]
    assert [place for place, _, _ in with_region(loaded, "whole", TINY).image.stand_ins] == [START - 192]
    for region in ("whole", "work"):
        launch = with_region(loaded, region, TINY)
        assert [s.address for s in launch.image.segments] == [START - 192, START]
        run(launch)


@pytest.mark.parametrize("region", ["whole", "work"])
def test_no_place(region):
    p = calling(add(RET))
    plain = launch_of(p, [("work", "end of work")])
    for address, size in ((START - (1 << 20), 1 << 20), (START - (1 << 20) - 64, (1 << 20) + 60)):
        full = with_loads(plain, {"--load f": (address, bytes(size))})
        with pytest.raises(ImageError, match=rf"^--region {region}: no 64 bytes are free in the 1 MiB below 0x8000"):
            with_region(full, region, TINY)
    low = asm.Program(0x1_0040)
    low.label("work")
    low.add(RET)
    low.label("end of work")
    launch = launch_of(low, [("work", "end of work")], entry=0x1_0040)
    with pytest.raises(ImageError, match=r"--region whole: no 64 bytes are free .* link the program to a higher"):
        with_region(launch, "whole", TINY)
    moved = dataclasses.replace(TINY, memory_map=MemoryMap(stack_top=START))
    with pytest.raises(ImageError, match=f"^--region {region}: no 64 bytes are free"):
        with_region(with_loads(dataclasses.replace(plain, memory_map=moved.memory_map), {
            "--load f": (START - (1 << 20), bytes((1 << 20) - 8192 * 4)),
        }), region, moved)


def refused(launch, region, text):
    with pytest.raises(ImageError) as caught:
        with_region(launch, region, TINY)
    message = str(caught.value)
    assert message.startswith(f"--region {region}: ") and "\n" not in message
    assert text in message, message


def test_refusals(source):
    launch = prepare_source(source, config=TINY)
    refused(launch, "mian", f"{source} has no function of this name (did you mean main?)")
    refused(launch, "__bss_start", "the symbol is no function")
    refused(launch, "_start", "the program starts there, without a stack: use --region whole")
    bare = dataclasses.replace(launch, image=dataclasses.replace(launch.image, functions=()))
    refused(bare, "main", "has no symbols: use --region whole")
    p = calling(add(RET))
    plain = launch_of(p, [("work", "end of work")])
    work = p.address("work")

    def with_table(*functions):
        return dataclasses.replace(plain, image=dataclasses.replace(plain.image, functions=functions))

    refused(with_table((work, work, "none")), "none", "the function has 0 bytes in the symbol table")
    refused(with_table((work, work + 2, "short")), "short", "the function has 2 bytes in the symbol table")
    refused(with_table((work - 4, work, "two"), (work, work + 4, "two")), "two", "has 2 functions of this name, at 0x")
    # What is there has the lowest bits of an instruction.
    odd = launch_of(calling(add(asm.addi(A0, 6, 0), RET)), [("work", "end of work")])
    odd = dataclasses.replace(odd, image=dataclasses.replace(odd.image, functions=((work + 2, work + 8, "odd"),)))
    refused(odd, "odd", "is no instruction of 32 bits")
    refused(with_table((work + 4, work + 8, "behind")), "behind", "is no instruction of 32 bits")
    compressed = launch_of(calling(add(0x4082_4501)), [("work", "end of work")])
    refused(compressed, "work", "is no instruction of 32 bits")
    # The loop's branch does not reach the added instructions behind the file.
    loop = calling(add(asm.addi(A0, A0, 1)), lambda p: p.branch(asm.bne, A0, A1, "work"), add(RET))
    far = with_loads(launch_of(loop, [("work", "end of work")]), {"--load f": (START - 8192, bytes(8192))})
    refused(far, "work", "does not reach 0x7fffdfc0")


def test_a_name_of_cpp(tmp_path):
    """By the linker's name, and as it stands in the source."""
    source = tmp_path / "names.c"
    source.write_text(
        '#include "metronome.h"\n'
        "__attribute__((noinline)) int _Z4workPiS_(int *a, int *b) { return *a + *b; }\n"
        "int main(void) { int a = 1, b = 2; return _Z4workPiS_(&a, &b) - 3; }\n"
    )
    image = load_elf(build_elf([source], name="names"))
    for name in ("_Z4workPiS_", "work", "work(int*, int*)"):
        launch = with_region(Launch(name="names", image=image, memory_map=MemoryMap()), name, TINY)
        inside, _, memory, _ = run(launch)
        assert names(launch, inside) == {"work(int*, int*)"} and memory.read(0x88, 4) == bytes(4)
