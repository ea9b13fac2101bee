"""What a TOML file of axes asks for, and what is refused before anything runs."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from metronome.hdl.presets import PAPER, TINY
from metronome.sim.machine.memory.names import models_with
from metronome.sim.machine.policies.files import PolicyFileError
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.studies.sweep.spec import NAMED, SpecError, expand, find_spec, named_specs


def runs(text):
    return expand(text, "mine", "mine.toml", Path()).runs


def test_every_combination_and_swas_once_for_all_fetch_policies():
    found = runs("""
        kernel = ["psort", "vecadd"]
        size = [16, 32]
        mode = ["baseline", "swas"]
        fetch = ["lrr", "gtlo"]
        issue = ["lrr", "gto"]
        prediction = "not_taken"
    """)
    assert len(found) == 2 * 2 * (2 * 2 + 2)
    assert {(run.kernel, run.size) for run in found} == {(k, s) for k in ("psort", "vecadd") for s in (16, 32)}
    first = [run for run in found if (run.kernel, run.size) == ("psort", 16)]
    pairs = [(str(run.config.coordination), run.fetch, run.issue) for run in first]
    assert pairs == [("baseline", fetch, issue) for fetch in ("lrr", "gtlo") for issue in ("lrr", "gto")] + [
        ("swas", None, "lrr"), ("swas", None, "gto"),
    ]
    assert {str(run.config.prediction) for run in found} == {"not_taken"}


def test_runs_that_differ_in_policies_share_a_build():
    found = runs("""
        kernel = "psort"
        preset = "TINY"
        [[block]]
        mode = "baseline"
        fetch = ["lrr", "pta"]
        issue = ["lrr", "gto"]
        [[block]]
        issue = ["lrr", "gtlo"]
    """)
    assert len(found) == 6 and len({run.config for run in found}) == 2
    assert {run.config.policies for run in found[:4]} == {("lrr", "gto")}
    assert {run.config for run in found[4:]} == {TINY}, "the usual policies are the usual build"


def test_a_table_gives_each_kernel_values_of_its_own():
    found = runs('kernel = ["psort", "vecadd"]\nseed = 7\n[size]\npsort = [8, 9]\n')
    assert [(run.kernel, run.size, run.seed) for run in found] == [("psort", 8, 7), ("psort", 9, 7), ("vecadd", 64, 7)]


def test_a_block_adds_to_what_stands_above_it_and_may_say_otherwise():
    found = runs('kernel = "psort"\npreset = "TINY"\nsize = 8\n[[block]]\nsize = 9\n[[block]]\nwarps = [4, 8]\n')
    assert [(run.size, run.config.warps, dict(run.settings)) for run in found] == [
        (9, 2, {}), (8, 4, {"warps": "4"}), (8, 8, {"warps": "8"}),
    ]


def test_the_same_run_of_two_blocks_is_one():
    assert len(runs('kernel = "psort"\n[[block]]\nsize = [8, 9]\n[[block]]\nsize = [9, 10]\n')) == 3


def test_options_and_fields_reach_the_run():
    (run,) = runs("""
        kernel = "psort"
        type = "float32"
        memory = "dram"
        timing = "DDR4_2400R"
        memory_clock = "3/2"
        bank_hash = "none"
        max_cycles = 1000
        check = true
        cflags = "-O1 -DN=4"
        no_simt = true
        dcache_ways = 2
        memory_map.stack_bytes_per_hart = 4096
    """)
    assert (run.dtype, run.memory, str(run.memory_options.clock), run.memory_options.bank_hash) == (
        "float32", "dram", "3/2", "none",
    )
    assert (run.max_cycles, run.check, run.compiling) == (1000, True, Compiling(("-O1", "-DN=4"), simt=False))
    assert (run.config.dcache_ways, run.config.memory_map.stack_bytes_per_hart) == (2, 4096)


def test_a_machine_of_a_file_and_a_kernel_of_a_folder_stand_beside_the_experiment(tmp_path):
    (tmp_path / "small.toml").write_text("icache_bytes = 1024\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kernel.c").write_text("")
    (tmp_path / "mine" / "host.py").write_text(
        'ABOUT = "x"\nTYPES = ("int32",)\nDEFAULT_SIZE = 4\nMAX_SIZE = 8\ndef make(dtype, size, seed, config): pass\n'
    )
    (tmp_path / "mine.toml").write_text('kernel = "mine"\nconfig = "small.toml"\nsize = {mine = 6}\n')
    (run,) = find_spec(str(tmp_path / "mine.toml")).runs
    assert (run.kernel, run.place, run.size, run.config.icache_bytes) == ("mine", str(tmp_path / "mine"), 6, 1024)


@pytest.mark.slow
def test_the_experiments_that_come_with_the_project():
    paper, pta, guarantee, rates, reorder = (find_spec(name) for name in NAMED)
    assert len(paper.runs) == 6 * 3 * (9 + 3)
    assert {run.config.warps * run.config.threads for run in paper.runs} == {PAPER.warps * PAPER.threads}
    assert len({run.config for run in paper.runs}) == 6
    assert len(pta.runs) == 8 * 4 * 3 * 3
    assert len({run.config for run in pta.runs}) == 3
    assert len(guarantee.runs) == 7 * (9 + 3) and all(run.forecast for run in guarantee.runs)
    assert len(rates.runs) == 6 * 6 * 2 and all(run.progress and run.engine == "predict" for run in rates.runs)
    assert len(reorder.runs) == 18 * 2 * 9 * (2 + 2) and all(run.engine == "predict" for run in reorder.runs)
    assert all(named_specs().values())


PSORT = 'kernel = "psort"\n'


@pytest.mark.parametrize(("text", "message"), [
    ("kernal = 'psort'", "unknown axis 'kernal' (did you mean kernel?)"),
    ("kernel = 'psrt'", "unknown kernel 'psrt' (did you mean psort?)"),
    ("size = 4", "no kernel is named: write kernel = "),
    (PSORT + "icache_byte = 1024", "unknown axis 'icache_byte' (did you mean icache_bytes?)"),
    (PSORT + "dcache_ways = 3", "dcache_ways must be a power of two"),
    (PSORT + "issue = 'gtl'", "issue: unknown name 'gtl' (did you mean gtlo?)"),
    (PSORT + "mode = 'swass'", "mode: unknown name 'swass' (did you mean swas?)"),
    (PSORT + "mode = 'swas'\nfetch = 'lrr'", "fetch lrr: swas has one scheduler for fetch and issue: name it with"),
    (PSORT + "policies = ['lrr']", "policies is set by the axis issue"),
    (PSORT + "preset = 'PAPR'", "preset: unknown name 'PAPR' (did you mean PAPER?)"),
    (PSORT + "type = 'int64'", "type of psort must be one of int32, float32, not 'int64'"),
    (PSORT + "size = 0", "size of psort must be between 1 and 65536, not 0"),
    (PSORT + "size = '8'", "size must be a whole number, not '8'"),
    (PSORT + "size = true", "size must be a whole number, not True"),
    (PSORT + "size = []", "size has no values"),
    (PSORT + "size = {vecad = 4}", "size.vecad: unknown kernel"),
    (PSORT + "seed = -1", "seed must be at least 0, not -1"),
    (PSORT + f"seed = {2**63}", f"seed must be at most {2**63 - 1}, not {2**63}"),
    (PSORT + f"max_cycles = {2**62 + 1}", f"max_cycles must be at most {2**62}, not {2**62 + 1}"),
    (PSORT + "icache_bytes = [[1024]]", "icache_bytes must be one value or a list of values, not [[1024]]"),
    (PSORT + "icache_bytes = [{a = 1}]", "icache_bytes must be one value or a list of values"),
    (PSORT + "size = {psort = {a = 8}}", "size.psort must be a whole number, not {'a': 8}"),
    (PSORT + "size = " + 5000 * "[" + 5000 * "]", "not TOML: too many nested brackets"),
    (PSORT + "size = {psort = '8'}", "size.psort must be a whole number, not '8'"),
    ("kernel = []", "kernel has no values: name one"),
    (PSORT + "latency = 0", "latency must be at least 1, not 0"),
    (PSORT + "memory = 'dram'\nlatency = 5", f"latency is for memory {' and '.join(models_with('latency'))}, not for"),
    (PSORT + "timing = 'DDR4_2400R'", "timing is for memory dram and tdm, not for fixed"),
    (PSORT + "memory = 'dram'\nmemory_clock = 'x'", "memory_clock must be a ratio such as 2, 3/2 or 1.5, not 'x'"),
    (PSORT + "config = 'none.toml'", "config none.toml: cannot read it: No such file or directory"),
    (PSORT + "check = true\nprobe = false", "check, memcheck and forecast need the probe"),
    (PSORT + "forecast = true\nengine = 'predict'", "forecast needs a run on the hardware"),
    (PSORT + "engine = 'model'", "engine: unknown name 'model'"),
    (PSORT + "cflags = \"'\"", "cflags \"'\": No closing quotation"),
    (PSORT + "title = 3", "title must be a text, not 3"),
    (PSORT + "block = 3", "write a block as [[block]]"),
    (PSORT + "seed = [" + ",".join(map(str, range(400))) + "]\nlatency = [" + ",".join(map(str, range(1, 400))) + "]",
     "159600 runs of psort are more than 100000"),
    ("kernel = ", "not TOML: Invalid value"),
])
def test_what_cannot_be_is_one_line(text, message):
    with pytest.raises(SpecError) as raised:
        runs(text)
    assert str(raised.value).startswith(f"mine.toml: {message}")
    assert "\n" not in str(raised.value)


def test_a_complaint_names_the_block():
    with pytest.raises(SpecError, match=r"^mine\.toml, block 2: size of psort must be"):
        runs(PSORT + "[[block]]\nsize = 4\n[[block]]\nsize = 0\n")


def test_a_file_of_windows(tmp_path):
    (tmp_path / "small.toml").write_bytes(b"\xef\xbb\xbficache_bytes = 1024\r\n")
    (tmp_path / "mine.toml").write_bytes(b'\xef\xbb\xbfkernel = "psort"\r\nconfig = "small.toml"\r\n')
    assert [run.config.icache_bytes for run in find_spec(str(tmp_path / "mine.toml")).runs] == [1024]


@pytest.mark.parametrize("content", [b"icache_bytes = 1024 # \xe4\n", b"\xff\xfei\x00"])
def test_a_file_that_is_no_utf_8_is_named(tmp_path, content):
    (tmp_path / "small.toml").write_bytes(content)
    with pytest.raises(SpecError, match=r"config small\.toml: cannot read it: it is not text in UTF-8"):
        expand(PSORT + 'config = "small.toml"', "mine", "mine.toml", tmp_path)


@pytest.mark.parametrize(("name", "message"), [
    ("papr.toml", "papr.toml: cannot read the experiment: No such file or directory"),
    ("papre", "papre: cannot read the experiment: No such file or directory (did you mean paper?)"),
])
def test_an_experiment_that_is_not_there(name, message):
    with pytest.raises(SpecError) as raised:
        find_spec(name)
    assert str(raised.value).startswith(message)


POLICY = """
from metronome.sim.machine.policies.base import Policy, lowest
class Mine(Policy):
    def reset(self): return 0
    def pick(self, state, inputs): return lowest(inputs.eligible)
    def update(self, state, inputs, picked): return state
