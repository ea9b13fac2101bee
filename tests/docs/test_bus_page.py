"""The registers in bus.md are those of the hardware."""

import re

from metronome.hdl.bus.register_table import COUNTERS_OFFSET, register_table
from metronome.hdl.presets import BASE
from tests.docs.pages import ROOT


def test_the_registers_are_those_of_the_table():
    page = (ROOT / "docs" / "bus.md").read_text("utf-8")
    rows = re.findall(r"^\| (0x\w+) \| `(\w+)` \| (\d+) \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [
        (f"{its.offset:#05x}", its.name, str(its.bits), its.access.value, its.about)
        for its in register_table(BASE) if its.offset < COUNTERS_OFFSET
    ]
