"""Loops with barriers: what the pass says of each, and what they give on the golden model and on the host.

``python -m tests.riscv_kernels.barrier_shapes`` builds each of barriers/shapes.c by itself, in C and in OpenCL C, at
each level but -O0, where every variable is in memory, and runs it; and sees each of barriers/parting.c refused. A line
for each that is wrong; the exit status is 1 if there is one.
"""

import argparse
import multiprocessing
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from metronome.hdl.presets import BASE
from metronome.riscv_kernels.host import Buffers
from metronome.riscv_kernels.opencl import Local, OpenCl
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from metronome.sim.program.opencl.launch import launch_arguments
from metronome.sim.program.opencl.unit import OpenClUnit
from tests.riscv_kernels.iss_runs import run_launch

__all__ = ["LEVELS", "check_c", "check_opencl", "host_results", "refusal", "shapes"]

FOLDER = Path(__file__).parent / "barriers"
LEVELS = ("O2", "O1", "O3", "Os")
#: Work-items of a group: two warps of BASE. Groups, and the argument n.
SIZE, GROUPS, N = 8, 3, 5
_WORDS = np.array([(37 * number + 11) % 101 - 20 for number in range(64)], np.int32)

_HEAD = '#include "dialects.h"\n'
_C_MAIN = """
int main(void)
{{
    const uint32_t size = {size}, groups = {groups};
    arguments a = *(const arguments *)kernel_arguments();
    int status = 0;
{calls}
    return status;
}}
"""
_HOST_MAIN = """
static arguments given;
static const thread_function shapes[] = {{{names}}};
static thread_function shape;
static void *item(void *place)
{{
    self = *(typeof(self) *)place;
    shape(&given);
    return 0;
}}
void run(const int *in, int *out)
{{
    given = (arguments){{in, out, {n}, {size}, {groups}}};
    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++, given.out += {size} * {groups})
        for (int g = 0; g < {groups}; g++) {{
            int tile[64];
            pthread_t threads[{size}];
            pthread_barrier_t barrier;
            typeof(self) items[{size}];
            shape = shapes[k];
            pthread_barrier_init(&barrier, 0, {size});
            for (int l = 0; l < {size}; l++) {{
                items[l] = (typeof(self)){{l, g, tile, &barrier}};
                pthread_create(&threads[l], 0, item, &items[l]);
            }}
            for (int l = 0; l < {size}; l++)
                pthread_join(threads[l], 0);
        }}
}}
"""
_CALL = """
import ctypes, sys
given, count = sys.stdin.buffer.read(), int(sys.argv[2])
out = (ctypes.c_int32 * count)()
ctypes.CDLL(sys.argv[1]).run(given, out)
sys.stdout.buffer.write(bytes(out))
"""


def shapes(name: str = "shapes") -> dict[str, str]:
    """The text of each shape in ``barriers/NAME.c``."""
    _, *parts = re.split(r"^(?=SHAPE\()", (FOLDER / f"{name}.c").read_text(), flags=re.MULTILINE)
    return {re.match(r"SHAPE\((\w+)\)", part)[1]: part for part in parts}


def host_results(chosen: Sequence[str], folder: Path) -> np.ndarray:
    """What the host's compiler makes of these, with a thread for each work-item: int32 (shapes, work-items)."""
    source, library = folder / "host.c", folder / "host.so"
    main = _HOST_MAIN.format(names=", ".join(chosen), n=N, size=SIZE, groups=GROUPS)
    source.write_text(_HEAD + "".join(map(shapes().__getitem__, chosen)) + main)
    command = ["-shared", "-fPIC", "-DHOST", "-O1", "-w", "-pthread", f"-I{FOLDER}", "-fsanitize=undefined",
               "-fno-sanitize-recover=all", "-o", str(library), str(source)]
    subprocess.run([sys.executable, "-m", "ziglang", "cc", *command], check=True)
    count = len(chosen) * SIZE * GROUPS
    done = subprocess.run([sys.executable, "-c", _CALL, str(library), str(count)], input=_WORDS.tobytes(), check=True,
                          capture_output=True, timeout=60)
    return np.frombuffer(done.stdout, np.int32).reshape(len(chosen), -1)


