"""``metronome sweep`` with an experiment, or with a folder for its results: what it takes, refuses and says."""

import dataclasses
import errno
import json

import pytest

from metronome.sim.machine.golden.gpu import GpuIss
from metronome.sim.studies.sweep.results import Results
from tests.scripts.lines import only_line
from tests.support.builds import on

MINE = 'kernel = "vecadd"\npreset = "TINY"\nsize = 4\nissue = ["lrr", "gtlo"]\n'


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)
    return tmp_path


@pytest.mark.parametrize(("arguments", "message"), [
    (("mine.toml", "--preset", "TINY"), "--preset is for a kernel: the axes of an experiment are in its file"),
    (("paper", "--size", "4"), "--size is for a kernel: the axes of an experiment are in its file"),
    (("mine.toml", "--jobs", "0"), "--jobs must be at least 1, not 0"),
    (("mine.toml", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"), "--jobs is for runs on this computer"),
    *(pytest.param(("mine.toml", "--scheduler", address), f"--scheduler {address}: {message}", marks=pytest.mark.more)
      for address, message in (
          ("tcp://127.0.0.1:1", "no Dask scheduler answers"), ("tcp://a:b", "it has no host and port"),
          ("nonsense", "it has no host and port: write tcp://HOST:8786"))),
    (("none.toml",), "none.toml: cannot read the experiment: No such file or directory"),
    (("bad.toml",), "bad.toml: unknown axis 'sise' (did you mean size?)"),
    (("broken.toml",), "broken.toml: vecadd int32 4, TINY, swas lrr btfn, fixed, cflags="),
    (("vecadd", "--jobs", "2"), ("--jobs, --scheduler and --forget-others are for a sweep that keeps its results: add "
                                "--output")),
    (("mine.toml", "--json", "results-mine/sweep.json"), ("--json sweep.json: it would be in results-mine, the folder "
                                                         "of the results")),
    (("mine.toml", "--json", "results-mine/runs/a.json"), ("--json a.json: it would be in results-mine, the folder of "
                                                          "the results")),
    (("mine.toml", "--output", "full"), "full: it contains other files: name a new folder with --output"),
    (("mine.toml", "--output", "mine.toml"), "--output: cannot write 'mine.toml': it is a folder"),
    (("mine.toml", "--json", "mine.toml"), "--json: cannot write 'mine.toml': its name must end in .json"),
    (("program.elf", "--output", "new"), "program.elf: only a kernel with a host.py can be swept"),
    (("pappr",), "unknown kernel or experiment 'pappr' (did you mean paper?)"),
])
def test_bad_use_is_one_line(metronome, mine, monkeypatch, arguments, message):
    monkeypatch.setattr("metronome.sim.studies.sweep.pools._CONNECT_SECONDS", 1)
    (mine / "bad.toml").write_text(MINE + "sise = 4\n")
    (mine / "broken.toml").write_text(MINE + 'cflags = "-DTYPE=nothing -Wno-macro-redefined"\n')
    (mine / "program.elf").write_bytes(b"\x7fELF")
    (mine / "results-mine" / "runs").mkdir(parents=True)
    (mine / "full").mkdir()
    (mine / "full" / "thesis.tex").write_text("")
    done = metronome("sweep", *arguments, status=2)
    assert done.err.startswith(f"metronome: {message}")
    assert len(done.err.splitlines()) == 1 or arguments == ("broken.toml",), "but for the compiler's own lines"
    assert not (mine / "results-mine" / "runs").exists() or not list((mine / "results-mine" / "runs").iterdir())


def test_no_processes_without_shared_memory(metronome, mine, monkeypatch):
    """A container may give a user no /dev/shm; the results so far stay usable."""
    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refuse)
    done = metronome("sweep", "mine.toml")
    assert (done.status, done.out) == (2, "")
    assert only_line(done.err).startswith("metronome: cannot start another process (Permission denied): ")


def test_a_dry_run_runs_nothing(metronome, mine):
    value = json.loads(metronome("sweep", "mine.toml", "--dry-run", "--json", "-", status=0).out)
    assert (value["experiment"], value["results"], value["runs"], value["machines"]) == ("mine", "results-mine", 2, 1)
    assert value["minutes"] >= 0
    assert not (mine / "results-mine").exists()


def test_hints_make_another_experiment(metronome, mine):
    value = json.loads(metronome("sweep", "mine.toml", "--hints", "--engine", "predict", "--json", "-", status=0).out)
    assert value["results"] == "results-mine-predict-hints" and (value["runs"], value["failed"]) == (2, 0)
    value = json.loads(metronome("sweep", "mine.toml", "--engine", "predict", "--json", "-", status=0).out)
    assert (value["results"], value["run_now"]) == ("results-mine-predict", 2)


@on("DISPATCH_GPU")
def test_a_sweep_over_the_number_of_sms_keeps_its_results(metronome, mine):
    """The numbers may come in any order. A later sweep over more numbers continues from the kept results."""
    def kept(numbers):
        words = ("--preset", "TINY", "--size", "16", "--issue", "lrr", "--mode", "swas", "--dispatch", "dynamic")
        words = (*words, "--output", "kept", "--sms", numbers, "--json", "-")
        document = json.loads(metronome("sweep", "vecadd", *words, status=0).out)
        return document["run_now"], Results.open(mine / "kept").table().to_pylist()

    count, (two,) = kept("2")
    assert count == 1
    count, (again, one) = kept("2,1")
    assert (count, again, one["config.sms"], two["config.sms"]) == (1, two, 1, 2)
    assert one["passed"] and two["passed"] and two["cycles"] != one["cycles"]
    assert [two[f"config.{name}"] for name in ("interconnect", "dispatch", "cores")] == ["round_robin", "dynamic", 2]
    assert (one["config.interconnect"], one["sms"]) == (None, None)
    sms = json.loads(two["sms"])
    assert [sum(each["committed"] for each in sms), max(each["cycles"] for each in sms)] == [
        two["committed"], two["cycles"]]


def test_a_dry_run_of_several_sms(metronome, mine, monkeypatch):
    counts, run = [], GpuIss.run

    def counted(self, most):
        end = run(self, most)
        counts.append(end.executed)
        return end

    monkeypatch.setattr(GpuIss, "run", counted)
    for dispatch in ("none", "dynamic"):
        words = ("--preset", "TINY", "--size", "64", "--sms", "2,1", "--dispatch", dispatch, "--dry-run")
        shown = metronome("sweep", "vecadd", *words, status=0).err
        assert [line.split() for line in shown.splitlines() if "2 x 2" in line] == [
            "vecadd 2 SMs of 2 x 2 1".split(), "vecadd 2 x 2 1".split()]
    # The golden model has no unit that hands out blocks: a program that asks it would do nothing.
    assert counts[0] == counts[1] > 64
    assert not (mine / "results-vecadd").exists()


@on("GPU")
@pytest.mark.more
def test_the_kept_results_of_the_hardware_are_those_that_are_predicted(metronome, mine):
    tables = []
    for engine in ("rtl", "predict"):
        words = ("--preset", "TINY", "--size", "16", "--sms", "1,4", "--engine", engine, "--output", engine)
        metronome("sweep", "vecadd", *words, status=0)
        tables.append(Results.open(mine / engine).table().select(["config.sms", "cycles", "committed", "total_cycles"]))
    assert tables[0].equals(tables[1]) and tables[0].num_rows == 2


@on("TINY")
@pytest.mark.slow
def test_a_sweep_goes_on_where_it_was(metronome, mine):
    document = json.loads(metronome("sweep", "mine.toml", "--jobs", "1", "--json", "-", status=0).out)
    origin = document.pop("origin")
    assert origin["command"] == "metronome sweep mine.toml --jobs 1 --json -"
    assert [each["name"] for each in origin["programs"]] == ["vecadd int32"]
    assert document == {
        "experiment": "mine", "results": "results-mine", "runs": 2, "run_now": 2, "passed": 2, "failed": 0,
    }
    again = json.loads(metronome("sweep", "mine.toml", "--json", "-").out)
    assert (again["run_now"], again["passed"]) == (0, 2)


def test_the_short_form_is_the_same_experiment(metronome, mine, monkeypatch):
    specs = []

    def carry_out(spec, kept, target):
        specs.append((spec, kept.output))
        return {}, 0

    monkeypatch.setattr("metronome.scripts.commands.sweep.carry_out", carry_out)
    short = ("--preset", "TINY", "--size", "4", "--mode", "swas", "--issue", "lrr,gtlo", "--output", "short")
    assert (metronome("sweep", "mine.toml").status, metronome("sweep", "vecadd", *short).status) == (0, 0)
    (one, nowhere), (two, folder) = specs
    assert (nowhere, folder) == (None, "short")
    assert [dataclasses.replace(each, place=None) for each in one.runs] == list(two.runs)


@on("TINY")
@pytest.mark.more
def test_a_run_that_fails_is_told(metronome, mine):
    (mine / "mine.toml").write_text(MINE + "max_cycles = 100\n")
    done = metronome("sweep", "mine.toml", "--json", "-", status=1)
    assert json.loads(done.out)["failed"] == 2
    title = "vecadd int32 4, TINY, swas lrr btfn, fixed, max_cycles=100"
    assert f"metronome: {title}: not ended after 100 cycles (--max-cycles)" in done.err.splitlines()
    again = metronome("sweep", "mine.toml", "--json", "-")
    assert (again.status, json.loads(again.out)["run_now"], again.err) == (1, 0, done.err), "told again, not run again"
