"""What the ports mean comes from the comments of the hardware, and nothing is without a meaning."""

import dataclasses

import pytest
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from metronome.hdl.config import FaultCause
from metronome.hdl.layouts.counters import COUNTERS, StallReason
from metronome.hdl.layouts.execute import fault_layout
from metronome.hdl.layouts.memory import memory_request_layout
from metronome.hdl.verilog import BUSES, flat_top
from metronome.sim.build.export.document import document, page
from metronome.sim.build.export.meanings import meaning_of, plain, port_meanings
from metronome.sim.machine.settings import FIELDS
from tests.support.builds import BARE, MID, TINY

BASELINE = dataclasses.replace(
    TINY, coordination=type(TINY.coordination).BASELINE, fetch_policies=("lrr", "gto"), policies=("lrr",)
)


class Example(wiring.Component):
    """A component with every kind of comment."""

    def __init__(self, config):
        members = {
            "behind": In(1),  # text behind
            #: Text above
            #: in two lines, of :class:`hdl.config.FaultCause`.
            "above": Out(1),
            "bare": Out(1),
            # Of both that follow.
            "one": In(1), "two": In(1),
            #: A record.
            "record": Out(data.StructLayout({
                "a": 1,  # the first
                "b": 2,
            })),
            "fault": Out(fault_layout(config)),
        }
        if config.probe:
            members["late"] = In(1)  # added
        super().__init__(members)


def test_the_comments_are_found():
    found = port_meanings(Example)
    assert found | {} == found
    expected = {
        "behind": "text behind", "above": "Text above in two lines, of FaultCause.", "one": "Of both that follow.",
        "two": "Of both that follow.", "record": "A record.", "record.a": "the first", "late": "added",
        "fault": "A fault.", "fault.warp": "the warp that faulted",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "bare" not in found
    assert meaning_of(("record", "b"), found) == "A record."
    assert meaning_of(("bare",), found) is None


def test_markup_is_left_out():
    assert plain("a ``b`` of :mod:`hdl.lib.stacks`\n  and :data:`C`") == "a b of stacks and C"


@pytest.mark.parametrize("config", [TINY, BARE, MID, BASELINE], ids=["TINY", "bare", "MID", "baseline"])
@pytest.mark.parametrize("bus", BUSES)
def test_every_port_has_a_meaning(config, bus):
    ports = flat_top(config, bus).ports
    what = document(config, None, preset="TINY", command="", bus=bus, ports=ports, simulation_ports=[])
    assert [row["name"] for row in what["ports"] if not row["about"]] == []
    names = [row["name"] for row in what["ports"]]
    assert set(names) == {port.name for port in ports} | {"clk", "rst"} and len(names) == len(set(names))


def test_a_field_says_what_its_layout_says():
    found = port_meanings(BUSES["line"])
    for name, _ in memory_request_layout(TINY):
        assert found[f"mem.req.payload.{name}"]
    assert "divided by the line size" in found["mem.req.payload.line"]


def document_of(config, simulation=None):
    return document(
        config, simulation, preset="TINY", command="metronome verilog", bus="line", ports=flat_top(config).ports,
        simulation_ports=flat_top(simulation).ports if simulation else [],
    )


def test_the_document_has_every_field_counter_and_cause():
    chip = dataclasses.replace(TINY, probe=False, assertions=False)
    what = document_of(chip, TINY)
    assert {*what["config"], *(f"memory_map.{name}" for name in what["memory_map"])} == set(FIELDS)
    assert what["memory_map"]["start"]["value"] == TINY.memory_map.start
    assert [row["code"] for row in what["fault_causes"]] == [int(cause) for cause in FaultCause]
    assert all(row["about"] for row in what["fault_causes"])
    names = [row["name"] for row in what["counters"]]
    stalls = [f"stalls_{reason.name.lower()}" for reason in StallReason if reason]
    assert names == [name for each in COUNTERS for name in (stalls if each.by_reason else [each.name])]
    by_name = {row["name"]: row for row in what["counters"]}
    numbers = {"committed": 0xB03, "stalls_load": 0xB0B, "stalls_policy": 0xB15, "cycles": None}
    assert {name: by_name[name]["csr"] for name in numbers} == numbers
    ports = {row["name"]: row for row in what["ports"]}
    assert all(ports[row["port"]]["width"] == row["width"] for row in what["counters"])
    assert [row["index"] for row in what["counters"]] == list(range(len(names)))
    assert ports["probe_issue_pc"]["simulation_only"] and not ports["mem_req_line"]["simulation_only"]


def test_the_page_has_every_port():
    chip = dataclasses.replace(TINY, probe=False, assertions=False)
    what = document_of(chip, TINY)
    text = page(what, ["- how"], ["try it"])
    for row in what["ports"]:
        assert f"| `{row['name']}` | {row['direction']} | {row['width']} |" in text
    assert "0x80000000" in text and "stack_underflow" in text and "\n- how\n" in text and "\ntry it\n" in text


def test_each_cause_is_described():
    assert all(cause.about for cause in FaultCause)