def check_c(chosen: Sequence[str], level: str, folder: Path, expected: np.ndarray, kind: str = "shapes") -> list[str]:
    """What is wrong of these in one program in C: a line each."""
    source = folder / "own.c"
    calls = "\n".join(f"    status |= spawn_threads(1, &groups, &size, {name}, &a), a.out += {SIZE * GROUPS};"
                      for name in chosen)
    main = _C_MAIN.format(size=SIZE, groups=GROUPS, calls=calls)
    source.write_text(_HEAD + "".join(map(shapes(kind).__getitem__, chosen)) + main)
    elf = build_elf([source], name="own", flags=(f"-{level}", "-w", f"-I{FOLDER}"))
    buffers = Buffers(BASE)
    given = struct.pack("<2Ii", buffers.place("in", _WORDS), buffers.place_output("out", expected.size), N)
    return _wrong(elf, given, buffers, expected, [f"{name} C {level}" for name in chosen])


def check_opencl(name: str, level: str, folder: Path, expected: np.ndarray, kind: str = "shapes") -> list[str]:
    """What is wrong of this one in OpenCL C: a line or none."""
    source = folder / "own.cl"
    source.write_text(_HEAD + shapes(kind)[name])
    elf = build_elf([source], name="own", flags=(f"-{level}", "-w", f"-I{FOLDER}"), parts=OpenClUnit.parts(name))
    buffers = Buffers(BASE)
    arguments = [buffers.place("in", _WORDS), buffers.place_output("out", expected.size), Local(256), N]
    problem = OpenCl(arguments=arguments, global_size=SIZE * GROUPS, local_size=SIZE, buffers=buffers.placed,
                     check=lambda read: [])
    given = launch_arguments(load_elf(elf, BASE.memory_map), problem, BASE, "own.cl")
    return _wrong(elf, given, buffers, expected, [f"{name} OpenCL {level}"])


def _wrong(elf: Path, given: bytes, buffers: Buffers, expected: np.ndarray, names: Sequence[str]) -> list[str]:
    """Run it, and compare a row of ``expected`` for each of ``names``."""
    image = load_elf(elf, BASE.memory_map)
    run = run_launch(Launch(name="own", image=image, memory_map=BASE.memory_map, arguments=given,
                            buffers=buffers.placed), BASE)
    if run.end.fault is not None:
        return [f"{names}: {image.source_line(run.end.fault.pc)}: {run.end.fault}"]
    if run.end.status is not EndStatus.ENDED or run.exit_code:
        return [f"{names}: {run.end}, exit code {run.exit_code}"]
    address, _ = buffers.placed["out"]
    got = np.frombuffer(run.memory.read(address, 4 * expected.size), np.int32).reshape(expected.shape)
    return [f"{name}: {a.tolist()}, want {b.tolist()}"
            for name, a, b in zip(names, got, expected, strict=True) if (a != b).any()]


def refusal(name: str, level: str, folder: Path, kind: str, opencl: bool) -> str:
    """The first line that the toolchain says of this one, or nothing if it builds and runs."""
    nothing = np.zeros((1, SIZE * GROUPS), np.int32)
    try:
        if opencl:
            check_opencl(name, level, folder, nothing, kind)
        else:
            check_c([name], level, folder, nothing, kind)
    except ToolchainError as error:
        return str(error).splitlines()[0]
    return ""


def _try(task: tuple[str, str, str, bool, np.ndarray | None]) -> str:
    kind, name, level, opencl, expected = task
    what = f"{name} {'OpenCL' if opencl else 'C'} {level}"
    with tempfile.TemporaryDirectory() as folder:
        if expected is None:
            return "" if refusal(name, level, Path(folder), kind, opencl) else f"{what}: accepted"
        try:
            if opencl:
                return "".join(check_opencl(name, level, Path(folder), expected))
            return "".join(check_c([name], level, Path(folder), expected))
        except ToolchainError as error:
            return f"{what}: {str(error).splitlines()[0]}"


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="which; by default all")
    parser.add_argument("--levels", nargs="+", default=LEVELS, choices=LEVELS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    chosen = [name for name in shapes() if not options.names or name in options.names]
    parting = [name for name in shapes("parting") if not options.names or name in options.names]
    with tempfile.TemporaryDirectory() as folder:
        expected = dict(zip(chosen, host_results(chosen, Path(folder)) if chosen else (), strict=True))
    tasks = [("shapes", name, level, opencl, row[None]) for name, row in expected.items()
             for level in options.levels for opencl in (False, True)]
    tasks += [("parting", name, level, opencl, None) for name in parting
              for level in options.levels for opencl in (False, True)]
    wrong = 0
    with multiprocessing.Pool(options.jobs) as pool:
        for line in pool.imap(_try, tasks):
            if line:
                wrong += 1
                print(line, flush=True)
    print(f"{len(chosen)} shapes, {len(parting)} that part lanes, {len(tasks)} builds: {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
