"""`metronome bench`: medians, and speeds per loop."""

import json
import os

import pytest

from metronome.hdl.presets import BASE, PRESETS
from metronome.scripts.process.loop import loop_time


def test_bench_reports_medians(metronome, backend, monkeypatch):
    seconds = iter([1.0, 0.1, 0.5])

    def run(config, request, progress, console, *, by_profile):
        backend.runs.append((config, request))
        backend.update(sim_seconds=next(seconds))
        return backend.result

    monkeypatch.setattr(backend, "run", run)
    value = json.loads(metronome("bench", "--preset", "TINY", "--json", "-").out)
    assert set(value["presets"]) == {"TINY"}
    figure = value["presets"]["TINY"]
    assert figure["cycles_per_second"] == pytest.approx(700 / 0.5)
    assert (figure["elaborate_seconds"], figure["build_seconds"]) == (4.0, 20.0)
    assert value["iss_instructions_per_second"] == 2e6
    assert [request.check for _, request in backend.runs] == [False] * 3
    assert [request.memory for _, request in backend.runs] == ["fixed"] * 3


@pytest.mark.parametrize("options", [(), ("--predict",), ("--trace",)])
def test_the_usual_simulation_is_measured(metronome, backend, options):
    """An edit of the sources brings it back: a comparison with one by profile would be of two things."""
    assert metronome("bench", "--repeat", 1, "--preset", "TINY", *options).status == 0
    # None: of a prediction.
    assert False in backend.by_profile and True not in backend.by_profile


def test_bench_of_another_kernel_and_memory(metronome, backend, monkeypatch):
    prepare = backend.prepare
    monkeypatch.setattr(backend, "prepare", lambda name, *values: prepare("psort", *values))
    backend.update(python_seconds=0.2)
    done = metronome("bench", "--kernel", "sgemm", "--memory", "dram", "--preset", "TINY", "--json", "-")
    value = json.loads(done.out)
    assert {name: value[name] for name in ("kernel", "memory", "latency")} == {
        "kernel": "sgemm", "memory": "dram", "latency": None,
    }
    assert value["sizes"] == {"TINY": 16}
    assert value["presets"]["TINY"]["python_share"] == pytest.approx(0.2 / 0.5)
    assert {request.memory for _, request in backend.runs} == {"dram"}


def test_bench_of_predictions(metronome, backend):
    """Each begins anew with the golden model; the speed is that of the same run."""
    done = metronome("bench", "--predict", "--json", "-", "--repeat", 2)
    value = json.loads(done.out)
    assert done.status == 0 and list(value["presets"]) == ["PAPER"]
    assert list(value["presets"]["PAPER"]) == ["fixed", "dram"] and value["memories"]["fixed"] == 20
    for figure in value["presets"]["PAPER"].values():
        assert figure["ratio"] == pytest.approx(10) and figure["same"] is True
        assert figure["predicted_cycles_per_second"] == pytest.approx(10 * figure["cycles_per_second"])
    assert backend.predicted == [False] * 4
    assert [request.memory for _, request in backend.runs] == ["fixed"] * 4 + ["dram"] * 4
    one = json.loads(metronome("bench", "--predict", "--memory", "tdm", "--preset", "TINY", "--json", "-").out)
    assert {name: list(each) for name, each in one["presets"].items()} == {"TINY": ["tdm"]}
    assert "10.0  the same" in metronome("bench", "--predict", "--repeat", 1).out


def test_bench_does_not_praise_a_wrong_prediction(metronome, backend):
    backend.other = {"counters": backend.result.counters | {"nops": 41}}
    done = metronome("bench", "--predict", "--repeat", 1)
    assert done.status == 1 and "NOT THE SAME" in done.out


def test_bench_measures_base_unless_asked_for_more(metronome, backend):
    assert metronome("bench", "--repeat", 1).status == 0
    assert [config for config, _ in backend.runs] == [BASE]


@pytest.mark.parametrize("arguments", [("--preset", "TINY,base,MID,paper"),
                                       ("--preset", "TINY", "--preset", "BASE,MID,PAPER")])
def test_bench_measures_presets_and_prints_a_table(metronome, backend, arguments):
    done = metronome("bench", "--repeat", 1, *arguments, status=0)
    names = ("TINY", "BASE", "MID", "PAPER")
    assert [config for config, _ in backend.runs] == [PRESETS[name] for name in names]
    assert all(name in done.out for name in names)


