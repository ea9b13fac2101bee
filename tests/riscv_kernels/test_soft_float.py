"""--soft-float: the routines give the FPU's bits, every kernel passes its check without FPU, and what is refused."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

import metronome
from metronome.hdl.presets import MID, PAPER, TINY
from metronome.scripts.cli import main
from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.compiler.soft_float import with_routines
from metronome.sim.program.elf import ImageError, load_elf
from metronome.sim.program.float_code import needs_fpu
from metronome.sim.program.kernels import kernels, prepare, prepare_source
from tests.riscv_kernels import iss_runs, library_runs
from tests.riscv_kernels.iss_runs import PROGRAMS, RESULTS, finished
from tests.riscv_kernels.library_runs import float_bits
from tests.riscv_kernels.opencl.runs import words_of
from tests.support.tiers import some_more

SOFT = Compiling(soft_float=True)
WITHOUT_FPU = replace(TINY, fpu=False)
QUIET_NAN, SIGN = 0x7FC00000, np.uint32(1 << 31)
#: In the order of programs/float_operations.c.
OPERATIONS = (
    "+", "-", "*", "/", "sqrt", "min", "max", "<", "<=", ">", ">=", "==", "!=", "unordered", "int", "unsigned",
    "from int", "from unsigned", "fma", "x * y + z", "x * y - z", "z - x * y", "negated", "int64", "unsigned64",
    "from int64", "from unsigned64", "lrint", "lround", "floor", "rint", "chain",
)
#: Zero, subnormal, the least normal, around one, around 2^23, 2^24, 2^31, 2^32 and 2^63, the greatest, infinity, NaNs.
EDGES = np.array([
    0, 1, 2, 0x007FFFFF, 0x00400000, 0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x0C000000, 0x33800000, 0x34000000,
    0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40000000, 0x4AFFFFFF, 0x4B000000,
    0x4B7FFFFF, 0x4B800000, 0x4EFFFFFF, 0x4F000000, 0x4F000001, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000,
    0x5F800000, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF,
], np.uint32)
EDGES = np.concatenate([EDGES, EDGES | SIGN])

#: Zero, one and infinity of both signs, the greatest, a NaN: all triples of them.
SPECIAL = (0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x7F800001)


def triples(rng, count):
    """Any bits, numbers of like size, edge values, sums that cancel, and multiply-adds that are easily wrong."""
    def words(*shape):
        return rng.integers(0, 1 << 32, shape, np.uint64).astype(np.uint32)

    near = (words(3, count) & np.uint32(0x807FFFFF)) | (rng.integers(120, 134, (3, count)) << 23).astype(np.uint32)
    special = np.array(list(itertools.product(SPECIAL, repeat=3)), np.uint32).T
    edges = rng.choice(EDGES, (3, count))
    low = words(3, count) & np.uint32(0x80FFFFFF)
    low[0] = near[0]
    product = (near[0].view(np.float32) * near[1].view(np.float32)).view(np.uint32)
    off = rng.integers(-2, 3, count).astype(np.int64)
    cancelling = np.stack([near[0], near[1], (product ^ SIGN) + off.astype(np.uint32)])
    # The same for a sum.
    close = np.stack([near[0], (near[0] ^ SIGN) + off.astype(np.uint32), near[2]])
    # Halfway between two floats but for a tiny addend; zero times a number that is much greater than the addend.
    factor, tiny = rng.choice(np.array([0x3FC00000, 0x3FA00000, 0xBFC00000], np.uint32), count), words(count)
    halfway = np.stack([near[0], factor, (tiny & np.uint32(0x807FFFFF)) | np.uint32(60 << 23)])
    large = (words(count) & np.uint32(0x807FFFFF)) | np.uint32(250 << 23)
    nothing = np.stack([words(count) & SIGN, large, (tiny & np.uint32(0x807FFFFF)) | np.uint32(9 << 23)])
    # A product that is nearly nothing, and a zero: only the sign is left.
    least = np.stack([words(count) & np.uint32(0x80000003), words(count) & np.uint32(0x80000003), halfway[0] & SIGN])
    return np.concatenate([special, words(3, count), near, edges, low, cancelling, close, halfway, nothing, least], 1)


def results(config, operands, soft):
    """The program's words: a row for each operation."""
    elf = build_elf([PROGRAMS / "float_operations.c"], name="float_operations", soft_float=soft)
    image = load_elf(elf, config.memory_map)
    assert (needs_fpu(image) is None) == soft
    count = operands.shape[1]
    addresses, placed = library_runs.place(list(operands))
    words = [RESULTS, count, min(count, config.harts), *addresses]
    launch = library_runs.Launch(
        name="float_operations", image=image, memory_map=config.memory_map, buffers=placed,
        arguments=np.array(words, np.uint32).tobytes(),
    )
    return finished(launch, config).words(RESULTS, len(OPERATIONS) * count).reshape(len(OPERATIONS), count)


