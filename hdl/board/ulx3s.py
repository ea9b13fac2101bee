"""The ULX3S of Radiona: an ECP5 LFE5U-85F with a clock of 25 MHz and a serial line through its USB connector."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.component import Component
from ..verilog import convert
from .machine import BoardMachine
from .regions import Regions

__all__ = ["CLOCK_HZ", "DEVICE", "PACKAGE", "SPEED_GRADE", "TOP", "Ulx3s", "constraints", "generate"]

#: The name of the top-level module.
TOP = "metronome_ulx3s"

CLOCK_HZ = 25_000_000
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
    """The LPF file: where the ports are, and how fast the clock is."""
    lines = ["BLOCK RESETPATHS;", "BLOCK ASYNCPATHS;", f'FREQUENCY PORT "clk_25mhz" {CLOCK_HZ / 1e6:g} MHZ;']
    for port, (pin, more) in _PINS.items():
        lines += [f'LOCATE COMP "{port}" SITE "{pin}";', f'IOBUF PORT "{port}" {more} IO_TYPE=LVCMOS33;']
    return "\n".join(lines) + "\n"


class Ulx3s(Component):
    """The top level: the machine on its pins.

    Bit 0 of ``led`` is on while a program runs, bit 1 after a fault. Bit 2 changes with every byte that comes, and bit
    7 blinks with the clock, about once in 1.3 s. Parameters: as for :class:`hdl.board.machine.BoardMachine`.
    """

    def __init__(self, config: SmConfig, regions: Regions, *, divisor: int, patience: int) -> None:
        self._machine = BoardMachine(config, regions, clock_hz=CLOCK_HZ, divisor=divisor, patience=patience)
        super().__init__({
            "clk_25mhz": In(1),  # the only clock
            "btn_fire1": In(1),  # resets everything except the contents of memory, while it is pressed
            "ftdi_txd": In(1, init=1),  # type: ignore[call-arg]  # serial line: the FTDI chip sends
            "ftdi_rxd": Out(1, init=1),  # type: ignore[call-arg]  # serial line: the FTDI chip receives
            "wifi_gpio0": Out(1, init=1),  # type: ignore[call-arg]  # 1: the board's second processor does not load another bitstream
            "led": Out(8),  # lights
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = Module()
        m.domains.metronome_pins = pins = ClockDomain("metronome_pins", local=True, reset_less=True)
        unit.submodules.core = machine = self._machine
        pressed, beat, heard = Signal(2), Signal(25), Signal()
        unit.d.metronome_pins += [
            pressed.eq(pressed << 1 | self.btn_fire1), beat.eq(beat + 1), heard.eq(heard ^ machine.heard),
        ]
        m.d.comb += pins.clk.eq(self.clk_25mhz)  # type: ignore[attr-defined]  # the stubs give a domain no signals
        unit.d.comb += [
            machine.clk.eq(self.clk_25mhz), machine.rst.eq(pressed[1]), machine.rx.eq(self.ftdi_txd),
            self.ftdi_rxd.eq(machine.tx), self.wifi_gpio0.eq(1),
            self.led.eq(machine.busy | machine.fault << 1 | heard << 2 | beat[-1] << 7),
        ]
        return m


def generate(config: SmConfig, regions: Regions, *, divisor: int, patience: int) -> str:
    """The Verilog of :class:`Ulx3s`, module :data:`TOP`."""
    return convert(Ulx3s(config, regions, divisor=divisor, patience=patience), name=TOP, prefix=TOP)
