"""The figures of docs/characterize.md are those of `metronome characterize`."""

import json
import re

import pytest

from metronome.scripts.cli import main
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/characterize.md").read_text("utf-8")


def rows(heading):
    """The table whose first row begins so, without that row: a list of cells each."""
    lines = PAGE[PAGE.index(heading) :].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def measured(capsys, *words):
    assert main(["characterize", *words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def shown(value):
    return "" if value is None else f"{value:g}"


@pytest.mark.long
def test_the_tables(capsys):
    found = measured(capsys)
    told = {each["name"]: (shown(each["measured"]), shown(each["config"])) for each in found["latencies"]}
    table = rows("| | measured | config | from |")
    assert len(table) > 25
    assert {name: (value, config) for name, value, config, _ in table} == {name: told[name] for name, *_ in table}
    assert {name for name in told if "stride" not in name} - {name for name, *_ in table} == {
        *(f"interval_{name}" for name in ("alu", "mul", "div", "csr", "fma", "fcvt", "fdiv", "fmisc")),
        "tmc", "split", "join", "pred", "fence", "fcsr", "barrier of 2 warps", "barrier of 3 warps",
    }
    for kind in ("local load", "local store"):
        (cells,) = (cells[1:] for cells in rows("| words |") if cells[0] == kind)
        assert cells == [told[f"{kind}, stride {stride}"][0] for stride in range(9)]
    strides = re.search(r"\| bytes \|(.*)\|", PAGE)[1].split("|")
    assert rows("| bytes |")[0][1:] == [told[f"load, stride {each.strip()} bytes"][0] for each in strides]
    by_place = {(each["class"], each["warps"]): each for each in found["cpi"]}
    table = rows("| class | independent, 1 warp |")
    assert {name for name, *_ in table} == {name for name, _ in by_place}
    for name, *cells in table:
        assert cells == [
            shown(by_place[name, warps][form]) for warps in (1, 4) for form in ("independent", "dependent")
        ], name
    table = rows("| type | instructions | this machine |")
    assert table == [
        [each["type"], each["instructions"], shown(each["measured"]), each["fermi"]] for each in found["table_7"]
    ]


@pytest.mark.long
@pytest.mark.parametrize("memory", ["fixed", "random"])
def test_what_varies(capsys, memory):
    found = measured(capsys, "--memory", memory, "--repeat", "100")["repeated"]
    table = [cells for cells in rows("| | memory | least |") if memory in cells[1]]
    assert [cells[0] for cells in table] == list(found)
    for name, _, *cells in table:
        each = found[name]
        assert cells == [str(each["least"]), str(each["most"]), str(len(each["varying_warps"]))], name
