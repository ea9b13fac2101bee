"""Private objects that OpenCL aligns to more than the stack: arrays of wide vectors, structures, helper's arguments."""

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import prepare
from tests.riscv_kernels.iss_runs import run_launch

TYPES = [(name, width) for name in ("char", "ushort", "int", "ulong", "long", "float") for width in (3, 4, 8, 16)]
ITEMS, N = 6, 1

BODY = """
        {{
            {type} a[4];
            for (int i = 0; i < 4; i++)
                a[i] = ({type})(({scalar})in[i]);
            for (int i = 0; i < 4; i++) {{
                a[i].s2 += ({scalar})i;
                (({scalar} *)&a[i])[(n + g) % {width}] += ({scalar})5;
            }}
            out[{count} * g + {number}] = (int)a[(g + n) & 3].s2;
            out[{count} * g + {number}] += (int)(({scalar} *)&a[(g + 1) & 3])[(g * 3 + n) % {width}];
        }}"""
STRUCTS = """
        {{
            box b[2];
            b[n].v = (float8)(in[g & 3]);
            b[n - 1] = b[n];
            __attribute__((aligned(128))) int own[8];
            for (int i = 0; i < 8; i++)
                own[i] = in[i & 3] * i;
            out[{count} * g + {number}] = (int)sum(b[g & 1], own[(g + n) & 7]);
        }}"""
HOST = """
import numpy as np
from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl
ABOUT, TYPES, DEFAULT_SIZE, MAX_SIZE = "private objects", ("int32",), 1, 1
def make(dtype, size, seed, config):
    buffers = Buffers(config)
    source = buffers.place("in", np.asarray([3, 1, 4, 9], np.int32))
    expected = np.asarray({expected}, np.int32)
    out = buffers.place_output("out", len(expected))
    return OpenCl(arguments=(source, out, {n}), global_size={items}, buffers=buffers.placed,
                  check=lambda read: compare(read, "out", out, expected))
"""


def value(width, g):
    """What one work-item finds in one array."""
    def element(i, j):
        return (3, 1, 4, 9)[i] + (i if j == 2 else 0) + (5 if j == (N + g) % width else 0)

    return element((g + N) & 3, 2) + element((g + 1) & 3, (g * 3 + N) % width)


@pytest.mark.more
@pytest.mark.parametrize("level", ["-O2", pytest.param("-O0", marks=pytest.mark.long)])
def test_wide_private_objects(tmp_path, level):
    count = len(TYPES) + 1
    bodies = [
        BODY.format(type=f"{name}{width}", scalar=name, width=width, count=count, number=number)
        for number, (name, width) in enumerate(TYPES)
    ]
    (tmp_path / "kernel.cl").write_text("\n".join([
        "typedef struct { char before; float8 v; } box;",
        "float sum(box b, int more) { return b.v.s0 + b.v.s7 + (float)more; }",
        "__kernel void wide(__global const int *in, __global int *out, int n) {", "    const int g = get_global_id(0);",
        *bodies, STRUCTS.format(count=count, number=count - 1), "}", "",
    ]))
    values = (3, 1, 4, 9)
    expected = [
        entry for g in range(ITEMS)
        for entry in [*(value(width, g) for _, width in TYPES), 2 * values[g & 3] + values[(g + N) & 3] * ((g + N) & 7)]
    ]
    (tmp_path / "host.py").write_text(HOST.format(expected=expected, n=N, items=ITEMS))
    launch = prepare(str(tmp_path), config=TINY, compiling=Compiling((level,)))
    done = run_launch(launch, TINY)
    assert done.end.status is EndStatus.ENDED and launch.check(done.memory) == []
    assert np.all(np.asarray(expected) > 0), "each is of both kinds of elements"
