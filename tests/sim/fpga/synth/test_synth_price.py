"""The table and the figure of what predictability costs, over a stand-in for the tools; one row with the real ones."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest

from metronome.hdl.config import Coordination, Prediction
from metronome.hdl.presets import TINY
from metronome.sim.fpga.synth import Options, Route, SynthesisError, SynthResult, make_unit, price, target_of
from metronome.sim.fpga.synth.price_figure import figure

SEEDS = [Options(seed=seed) for seed in (1, 2, 3)]


@pytest.fixture
def asked(monkeypatch):
    """Stand in for the tools: swas has 50 LUTs more than the others, btfn 100; seed 2 of baseline is not routed."""
    seen = []

    def synthesize(unit, config, options, progress, *, target):
        seen.append((unit, config))
        progress("synthesize")
        mode = config.coordination
        if config.warps == 32:
            raise SynthesisError("yosys failed: too large\nlog")
        routes = tuple(
            Route(one.seed, problem="nextpnr has not ended") if (mode, one.seed) == (Coordination.BASELINE, 2)
            else Route(one.seed, 60.0 + one.seed**2) for one in options
        )
        luts = 1000 + 50 * (mode is Coordination.SWAS) + 100 * (config.prediction is Prediction.BTFN)
        return SynthResult(unit, luts, 10 * config.warps, 15, 0, None, routes)

    monkeypatch.setattr(price, "synthesize", synthesize)
    return seen


def measured(patterns, options=SEEDS):
    return list(price.measure(price.chosen(patterns), options, lambda step: None))


def test_the_table_has_every_front_end_size_and_prediction():
    cases = price.cases()
    assert len(cases) == len({case.name for case in cases}) == (5 + 2) * 3 * 3
    front_ends = [case.config for case in cases if case.unit == "frontend"]
    assert {config.warps for config in front_ends} == {2, 4, 8, 16, 32}
    for config in (case.config for case in cases):
        assert (config.policies, config.probe, config.assertions, config.oracles) == (("gtlrr",), False, False, False)
    # Rows of one size differ in the front end and in nothing else, so that like is compared with like.
    assert len({(config.threads, config.icache_bytes, config.icache_mshrs) for config in front_ends}) == 1
    sizes = {case.size: (case.config.warps, case.config.threads) for case in cases if case.unit == "sm"}
    assert sizes == {"TINY": (2, 2), "BASE": (4, 4)}


def test_rows_are_chosen_by_name():
    assert [case.name for case in price.chosen(["frontend-2-*-btfn"])] == [
        "frontend-2-vortex-btfn", "frontend-2-baseline-btfn", "frontend-2-swas-btfn",
    ]
    assert len(price.chosen(["*-swas-*", "sm-*"])) == 21 + 12
    with pytest.raises(ValueError, match="no row matches 'frontend-3-'"):
        price.chosen(["sm-*", "frontend-3-"])


def test_each_row_is_compared_with_the_baseline_of_its_size_and_prediction(asked):
    rows = list(price.values(measured(["frontend-8-*"])))
    assert {row[0]: row[3] for row in rows if "swas" in row[0]} == {
        "frontend-8-swas-not_taken": "+5.0", "frontend-8-swas-btfn": "+4.5",
        "frontend-8-swas-private": "+5.0",
    }
    assert {row[3] for row in rows if "swas" not in row[0]} == {"+0.0"}
    # Without a baseline there is nothing to compare with.
    assert [row[3] for row in price.values(measured(["frontend-8-swas-*"]))] == ["", "", ""]
    assert all(len(row) == len(price.headings()) for row in rows)


def test_clock_rates_are_the_least_the_median_and_the_greatest_of_those_that_were_routed(asked):
    baseline, swas = measured(["frontend-2-baseline-btfn", "frontend-2-swas-btfn"])
    assert swas.rates == (61.0, 64.0, 69.0)
    assert baseline.rates == (61.0, 65.0, 69.0)
    assert price.missing([baseline, swas]) == ["frontend-2-baseline-btfn: seed 2: nextpnr has not ended"]
    (unrouted,) = measured(["frontend-2-swas-btfn"], [])
    assert (unrouted.rates, unrouted.problems) == (None, ())


def test_a_synthesis_that_fails_leaves_the_others(asked):
    found = measured(["frontend-32-swas-btfn", "sm-TINY-swas-btfn"])
    assert [each.problems for each in found] == [("yosys failed: too large",), ()]
    assert next(price.values(found)) == ("frontend-32-swas-btfn", "ecp5", *("",) * 7)
    assert price.missing(found) == ["frontend-32-swas-btfn: yosys failed: too large"]


def test_every_form_has_the_same_figures(asked):
    found = measured(["frontend-2-*-btfn", "frontend-32-swas-btfn"])
    page = price.as_markdown(found, [1, 2, 3])
    assert "| frontend-2-swas-btfn | ecp5 | 1150 | +4.5 | 20 | 15 | 61.0 | 64.0 | 69.0 |" in page
    assert "- frontend-32-swas-btfn: yosys failed: too large" in page
    assert "seeds 1, 2, 3" in page
    table = list(csv.DictReader(io.StringIO(price.as_csv(found))))
    assert [(row["luts"], row["fmax_median_mhz"]) for row in table] == [
        ("1100", "64.0"), ("1100", "65.0"), ("1150", "64.0"), ("", ""),
    ]
    document = json.loads(json.dumps(price.as_json(found, SEEDS)))
    assert document["seeds"] == [1, 2, 3]
    assert [(row["name"], row.get("luts"), row["luts_to_baseline_percent"]) for row in document["rows"]][2:] == [
        ("frontend-2-swas-btfn", 1150, 4.5), ("frontend-32-swas-btfn", None, None),
    ]
    assert [one["fmax_mhz"] for one in document["rows"][2]["seeds"]] == [61.0, 64.0, 69.0]


def test_each_family_is_compared_with_its_own_baseline(asked):
    fpgas = [target_of(name) for name in ("ecp5", "ice40")]
    found = list(price.measure(price.on(fpgas, price.chosen(["frontend-2-*-btfn"])), SEEDS, lambda step: None))
    assert [(row[0].split("-")[2], row[1], row[3]) for row in price.values(found)] == [
        ("vortex", "ecp5", "+0.0"), ("vortex", "ice40", "+0.0"), ("baseline", "ecp5", "+0.0"),
        ("baseline", "ice40", "+0.0"), ("swas", "ecp5", "+4.5"), ("swas", "ice40", "+4.5"),
    ]
    # The seeds are those of the family's own options: ice40 has none.
    assert [each.rates is None for each in found] == [False, True] * 3
    panels = "".join(ET.fromstring(figure(found)).itertext())
    assert "ice40: LUTs, front end by warps" in panels


def test_the_figure_says_each_value(asked):
    found = measured(["frontend-2-*", "sm-TINY-swas-btfn", "frontend-32-swas-btfn"])
    said = [mark.get("aria-label") for mark in ET.fromstring(figure(found)).iter() if mark.get("aria-label")]
    assert said.count("frontend-2-swas-btfn: LUTs 1150") == 1
    assert "frontend-2-baseline-not_taken: Fmax, MHz 65.0 (61.0 to 69.0)" in said
    assert "sm-TINY-swas-btfn: FFs 20" in said
    assert not any("frontend-32" in each for each in said)
    assert figure(measured(["frontend-32-swas-btfn"])) is None


def test_the_steps_name_the_row(asked):
    steps = []
    list(price.measure(price.chosen(["sm-TINY-*-btfn"]), SEEDS, steps.append))
    assert steps == [f"{place} (synthesize)" for place in (
        "1/3 sm-TINY-vortex-btfn", "2/3 sm-TINY-baseline-btfn", "3/3 sm-TINY-swas-btfn",
    )]


@pytest.mark.long
@pytest.mark.xdist_group("synth")
def test_one_row_with_the_real_tools_and_again_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    case = price.Case("frontend", "2", Coordination.SWAS, Prediction.BTFN)
    steps = []
    first, again = (list(price.measure([case], SEEDS[:1], steps.append)) for _ in range(2))
    assert first == again
    assert (first[0].problems, first[0].area.brams) == ((), 15)
    assert [step.partition("(")[2] for step in steps] == [
        "elaborate)", "synthesize)", "place and route, seed 1)", "elaborate)",
    ]


def test_the_joined_unit_has_the_loop_inside():
    unit, _ = make_unit("select_loop", TINY.for_chip(policies=("lrr",)))
    ports = set(unit.signature.members)
    assert {"frontend__flow", "issue__operands", "frontend__mem", "issue__load"} <= ports
    assert not ports & {"frontend__ready", "issue__ready", "issue__select", "frontend__heads", "frontend__miscounted"}
