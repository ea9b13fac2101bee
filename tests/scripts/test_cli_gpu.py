"""``metronome run --sms``, ``predict --sms``: what reaches the simulator, what is shown, what refuses several SMs."""

import dataclasses
import json
from pathlib import Path

import pytest

from metronome.hdl.config import FaultCause
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.presets import BASE, PIPELINES, TINY
from metronome.scripts import cli
from metronome.scripts.options.one_sm import ONE_SM, SEVERAL_SMS
from metronome.sim.machine.golden import Fault
from metronome.sim.predict.gpu.predictor import GpuPrediction
from metronome.sim.run.memcheck import Finding, Side
from metronome.sim.run.types import WarpState
from tests.scripts.conftest import counters
from tests.support.builds import FPGA

#: BASE as `metronome verilog` writes it.
FPGA_BASE = dataclasses.replace(BASE, **PIPELINES["fpga"]).for_chip()


@pytest.mark.parametrize(("words", "expected"), [
    (("--sms", "4"), GpuConfig(sm=BASE, sms=4)), (("--set", "sms=0x2", "--check"), GpuConfig(sm=BASE, sms=2)),
    (("--sms", "16", "--preset", "TINY"), GpuConfig(sm=TINY, sms=16)),
    (("--sms", "2", "--interconnect", "Fixed_Priority"),
     GpuConfig(sm=BASE, sms=2, interconnect=Interconnect.FIXED_PRIORITY)),
    (("--config", "gpu.toml"), GpuConfig(sm=BASE, sms=8, interconnect=Interconnect.TDM, slot_cycles=3)),
    (("--config", "gpu.toml", "--slot-cycles", "5", "--set", "sms=4"),
     GpuConfig(sm=BASE, sms=4, interconnect=Interconnect.TDM, slot_cycles=5)),
    (("--sms", "4", "--l2", "divided", "--l2-bytes", "32768", "--l2-ways", "4", "--l2-requests", "16"),
     GpuConfig(sm=BASE, sms=4, l2=L2Kind.DIVIDED, l2_bytes=0x8000, l2_ways=4, l2_requests=16)),
    (("--sms", "2", "--set", "l2=shared", "--set", "l2_bytes=8192"),
     GpuConfig(sm=BASE, sms=2, l2=L2Kind.SHARED, l2_bytes=8192)),
    (("--sms", "2", "--dispatch", "dynamic"), GpuConfig(sm=BASE, sms=2, dispatch=Dispatch.DYNAMIC)),
    (("--sms", "2", "--set", "dispatch=static"), GpuConfig(sm=BASE, sms=2, dispatch=Dispatch.STATIC)),
])
def test_what_reaches_the_simulator(metronome, gpu, words, expected):
    Path("gpu.toml").write_text('sms = 8\ninterconnect = "tdm"\nslot_cycles = 3\n')
    assert metronome("run", "psort", *words).status == 0
    ((config, request),) = gpu.gpus
    assert config == expected and gpu.runs == []
    # Only --memcheck turns it on.
    assert request.check == ("--check" in words) and not request.memcheck
    assert gpu.compiling.several_sms
    assert gpu.compiling.dispatch == (None if config.dispatch is Dispatch.NONE else 0xFFC0)


@pytest.mark.parametrize(("words", "expected"), [
    (("--memcheck",), (True, False)), (("--memcheck", "--strict-races"), (True, True)),
    (("--check",), (False, False)), (("--check", "--strict-races"), (True, True)),
    (("--check", "--memcheck"), (True, False)),
])
def test_the_memory_checker(metronome, gpu, words, expected):
    assert metronome("run", "psort", "--sms", "2", *words).status == 0
    ((_, request),) = gpu.gpus
    assert (request.memcheck, request.strict_races) == expected


def test_a_race_names_both_sms(metronome, gpu):
    race = Finding("race", 0x1_1000, 4, Side(1, 2, 0x8000_0124, 300, "loads", 1), "no barrier since",
                   Side(0, 3, 0x8000_0300, 290, "stores", 0))
    gpu.of_gpu = {"memcheck": [race]}
    done = metronome("run", "psort", "--sms", "2", "--memcheck", "--json", "-", status=1)
    assert done.err.strip() == (
        "metronome: memcheck: race: SM 1, warp 1, lane 2 loads 4 bytes at 0x00011000, pc 0x80000124 at kernel.c:12 in "
        "work, cycle 300: no barrier since SM 0, warp 0, lane 3 stores it, pc 0x80000300, cycle 290"
    )
    (found,) = json.loads(done.out)["memcheck"]
    assert (found["sm"], found["warp"], found["other"]["sm"]) == (1, 1, 0)


