"""The tables of docs/fpga.md have the committed figures (sim/fpga/synth/figures.json): all of them, and no others."""

import re

import pytest

from metronome.sim.fpga.synth.committed import UnitRow, read_figures
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "fpga.md").read_text("utf-8")
UNITS, BREAKDOWNS = read_figures()
OPTIONS = {"--policy": "issue", "--mode": "mode", "--fetch": "fetch"}
#: What the page says above the table of the units; the policy is that of the command line.
COMMON = {"preset": "MID", "prediction": "not_taken", "issue": "gtlrr"}


def section(page, title):
    """The text below a heading, up to the next one."""
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)[1]


def table(text):
    """The cells of every row of its first table, without the heading and without marks of bold type."""
    lines = text[text.index("\n|") + 1 :].split("\n\n")[0].split("\n")[2:]
    return [[cell.strip().replace("**", "") for cell in line.strip("|").split("|")] for line in lines if line]


def said_of_units(page):
    """What the page says of every unit: (unit, machine, seed) -> LUTs, FFs, block RAM; and MHz, as they stand there."""
    found = {}
    unit, options, areas = "", {}, ()
    for name, words, *figures, rate, _ in table(section(page, "The front end and its parts, 8 warps")):
        more = words.replace("the same,", "").replace("`", "").split()
        more = dict(zip(more[::2], more[1::2], strict=True))
        seed = more.pop("--seed", "1")
        if name:
            unit, options, areas = re.match("`(.*?)`", name)[1], more, tuple(figures)
        row = UnitRow(unit=unit, **COMMON | {OPTIONS[option]: value for option, value in options.items()})
        found[unit, row.config, seed] = (*areas, rate)
    return found


def committed_of_units():
    """The same of the file."""
    return {(row.unit, row.config, seed): (str(row.luts), str(row.ffs), str(row.brams), rate)
            for row in UNITS for seed, rate in row.fmax_mhz.items()}


def is_rate(said, rate):
    """Whether the page's text is this clock rate, rounded to the digits that stand there."""
    if rate is None:
        return said == "not routed"
    return said == f"{rate:.{len(said.partition('.')[2])}f}"


def wrong_units(page):
    said, committed = said_of_units(page), committed_of_units()
    wrong = [f"{unit} seed {seed}: only on one side" for unit, _, seed in said.keys() ^ committed.keys()]
    return wrong + [f"{key[0]}: {said[key]}, in the file {committed[key]}" for key in said.keys() & committed.keys()
                    if said[key][:3] != committed[key][:3] or not is_rate(said[key][3], committed[key][3])]


def wrong_parts(page):
    (row,) = BREAKDOWNS
    wrong, above = [], ""
    for name, *figures in table(section(page, "Where the area of an SM is")):
        nested = name.startswith("&nbsp;")
        part = re.search("`(.*?)`", name)[1] if "`" in name else ""
        path = f"{above}.{part}" if nested else part
        above = above if nested else part
        if [int(figure) for figure in figures] != row.parts.get(path):
            wrong.append(f"{name}: {figures}, in the file {row.parts.get(path)}")
    return wrong


def test_the_units_are_those_of_the_file():
    assert wrong_units(PAGE) == []


def test_the_parts_are_those_of_the_file():
    assert wrong_parts(PAGE) == []


def test_the_versions_are_those_of_the_file():
    for row in (*UNITS, *BREAKDOWNS):
        assert all(re.search(rf"{name}\s+{re.escape(number)}", PAGE) for name, number in row.tools.items()), row


@pytest.mark.parametrize("of", ["luts", "rate", "row"])
def test_a_wrong_figure_is_found(of):
    row = next(row for row in UNITS if row.unit == "misses")
    line = next(line for line in PAGE.split("\n") if line.startswith("| `misses`"))
    changed = {
        "luts": line.replace(str(row.luts), str(row.luts + 1)),
        "rate": line.replace(line.split("|")[6], f" {float(line.split('|')[6].strip('* ')) + 0.1:.1f} "), "row": "",
    }[of]
    assert changed != line
    assert len(wrong_units(PAGE.replace(line + "\n", changed + "\n" if changed else ""))) == 1


def test_a_wrong_part_is_found():
    line = next(line for line in PAGE.split("\n") if line.startswith("| `arbiter`"))
    assert len(wrong_parts(PAGE.replace(line, line.replace("| 1 |", "| 2 |")))) == 1
