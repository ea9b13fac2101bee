"""The kernels of the tests on another OpenCL: ``python -m tests.riscv_kernels.opencl.on_pocl [NAME ...]``.

It takes pyopencl and an OpenCL that it finds, such as PoCL on the processor (the Debian package pocl-opencl-icd), which
nothing else here needs. What ``host.py`` says runs there as it is, and its check looks at the buffers.
"""

import struct
import sys
from pathlib import Path

import numpy as np

from metronome.hdl.presets import BASE
from metronome.riscv_kernels.opencl import Local
from metronome.sim.program.kernel_folders import host_of
from metronome.sim.program.opencl.values import packed

FOLDER = Path(__file__).parent / "kernels"
#: What a struct has, which the OpenCL interface does not say.
STRUCTS = {"place_t": 8, "settings_t": 20}
ELEMENTS = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8, "float": 4}


def size_of(kind):
    if kind in STRUCTS:
        return STRUCTS[kind]
    element = kind.rstrip("0123456789")
    count = int(kind[len(element) :] or 1)
    return ELEMENTS[element] * {3: 4}.get(count, count)


def run(name, cl, context, size=None, function=None):
    """The lines of the check after a run."""
    folder = FOLDER / name
    host = host_of(str(folder))
    problem = host.problem(host.types[0], size or host.default_size, 1, BASE, function)
    program = cl.Program(context, (folder / "kernel.cl").read_text())
    program.build(options=[*problem.options.split(), "-cl-kernel-arg-info"])
    kernels = {each.function_name: each for each in program.all_kernels()}
    kernel = kernels[function or problem.kernel or next(iter(kernels))]
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = {address: cl.Buffer(context, flags, hostbuf=np.frombuffer(data, np.uint8).copy())
               for address, data in problem.buffers.values()}
    info = cl.kernel_arg_info
    names = [kernel.get_arg_info(number, info.NAME) for number in range(kernel.num_args)]
    given = [problem.arguments[each] for each in names] if isinstance(problem.arguments, dict) else problem.arguments
    for number, value in enumerate(given):
        kind = kernel.get_arg_info(number, info.TYPE_NAME)
        if isinstance(value, Local):
            kernel.set_arg(number, cl.LocalMemory(value.bytes))
        elif kind.endswith("*"):
            kernel.set_arg(number, buffers[value])
        else:
            kernel.set_arg(number, packed(names[number], value, kind, size_of(kind)))
    queue = cl.CommandQueue(context)
    sizes, local = ((each,) if isinstance(each, int) else each for each in (problem.global_size, problem.local_size))
    cl.enqueue_nd_range_kernel(queue, kernel, sizes, local)
    memory = {}
    for address, buffer in buffers.items():
        memory[address] = np.empty(buffer.size, np.uint8)
        cl.enqueue_copy(queue, memory[address], buffer)
    queue.finish()

    def read(address, count):
        data = memory.get(address)
        return bytes(count) if data is None else data.tobytes()[:count].ljust(count, b"\0")

    return problem.check(read)


def main(names):
    try:
        import pyopencl as cl
    except ImportError:
        print("on_pocl: pyopencl is missing: install it, and an OpenCL such as PoCL", file=sys.stderr)
        return 2
    context = cl.Context(cl.get_platforms()[0].get_devices())
    status = 0
    for name in names or sorted(path.name for path in FOLDER.iterdir() if path.is_dir()):
        try:
            found = run(name, cl, context)
        except (cl.Error, struct.error, ValueError) as error:
            found = [str(error)]
        print(f"{name}: {'passed' if not found else found[0]}")
        status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