@pytest.mark.parametrize(("words", "shared"), [
    (("--memory", "fixed"), False), (("--memory", "tdm"), False), (("--memory", "dram"), True),
    (("--memory", "random"), True), (("--memory", "dram", "--interconnect", "round_robin"), False),
])
def test_a_memory_that_does_not_separate_is_noted(metronome, gpu, words, shared):
    done = metronome("run", "psort", "--sms", "2", "--interconnect", "tdm", *words, status=0)
    assert ("does not separate the SMs: with tdm, use --memory fixed or tdm" in done.err) == shared


@pytest.mark.parametrize(("dispatch", "noted"), [("none", False), ("static", False), ("dynamic", True)])
def test_dispatch_that_does_not_separate_is_noted(metronome, gpu, dispatch, noted):
    done = metronome("run", "psort", "--sms", "2", "--interconnect", "tdm", "--dispatch", dispatch, status=0)
    text = "--dispatch dynamic does not separate the SMs: with tdm, use --dispatch static or none"
    assert (text in done.err) == noted


@pytest.mark.parametrize("words", [("predict", "psort", "--json", "-"), ("sweep", "psort", "--engine", "predict")])
def test_dispatch_is_predicted(metronome, gpu, words):
    def predict_gpu(config, request, *others):
        result = gpu.run_gpu(config, request, *others[:2])
        return GpuPrediction(result=result, issued=(), stepped="the dispatch unit hands out blocks")

    gpu.predict_gpu = predict_gpu
    done = metronome(*words, "--sms", "2", "--dispatch", "static", status=0)
    assert gpu.gpus[0][0] == GpuConfig(sm=BASE, sms=2, dispatch=Dispatch.STATIC) and gpu.compiling.dispatch == 0xFFC0
    assert words[0] == "sweep" or '"stepped": "the dispatch unit hands out blocks"' in done.out


@pytest.mark.parametrize("words", [(), ("--sms", "1"), ("--set", "sms=1")])
def test_one_sm_is_as_always(metronome, gpu, words):
    assert metronome("run", "psort", *words).status == 0
    ((config, _),) = gpu.runs
    assert config == BASE and gpu.gpus == [] and not gpu.compiling.several_sms


@pytest.mark.parametrize(("words", "text"), [
    (("--sms", "3"), "sms must be 1, 2, 4, 8 or 16, not 3"), (("--sms", "0"), "sms must be"),
    (("--interconnect", "tdm"), "interconnect: it has no effect without sms=2 or more"),
    (("--sms", "2", "--slot-cycles", "2"), "slot_cycles: it has no effect without interconnect=tdm"),
    (("--l2", "shared"), "l2: it has no effect without sms=2 or more"),
    (("--sms", "2", "--l2-ways", "2"), "l2_ways: it has no effect without l2=shared or l2=divided"),
    (("--dispatch", "static"), "dispatch: it has no effect without sms=2 or more"),
    (("--sms", "2", "--dispatch", "fair"), "unknown name 'fair': use none, static, dynamic"),
    (("--sms", "2", "--l2", "big"), "unknown name 'big': use none, shared, divided"),
    (("--sms", "2", "--l2", "shared", "--l2-bytes", "1000"), "l2_bytes must be a power of two from 512 to 4194304"),
    (("--sms", "2", "--interconnect", "ring"), "unknown name 'ring': use round_robin, fixed_priority, tdm"),
    (("--sms", "2,4"), "unable to parse string as an integer: metronome sweep compares several with --sms 2,4 (see"),
    (("--set", "sms=2,4"), "sms must be a whole number, not '2,4': metronome sweep compares several with --sms 2,4"),
    (("--sms", "2", "--l2-ways", "2,4"), ": one at a time (see"),
    (("--set", "sms=two"), "--set sms=two: sms must be a whole number, not 'two'"),
    (("--set", "sms=2", "--set", "sms=4"), "--set: a field is set twice: name each once"),
    (("--sms", "2", "--set", "channels=free"), "channels must be none in a GPU, not 'free'"),
    (("--sms", "2", "--set", "cores=2"),
     "--set cores=2: a GPU numbers and counts its SMs itself: leave out cores"),
    (("--set", "sms=2", "--set", "core_id=1"),
     "--set core_id=1: a GPU numbers and counts its SMs itself: leave out core_id"),
    (("--sms", "2", "--config", "core.toml"),
     "--config core.toml: a GPU numbers and counts its SMs itself: leave out core_id"),
    *((("--sms", "2", *option), f"{option[0]} is for one SM: leave it out with 2 SMs") for option in (
        ("--per-warp",),)),
    *((("--sms", "2", "--trace", name), f"--trace {name}: a trace of 2 SMs is one of .html, .csv, .parquet, .pftrace")
      for name in ("a.kanata", "a.vcd")),
    (("--sms", "2", "--trace", "a.csv", "--set", "probe=false"),
     "--trace needs the probe: leave out --set probe=false"),
    (("--sms", "2", "--profile", "--set", "probe=false"), "--profile needs the probe: leave out --set probe=false"),
])
def test_refusals(metronome, gpu, words, text):
    Path("core.toml").write_text("core_id = 3\n")
    assert text in metronome("run", "psort", *words).refusal
    assert gpu.gpus == gpu.runs == []