def canonical(values):
    return np.where(np.isnan(values), np.uint32(QUIET_NAN), values.view(np.uint32))


def of_numpy(x, y):
    """The first 14 operations, as numpy computes them."""
    a, b = x.view(np.float32), y.view(np.float32)
    with np.errstate(all="ignore"):
        floats = [a + b, a - b, a * b, a / b, np.sqrt(a)]
        for sign, pick in ((1, np.fmin), (0, np.fmax)):
            # Zeros of both signs are equal for numpy.
            zero = np.where(np.signbit(a) | np.signbit(b), -0.0, 0.0) if sign else np.where(
                np.signbit(a) & np.signbit(b), -0.0, 0.0)
            floats.append(np.where((a == 0) & (b == 0), zero.astype(np.float32), pick(a, b)))
        tests = [a < b, a <= b, a > b, a >= b, a == b, a != b, np.isnan(a) | np.isnan(b)]
    return np.stack([*(canonical(each) for each in floats), *(each.astype(np.uint32) for each in tests)])


def wrong(got, expected, operands):
    return [f"{OPERATIONS[row]} of {[hex(word) for word in operands[:, column]]}: {got[row, column]:#x}, "
            f"expected {expected[row, column]:#x}" for row, column in np.argwhere(got != expected)[:5]]


@pytest.mark.parametrize("count", some_more([300, 3000], 1))
def test_the_routines_give_the_fpus_bits(count):
    operands = triples(np.random.default_rng(7), count)
    soft = results(replace(PAPER, fpu=False), operands, soft=True)
    assert wrong(soft[:14], of_numpy(*operands[:2]), operands) == [], "seed 7"
    assert wrong(soft, results(PAPER, operands, soft=False), operands) == [], "seed 7"


@pytest.mark.slow
def test_all_pairs_of_edge_values():
    x, y = (side.ravel() for side in np.meshgrid(EDGES, EDGES))
    operands = np.stack([x, y, np.random.default_rng(8).choice(EDGES, len(x))])
    soft = results(replace(PAPER, fpu=False), operands, soft=True)
    assert wrong(soft[:14], of_numpy(x, y), operands) == [], "seed 8"
    assert wrong(soft, results(PAPER, operands, soft=False), operands) == [], "seed 8"


#: Quick: multiply-add, a root and comparisons, divergent lanes; the others `slow`.
FLOAT_KERNELS = [info.name for info in kernels() if "float32" in info.types]
QUICK = ("saxpy", "diverge", "srad", "blackscholes")


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in FLOAT_KERNELS
])
def test_a_kernel_passes_its_check_without_fpu(name):
    launch = prepare(name, "float32", 7, 3, WITHOUT_FPU, SOFT)
    assert iss_runs.failures(launch, WITHOUT_FPU, f"{name} size 7 seed 3") == []


@pytest.mark.slow
def test_with_an_fpu_it_is_allowed():
    launch = prepare("sgemm", "float32", 5, 1, MID, SOFT)
    assert iss_runs.failures(launch, MID, "sgemm") == [] and needs_fpu(launch.image) is None
    assert needs_fpu(prepare("sgemm", "float32", 5, 1, MID).image) is not None


def test_no_routine_has_a_branch_on_its_operands():
    """The loops of division and root have a fixed number of steps."""
    image = load_elf(build_elf([PROGRAMS / "float_operations.c"], name="float_operations", soft_float=True))
    names = ("__addsf3", "__subsf3", "__mulsf3", "__divsf3", "sqrtf", "fmaf", "fminf", "fmaxf", "__ltsf2", "__lesf2",
             "__gtsf2", "__gesf2", "__eqsf2", "__unordsf2", "__fixsfsi", "__fixunssfsi", "__floatsisf", "__floatunsisf")
    code = image.segments[0]
    for name in names:
        first, size = image.symbols[name]
        words = np.frombuffer(code.data[first - code.address:first - code.address + size], np.uint32)
        assert size >= 8 and (words & 0x7F == 0x63).sum() <= (name in ("__divsf3", "sqrtf")), name


OWN = """
#include "metronome.h"
static volatile float x = 16777217.0f, y = 3.0f, z = 0x1p-30f;
static float fmaf(float a, float b, float c) { return a * b + c; }
float sqrtf(float a) { return __builtin_sqrtf(a) + 1.0f; }
float (*volatile pointer)(float, float, float) = fmaf;
int main(void)
{
    uint32_t *const results = *(uint32_t *const *)kernel_arguments();
    results[0] = __builtin_bit_cast(uint32_t, pointer(x, y, z));
    results[1] = __builtin_bit_cast(uint32_t, sqrtf(y));
    results[2] = __builtin_bit_cast(uint32_t, __builtin_fmaf(x, y, z));
    return 0;
}
"""


