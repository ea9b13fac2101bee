"""The same kernels on PoCL (docs/opencl.md): a second reading of the interpreter.

    python -m tests.riscv_kernels.opencl.fuzz.on_pocl --seed 1 --count 100

The optimiser is off: with it, PoCL 3.0 loses what another work-item has stored to a ``__local`` variable, too.
"""

import argparse
import sys

import numpy as np

from tests.riscv_kernels.opencl.fuzz.check import differences
from tests.riscv_kernels.opencl.fuzz.kernels import RandomKernel, random_kernel


def words_on_pocl(kernel: RandomKernel, cl: object, context: object) -> np.ndarray:
    """What it stores: uint32 (items, slots)."""
    # PoCL's own header would see what -D gives.
    macros = [f"#define {option.removeprefix('-D').replace('=', ' ')}\n" for option in kernel.options.split()]
    program = cl.Program(context, "".join(macros) + kernel.source).build(options=["-cl-opt-disable"])
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    words = np.zeros((kernel.items, len(kernel.slots)), np.uint32)
    buffers = [cl.Buffer(context, flags, hostbuf=each) for each in (kernel.inputs, kernel.floats, words)]
    queue = cl.CommandQueue(context)
    sizes = (kernel.local[0] * kernel.groups, *kernel.local[1:])
    passed = [cl.LocalMemory(kernel.passed)] if kernel.passed else []
    run = cl.Kernel(program, kernel.name)
    run(queue, sizes, kernel.local, *buffers, np.int32(kernel.turns), *passed)
    cl.enqueue_copy(queue, words, buffers[2])
    queue.finish()
    return words


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.riscv_kernels.opencl.fuzz.on_pocl", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--count", type=int, default=100, help="how many kernels (default: 100)")
    arguments = parser.parse_args()
    try:
        import pyopencl as cl
    except ImportError:
        print("on_pocl: pyopencl is missing: install it, and an OpenCL such as PoCL", file=sys.stderr)
        return 2
    context = cl.Context(cl.get_platforms()[0].get_devices())
    wrong = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        kernel = random_kernel(seed)
        try:
            found = differences(kernel, words_on_pocl(kernel, cl, context))
        except cl.Error as error:
            found = str(error).splitlines()[:1]
        if found:
            print(f"seed {seed}: {'; '.join(found)}", flush=True)
        wrong += bool(found)
    print(f"{arguments.count - wrong} agree, {wrong} do not")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
