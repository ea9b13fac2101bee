"""Several SMs on the RTL in lock step: kernels, barriers, launches, faults and deadlocks."""

from dataclasses import replace

import pytest

from metronome.sim.build.sources import ROOT
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import KERNELS, prepare, prepare_source
from metronome.sim.run.gpu.runner import GpuRefusedError, run_gpu, run_many_gpu
from metronome.sim.run.runner import RunRequest
from tests.support.builds import GPU, GPUS, TINY, on
from tests.support.tiers import some_more
from tests.system.rtl_programs import RawProgram

MEMORIES = [{"memory": "fixed"}, {"memory": "dram"}, {"memory": "random", "latency": 60},
            {"memory": "random", "latency": 200, "memory_options": MemoryOptions(adversarial=True)}]
CORE, PLACE, VALUE, ID, COUNT = range(5, 10)
DATA = 0x2_0000


def request(launch, gpu, **fields):
    return RunRequest(**{"launch": launch, "policy": gpu.sm.policies[0], "check": True, "max_cycles": 500_000} | fields)


def program(*words):
    p = asm.Program()
    p.add(*words, asm.tmc(0))
    return RawProgram(p.assemble())


def passed(result):
    return (result.status, result.mismatches, result.assertions) == ("ended", [], [])


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", some_more(["vecadd", "psum", "sgemm_group", *sorted({*KERNELS} - {
    "vecadd", "psum", "sgemm_group"})], 3))
