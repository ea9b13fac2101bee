"""A program's macros may have any name that our headers do not document."""

import re

import pytest

from metronome.sim.program.compiler.clang import RUNTIME, own_unit
from metronome.sim.program.opencl import OpenClUnit
from tests.support.tiers import more_but

HEADERS = ("metronome.h", "math.h", "stdio.h", "string.h")
#: What a program has of the headers (metronome.h), the language's own words, and words of #pragma.
TAKEN = re.compile(r"""
    metronome_\w+|simt_\w+|[A-Z]+_\w+|__\w*|_[A-Z]\w*|\w+f|is\w+|u?int\d*(_t)?|size_t|va_list|
    (mem|str)(cpy|set|move|cmp|len)|(v|sn|vsn)?printf|puts|putchar|exit|console_\w+|region_\w+|policy_\w+|
    (block|grid|thread)(Idx|Dim)|dim3_t|thread_function|kernel_arguments|local_memory|block_sum\w*|spawn_threads|
    exp2?|log(2|10)?|pow|sqrt|fabs|floor|ceil|trunc|round|rint|fmin|fmax|sin|cos|tanh?|erf|
    if|else|for|while|return|void|char|short|float|double|long|unsigned|signed|const|static|struct|typedef|union|
    extern|register|volatile|sizeof|break|continue|goto|include|define|undef|ifn?def|endif|pragma|NAN|INFINITY
""", re.VERBOSE)
PLAUSIBLE = (
    "a b c n count mask value text total step grid block warps slot entry pointer predicate bits bytes cells id code "
    "argument function dimension block_size group_warps target source inline noreturn aligned always_inline unavailable"
).split()


def words(paths):
    """All words of the files, of their comments too, but for those in TAKEN."""
    text = "\n".join(path.read_text() for path in paths)
    return sorted({word for word in re.findall(r"[A-Za-z_]\w*", text) if not TAKEN.fullmatch(word)})


PROGRAM = """
#include "metronome.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
static void work(const void *argument_)
{
    const uint32_t *numbers = argument_;
    SIMT_IF(threadIdx.x < blockDim.y) { policy_set(1, 2); } SIMT_ELSE { policy_slot(1, 2); } SIMT_ENDIF
    uint32_t i = 0;
    SIMT_WHILE(i < blockIdx.z) { METRONOME_LOOP_BOUND(3); i++; } SIMT_ENDWHILE
    SIMT_ONE_BY_ONE { console_putchar((char)simt_select_float(i, 1.0f, gridDim.x)); } SIMT_ENDONE
    console_hex(block_sum(numbers[0], local_memory(64)) + (uint32_t)block_sum_float(fmaf(1.0f, 2.0f, 3.0f), 0));
}
int main(void)
{
    char buffer_[9];
    memset(buffer_, isnan(powf(NAN, copysignf(1.0f, fminf(INFINITY, sqrtf(4.0f))))), sizeof buffer_);
    region_begin();
    spawn_threads(1, (const uint32_t *)kernel_arguments(), 0, work, 0);
    region_end();
    snprintf(buffer_, strlen(buffer_), "%d", memcmp(buffer_, buffer_ + 1, 3));
    console_puts(buffer_);
    exit(puts(buffer_));
}
"""


def test_macros_of_a_c_program(tmp_path):
    """Each word in the text of our headers is a macro that no compiler accepts."""
    found = words(RUNTIME / name for name in (*HEADERS, "context.h", "memory_map.h"))
    source = tmp_path / "names.c"
    used = {"x", "y", "z", *words([_written(source, PROGRAM)])}
    flags = [f"-D{word}=@" for word in {*found, *PLAUSIBLE} - used]
    own_unit(source, ["-Werror", *flags]).compile("-fsyntax-only")
    before = "".join(f"#define {axis} @\n" for axis in "xyz")
    after = "".join(f"#undef {axis}\n" for axis in "xyz")
    head, body = PROGRAM.split("static void work")
    _written(source, f"{before}{head}{after}static void work{body}")
    own_unit(source, ["-Werror", *flags]).compile("-fsyntax-only")


def _written(path, text):
    path.write_text(text)
    return path


KERNEL = """
typedef struct { int size, low, bits, value; } own;
__kernel void named(__global float4 *out_, __global const own *in_)
{
    float whole_;
    const int i_ = get_global_id(0);
    out_[i_] = native_divide(native_sin(out_[i_]), half_recip(2.0f)) + convert_float4(convert_int4_sat(out_[1]));
    out_[0] += fract(1.5f, &whole_) + as_float(in_[0].SIZE + in_[0].BITS) + vload4(0, (__global float *)out_);
    out_[2] = select(out_[0], out_[1], isless(out_[0], out_[1])) + smoothstep(0.0f, 1.0f, 0.5f) + max(LOW, 2);
}
"""


def test_macros_of_an_opencl_program(tmp_path):
    """The same with -D of every word that the built-in header has in its text, and the kernel does not use."""
    source = _written(tmp_path / "named.cl", KERNEL)
    found = {*words((RUNTIME / "opencl").glob("*.h")), "n", "x", "a0", "size", "low", "bits", "value", "nothing"}
    used = set(re.findall(r"\w+", KERNEL)) - {"size", "low", "bits", "value"}
    names = {"SIZE": "size", "BITS": "bits", "LOW": "16"}
    kept = {"size", "low", "bits", "value"}  # members of the kernel's own type
    builtin = _defined()
    flags = [f"-D{word}=@" for word in sorted(found - used - kept - builtin)]
    assert len(flags) > 300
    flags += [f"-D{name}={value}" for name, value in names.items()]
    OpenClUnit.make(None, source, flags).compile("-fsyntax-only")


def _defined():
    """Names of types and functions that the kernel's macros of ours stand for."""
    text = "\n".join(path.read_text() for path in (RUNTIME / "opencl").glob("*.h"))
    return set(re.findall(r"#define (\w+)", text)) | {"sin", "cos", "convert", "float4", "int4", "uchar", "global"}


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "value"), [
    (["-DA=1", "-UA", "-DA=3"], 3), (["-UM_PI_F", "-DM_PI_F=7", "-DA=M_PI_F"], 7), (["-DA=4 // five"], 4),
    *more_but([
        (["-D", "A"], 1), (["-DF(a)=a+2", "-DA=F(1)"], 3), (["-DA=", "-DB=2"], None), (["-DA=__LINE__"], 2),
    ], []),
])
def test_an_option_means_what_it_means_to_clang(tmp_path, flags, value):
    condition = f"A == {value}" if value is not None else "A 1"
    text = f"__kernel void named(__global int *x)\n{{ _Static_assert({condition}, \"\"); }}\n"
    OpenClUnit.make(None, _written(tmp_path / "named.cl", text), flags).compile("-fsyntax-only")
