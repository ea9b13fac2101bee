"""A kernel in OpenCL C on the golden model, for the tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers
from metronome.riscv_kernels.opencl import OpenCl
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from metronome.sim.program.opencl import OpenClUnit, launch_arguments
from tests.riscv_kernels.iss_runs import finished

__all__ = ["HOST", "MADE", "launch_of", "words_of"]

#: A host.py; "{made}" is the rest of what it says of the kernel.
HOST = """
import numpy as np
from metronome.riscv_kernels.host import Buffers, Problem
from metronome.riscv_kernels.opencl import Local, OpenCl
ABOUT, TYPES, DEFAULT_SIZE, MAX_SIZE = "a test", ("int32",), 6, 6
def make(dtype, size, seed, config):
    buffers = Buffers(config)
    x = buffers.place("x", np.arange(10, 10 + size).astype(np.int32))
    return OpenCl({made}buffers=buffers.placed, check=lambda read: [])
"""
#: The same of a kernel whose parameter is x.
MADE = HOST.replace("{made}", "arguments=(x,), global_size=size, ")


def launch_of(
    source: Path, problem: OpenCl, config: SmConfig, flags: tuple[str, ...] = (), unit: type[OpenClUnit] = OpenClUnit,
    soft_float: bool = False,
) -> Launch:
    """The kernel built with ``flags``; ToolchainError and KernelError as `metronome run` has them."""
    elf = build_elf(
        [source], name=source.stem, flags=[*problem.options.split(), *flags], memory_map=config.memory_map,
        soft_float=soft_float, parts=unit.parts(problem.kernel), warn=lambda text: None,
    )
    image = load_elf(elf, config.memory_map)
    return Launch(
        name=source.stem, image=image, memory_map=config.memory_map, buffers=problem.buffers,
        arguments=launch_arguments(image, problem, config, source.name),
    )


def words_of(source: Path, config: SmConfig, inputs: Sequence[np.ndarray], count: int, *others: object,
             flags: tuple[str, ...] = (), soft_float: bool = False, **more: Any) -> np.ndarray:
    """Run a kernel of ``(inputs, out, others)``; the ``count`` words of out. ``more``: of :class:`OpenCl`."""
    buffers = Buffers(config)
    places = [buffers.place(f"in{number}", values) for number, values in enumerate(inputs)]
    out = buffers.place_output("out", count)
    problem = OpenCl(arguments=(*places, out, *others), buffers=buffers.placed, check=lambda read: [], **more)
    return finished(launch_of(source, problem, config, flags, soft_float=soft_float), config).words(out, count)
