"""The ULX3S of Radiona: an ECP5 LFE5U-85F with a clock of 25 MHz and a serial line through its USB connector."""

from __future__ import annotations

from amaranth.hdl import Cat, ClockDomain, Instance, Module, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.component import Component
from ..verilog import convert
from .machine import BoardMachine
from .regions import Regions

__all__ = ["CLOCK_HZ", "DEVICE", "INPUT_HZ", "PACKAGE", "PLL_TIMES", "SPEED_GRADE", "TOP", "Ulx3s", "constraints",
           "generate"]

#: The name of the top-level module.
TOP = "metronome_ulx3s"

#: The clock at the pin ``clk_25mhz``.
INPUT_HZ = 25_000_000
#: The PLL's oscillator runs at ``INPUT_HZ * PLL_TIMES``, which must be from 400 to 800 MHz; the machine's clock is that
#: divided by ``_DIVISOR`` (FPGA-TN-02200, ECP5 and ECP5-5G sysCLOCK PLL/DLL Design and Usage Guide).
PLL_TIMES, _DIVISOR = 24, 20
#: The clock of the machine.
CLOCK_HZ = INPUT_HZ * PLL_TIMES // _DIVISOR
#: As nextpnr's options name them.
DEVICE, PACKAGE, SPEED_GRADE = "85k", "CABGA381", 6

#: Port -> its pin, and more of its IOBUF.
_PINS = {
    "clk_25mhz": ("G2", "PULLMODE=NONE"),
    "ftdi_rxd": ("L4", "PULLMODE=UP DRIVE=4"),
    "ftdi_txd": ("M1", "PULLMODE=UP"),
    "btn_fire1": ("R1", "PULLMODE=DOWN"),
    "wifi_gpio0": ("L2", "PULLMODE=NONE DRIVE=4"),
    **{f"led[{number}]": (pin, "PULLMODE=NONE DRIVE=4")
       for number, pin in enumerate(("B2", "C2", "C1", "D2", "D1", "E2", "E1", "H3"))},
}


def constraints() -> str:
    """The LPF file: where the ports are, and how fast the pin's clock is; nextpnr derives that of the PLL's outputs."""
    lines = ["BLOCK RESETPATHS;", "BLOCK ASYNCPATHS;", f'FREQUENCY PORT "clk_25mhz" {INPUT_HZ / 1e6:g} MHZ;']
    for port, (pin, more) in _PINS.items():
        lines += [f'LOCATE COMP "{port}" SITE "{pin}";', f'IOBUF PORT "{port}" {more} IO_TYPE=LVCMOS33;']
    return "\n".join(lines) + "\n"


class Ulx3s(Component):
    """The top level: the machine on its pins, and the PLL that makes its clock.

    Bit 0 of ``led`` is on while a program runs, bit 1 after a fault. Bit 2 changes with every byte that comes, and bit
    7 blinks with the machine's clock, about once a second. The machine is in reset until the PLL has locked.
    Parameters: as for :class:`hdl.board.machine.BoardMachine`.
    """

    def __init__(self, config: SmConfig, regions: Regions, *, divisor: int, patience: int) -> None:
        self._machine = BoardMachine(config, regions, clock_hz=CLOCK_HZ, divisor=divisor, patience=patience)
        super().__init__({
            "clk_25mhz": In(1),  # the only clock that comes from outside
            "btn_fire1": In(1),  # resets everything except the contents of memory, while it is pressed
            "ftdi_txd": In(1, init=1),  # type: ignore[call-arg]  # serial line: the FTDI chip sends
            "ftdi_rxd": Out(1, init=1),  # type: ignore[call-arg]  # serial line: the FTDI chip receives
            "wifi_gpio0": Out(1, init=1),  # type: ignore[call-arg]  # 1: the board's second processor does not load another bitstream
            "led": Out(8),  # lights
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clock, locked = Signal(), Signal()
        m.submodules.pll = _pll(self.clk_25mhz, clock, locked)
        m.submodules.unit = unit = Module()
        m.domains.metronome_pins = pins = ClockDomain("metronome_pins", local=True, reset_less=True)
        unit.submodules.core = machine = self._machine
        # The lock and the button come with no clock: two registers each. Both begin as if the button were pressed.
        held, beat, heard = Signal(2, init=3), Signal(26), Signal()
        unit.d.metronome_pins += [
            held.eq(Cat(self.btn_fire1 | ~locked, held)), beat.eq(beat + 1), heard.eq(heard ^ machine.heard),
        ]
        m.d.comb += pins.clk.eq(clock)  # type: ignore[attr-defined]  # the stubs give a domain no signals
        unit.d.comb += [
            machine.clk.eq(clock), machine.rst.eq(held[1]), machine.rx.eq(self.ftdi_txd),
            self.ftdi_rxd.eq(machine.tx), self.wifi_gpio0.eq(1),
            self.led.eq(machine.busy | machine.fault << 1 | heard << 2 | beat[-1] << 7),
        ]
        return m


def _pll(pin: Signal, clock: Signal, locked: Signal) -> Instance:
    """The PLL: its first output only closes the loop, at the frequency of ``pin``; its second is ``clock``."""
    loop = Signal()
    return Instance(
        "EHXPLLL",
        # The settings of the analogue loop filter are those of Project Trellis' `ecppll`.
        a_ICP_CURRENT="12", a_LPF_RESISTOR="8", a_MFG_ENABLE_FILTEROPAMP="1", a_MFG_GMCREF_SEL="2",
        p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED", p_STDBY_ENABLE="DISABLED", p_DPHASE_SOURCE="DISABLED",
        p_OUTDIVIDER_MUXA="DIVA", p_OUTDIVIDER_MUXB="DIVB", p_FEEDBK_PATH="CLKOP", p_CLKI_DIV=1, p_CLKFB_DIV=1,
        p_CLKOP_ENABLE="ENABLED", p_CLKOP_DIV=PLL_TIMES, p_CLKOP_CPHASE=PLL_TIMES // 2 - 1, p_CLKOP_FPHASE=0,
        p_CLKOS_ENABLE="ENABLED", p_CLKOS_DIV=_DIVISOR, p_CLKOS_CPHASE=_DIVISOR // 2 - 1, p_CLKOS_FPHASE=0,
        i_RST=0, i_STDBY=0, i_PHASESEL0=0, i_PHASESEL1=0, i_PHASEDIR=1, i_PHASESTEP=1, i_PHASELOADREG=1,
        i_PLLWAKESYNC=0, i_ENCLKOP=0, i_ENCLKOS=0,
        i_CLKI=pin, i_CLKFB=loop, o_CLKOP=loop, o_CLKOS=clock, o_LOCK=locked,
    )


def generate(config: SmConfig, regions: Regions, *, divisor: int, patience: int) -> str:
    """The Verilog of :class:`Ulx3s`, module :data:`TOP`."""
    return convert(Ulx3s(config, regions, divisor=divisor, patience=patience), name=TOP, prefix=TOP)