#: Command lines of the commands that take a machine, each complete but for several SMs.
COMPLETE = {
    "analyze": ("psort",), "characterize": (), "bench": (), "board": ("psort", "--port", "x"),
    "config": (), "prove": ("--property", "P1"),
}


def commands_with(*names):
    """The subcommands that have a parameter with one of these names."""
    return {name for name, each in cli._Subcommands().items() if {one.name for one in each.params} & {*names}}


def test_every_command_with_a_machine_knows_several_sms_or_says_why_not():
    several = {words.split()[0] for words in SEVERAL_SMS}
    assert commands_with("sms") == several
    assert commands_with("settings", "config_file", "preset", "warps") == several | set(ONE_SM)
    assert several.isdisjoint(ONE_SM) and set(COMPLETE) == set(ONE_SM)


@pytest.mark.parametrize(("machine", "what"), [
    (("--sms", "2"), "--sms"), (("--sms=4",), "--sms"), (("--interconnect", "tdm"), "--interconnect"),
    (("--slot-cycles", "2"), "--slot-cycles"), (("--set", "sms=2"), "sms=2"), (("--set", "sms=2,4"), "sms=2,4"),
    (("--set", "interconnect=tdm"), "interconnect"), (("--config", "gpu.toml"), "sms=2"),
    (("--dispatch", "static"), "--dispatch"), (("--set", "dispatch=static"), "dispatch"),
])
@pytest.mark.parametrize("command", COMPLETE)
def test_other_commands_refuse_several_sms(metronome, gpu, command, machine, what):
    Path("gpu.toml").write_text("sms = 2\n")
    if command == "prove" and machine[0] in ("--config", "--set"):
        pytest.skip("it reads no such file, and P11 is about several SMs")
    assert metronome(command, *COMPLETE[command], *machine).refusal == (
        f"metronome: {what}: metronome {command} knows one SM only, because {ONE_SM[command]}; these know several "
        f"SMs: metronome {', '.join(SEVERAL_SMS)}"
    )
    assert gpu.runs == []


@pytest.mark.parametrize("machine", [("--set", "sms=1"), ("--config", "gpu.toml")])
def test_one_sm_is_refused_by_none(metronome, gpu, machine):
    Path("gpu.toml").write_text('sms = 1\ninterconnect = "tdm"\nslot_cycles = 2\n')
    assert metronome("config", *machine).status == 0
    assert metronome("verilog", *machine, "-o", "sm.v").status == 0
    assert gpu.verilog_configs == [FPGA_BASE if machine[0] == "--set" else BASE.for_chip()]


@pytest.mark.parametrize(("words", "text"), [
    (("build", "psort"), "sms=2: no ELF is written for several SMs: add --image, or name the source to metronome run"),
    (("build", "--optimise"), "sms=2: --optimise builds machines of one SM: leave it out"),
    (("synth", "--unit", "alu", "--area"),
     "sms=2: --unit alu is a part of one SM: leave it out, or name one of sm, sm_axi, sm_wishbone"),
    (("synth", "--unit", "sm", "--compare"), "sms=2: --compare has figures of one SM only: leave it out"),
])
@pytest.mark.parametrize("machine", [("--sms", "2"), ("--set", "sms=2"), ("--config", "gpu.toml")])
def test_the_parts_of_commands_that_know_one_sm(metronome, gpu, words, text, machine):
    Path("gpu.toml").write_text("sms = 2\n")
    assert metronome(*words, *machine).refusal == f"metronome: {text}"


def test_the_table_of_front_ends_is_of_one_sm(metronome):
    assert "--sms is for one unit, not for --price" in metronome("synth", "--price", "--sms", "2").refusal


def test_an_image_is_compiled_for_several_sms(metronome, gpu):
    assert metronome("build", "psort", "--image", "a.hex", "--sms", "2", "--preset", "TINY").status == 0
    assert gpu.compiling.several_sms
    assert metronome("build", "psort", "--image", "a.hex", "--preset", "TINY").status == 0
    assert not gpu.compiling.several_sms


