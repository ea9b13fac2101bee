"""Netlists: each kind of cell, and each mode of a block RAM that yosys makes, does what its source does."""

import re

import pytest

from metronome.sim.fpga.synth.netlist import CELLS, main, mapped
from metronome.sim.fpga.synth.tools import SynthesisError
from tests.sim.fpga.synth.netlist_sample import SEPARATE, SHARED, cells, compare, netlist

#: Yosys and Verilator.
pytestmark = [pytest.mark.xdist_group("synth"), pytest.mark.slow]


@pytest.mark.long
def test_every_cell_does_what_its_source_does():
    assert compare() is None


@pytest.mark.more
def test_the_sample_has_every_cell_and_mode():
    """Else the test above would say nothing about it."""
    assert set(cells()) >= {"CCU2C", "DP16KD", "LUT4", "MULT18X18D", "TRELLIS_DPR16X4", "TRELLIS_FF"}
    text = (netlist() / "sample.v").read_text()

    def values(parameter):
        return set(re.findall(rf"\.{parameter}\((?:32'd|\")?(\w+)\"?\)", text))

    assert values("DATA_WIDTH_A") == {"1", "2", "4", "9", "18", "36"}
    assert values("WRITEMODE_A") == {"NORMAL", "WRITETHROUGH", "READBEFOREWRITE"}
    assert values("REGSET") == {"SET", "RESET"}
    assert re.search(r"\.RSTB\(\\", text), "no output of a block RAM is reset"
    assert re.search(r"\.SIGNEDA\(1'h1\)", text) and re.search(r"\.SIGNEDA\(1'h0\)", text)


def in_cells(old, new):
    def change(netlist, cells):
        assert cells.count(old) == 1, old
        return netlist, cells.replace(old, new)

    return change


def in_netlist(pattern, new, count=1):
    def change(netlist, cells):
        changed, found = re.subn(pattern, new, netlist, count=count)
        assert found == count, pattern
        return changed, cells

    return change


MEMORIES = {*SEPARATE, *(f"shared_{mode}" for mode in SHARED), "cleared"}


@pytest.mark.long
@pytest.mark.parametrize(("change", "where"), [
    (in_cells('WIDTH == 4 ? {2\'b0, address[2], 2\'b0}', "WIDTH == 4 ? 5'd0"), {"m4"}),
    (in_cells('WRITEMODE == "WRITETHROUGH" ?', '0 ?'), {"shared_new"}),
    (in_cells('(!write || WRITEMODE != "NORMAL")', "1"), {"shared_hold"}),
    (in_cells("result = reset ? 36'd0 :", "result ="), {"cleared"}),
    (in_cells("INIT[20 * row +: 18]", "INIT[18 * row +: 18]"), MEMORIES),
    (in_cells("mask_a[18 + column]) memory[row_a | 10'd1]", "mask_a[18 + column]) memory[row_a]"),
     {"m36", "m32", "cleared"}),
    (in_cells("SIGNEDA && a[17]", "1'b0"), {"signed_product"}),
    (in_netlist(r'REGSET\("SET"\)', 'REGSET("RESET")'), {"flops"}),
    (in_netlist(r"INITVAL\(64'h(\w*)0\)", r"INITVAL(64'h\g<1>1)"), {"distributed"}),
])
def test_a_planted_error_is_seen(change, where):
    difference = compare(change)
    assert difference is not None
    assert difference[0] <= where


def test_what_yosys_refuses_is_told():
    with pytest.raises(SynthesisError, match="two"):
        mapped("module one; two its(); endmodule", "one")


def test_the_command_line(tmp_path, capsys):
    source = tmp_path / "one.v"
    source.write_text("// counter_index 0: cycles\nmodule one(input a, output b); assign b = !a; endmodule\n")
    words = [str(source), "--top", "one", "--output", str(tmp_path / "netlist")]
    assert main(words) == 0
    assert (tmp_path / "netlist" / "one.v").read_text().startswith("// counter_index 0: cycles\n")
    assert (tmp_path / "netlist" / "one.f").read_text().split() == ["one.v", CELLS]
    assert (tmp_path / "netlist" / CELLS).exists()
    capsys.readouterr()
    assert main(words) == 2
    assert re.fullmatch(r"error: .*netlist already exists\n", capsys.readouterr().err)
    assert main([str(tmp_path / "none.v"), "--output", str(tmp_path / "other")]) == 2
    assert re.fullmatch(r"error: .*none\.v.*\n", capsys.readouterr().err)
    assert not (tmp_path / "other").exists()
