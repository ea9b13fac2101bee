"""`metronome synth`: its options, its errors, and one unit through the real tools."""

import json

import pytest

from metronome.sim import synth
from metronome.sim.synth import Area, Part, PathStep, SynthesisError, SynthResult


@pytest.fixture
def calls(monkeypatch):
    """Stand in for the tools; lists what they are asked."""
    seen = []

    def synthesize(unit, config, options, progress):
        progress("elaborate")
        seen.append((unit, config, options))
        path = (PathStep("a", 1.5, 1.5, 0), PathStep("b.c", 2.5, 4.0, 3))
        return SynthResult(unit, 10, 5, 1, 2, 250.0, path)

    def breakdown(unit, config, depth, progress):
        seen.append((unit, config, depth))
        return [Part("", Area(40, 7, 1, 2), Area(10)), Part("lsu", Area(30, 7, 1, 2), Area(30, 7, 1, 2))]

    monkeypatch.setattr(synth, "synthesize", synthesize)
    monkeypatch.setattr(synth, "breakdown", breakdown)
    return seen


def test_the_breakdown_is_of_the_whole_sm_unless_a_unit_is_named(metronome, calls):
    done = metronome("synth", "--breakdown", "--preset", "TINY")
    assert done.status == 0
    assert any(line.split() == ["lsu", "30", "75.0", "7", "1", "2"] for line in done.out.splitlines())
    value = json.loads(metronome("synth", "--breakdown", "--unit", "lsu", "--depth", 3, "--json", "-").out)
    assert value["parts"][1] == {"part": "lsu", "luts": 30, "ffs": 7, "brams": 1, "dsps": 2}
    assert [(unit, depth) for unit, _, depth in calls] == [("sm", 2), ("lsu", 3)]
    assert not calls[0][1].probe


def test_the_json_has_the_fields_of_the_design(metronome, calls):
    value = json.loads(metronome("synth", "--unit", "frontend", "--warps", 4, "--policy", "gtlo", "--json", "-").out)
    assert {name: value[name] for name in ("unit", "luts", "ffs", "brams", "dsps", "fmax_mhz", "levels")} == {
        "unit": "frontend", "luts": 10, "ffs": 5, "brams": 1, "dsps": 2, "fmax_mhz": 250.0, "levels": 3,
    }
    assert value["critical_path"][1] == {"signal": "b.c", "delay_ns": 2.5, "at_ns": 4.0, "levels": 3}
    assert (value["config"]["preset"], value["config"]["warps"], value["config"]["policy"]) == ("BASE", 4, "gtlo")


def test_the_build_has_one_policy_and_no_probe(metronome, calls):
    assert metronome("synth", "--unit", "alu", "--preset", "TINY", "--policy", "lrr", "--seed", 7,
                     "--minutes", 2).status == 0
    ((unit, config, options),) = calls
    assert (unit, config.policies) == ("alu", ("lrr",))
    assert (config.probe, config.assertions, config.oracles) == (False, False, False)
    assert (config.warps, options.seed, options.minutes) == (2, 7, 2)


def test_the_table_goes_to_standard_output_unless_the_json_does(metronome, calls, tmp_path):
    done = metronome("synth", "--unit", "alu", "--json", "a.json")
    assert "250.0 MHz" in done.out
    assert "b.c" in done.out
    assert json.loads((tmp_path / "a.json").read_text())["unit"] == "alu"


@pytest.mark.parametrize(
    ("arguments", "mode", "fetch"),
    [((), "swas", ()), (("--mode", "baseline"), "baseline", ("lrr",)), (("--mode", "vortex"), "vortex", ("fixed",)),
     (("--mode", "baseline", "--fetch", "gtlo"), "baseline", ("gtlo",))],
)
def test_each_scheme_has_one_fetch_policy_or_none(metronome, calls, arguments, mode, fetch):
    done = metronome("synth", "--unit", "frontend", *arguments, "--json", "-")
    assert done.status == 0
    ((_, config, _),) = calls
    assert (config.coordination, config.policies, config.fetch_policies) == (mode, ("gtlrr",), fetch)
    value = json.loads(done.out)["config"]
    assert (value["mode"], value["fetch"]) == (mode, fetch[0] if fetch else None)


def test_the_prediction_is_the_front_ends(metronome, calls):
    done = metronome("synth", "--unit", "frontend", "--prediction", "btfn", "--json", "-")
    assert done.status == 0
    ((_, config, _),) = calls
    assert config.prediction == "btfn"
    assert json.loads(done.out)["config"]["prediction"] == "btfn"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "--unit"),
        (("--unit", "nothing"), "nothing"),
        (("--breakdown", "--unit", "nothing"), "nothing"),
        (("--breakdown", "--depth", "0"), "--depth"),
        (("--breakdown", "--seed", "3"), "--seed is for a unit that is placed and routed"),
        (("--unit", "alu", "--depth", "3"), "--depth is for --breakdown"),
        (("--breakdown", "--depth", "11"), "--depth"),
        (("--unit", "alu", "--policy", "nothing"), "nothing"),
        (("--unit", "alu", "--mode", "other"), "other"),
        (("--unit", "alu", "--fetch", "lrr"), "--issue"),
        (("--unit", "alu", "--prediction", "always"), "--prediction"),
        (("--unit", "alu", "--mode", "vortex", "--fetch", "other"), "other"),
        (("--unit", "alu", "--preset", "HUGE"), "HUGE"),
        (("--unit", "alu", "--warps", "0"), "warps"),
        (("--unit", "alu", "--freq", "0"), "--freq"),
        (("--unit", "alu", "--freq", "nan"), "--freq"),
        (("--unit", "alu", "--freq", "1e300"), "--freq"),
        (("--unit", "alu", "--minutes", "0"), "--minutes"),
        (("--unit", "alu", "--minutes", "nan"), "--minutes"),
        (("--unit", "alu", "--minutes", "40000"), "--minutes"),
        (("--unit", "alu", "--seed", "0"), "--seed"),
        (("--unit", "alu", "--seed", str(2**31)), "--seed"),
        (("--unit", "alu", "--json", "missing/a"), "--json"),
    ],
)
def test_bad_use_is_one_line(metronome, calls, arguments, word):
    done = metronome("synth", *arguments)
    assert (done.status, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert word in done.err
    assert calls == []


def test_a_tool_that_fails_is_one_line_and_its_log(metronome, monkeypatch):
    def synthesize(*arguments):
        raise SynthesisError("yosys failed: no such thing\nlog 1\nlog 2")

    monkeypatch.setattr(synth, "synthesize", synthesize)
    done = metronome("synth", "--unit", "alu")
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines() == ["metronome: yosys failed: no such thing", "log 1", "log 2"]


@pytest.mark.slow
@pytest.mark.xdist_group("synth")
def test_a_unit_through_the_real_tools(metronome, tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    done = metronome("synth", "--unit", "alu", "--preset", "TINY", "--json", "-")
    assert (done.status, done.err) == (0, "")
    value = json.loads(done.out)
    assert value["luts"] > 64
    assert value["fmax_mhz"] > 0
    assert value["critical_path"]
