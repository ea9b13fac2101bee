"""`metronome bench --compare`: figures now beside earlier ones, and what cannot be compared."""

import json
from pathlib import Path

import pytest

from metronome.scripts.commands.bench_compare import ONCE, WITHIN
from tests.scripts.lines import only_line


@pytest.fixture
def speeds(backend, monkeypatch):
    """Lets the next runs take these seconds, and those after them half a second."""
    left = []
    result = backend.run

    def run(*arguments, by_profile):
        backend.update(sim_seconds=left.pop(0) if left else 0.5)
        return result(*arguments)

    monkeypatch.setattr(backend, "run", run)
    return left


def compared(value):
    """Preset and figure -> its entry in the JSON."""
    return {(each["preset"], each["of"]): each for each in value["compared"]}


def test_a_machine_of_twice_the_speed_has_not_made_the_simulation_faster(measured, backend, speeds):
    backend.loop_times, speeds[:] = [0.8, 0.8, 0.8], [1.0, 1.2, 0.9]
    measured()
    backend.loop_times, speeds[:] = [0.4, 0.4, 0.4], [0.5, 0.6, 0.45]
    found = compared(measured("--compare", "then.json", file="now.json"))["TINY", "simulation"]
    assert found["ratio"] == pytest.approx(1) and found["verdict"] == WITHIN
    assert found["then"] == pytest.approx({"median": 560, "low": 700 / 1.2 * 0.8, "high": 700 / 0.9 * 0.8})


@pytest.mark.parametrize("now, verdict", [
    ((0.4, 0.4, 0.5), "faster"), ((2.0, 2.1, 1.9), "slower"), ((0.7, 0.79, 0.81), WITHIN), ((1.2, 1.3, 1.19), WITHIN),
])
def test_only_ranges_apart_are_a_change(measured, speeds, now, verdict):
    speeds[:] = [1.0, 1.2, 0.8]
    measured()
    speeds[:] = now
    found = compared(measured("--compare", "then.json", file="now.json"))
    assert found["TINY", "simulation"]["verdict"] == verdict
    assert found["PAPER", "golden model"]["verdict"] == WITHIN


def test_the_spread_of_the_loop_is_that_of_a_speed(measured, backend):
    """Up to its median time: one of three that something else has held up says nothing."""
    backend.loop_times = [0.5, 0.6, 9.0]
    measured()
    backend.loop_times = [0.55] * 3
    found = compared(measured("--compare", "then.json", file="now.json"))["TINY", "simulation"]
    assert (found["then"]["low"], found["then"]["high"]) == pytest.approx((700, 840))
    assert found["verdict"] == WITHIN


def test_one_run_shows_no_change(measured, speeds):
    speeds[:] = [1.0]
    measured("--repeat", 1)
    found = compared(measured("--repeat", 1, "--compare", "then.json", file="now.json"))
    assert {each["verdict"] for each in found.values()} == {ONCE}
    assert found["TINY", "simulation"]["ratio"] == pytest.approx(2)


def test_builds_are_compared_in_loops(measured, backend):
    backend.loop_times = [1.0] * 3
    measured("--cold")
    backend.loop_times = [0.5] * 3
    found = compared(measured("--cold", "--compare", "then.json", file="now.json"))
    assert found["TINY", "build"]["ratio"] == pytest.approx(2) and found["TINY", "build"]["verdict"] == ONCE
    assert found["TINY", "elaboration"]["now"]["median"] == pytest.approx(4 / 0.5)


@pytest.mark.parametrize("now, seconds", [((), 20.0), (("--cold",), 0.0), (("--cold", "--preset", "TINY,BASE"), 20.0)])
def test_builds_that_began_otherwise_are_not_compared(metronome, backend, now, seconds):
    metronome("bench", "--preset", "BASE,TINY", "--cold", "--json", "then.json")
    backend.update(build_seconds=seconds, elaborate_seconds=0.0)
    done = metronome("bench", *(now or ("--preset", "BASE")), "--compare", "then.json", status=0)
    assert "Builds are compared only if both have built" in done.out and " build  " not in done.out.split("Compared")[1]


def test_a_run_of_other_cycles_is_told(measured, backend):
    measured()
    backend.update(total_cycles=770)
    found = compared(measured("--compare", "then.json", file="now.json"))
    assert found["TINY", "cycles of the run"]["verdict"] == "more"
    assert found["TINY", "cycles of the run"]["ratio"] == pytest.approx(1.1)


@pytest.mark.parametrize("options, names", [
    ((), {"simulation", "elaboration", "build", "golden model"}),
    (("--predict",), {"fixed, simulation", "fixed, prediction", "dram, simulation", "dram, prediction"}),
    (("--trace",), {"trace none", "trace html", "trace csv", "trace parquet", "trace kanata", "trace pftrace"}),
])
def test_everything_measured_is_compared(measured, metronome, options, names):
    measured(*options)
    assert {name for _, name in compared(measured(*options, "--compare", "then.json", file="now.json"))} == names
    out = metronome("bench", "--preset", "TINY", *options, "--compare", "then.json").out
    assert all(name in out for name in names) and "Then: Metronome" in out and "loop 0.500 s; now: loop 0.500 s" in out


