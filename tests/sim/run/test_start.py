"""What a run from the cache does without: it takes a second in all, most of it imports."""

import os
import subprocess
import sys

import cocotb_tools.config
import find_libpython

from metronome.sim.build.preflight import libpython
from metronome.sim.program.kernels import prepare
from metronome.sim.run.process import _cocotb_entry, _cocotb_folder, environment, started_sooner

#: All that the command's own process does for a run but for reading the cache.
COMMAND = """
import sys
from metronome.scripts import cli
from metronome.sim.build import simulator, verilog
from metronome.sim.run import runner
from metronome.sim.program.kernels import prepare
from metronome.sim.run.process import environment
prepare("vecadd", size=4)
environment("testbench", "results")
unwanted = {"amaranth", "cocotb", "cocotb_tools", "elftools", "pytest"}
print(*sorted({"numpy", *unwanted} & set(sys.modules)))
"""


def test_the_command_imports_no_hardware_language_and_no_testbench():
    prepare("vecadd", size=4)  # into the cache
    done = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["numpy"]


def test_what_starts_cocotb_is_what_its_own_runner_takes():
    assert _cocotb_entry() == cocotb_tools.config.pygpi_entry_point()
    assert _cocotb_folder() / "libs" == cocotb_tools.config.libs_dir


def test_the_library_of_python_is_found():
    assert os.path.samefile(libpython(), find_libpython.find_libpython())


def test_no_assertions_are_rewritten():
    assert environment("testbench", "results")["COCOTB_REWRITE_ASSERTION_FILES"] == ""


#: What a simulation process imports, as cocotb does it.
IMPORTS = """
import sys
from cocotb.regression import RegressionManager
RegressionManager.setup_pytest_assertion_rewriting()
import metronome.sim.run.lockstep, metronome.sim.run.types, metronome.tb.mailbox
print(*sorted({"_pytest.python", "metronome.sim.program.kernels", "metronome.sim.program.compiler.elf_cache"} &
set(sys.modules)))
"""


def test_the_simulation_imports_neither_pytest_nor_a_compiler(tmp_path):
    environ = started_sooner(environment("testbench", "results"), tmp_path)
    done = subprocess.run([sys.executable, "-c", IMPORTS], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
