"""The recipes of docs/extending.md, followed in copies of the tree; their commands are run as they stand."""

import pytest

from tests.docs.pages import ROOT
from tests.docs.recipes import RECIPES, Tree, commands, steps

#: The machine is not touched by these, nor is the compiled model: what is in the cache serves.
SHARED = ("A policy", "A memory model", "A kernel", "A trace format")
#: By recipe, what each of its commands has to say; of a policy only the first needs nothing that is built for it.
SAYS = {
    "A counter": ("stores", "stores"),
    "A policy": ("burst, prediction", "passed", "burst", "", "scheduler: ", " proved"),
    "A memory model": ("posted, latency 30", "posted, latency 30"),
    "A kernel": ("reverse", "passed", "passed"),
    "A trace format": ("passed", "passed"),
}
BUILT = {"A counter": 0, "A policy": 1}
UNIT = """\
import numpy as np
from amaranth.sim import Simulator
from metronome.hdl.isa.ops import Unit
from metronome.hdl.observe.counters import Counters
from metronome.hdl.presets import TINY
from metronome.sim.predict.model import observer
from metronome.sim.predict.model.records import CODE, CONFIG, CONTROL, FRONT, OBSERVER, WHOLE
from types import SimpleNamespace

dut = Counters(TINY)
LSU, ALU = Unit.LSU.value, Unit.ALU.value
SELECTED = [(LSU, 1), (LSU, 0), (ALU, 1), (LSU, 1)]

async def bench(ctx):
    ctx.set(dut.control.region, 1)
    for unit, store in SELECTED:
        ctx.set(dut.front.select_valid, 1)
        ctx.set(dut.front.select_unit, Unit(unit))
        ctx.set(dut.front.select_store, store)
        await ctx.tick()
    print(ctx.get(dut.values.stores), ctx.get(dut.values.loads))

simulator = Simulator(dut)
simulator.add_clock(1e-6)
simulator.add_testbench(bench)
simulator.run()

parts = {name: np.zeros(1, kind).view(np.recarray) for name, kind in (
    ("control", CONTROL), ("front", FRONT), ("observer", OBSERVER), ("whole", WHOLE))}
parts["config"] = np.zeros(2, CONFIG).view(np.recarray)
machine = SimpleNamespace(**parts, code=np.zeros(len(SELECTED), CODE).view(np.recarray))
machine.whole[0].region = machine.config[0].schedulers = 1
for number, (unit, store) in enumerate(SELECTED):
    machine.code[number].unit, machine.code[number].store = unit, store
    machine.front[0].selected, machine.front[0].selected_code = 0, number
    observer._count.py_func(machine, 0)
print(machine.observer[0].stores, machine.observer[0].loads)
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return Tree(tmp_path_factory.mktemp("shared"), SHARED)


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    return Tree(tmp_path_factory.mktemp("counting"), ("A counter",))


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_touches_three_files_at_most(recipe):
    files = {step.file for step in steps(recipe) if not step.file.startswith(("docs/", "tests/"))}
    assert 2 <= len(files) <= 3
    assert len(commands(recipe)) == len(SAYS[recipe]) >= 2


@pytest.mark.slow
def test_the_copies_are_what_runs_and_the_linter_accepts_them(shared, counting):
    for tree in (shared, counting):
        out = tree.python("-c", "import metronome.hdl, metronome.sim; print(metronome.hdl.__path__)")
        assert f"'{ROOT}/" not in out
        tree.python("-m", "ruff", "check", "--no-cache", "hdl", "sim", "riscv_kernels")


@pytest.mark.slow
@pytest.mark.build("TINY")
def test_the_commands_that_need_no_build(shared):
    """Of all recipes but the counter's, in one process."""
    given = [(command, says) for recipe in SHARED
             for command, says in list(zip(commands(recipe), SAYS[recipe], strict=True))[:BUILT.get(recipe)]]
    printed = shared.metronome(*(command for command, _ in given))
    for (command, says), out in zip(given, printed, strict=True):
        assert says in out, command
    lines = [(shared.root / name).read_text("utf-8").splitlines() for name in ("vecadd.log", "predicted.log")]
    assert lines[0][1:] == lines[1][1:] and len(lines[0]) > 100


@pytest.mark.slow
def test_hardware_and_reference_of_the_policy_are_compared(shared):
    out = shared.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/hdl/policies", "-k", "burst and not 4")
    assert " passed" in out


@pytest.mark.slow
def test_the_counter_counts_in_the_hardware_and_in_the_model(counting):
    """Two stores and a load, to the unit and to the model's rule: neither is built or compiled."""
    assert counting.python("-c", UNIT).split() == ["2", "1"] * 2


@pytest.mark.more
def test_what_is_new_fails_no_test_that_has_nothing_to_do_with_it(shared, counting):
    """Of the tests that list what there is."""
    quietly = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider")
    assert " passed" in counting.python(
        *quietly, "tests/hdl/execute/test_csr.py", "tests/sim/build/export/test_meanings.py")
    assert " passed" in shared.python(
        *quietly, "tests/sim/machine/memory/test_memory_models.py", "tests/tb/test_harness.py",
        "tests/sim/studies/sweep/test_spec.py", "-k", "not build and (name or bad or refused or mistake)")


@pytest.mark.more  # a build, and the model compiled
def test_the_commands_of_the_counter(counting):
    for says, out in zip(SAYS["A counter"], counting.metronome(*commands("A counter")), strict=True):
        assert any(line.split()[:2] == [says, "64"] for line in out.splitlines()) or says in out, out


@pytest.mark.long  # a proof, the Verilog of BASE, a build, and a run of the synthesis tools
@pytest.mark.parametrize("number", range(1, 6))
def test_the_commands_of_the_policy(shared, number):
    (out,) = shared.metronome(commands("A policy")[number])
    assert SAYS["A policy"][number] in out