def test_bench_does_not_report_the_speed_of_a_wrong_result(metronome, backend):
    backend.problems = ["target[0] is 1, not 0"]
    done = metronome("bench", "--preset", "BASE", "--json", "-")
    assert (done.status, done.out) == (1, "")
    assert "target[0] is 1" in done.err


@pytest.mark.parametrize("before", [None, "somewhere"])
def test_a_cold_bench_builds_in_an_empty_cache_and_leaves_the_other_alone(metronome, backend, monkeypatch, before):
    if before is None:
        monkeypatch.delenv("METRONOME_CACHE", raising=False)
    else:
        monkeypatch.setenv("METRONOME_CACHE", before)
    seen = []

    def run(config, request, progress, console, *, by_profile):
        seen.append((os.environ["METRONOME_CACHE"], os.listdir(os.environ["METRONOME_CACHE"])))
        return backend.result

    monkeypatch.setattr(backend, "run", run)
    assert metronome("bench", "--preset", "TINY", "--repeat", 1, "--cold").status == 0
    ((folder, entries),) = seen
    assert (entries, os.path.exists(folder)) == ([], False)
    assert os.environ.get("METRONOME_CACHE") == before


@pytest.mark.parametrize(
    "arguments", [("--preset", "HUGE"), ("--repeat", "0"), ("--latency", 2**64 - 1), ("--json", "missing/a"),
                  ("--memory", "core"), ("--kernel", "vecadd")]
)
def test_bench_refuses_bad_use(metronome, backend, arguments):
    assert metronome("bench", *arguments).refusal
    assert backend.runs == []


def test_the_loop_takes_time():
    assert loop_time() > 0


@pytest.mark.parametrize("options, fields", [
    ((), {"cycles": 1}), (("--predict", "--memory", "fixed"), {"cycles": 1, "predicted_cycles": 1}),
    (("--trace", "--repeat", 1), {"cycles": 1}),
])
def test_each_speed_is_also_per_loop(measured, backend, options, fields):
    """By the best of the loop's three times, which are taken once."""
    backend.loop_times = [0.9, 0.25, 0.4, 7.0]
    value = measured(*options)
    assert (value["loop_seconds"], value["loop_runs"], backend.loop_times) == (0.25, [0.9, 0.25, 0.4], [7.0])
    figure = value["presets"]["TINY"]
    figure = figure["fixed"] if "--predict" in options else figure
    for each in [figure, *figure.get("traces", {}).values()]:
        for name in fields:
            assert each[f"{name}_per_loop"] == pytest.approx(each[f"{name}_per_second"] / 4)
    if not options:
        assert value["iss_instructions_per_loop"] == pytest.approx(value["iss_instructions_per_second"] / 4)


@pytest.mark.parametrize("options", [(), ("--predict",), ("--trace",)])
def test_the_tables_say_what_a_loop_is(metronome, backend, options):
    backend.loop_times = [0.25] * 3
    out = metronome("bench", "--repeat", 1, *options).out
    assert "cycles/s  cycles/loop" in out and "the numbers below 20 million, here 0.250 s (at most 0.250 s)." in out
    if not options:
        assert "2000000 warp-instructions/s, 500000/loop" in out


def test_the_loop_is_not_timed_before_bad_use_is_told(metronome, backend):
    backend.loop_times = [1.0]
    assert metronome("bench", "--predict", "--set", "coordination=baseline").refusal
    assert (backend.loop_times, backend.runs) == ([1.0], [])


def test_traces_are_measured_beside_a_run_without(measured):
    value = measured("--trace", "--repeat", 2)
    figure = value["presets"]["TINY"]
    assert {kind.removeprefix("."): len(its) for kind, its in figure["seconds"].items()} == {
        "none": 2, **dict.fromkeys(figure["traces"], 2),
    }
    assert value["measured"] == "trace" and set(figure["traces"]) >= {"html", "csv", "kanata"}


def test_the_loop_is_timed_before_the_runs_and_after_them(metronome, backend, monkeypatch):
    done = []
    monkeypatch.setattr(backend, "loop_time", lambda: done.append(len(backend.runs)) or 0.5)
    metronome("bench", "--repeat", 2, status=0)
    assert done == [0, 2, 2]