@pytest.mark.parametrize("runs, line", [
    (1, None), (2, "2 runs are apart 1 time in 3."), (3, "3 runs are apart 1 time in 10."),
    (5, "5 runs are apart 1 time in 126."),
])
def test_how_often_ranges_are_apart_by_chance(metronome, measured, runs, line):
    """Of 2n runs in any order, the n lowest are all of one side."""
    measured("--repeat", runs)
    out = metronome("bench", "--preset", "TINY", "--repeat", runs, "--compare", "then.json").out
    assert line in out if line else "are apart" not in out


def test_of_several_presets_those_measured_now_are_compared(metronome):
    metronome("bench", "--preset", "TINY,BASE", "--json", "then.json")
    done = metronome("bench", "--preset", "base", "--compare", "then.json", "--json", "-", status=0)
    assert {each["preset"] for each in json.loads(done.out)["compared"]} == {"BASE", "PAPER"}


@pytest.mark.parametrize("options, words", [
    (("--kernel", "sgemm"), "--kernel: psort then, sgemm now"), (("--repeat", 2), "--repeat: 3 then, 2 now"),
    (("--memory", "dram"), "--memory: fixed then, dram now"), (("--latency", 9), "--latency: 20 then, 9 now"),
    (("--set", "latency_mul=5"), "--set: none then, latency_mul=5 now"),
    (("--preset", "BASE"), "has not measured BASE: its presets are TINY"),
    (("--config", "my.toml"), "--config: none then, my.toml now"),
    (("--predict",), "what is measured: simulation then, prediction now"),
    (("--trace",), "what is measured: simulation then, trace now"),
])
def test_other_conditions_are_not_compared(metronome, measured, backend, options, words):
    measured()
    Path("my.toml").write_text("latency_mul = 5\n")
    backend.runs.clear()
    preset = () if "--preset" in options else ("--preset", "TINY")
    assert words in metronome("bench", *preset, *options, "--compare", "then.json").refusal
    assert backend.runs == []


def test_other_latencies_of_predictions_are_not_compared(metronome, measured):
    measured("--predict")
    done = metronome("bench", "--preset", "TINY", "--predict", "--latency", 9, "--compare", "then.json")
    assert "--memory or --latency: fixed=20, dram=1 then, fixed=9, dram=1 now" in done.refusal


def _damaged(**values):
    return lambda document: json.dumps({**document, **values})


def _figure(**values):
    return lambda document: json.dumps({**document, "presets": {"TINY": {**document["presets"]["TINY"], **values}}})


@pytest.mark.parametrize("made, words", [
    (lambda document: "{", "is not JSON"), (lambda document: "[" * 100_000, "is not JSON"),
    (lambda document: json.dumps(document)[:-9], "is not JSON"), (lambda document: "", "is not JSON"),
    (lambda document: "[]", "is not of metronome bench"), (lambda document: "{}", "is not of metronome bench"),
    (lambda document: '{"kernel": "psort", "runs": []}', "is not of metronome bench"),
    (lambda document: json.dumps({name: value for name, value in document.items() if "loop" not in name}),
     "has no loop_runs"),
    (_damaged(python="3.7"), "the version of Python: 3.7 then"), (_damaged(sizes={"TINY": 1}), "sizes: TINY=1 then"),
    (_damaged(sizes=7), "has not measured TINY: its presets are none"),
    (_damaged(kernel="\x1b[31m\n\ud800x"), "--kernel: [31m x then, psort now"),
    (_damaged(kernel=[7] * 99), "7, 7... then"),
    (_damaged(presets=[]), "is damaged"), (_damaged(presets={"TINY": None}), "is damaged"),
    (_damaged(loop_runs=[]), "is damaged"), (_damaged(loop_runs=3), "is damaged"),
    (_damaged(iss_runs={}), "is damaged"),
    (_figure(runs=[]), "is damaged"), (_figure(runs=[0, 1]), "is damaged"), (_figure(runs=["1"]), "is damaged"),
    (_figure(runs=[10**400]), "is damaged"), (_figure(runs=[float("nan")]), "is damaged"),
    (_figure(runs=[True]), "is damaged"), (_figure(build_seconds=-1), "is damaged"),
    (_figure(total_cycles=None), "is damaged"),
])
def test_what_is_no_measurement_is_refused(metronome, measured, backend, made, words):
    document = measured()
    backend.runs.clear()
    Path("then.json").write_text(made(document))
    line = metronome("bench", "--preset", "TINY", "--compare", "then.json").refusal
    assert line.startswith("metronome: --compare: 'then.json' ") and words in line and line.isprintable()
    assert backend.runs == []


@pytest.mark.parametrize("name, words", [("missing.json", "No such file"), (".", "it is a folder"), ("", "is empty")])
def test_a_file_that_cannot_be_read_is_refused(metronome, backend, name, words):
    assert words in metronome("bench", "--compare", name).refusal
    assert backend.runs == []


def test_what_is_compared_with_is_not_overwritten(metronome, measured):
    measured()
    before = Path("then.json").read_bytes()
    done = metronome("bench", "--preset", "TINY", "--compare", "then.json", "--json", "./then.json")
    assert "is already the file of --compare" in only_line(done.err) and done.status == 2
    assert Path("then.json").read_bytes() == before


def test_a_file_without_an_origin_is_compared(metronome, measured):
    document = measured()
    Path("then.json").write_text(json.dumps({**document, "origin": None}))
    assert "Then: Metronome of an unknown version, None" in metronome(
        "bench", "--preset", "TINY", "--compare", "then.json", status=0).out
