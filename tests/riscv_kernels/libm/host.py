"""The functions of math.h, compiled for the host from the very sources that the machine runs."""

import ctypes
import functools
import hashlib
import platform
import sys
from pathlib import Path

import numpy as np

from metronome.sim.build.cache import entry
from metronome.sim.build.processes import run
from metronome.sim.program.compiler.elf_cache import RUNTIME, compiler_version

LIBRARY = RUNTIME / "library"
SOURCES = [LIBRARY / f"{name}.c" for name in ("exp", "log", "pow", "trig", "round")]
HARNESS = Path(__file__).with_name("host.c")
#: In the order of host.c.
FUNCTIONS = (
    "expf", "exp2f", "logf", "log2f", "log10f", "sinf", "cosf", "tanf", "tanhf", "erff",
    "floorf", "ceilf", "truncf", "roundf", "rintf",
)
#: A host without a fused multiplication would call a slow one; x86-64-v3 is any x86 since 2013.
_MACHINE = ["-march=x86_64_v3"] if platform.machine() == "x86_64" else []


def _compile(folder: Path) -> None:
    objects = []
    for source in [*SOURCES, HARNESS]:
        ours = ["-ffreestanding", f"-I{RUNTIME}", "-Wall", "-Werror"] if source is not HARNESS else []
        target = folder.resolve() / f"{source.stem}.o"
        _zig(["-c", "-O2", "-fPIC", *_MACHINE, *ours, str(source), "-o", str(target)])
        objects.append(str(target))
    _zig(["-shared", *objects, "-o", str(folder.resolve() / "libm.so"), "-lm"])


def _zig(arguments: list[str]) -> None:
    done = run([sys.executable, "-m", "ziglang", "cc", *arguments], cwd=RUNTIME)
    assert done.returncode == 0, done.stderr


@functools.cache
def library() -> ctypes.CDLL:
    digest = hashlib.sha256(" ".join([compiler_version(), platform.platform(), *_MACHINE]).encode())
    for path in [*SOURCES, HARNESS, *sorted(LIBRARY.glob("*.h")), RUNTIME / "math.h", Path(__file__)]:
        digest.update(path.read_bytes())
    folder = entry(f"kernels/libm-{digest.hexdigest()[:24]}", _compile, lambda done: (done / "libm.so").exists())
    loaded = ctypes.CDLL(str(folder / "libm.so"))
    loaded.worst.restype = loaded.worst_pow.restype = ctypes.c_double
    return loaded


def worst(name: str, first: int, count: int, step: int = 1) -> tuple[float, int]:
    """The worst error in ulp over ``count`` floats, ``step`` apart in their bits, and the bits of that float."""
    place = ctypes.c_uint32()
    error = library().worst(
        FUNCTIONS.index(name), ctypes.c_uint32(first), ctypes.c_uint64(count), ctypes.c_uint32(step),
        ctypes.byref(place),
    )
    return error, place.value


def worst_pow(x: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """The same of powf over pairs of uint32 bits, and the position of the worst pair."""
    place = ctypes.c_uint64()
    words = [np.ascontiguousarray(each, np.uint32) for each in (x, y)]
    error = library().worst_pow(*map(_pointer, words), ctypes.c_uint64(len(x)), ctypes.byref(place))
    return error, place.value


def evaluate(name: str, *arguments: np.ndarray) -> np.ndarray:
    """The host's results, float32, for float32 arguments."""
    inputs = [np.ascontiguousarray(each, np.float32) for each in arguments]
    result = np.empty(len(inputs[0]), np.float32)
    count = ctypes.c_uint64(len(result))
    pointers = [*map(_pointer, [*inputs, result])]
    if name == "powf":
        library().evaluate_pow(*pointers, count)
    else:
        library().evaluate(FUNCTIONS.index(name), *pointers, count)
    return result


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
