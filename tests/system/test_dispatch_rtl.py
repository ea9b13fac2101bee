"""Blocks that a unit of the GPU hands out, on the RTL in lock step."""

from dataclasses import replace

import pytest

from metronome.hdl.gpu.config import Dispatch
from metronome.sim.build.sources import ROOT
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import KERNELS, prepare, prepare_source
from metronome.sim.run.gpu.runner import run_gpu, run_many_gpu
from tests.support.builds import DISPATCHING, STATIC_PARTS, on
from tests.support.tiers import some_more
from tests.system.rtl_programs import RawProgram
from tests.system.test_gpu_rtl import C_PROGRAMS, MEMORIES, OPENCL, passed, program, request

BLOCKS = ROOT / "tests" / "riscv_kernels" / "dispatch" / "blocks.c"
FIRST = ["psum", "sgemm", "gaussian"]
CORE, PLACE, VALUE, ID, COUNT, UNIT = range(5, 11)
DATA = 0x2_0000


def run_on(gpu, launch, memories=MEMORIES, *, memcheck=False):
    """Run on each of the memories, and return the results, which are right."""
    results = run_many_gpu(gpu, [
        request(launch, gpu, seed=number, memcheck=memcheck, **each) for number, each in enumerate(memories)
    ])
    for memory, result in zip(memories, results, strict=True):
        assert passed(result), (memory, result.status, result.mismatches, result.sm_hang)
        assert launch.check(result.memory) == [] and result.checked
    return results


@pytest.mark.parametrize("gpu", DISPATCHING)
@pytest.mark.parametrize("name", some_more([*FIRST, *sorted({*KERNELS} - {*FIRST})], 3))
def test_kernels(gpu, name):
    for result in run_on(gpu, prepare(name, config=gpu.sm_of(0), compiling=Compiling().for_gpu(gpu))):
        assert result.exit_code == 0


def values(blocks, threads, steps, every, heavy):
    """The values that blocks.c computes, row by row."""
    rows = []
    for block in range(blocks):
        for thread in range(threads):
            value = block * threads + thread
            for _ in range(steps * (heavy if block % every == 0 else 1)):
                value = (value * 1664525 + 1013904223) & 0xFFFF_FFFF
            rows.append(value)
    return rows


#: Blocks, and the threads of each: of one thread, of less than a warp, of a warp, of all warps.
SHAPES = [(1, 1), (7, 1), (9, 4), (5, 2), (6, 3), (40, 1)]


@pytest.mark.parametrize("gpu", DISPATCHING)
@pytest.mark.parametrize(("blocks", "threads"), some_more([pytest.param(*each) for each in SHAPES], 4))
def test_every_block_runs_once(gpu, blocks, threads):
    numbers = {"BLOCKS": blocks, "THREADS": threads, "STEPS": 5, "EVERY": 2, "HEAVY": 6}
    compiling = replace(Compiling().for_gpu(gpu), flags=tuple(f"-D{name}={value}" for name, value in numbers.items()))
    launch = prepare_source(BLOCKS, None, gpu.sm_of(0), compiling)
    expected = b"".join(value.to_bytes(4, "little") for value in values(*numbers.values()))
    for result in run_on(gpu, launch, MEMORIES[::3], memcheck=True):
        # Launches and takes are accesses to the unit, and not outside the program's memory.
        assert not result.memcheck
        place, _ = launch.image.symbols["values"]
        assert result.exit_code == 0 and result.memory.read(place, len(expected)) == expected


@pytest.mark.parametrize("gpu", DISPATCHING)
def test_a_free_sm_gets_the_next_block(gpu):
    # All heavy blocks are those of SM 0, if blocks are given to the SMs in turn.
    numbers = {"BLOCKS": 16, "THREADS": 4, "STEPS": 20, "EVERY": gpu.sms, "HEAVY": 10}
    compiling = replace(Compiling().for_gpu(gpu), flags=tuple(f"-D{name}={value}" for name, value in numbers.items()))
    launch = prepare_source(BLOCKS, None, gpu.sm_of(0), compiling)
    (result,) = run_on(gpu, launch, MEMORIES[:1])
    first, *others = [each["committed_threads"] for each in result.sm_counters]
    assert (first < 2 * min(others)) == (gpu.dispatch is Dispatch.DYNAMIC)


@pytest.mark.parametrize("gpu", DISPATCHING)
@pytest.mark.parametrize("name", some_more([
    "launch after launch", "a message", "exit in main", "no launch"], 1))  # the others expect blocks on certain SMs
def test_c_programs(gpu, name, tmp_path):
    text, code, printed = C_PROGRAMS[name]
    path = tmp_path / "program.c"
    path.write_text('#include "metronome.h"\n' + text)
    launch = prepare_source(path, None, gpu.sm_of(0), Compiling().for_gpu(gpu))
    for result in run_on(gpu, launch):
        assert (result.exit_code, result.console) == (code, printed)


