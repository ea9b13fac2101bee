"""``metronome sweep``, ``trace`` and ``run --profile`` of several SMs."""

import json
from pathlib import Path

import pytest

from metronome.hdl.gpu.config import Interconnect
from metronome.hdl.presets import TINY


def test_a_sweep_over_the_number_of_sms(metronome, gpu):
    words = ("--sms", "1,4", "--issue", "lrr,gtlo", "--interconnect", "tdm", "--check", "--preset", "TINY")
    done = metronome("sweep", "psort", *words, "--json", "runs.json", status=0)
    assert [(config.sms, config.interconnect, config.sm.warps, request.policy) for config, request in gpu.gpus] == [
        (4, Interconnect.TDM, TINY.warps, policy) for policy in ("lrr", "gtlo")]
    # As of one run, --check turns the memory checker on for one SM only.
    assert [(request.check, request.memcheck) for _, request in gpu.gpus] == [(True, False)] * 2
    assert [(request.policy, request.memcheck) for _, request in gpu.runs] == [("lrr", True), ("gtlo", True)]
    rows = [line.split() for line in done.out.splitlines()]
    assert [row[:2] for row in rows if row[:1] in (["sms"], ["1"], ["4"])] == [
        ["sms", "issue"], ["1", "lrr"], ["1", "gtlo"], ["4", "lrr"], ["4", "gtlo"]]
    runs = json.loads(Path("runs.json").read_text())["runs"]
    assert [run["config"]["set"]["sms"] for run in runs] == ["1", "1", "4", "4"]
    assert [len(run.get("sms", ["one"])) for run in runs] == [1, 1, 4, 4]


@pytest.mark.parametrize("words", [("--sms", "2"), ("--set", "sms=2"), ("--config", "gpu.toml")])
def test_a_sweep_on_one_number_of_sms(metronome, gpu, words):
    Path("gpu.toml").write_text("sms = 2\n")
    done = metronome("sweep", "psort", *words, "--mode", "swas", "--set", "load_parts=2,4", status=0)
    assert [config.sms for config, _ in gpu.gpus] == [2, 2] and gpu.runs == [] and gpu.compiling.several_sms
    assert not any(line.split()[:1] == ["sms"] for line in done.out.splitlines())


@pytest.mark.parametrize("dispatch", ["none", "dynamic"])
def test_the_program_of_a_sweep_asks_the_unit_for_blocks(metronome, gpu, dispatch):
    metronome("sweep", "psort", "--sms", "2", "--dispatch", dispatch, status=0)
    assert {config.dispatch.value for config, _ in gpu.gpus} == {dispatch}
    assert gpu.compiling.dispatch == (None if dispatch == "none" else 0xFFC0)


@pytest.mark.parametrize(("words", "text"), [
    (("--sms", "2,3"), "sms must be 1, 2, 4, 8 or 16, not 3"),
    (("--sms", "2,x"), "--sms 2,x: write whole numbers, separated by commas"),
    (("--sms", "2,"), "--sms: an empty name"),
    (("--set", "sms=2,4"), "sms must be a whole number, not '2,4': metronome sweep compares several with --sms 2,4"),
    (("--sms", "1", "--l2", "shared"), "l2: it has no effect without sms=2 or more"),
    (("--sms", "1,2", "--set", "cores=2"), "a GPU numbers and counts its SMs itself: leave out cores"),
    (("--sms", "1,2", "--forecast"), "--forecast is for one SM: leave it out with several"),
    (("--sms", "2,2"), "--sms 2,2: 2 is named twice: name each number once"),
    (("--sms", "4,2,0x4", "--output", "folder"), "--sms 4,2,0x4: 4 is named twice"),
])
def test_refusals_of_a_sweep(metronome, gpu, words, text):
    assert text in metronome("sweep", "psort", *words).refusal
    assert gpu.gpus == gpu.runs == []


@pytest.mark.parametrize("words", [("run", "psort", "--trace", "a.csv", "--trace", "a.pftrace"),
                                   ("trace", "psort", "-o", "a.csv", "-o", "a.pftrace", "--json", "-")])
def test_a_trace_of_several_sms(metronome, gpu, words):
    assert metronome(*words, "--sms", "4").status == 0
    # There is a stream for each SM and for the memory port.
    assert len(gpu.watchers) == 5
    assert Path("a.csv").read_text() == "cycle,event,sm,warp,pc,instruction,lanes,address,tag,register,detail\n"
    assert Path("a.pftrace").stat().st_size > 0


@pytest.mark.parametrize(("words", "text"), [
    (("-o", "a.kanata"), "--output a.kanata: a trace of 2 SMs is one of .html, .csv, .parquet, .pftrace"),
    (("-o", "a.svg", "--from", "1", "--to", "20"), "--output a.svg: a trace of 2 SMs is one of"),
    (("-o", "a.kanata", "--engine", "predict"), "--output a.kanata: a trace of 2 SMs is one of"),
])
def test_refusals_of_a_trace(metronome, gpu, words, text):
    assert text in metronome("trace", "psort", "--sms", "2", *words).refusal
    assert gpu.gpus == []


@pytest.mark.parametrize("words", [("predict", "psort", "--trace", "a.csv", "--trace", "a.pftrace"),
                                   ("trace", "psort", "--engine", "predict", "-o", "a.csv", "-o", "a.pftrace")])
def test_a_predicted_trace_and_profile_of_several_sms(metronome, gpu, words):
    document = json.loads(metronome(*words, "--profile", "--sms", "4", "--json", "-", status=0).out)
    assert [config.sms for config, _ in gpu.gpus] == [4] and len(gpu.watchers) == 5
    assert Path("a.csv").read_text() == "cycle,event,sm,warp,pc,instruction,lanes,address,tag,register,detail\n"
    assert Path("a.pftrace").stat().st_size > 0
    assert document["config"]["engine"] == "predict" and document["profile"]["cycles"] == 0


def test_a_profile_of_several_sms(metronome, gpu):
    done = metronome("run", "psort", "--sms", "2", "--profile", "--json", "-")
    assert done.status == 0 and len(gpu.watchers) == 3
    assert json.loads(done.out)["profile"]["cycles"] == 0