def test_verilog_of_a_gpu(metronome, gpu):
    words = ("--preset", "TINY", "--sms", "4", "--interconnect", "tdm", "--slot-cycles", "2")
    document = json.loads(metronome("verilog", *words, "-o", "gpu.v", "--json", "-").out)
    expected = GpuConfig(sm=FPGA.for_chip(), sms=4, interconnect=Interconnect.TDM, slot_cycles=2)
    assert gpu.verilog_configs == [expected]
    config = document["config"]
    assert [config[name] for name in ("sms", "interconnect", "slot_cycles", "cores")] == [4, "tdm", 2, 4]


def test_exports_of_an_sm_and_of_a_gpu_replace_each_other(metronome, tmp_path):
    for words in ((), ("--sms", "2"), ()):
        assert metronome("verilog", "--preset", "TINY", *words, "-o", "out").status == 0
        top = "metronome_gpu" if words else "metronome_sm"
        assert {path.name.partition(".")[0].removesuffix("_tb") for path in (tmp_path / "out").iterdir()} == {top}
    (tmp_path / "out" / "metronome_sm.v").write_text("mine")
    assert "have changed: metronome_sm.v" in metronome("verilog", "--sms", "2", "-o", "out").refusal


def test_the_json(metronome, gpu):
    document = json.loads(metronome("run", "psort", "--sms", "2", "--json", "-").out)
    assert document["sms"] == [counters()] * 2 and document["lines"] is None
    assert (document["config"]["sms"], document["config"]["interconnect"]) == (2, "round_robin")
    assert (document["config"]["l2"], document["config"]["l2_ways"], document["l2"]) == ("none", 8, None)
    assert "sms" not in json.loads(metronome("run", "psort", "--json", "-").out)


@pytest.mark.parametrize(("option", "text"), [
    (("--per-warp",), "--per-warp is for one SM: leave it out with 2 SMs"),
    (("--trace", "a.kanata"), "--trace a.kanata: a trace of 2 SMs is one of .html, .csv, .parquet, .pftrace"),
    (("--profile", "--verify"), "--profile is that of one run, --verify makes two: leave one of them out"),
])
def test_a_prediction_refuses_what_is_of_one_sm(metronome, option, text):
    assert text in metronome("predict", "psort", "--sms", "2", *option).refusal


def test_the_table(metronome, gpu):
    gpu.of_gpu = {"l2": {"reads": 5, "hits": 3, "merged": 1, "writes": 7}}
    words = ("--interconnect", "tdm", "--slot-cycles", "3", "--l2", "divided", "--l2-bytes", "4096")
    rows = [" ".join(line.split()) for line in metronome("run", "psort", "--sms", "4", *words).out.splitlines()]
    for row in ("interconnect tdm, slots of 3", "L2 divided, 4096 bytes, 8 ways, 32 requests", "L2: hits 3"):
        assert row in rows
    gpu.of_gpu = {}
    out = metronome("run", "psort", "--sms", "4").out
    assert "psort on 4 SMs of BASE (4 warps x 4 threads)" in out and "issue slots of 4 schedulers" in out


def test_a_fault_names_the_sm(metronome, gpu):
    gpu.of_gpu = {"status": "fault", "fault_sm": 1, "fault": Fault(FaultCause.LOAD_ACCESS, 2, 0x8000_0124, 0),
                  "fault_lanes": [0, 1, 3]}
    done = metronome("run", "psort", "--sms", "2")
    assert done.status == 3 and "fault: load access, SM 1, warp 2, lanes 0-1, 3, pc 0x80000124" in done.err
    document = json.loads(metronome("run", "psort", "--sms", "2", "--json", "-").out)
    assert document["fault"]["sm"] == 1 and document["fault"]["lanes"] == [0, 1, 3]
    gpu.of_gpu["fault_lanes"] = None
    assert "SM 1, warp 2, pc 0x80000124" in metronome("run", "psort", "--sms", "2").err


def test_a_deadlock_names_the_sms(metronome, gpu):
    warp = WarpState(0, True, StallReason.BARRIER, 0x8000_0124, lanes="lanes 0-1")
    gpu.of_gpu = {"status": "deadlock", "sm_hang": [[warp], [warp]]}
    done = metronome("run", "psort", "--sms", "2")
    assert done.status == 4
    assert all(f"SM {sm}, warp 0, lanes 0-1: last issued 0x80000124" in done.err for sm in (0, 1))