@pytest.mark.parametrize("gpu", DISPATCHING)
@pytest.mark.parametrize("name", some_more(["matmul", *sorted(
    path.name for path in OPENCL.iterdir() if (path / "kernel.cl").exists() and path.name != "matmul")], 1))
def test_opencl_kernels(gpu, name):
    run_on(gpu, prepare(str(OPENCL / name), config=gpu.sm_of(0), compiling=Compiling().for_gpu(gpu)), MEMORIES[:1])


@pytest.mark.parametrize("gpu", DISPATCHING)
def test_loads_take_blocks(gpu):
    # SM 0 launches a grid of 3 * sms blocks; each SM takes 4, and stores their numbers.
    words = [*asm.li(VALUE, -1), asm.tmc(VALUE)]
    words += [*asm.li(UNIT, gpu.dispatch_address), *asm.li(VALUE, 3 * gpu.sms), asm.csrr(CORE, 0xCC2)]
    words += [asm.bne(CORE, 0, 8), asm.sw(VALUE, 0, UNIT)]
    words += [*asm.li(ID, 1 << 31), *asm.li(COUNT, gpu.sms), asm.bar(ID, COUNT)]
    words += [asm.slli(PLACE, CORE, 6), *asm.li(VALUE, DATA), asm.add(PLACE, PLACE, VALUE)]
    # Any word of the line is the number; all lanes of a load get the same block.
    words += [asm.csrr(VALUE, 0xCC0), asm.slli(VALUE, VALUE, 2),
              asm.add(UNIT, UNIT, VALUE), asm.slli(VALUE, VALUE, 2), asm.add(PLACE, PLACE, VALUE)]
    # Memory has zeros beside the first word: the first load answers what is there, too, and yet takes a block.
    words += [word for k in range(4) for word in (
        asm.lw(VALUE, 4 * (k == 0), UNIT), asm.sw(VALUE, 4 * k, PLACE), *asm.li(VALUE, 1))]
    for memory in MEMORIES:
        result = run_gpu(gpu, request(program(*words), gpu, **memory))
        assert passed(result), (memory, result.mismatches)
        rows = [[result.memory.read_word(DATA + 64 * sm + 16 * lane + 4 * k) for k in range(4)]
                for sm in range(gpu.sms) for lane in range(gpu.sm.threads)]
        assert all(row == rows[place // gpu.sm.threads * gpu.sm.threads] for place, row in enumerate(rows))
        taken = [number for row in rows[:: gpu.sm.threads] for number in row]
        assert sorted(taken) == [*range(3 * gpu.sms), *[0xFFFF_FFFF] * gpu.sms]
        if gpu.dispatch is Dispatch.STATIC:
            assert taken[:4] == [0, gpu.sms, 2 * gpu.sms, 0xFFFF_FFFF]
        # The launch is in memory, too.
        assert result.memory.read_word(gpu.dispatch_address) == 3 * gpu.sms


def _taking_beside(gpu, neighbour):
    """SM 0 takes and stores blocks; the others do ``neighbour`` 60 times."""
    p = asm.Program()
    p.add(*asm.li(UNIT, gpu.dispatch_address), *asm.li(PLACE, DATA), asm.csrr(CORE, 0xCC2))
    p.branch(asm.bne, CORE, 0, "others")
    p.add(*asm.li(VALUE, 20), asm.sw(VALUE, 0, UNIT), asm.fence())
    p.add(*[word for k in range(16) for word in (asm.lw(VALUE, 0, UNIT), asm.sw(VALUE, 4 * k, PLACE))], asm.tmc(0))
    p.label("others")
    p.add(asm.slli(VALUE, CORE, 12), asm.add(PLACE, PLACE, VALUE), *neighbour * 60, asm.tmc(0))
    return RawProgram(p.assemble())


@on("STATIC_PARTS")
def test_with_static_dispatch_an_sm_is_alone():
    gpu, seen, ends = STATIC_PARTS, [], set()
    for neighbour in ([], [asm.lw(VALUE, 0, UNIT)], [asm.sw(CORE, 0, PLACE), asm.addi(PLACE, PLACE, 64)]):
        for memory in ({"memory": "fixed", "latency": 1}, {"memory": "fixed"}, {"memory": "tdm"}):
            # Without the check: nothing orders the launch and what the others take.
            result = run_gpu(gpu, request(_taking_beside(gpu, neighbour), gpu, check=False, **memory))
            assert result.status == "ended"
            seen.append((str(memory), result.sm_counters[0], result.memory.read(DATA, 64)))
            ends.add((str(memory), result.total_cycles))
    # For each memory one result, but different ends of the others.
    assert [each for each in seen if each not in seen[:3]] == [] and len(ends) > 3
    numbers = [*range(0, 20, gpu.sms), *[0xFFFF_FFFF] * 16][:16]
    assert seen[0][2] == b"".join(number.to_bytes(4, "little") for number in numbers)