@pytest.mark.parametrize("simt", some_more([True, False], 1))
def test_a_program_may_have_functions_of_those_names(tmp_path, simt):
    source = tmp_path / "own.c"
    source.write_text(OWN)
    launch = prepare_source(source, config=WITHOUT_FPU, compiling=Compiling(simt=simt, soft_float=True))
    launch = replace(launch, arguments=np.array([RESULTS], np.uint32).tobytes())
    product = np.float32(np.float32(16777217) * np.float64(3))
    root = np.sqrt(np.float32(3)) + np.float32(1)
    expected = [float_bits(value) for value in (product, root, product)]
    assert finished(launch, WITHOUT_FPU).words(RESULTS, 3).tolist() == expected


def test_a_multiply_add_in_ir_is_rounded_once():
    code = ("define float @f() {\n  %1 = call float @llvm.fmuladd.f32(float %0, float %0, float %0), !dbg !1\n}\n"
            "declare float @llvm.fmuladd.f32(float, float, float) #1\n"
            "declare float @llvm.fma.f32(float, float, float)\n"
            "declare float @fmaf(float)\ndefine internal float @sqrtf(float %0) {\n call float @sqrtf(float %0)\n"
            " call float @sqrtfast(float %0)\n}\n")
    assert with_routines(code) == (
        "define float @f() {\n  %1 = call float @llvm.fma.f32(float %0, float %0, float %0), !dbg !1\n}\n"
        "declare float @llvm.fma.f32(float, float, float)\n"
        "declare float @fmaf(float)\ndefine internal float @__metronome_own_sqrtf(float %0) {\n"
        " call float @__metronome_own_sqrtf(float %0)\n call float @sqrtfast(float %0)\n}\n")


CONVERSIONS = """
__kernel void convert(__global const int *in, __global int *out, uint n)
{
    const uint i = get_global_id(0);
    const float4 v = (float4)(as_float(in[i]), 2.5f, 3.0f, 1e-3f);
    out[i] = as_int(convert_float_rtz(in[i]));
    out[n + i] = as_int(convert_float_rtp(in[i]));
    out[2 * n + i] = as_int(convert_float_rtn((uint)in[i]));
    out[3 * n + i] = as_int(mad(v, v, v.wzyx).x);
    out[4 * n + i] = as_int((v * v + v.wzyx).x);
    out[5 * n + i] = convert_int_sat_rte(as_float(in[i]));
    out[6 * n + i] = as_int(exp(fmin(as_float(in[i]), 3.0f)));
    out[7 * n + i] = as_int(fmod(as_float(in[i]), 3.0f));
}
"""


@pytest.mark.slow
def test_opencl(tmp_path):
    source = tmp_path / "convert.cl"
    source.write_text(CONVERSIONS)
    words = np.random.default_rng(5).integers(0, 1 << 32, 100, np.uint64).astype(np.uint32)
    words = np.concatenate([words, EDGES]).view(np.int32)
    usual, soft = (
        words_of(source, config, [words], 8 * len(words), len(words), global_size=len(words), soft_float=soft)
        for config, soft in ((TINY, False), (WITHOUT_FPU, True))
    )
    assert (usual == soft).all()


PRINT = """
#include <stdio.h>
#include "metronome.h"
volatile float x = 1.1f;
int main(void)
{
    snprintf(*(char *const *)kernel_arguments(), 64, "%.9f %g", x * x, x / 3.0f);
    return 0;
}
"""


def test_printf(tmp_path):
    source = tmp_path / "print.c"
    source.write_text(PRINT)
    launch = prepare_source(source, config=WITHOUT_FPU, compiling=SOFT)
    launch = replace(launch, arguments=np.array([RESULTS], np.uint32).tobytes())
    text = finished(launch, WITHOUT_FPU).memory.read(RESULTS, 64).split(b"\0")[0]
    single = np.float32(1.1)
    assert text.decode() == f"{float(single * single):.9f} {float(single / np.float32(3)):g}"


@pytest.mark.parametrize("flag", ["-march=rv32imf", "-march=rv32g", "-mabi=ilp32f", "-march=rv32im_zfinx",
                                  "-UMETRONOME_SOFT_FLOAT", "-Xclang -target-feature -Xclang +f"])
def test_a_flag_that_contradicts(flag):
    with pytest.raises(ToolchainError, match=r"^unsupported compiler flag: .*: --soft-float chooses [^\n]*$"):
        prepare("saxpy", "float32", 5, compiling=replace(SOFT, flags=tuple(flag.split())))