def test_kernels(gpu, name):
    launch = prepare(name, config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
    results = run_many_gpu(gpu, [
        request(launch, gpu, seed=number, memcheck=number == 0, **memory) for number, memory in enumerate(MEMORIES)])
    assert results[0].memcheck == []
    for memory, result in zip(MEMORIES, results, strict=True):
        assert passed(result), (memory, result.status, result.mismatches, result.sm_hang)
        assert launch.check(result.memory) == []
        assert result.exit_code == 0 and result.checked


@pytest.mark.parametrize("gpu", GPUS)
def test_all_sms_work(gpu):
    launch = prepare("vecadd", size=256, config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
    result = run_gpu(gpu, request(launch, gpu, check=False))
    stored = [each["committed_threads"] for each in result.sm_counters]
    assert min(stored) > 256 // gpu.sms and max(stored) < 1.5 * min(stored)
    assert result.counters["committed_threads"] == sum(stored)
    assert result.counters["cycles"] == max(each["cycles"] for each in result.sm_counters)
    assert (result.l2 is None) == (gpu.l2_parts == 0)
    if gpu.l2_parts:
        assert result.l2["writes"] > 0 < result.l2["hits"] < result.l2["reads"] - result.l2["merged"]
    if gpu.l2_parts == 1:
        # All SMs run the same code.
        assert result.l2["hits"] + result.l2["merged"] > result.l2["reads"] // 3
    assert sum(result.counters["stalls"].values()) == sum(sum(each["stalls"].values()) for each in result.sm_counters)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_line_that_all_sms_write_loses_nothing(gpu):
    # SM s writes byte s of 16 words, which are one line, all at once.
    words = [asm.csrr(CORE, 0xCC2), *asm.li(PLACE, DATA), asm.add(PLACE, PLACE, CORE), asm.addi(VALUE, CORE, 0x40)]
    words += [word for k in range(16) for word in (asm.lbu(ID, 4 * k, PLACE), asm.sb(VALUE, 4 * k, PLACE))]
    for memory in MEMORIES:
        result = run_gpu(gpu, request(program(*words), gpu, **memory))
        assert passed(result), result.mismatches
        expected = bytes(0x40 + k if k < gpu.sms else 0 for k in range(4)) * 16
        assert result.memory.read(DATA, 64) == expected


@pytest.mark.parametrize("gpu", GPUS)
def test_a_launch_starts_with_empty_caches(gpu):
    reads = [*asm.li(PLACE, DATA), asm.lw(VALUE, 0, PLACE), asm.sw(VALUE, 64, PLACE)]
    results = []
    for value in (7, 9):
        launch = program(*reads)
        loaded = _with_word(launch, DATA, value)
        results.append(request(loaded, gpu))
    first, second = run_many_gpu(gpu, results)
    assert [result.memory.read_word(DATA + 64) for result in (first, second)] == [7, 9]


def _with_word(launch, address, value):
    class WithWord(RawProgram):
        def load_into(self, memory):
            super().load_into(memory)
            memory.write(address, value.to_bytes(4, "little"))

    return WithWord(launch.image)


@pytest.mark.parametrize("gpu", GPUS)
def test_numbers_of_sms(gpu):
    words = [asm.csrr(CORE, 0xCC2), asm.slli(PLACE, CORE, 4)]
    words += [*asm.li(VALUE, DATA), asm.add(PLACE, PLACE, VALUE)]
    for k, number in enumerate((0xCC2, 0xFC2, 0xF14, 0x340)):
        words += [asm.csrr(VALUE, number), asm.sw(VALUE, 4 * k, PLACE)]
    result = run_gpu(gpu, request(program(*words), gpu))
    assert passed(result), result.mismatches
    for sm in range(gpu.sms):
        found = [result.memory.read_word(DATA + 16 * sm + 4 * k) for k in range(4)]
        assert found == [sm, gpu.sms, sm * gpu.sm.harts, 0x1_0000]


@pytest.mark.parametrize("gpu", GPUS)
def test_a_fence_i_fetches_what_another_sm_has_stored(gpu):
    p, code = asm.Program(), 10
    p.add(asm.csrr(CORE, 0xCC2), asm.slli(PLACE, CORE, 6), *asm.li(VALUE, DATA), asm.add(PLACE, PLACE, VALUE))
    p.add(*asm.li(ID, 1 << 31), *asm.li(COUNT, gpu.sms))
    p.la(code, "code")
    # The code is in all caches before SM 0 changes it.
    p.add(asm.jalr(1, code, 0), asm.sw(VALUE, 0, PLACE), asm.bar(ID, COUNT))
    p.branch(asm.bne, CORE, 0, "others")
    p.add(*asm.li(VALUE, asm.addi(VALUE, 0, 2)), asm.sw(VALUE, 0, code))
    p.label("others")
    p.add(asm.bar(ID, COUNT), asm.fence_i(), asm.jalr(1, code, 0), asm.sw(VALUE, 4, PLACE), asm.tmc(0))
    p.label("code")
    p.add(asm.addi(VALUE, 0, 1), asm.jalr(0, 1, 0))
    for memory in MEMORIES:
        result = run_gpu(gpu, request(RawProgram(p.assemble()), gpu, **memory))
        assert passed(result), result.mismatches
        found = [[result.memory.read_word(DATA + 64 * sm + 4 * k) for k in range(2)] for sm in range(gpu.sms)]
        assert found == [[1, 2]] * gpu.sms


def test_a_waveform_of_the_environment_is_refused(monkeypatch):
    monkeypatch.setenv("METRONOME_WAVES", "a.vcd")
    with pytest.raises(GpuRefusedError, match="a waveform is for one SM: leave it out with 4 SMs"):
        run_gpu(GPU, request(program(), GPU))


@pytest.mark.parametrize("gpu", [replace(GPU, sms=16)])
@pytest.mark.long
def test_sixteen_sms(gpu):
    launch = prepare("vecadd", size=1024, config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
    for memory in ({"memory": "fixed"}, {"memory": "random", "latency": 100}):
        result = run_gpu(gpu, request(launch, gpu, **memory))
        assert passed(result) and launch.check(result.memory) == []
        assert min(each["committed_threads"] for each in result.sm_counters) > 64


@on("TINY")
def test_one_sm_has_no_barriers_between_sms():
    from metronome.sim.run.runner import run

    # There the id of a barrier is its low bits.
    result = run(TINY, request(program(*asm.li(ID, 1 << 31), *asm.li(COUNT, 2), asm.bar(ID, COUNT)), GPU))
    assert result.status == "deadlock"


C_PROGRAMS = {
    # SM 1 waits for SM 0 within one launch.
    "a message": ("""
        static volatile uint32_t flag, data, got;
        static void work(const void *unused)
        {
            (void)unused;
            if (simt_thread_id() == 0 && simt_warp_id() == 0) {
                if (simt_core_id() == 0) {
                    for (volatile int i = 0; i < 20; i++)
                        ;
                    data = 42;
                    simt_fence();
                    flag = 1;
                } else if (simt_core_id() == 1) {
                    while (!flag)
                        simt_fence();
                    simt_fence();
                    got = data;
                }
            }
        }
        int main(void)
        {
            const uint32_t n = 16; /* once on each lane */
            spawn_threads(1, &n, 0, work, 0);
            return got == 42 ? 7 : 1;
        }""", 7, ""),
    # What main stores between launches is seen by all, and what they store by main; it runs, and prints, once.
    "launch after launch": ("""
        static uint32_t value, sums[32];
        static void work(const void *unused)
        {
            (void)unused;
            sums[blockIdx.x] += value;
        }
        int main(void)
        {
            const uint32_t n = 32;
            console_puts("once\\n");
            for (uint32_t round = 1; round <= 5; round++) {
                value = round;
                spawn_threads(1, &n, 0, work, 0);
            }
            for (uint32_t i = 0; i < n; i++)
                if (sums[i] != 15)
                    return 1;
            return 9;
        }""", 9, "once\n"),
    "exit in main": ("int main(void) { exit(5); }", 5, ""),
    "no launch": ("int main(void) { return 3; }", 3, ""),
    "blocks of several threads": ("""
        static uint32_t seen[40];
        static void work(const void *unused)
        {
            (void)unused;
            uint32_t *const cell = local_memory(64);
            cell[threadIdx.x] = blockIdx.x + 1;
            __syncthreads();
            if (threadIdx.x == 1)
                seen[blockIdx.x] = cell[0] + (simt_core_id() == blockIdx.x % simt_num_cores() ? 0 : 100);
        }
        int main(void)
        {
            const uint32_t blocks = 40, threads = 3;
            if (spawn_threads(1, &blocks, &threads, work, 0))
                return 1;
            for (uint32_t i = 0; i < blocks; i++)
                if (seen[i] != i + 1)
                    return 2;
            return 4;
        }""", 4, ""),
}


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", C_PROGRAMS)
def test_c_programs(gpu, name, tmp_path):
    text, code, printed = C_PROGRAMS[name]
    path = tmp_path / "program.c"
    path.write_text('#include "metronome.h"\n' + text)
    launch = prepare_source(path, None, gpu.sm_of(0), Compiling(several_sms=True))
    for memory in MEMORIES:
        result = run_gpu(gpu, request(launch, gpu, memcheck=True, **memory))
        assert passed(result), (memory, result.status, result.mismatches, result.sm_hang)
        assert (result.exit_code, result.console) == (code, printed)
        assert result.memcheck == []


OPENCL = ROOT / "tests" / "riscv_kernels" / "opencl" / "kernels"


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", some_more(["matmul", *sorted(
    path.name for path in OPENCL.iterdir() if (path / "kernel.cl").exists() and path.name != "matmul")], 1))
def test_opencl_kernels(gpu, name):
    launch = prepare(str(OPENCL / name), config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
    result = run_gpu(gpu, request(launch, gpu))
    assert passed(result), (result.status, result.mismatches, result.sm_hang)
    assert launch.check(result.memory) == []
