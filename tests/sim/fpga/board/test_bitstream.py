"""From a design to a bitstream, with all of the tools: a small design on the board's pins instead of the SM."""

import re

import pytest
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib.wiring import In, Out

from metronome.hdl.board import ulx3s
from metronome.hdl.lib.component import Component
from metronome.hdl.presets import ULX3S
from metronome.sim.fpga.board.bitstream import bitstream, options_of
from metronome.sim.fpga.board.design import BoardDesign

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("synth")]

#: How an ECP5's bitstream begins (FPGA-TN-02039, bitstream format): comment, preamble.
COMMENT, PREAMBLE = b"\xff\x00", b"\xbd\xb3"


class Counter(Component):
    """Counts on the lights what comes on the serial line, and sends it back."""

    def __init__(self, *arguments, **options):
        super().__init__({
            "clk_25mhz": In(1), "btn_fire1": In(1), "ftdi_txd": In(1), "ftdi_rxd": Out(1), "wifi_gpio0": Out(1),
            "led": Out(8),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = Module()
        m.domains.pins = pins = ClockDomain("pins", local=True, reset_less=True)
        m.d.comb += pins.clk.eq(self.clk_25mhz)
        line = Signal()
        unit.d.pins += [line.eq(self.ftdi_txd), self.led.eq(self.led + line + self.btn_fire1)]
        unit.d.comb += [self.ftdi_rxd.eq(line), self.wifi_gpio0.eq(1)]
        return m


class Echo(Component):
    """In the place of the machine: it sends back what comes, one cycle later, unless it is in reset."""

    def __init__(self, *arguments, **options):
        super().__init__({
            "clk": In(1), "rst": In(1), "rx": In(1), "tx": Out(1), "busy": Out(1), "fault": Out(1), "heard": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.domains.echo = echo = ClockDomain("echo", local=True)
        m.d.comb += [echo.clk.eq(self.clk), echo.rst.eq(self.rst)]
        m.d.echo += self.tx.eq(self.rx)
        return m


def test_nextpnr_holds_the_machine_to_the_clock_of_the_pll(monkeypatch):
    monkeypatch.setattr(ulx3s, "BoardMachine", Echo)
    made = bitstream(BoardDesign.usual(ULX3S.for_chip()), options_of(), lambda step: None)
    assert made.problem is None and made.utilization["EHXPLLL"]["used"] == 1
    log = made.logs[1].read_text()
    assert "Input frequency of PLL 'pll' is constrained to 25.0 MHz" in log
    (vco,) = re.findall(r"Derived VCO frequency (.*) MHz of PLL", log) or [ulx3s.INPUT_HZ * ulx3s.PLL_TIMES / 1e6]
    assert 400 <= float(vco) <= 800
    # The only clock of registers is the PLL's, and nextpnr has worked out its frequency from the pin's.
    wanted = f"{ulx3s.CLOCK_HZ / 1e6:.1f}"
    assert f"Derived frequency constraint of {wanted} MHz for net metronome_pins_clk" in log
    assert re.search(rf"Max frequency for clock '\S*metronome_pins_clk': [\d.]+ MHz \(PASS at {wanted}", log)


def test_a_design_becomes_a_bitstream(monkeypatch):
    monkeypatch.setattr(ulx3s, "Ulx3s", Counter)
    steps = []
    made = bitstream(BoardDesign.usual(ULX3S.for_chip()), options_of(), steps.append)
    assert made.problem is None and made.in_time and made.fmax_mhz > 100
    assert made.area.ffs == 9
    assert {name: made.utilization[name]["used"] for name in ("TRELLIS_IO", "DCCA")} == {"TRELLIS_IO": 13, "DCCA": 1}
    content = made.file.read_bytes()
    assert content.startswith(COMMENT) and PREAMBLE in content[:2000]
    assert b"LFE5U-85F" in content[:2000]
    assert len(content) > 1000
