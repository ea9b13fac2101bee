"""Random plain programs on a host compiler and on the golden model."""

import ctypes
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
from plain_programs import WORDS

from metronome.hdl.config import SmConfig

THREADS = 70


def host_results(source: Path, u: int, threads: int = THREADS) -> np.ndarray:
    """What the host's compiler makes of it, with a sanitizer that stops at anything undefined."""
    library = source.with_suffix(".so")
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-DHOST", "-O1", "-w", "-ffp-contract=off",
         "-fsanitize=undefined", "-fno-sanitize-recover=all", "-o", str(library), str(source)], check=True,
    )
    code = (
        "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); n = int(sys.argv[2]); w = int(sys.argv[3]);"
        "r = (ctypes.c_uint32 * (n * w))();"
        "[l.one(ctypes.c_uint32(i), ctypes.c_uint32(int(sys.argv[4])), ctypes.byref(r, 4 * w * i)) for i in range(n)];"
        "sys.stdout.buffer.write(bytes(r))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(library), str(threads), str(WORDS), str(u)], check=True, capture_output=True,
        timeout=60,
    )
    return np.frombuffer(done.stdout, np.uint32)