"""


def test_a_policy_s_file_lies_beside_the_experiment(tmp_path, own_policies):
    (tmp_path / "mine.py").write_text(POLICY)
    text = """
        kernel = "vecadd"
        size = 4
        preset = "TINY"
        [[block]]
        issue = ["lrr", "mine.py"]
        engine = "predict"
        [[block]]
        issue = ["lrr", "gto"]
    """
    found = expand(text, "mine", "mine.toml", tmp_path).runs
    name = found[1].issue
    assert name.startswith("Mine_") and found[1].policy_files == {name: f"{tmp_path / 'mine.py'}:Mine"}
    # What is predicted shares no build with what is simulated.
    assert [run.config.policies for run in found[2:]] == [("lrr", "gto")] * 2 and not found[2].policy_files
    with pytest.raises(SpecError, match=r"issue .*nix\.py: No such file or directory"):
        expand(text.replace("mine.py", "nix.py"), "mine", "mine.toml", tmp_path)


def test_another_process_loads_it_and_says_if_it_has_changed(tmp_path, own_policies):
    path = tmp_path / "mine.py"
    path.write_text(POLICY)
    text = 'kernel = "vecadd"\nsize = 4\npreset = "TINY"\nissue = "mine.py"\nengine = "predict"'
    (run,) = expand(text, "mine", "mine.toml", tmp_path).runs
    first = pickle.dumps(run)
    forget = "from metronome.sim.studies.sweep.execute import execute; import pickle, sys; "
    program = forget + "print(execute(pickle.loads(sys.stdin.buffer.read()), 'key')['reason'])"

    def elsewhere():
        done = subprocess.run([sys.executable, "-c", program], input=first, capture_output=True, check=True)
        return done.stdout.decode().strip()

    assert elsewhere() == "None"
    path.write_text(POLICY + "# edited")
    assert elsewhere().endswith("the file has changed while it was in use: run the command again")


def test_a_policy_without_hardware_is_not_simulated(tmp_path, own_policies):
    (tmp_path / "mine.py").write_text(POLICY)
    (run,) = expand('kernel = "vecadd"\nsize = 4\npreset = "TINY"\nissue = "mine.py"', "m", "m.toml", tmp_path).runs
    with pytest.raises(PolicyFileError, match="has no class MineHardware"):
        run.refuse()