def test_a_flag_that_agrees():
    flags = ("-march=rv32im_zicond_zicsr_zifencei", "-mabi=ilp32")
    prepare("saxpy", "float32", 5, 1, WITHOUT_FPU, replace(SOFT, flags=flags))
    with pytest.raises(ToolchainError, match="other registers"):
        prepare("saxpy", "float32", 5, compiling=Compiling(flags))


@pytest.mark.parametrize(("name", "text", "reason"), [
    ("asm.c", '__asm__("fadd.s ft0, ft0, ft0");', "requires the following: 'F'"),
    ("register.c", 'float f(float x) { __asm__("" : "+f"(x)); return x; }', "register for constraint 'f'"),
    ("own.S", ".globl main\nmain: fadd.s ft0, ft0, ft0\n ret\n", "requires the following: 'F'"),
])
def test_assembly_with_float_registers(tmp_path, name, text, reason):
    source = tmp_path / name
    source.write_text(text + ("\nint main(void) { return 0; }\n" if name.endswith(".c") else ""))
    with pytest.raises(ToolchainError) as info:
        prepare_source(source, config=WITHOUT_FPU, compiling=SOFT)
    first = str(info.value).splitlines()[0]
    assert re.search(reason, first) and "--soft-float" in first, first


def test_the_refusal_names_the_option(tmp_path):
    source = tmp_path / "half.c"
    source.write_text("volatile float x = 1; int main(void) { x = x * 0.5f; return 0; }\n")
    with pytest.raises(ImageError, match=r"compile its C with --soft-float, or use integers$"):
        prepare_source(source, config=WITHOUT_FPU)
    prepare_source(source, config=WITHOUT_FPU, compiling=SOFT)
    source.write_text('int main(void) { __asm__(".word 0x00000053"); return 0; }\n')
    with pytest.raises(ImageError, match=r"the program has fadd\.s .*: --soft-float cannot replace it$"):
        prepare_source(source, config=WITHOUT_FPU, compiling=SOFT)


@pytest.mark.parametrize("words", [("run", "own.elf"), ("predict", "own.elf"), ("wcet", "--elf", "own.elf")])
def test_a_program_that_is_not_compiled_takes_no_such_option(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.elf").write_bytes(b"")
    assert main([*words, "--preset", "TINY", "--soft-float"]) == 2
    assert capsys.readouterr().err == (
        "metronome: --soft-float is for a program that is compiled: a kernel or a .c file\n")


@pytest.mark.slow
def test_prediction_and_bound():
    """No time depends on an operand, so the bound is exact."""
    asked = {"machine": "TINY", "settings": {"fpu": False}, "dtype": "float32", "size": 8, "soft_float": True}
    found = metronome.predict("saxpy", **asked)
    bound = metronome.wcet("saxpy", **asked)
    assert found.passed and bound.exact and bound.cycles == found.total_cycles


BARRIER = """
#include <math.h>
#include "metronome.h"
typedef struct { const float *values; float *out; } block;
static void work(const void *argument)
{
    const block *const args = argument;
    const float scale = %s;
    float sum = 0.0f;
    for (int step = 0; (float)step * sqrtf(scale) < 6.0f; step++) {
        __syncthreads();
        sum = sum * scale + (float)threadIdx.x;
    }
    args->out[threadIdx.x] = sum;
}
int main(void)
{
    const uint32_t *const words = kernel_arguments();
    block args = {(const float *)words[0], (float *)words[1]};
    const uint32_t grid = 1, threads = 2;
    return spawn_threads(1, &grid, &threads, work, &args);
}
"""


@pytest.mark.parametrize("soft", [False, True])
def test_a_barrier_in_a_loop_that_all_lanes_leave_together(tmp_path, soft):
    """The result of a routine is the same in all lanes if its arguments are; if one is not, the barrier is refused."""
    source = tmp_path / "loop.c"
    source.write_text(BARRIER % "args->values[0] + 0.5f")
    launch = prepare_source(source, config=TINY, compiling=Compiling(soft_float=soft))
    values = np.array([1.5], np.float32).tobytes()
    arguments = np.array([RESULTS, RESULTS + 64], np.uint32).tobytes()
    launch = replace(launch, arguments=arguments, buffers={"values": (RESULTS, values)})
    got = finished(launch, TINY).words(RESULTS + 64, 2).view(np.float32)
    assert got.tolist() == [0.0, 31.0]
    source.write_text(BARRIER % "args->values[threadIdx.x] + 0.5f")
    with pytest.raises(ToolchainError, match=r"loop\.c:11: in work: a barrier where lanes"):
        prepare_source(source, config=TINY, compiling=Compiling(soft_float=soft))
