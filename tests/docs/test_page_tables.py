"""The tables of the pages that come from the sources are those of the sources."""

import pytest

from metronome.sim.fpga.synth.committed import read_figures
from metronome.sim.machine.memory.names import MEMORY_MODELS
from tests.docs.pages import ROOT
from tests.docs.tables import TABLES, with_tables

FPGA = (ROOT / "docs" / "fpga.md").read_text("utf-8")


@pytest.mark.parametrize("page", TABLES)
def test_the_tables_are_those_of_the_sources(page):
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert with_tables(page, text) == text, "python -m tests.docs.tables writes them"


@pytest.mark.parametrize(("old", "new"), [
    ("| 736 |", "| 737 |"), ("| 88.2 |", "| 88.3 |"), ("| `arbiter` | 39 | 1 |", "| `arbiter` | 39 | 2 |"),
    ("| `arbiter` | 39 | 1 | 0 | 0 |\n", ""),
])
def test_a_wrong_table_is_found_and_made_right(old, new):
    assert FPGA.count(old) == 1
    assert with_tables("fpga.md", FPGA.replace(old, new)) == FPGA


def test_a_table_that_is_not_there_is_told():
    with pytest.raises(ValueError, match=r"fpga\.md: one table must begin with \| unit \| options"):
        with_tables("fpga.md", FPGA.replace("| unit | options |", "| unit |"))


def test_the_tools_are_those_that_measured_the_figures():
    said = " ".join(FPGA.split())
    for row in (each for rows in read_figures() for each in rows):
        assert all(f"{name} {number}" in said for name, number in row.tools.items()), row


@pytest.mark.parametrize("name", MEMORY_MODELS)
def test_every_memory_model_has_a_row(name):
    assert f"\n| `{name}` | " in (ROOT / "docs" / "memory.md").read_text("utf-8").partition("## Memory models")[2]
