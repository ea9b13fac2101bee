"""What the tests of tb/examples share: exports, images, and the project's own simulation to compare with."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metronome.sim.build.cache import entry
from metronome.sim.build.export.files import export_files
from metronome.sim.build.sources import ROOT
from metronome.sim.build.verilating import digest, verilator, versions
from metronome.sim.build.verilog import elaborate_flat
from metronome.sim.machine.memory.stacks import restore
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.image import image_text, read_words
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run
from tests.support.builds import TINY

EXAMPLES = ROOT / "tb" / "examples"
KERNELS = ("vecadd", "psum", "diverge")
needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs the Debian package iverilog")
#: What runs tb/examples/cocotb.
COCOTB = EXAMPLES / "cocotb" / "run.py"


@functools.cache
def files_of_export(bus="line"):
    """An export of TINY, on the line port with the variant for simulation; elaborated once a process."""
    chip = TINY.for_chip()
    return export_files(chip, TINY if bus == "line" else None, preset="TINY", bus=bus, verilog=elaborate_flat)


def write_export(folder, bus="line"):
    folder.mkdir()
    for name, content in files_of_export(bus).items():
        (folder / name).write_bytes(content)
    return folder


def environment():
    """With Verilator on the path, as its own installation has it, and our packages."""
    script, env = verilator()
    path = os.pathsep.join([str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**env, "PATH": path, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def call(*command, cwd, **more):
    """Run a program as a user does; its output."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment() | more, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def cocotb_run(export, image, simulator, *more, cwd):
    """What tb/examples/cocotb says of a run in ``cwd``; the memory after it is in ``cwd``/memory."""
    call(sys.executable, COCOTB, export, image, "--sim", simulator, "--dump", "memory", "--build", "build", *more,
         cwd=cwd)
    return json.loads((cwd / "build" / "result.json").read_text())


def harness(module):
    """The C++ harness on ``module``, built by its own Makefile; in the cache."""
    sources = EXAMPLES / "verilator"
    content = [path.read_text() for path in sorted(sources.iterdir())]
    key = digest(files_of_export()[f"{module}.v"], content, versions())

    def make(folder):
        export = write_export(folder / "export")
        call(
            "make", "-f", sources / "Makefile", f"EXPORT={export}", f"MODULE={module}", "OBJ=obj", "OPT=-O0",
            "OPT_GLOBAL=-O0", cwd=folder,
        )
        (folder / "obj" / "sim").rename(folder / "sim")

    return entry(f"unit-{key}", make) / "sim"


def launched(kernel, size, folder):
    """A kernel, and its image in ``folder``."""
    launch = prepare(kernel, size=size, config=TINY)
    image = folder / f"{kernel}.hex"
    image.write_text(image_text(launch, TINY))
    return launch, image


def own_run(launch, latency, config=TINY, **values):
    """The same in the project's own simulation, passed."""
    result = run(config, RunRequest(launch=launch, policy="lrr", latency=latency, **values))
    assert (result.status, result.exit_code, launch.check(result.memory)) == ("ended", 0, [])
    return result


def counters_of(result):
    """Name of a port without its prefix -> value; the stalls by reason, but for the one that is always 0."""
    flat = {name: value for name, value in result.counters.items() if not isinstance(value, dict)}
    stalls = {f"stalls_{reason}": value for reason, value in result.counters["stalls"].items() if reason != "none"}
    assert result.counters["stalls"]["none"] == 0
    return flat | stalls


def without_oracles(counters):
    return counters | {"discrepancies": 0, "errors": 0}


def check_memory(launch, words):
    """Compare what a run has left in memory, (address, word) pairs, with numpy."""
    memory = SparseMemory(TINY.memory_map)
    for address, word in words:
        memory.write(address, word.to_bytes(4, "little"))
    restore(TINY, memory)
    assert launch.check(memory) == []


def check_dump(launch, file):
    check_memory(launch, read_words(file.read_text()))
