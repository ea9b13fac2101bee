"""The files beside exported Verilog: testbench, driver, FuseSoC core, LiteX module and clock constraints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from metronome.hdl.bus.flat import FlatPort
from metronome.hdl.bus.register_table import (
    ADDRESS_BITS,
    COUNTERS_OFFSET,
    IDENTITY,
    MAP_VERSION,
    Register,
    register_table,
)
from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.layouts.counters import COUNTER_BITS, built_counters
from metronome.hdl.verilog import TOP

__all__ = ["companion_files", "constraint_files"]

_TEMPLATES = Path(__file__).parent / "templates"

#: Statements of the LiteX module that depend on the bus: the two interfaces, and the signal of a port.
_LITEX = {
    "axi": ("axi", """\
        self.memory = axi.AXIInterface(data_width={data_bits}, id_width={id_bits})
        self.registers = axi.AXILiteInterface(data_width=32)""", """\
        prefix, bus = ("m_axi_", self.memory) if name.startswith("m_axi_") else ("s_axil_", self.registers)
        wire = name.removeprefix(prefix)
        channel = next(each for each in ("aw", "ar", "w", "b", "r") if wire.startswith(each))
        signal = getattr(getattr(bus, channel), wire.removeprefix(channel))
        if bus is self.registers and wire.endswith("ready") and direction == "o":
            # LiteX (2024.12) converts 64 bits to 32 with two accesses, and skips one without strobes. A slave that is
            # always ready seems to have taken the skipped one, and the other is never made.
            ready = Signal()
            self.comb += signal.eq(ready & getattr(bus, channel).valid)
            return ready
        return signal"""),
    "wishbone": ("wishbone", """\
        self.memory = wishbone.Interface(data_width={data_bits}, adr_width={address_bits})
        self.registers = wishbone.Interface(data_width=32, adr_width=30)""", """\
        prefix, bus = ("m_wb_", self.memory) if name.startswith("m_wb_") else ("s_wb_", self.registers)
        return getattr(bus, name.removeprefix(prefix))"""),
}


def _filled(template: str, **values: object) -> str:
    """The text of a template with each ``@NAME@`` replaced."""
    text = (_TEMPLATES / f"{template}.in").read_text("utf-8")
    return re.sub(r"@(\w+)@", lambda found: str(values[found[1]]), text)


def _with_mark(head: Sequence[str], mark: str) -> str:
    return "".join(f"{mark} {line}\n" for line in head)


def _widths(ports: Sequence[FlatPort]) -> dict[str, int]:
    return {port.name: port.width for port in ports}


def _line_testbench(config: SmConfig, ports: Sequence[FlatPort]) -> str:
    """The part of the testbench that is for the line port."""
    widths = _widths(ports)
    straps = [name for name in ("policy", "fetch_policy") if name in widths]
    connections = "".join(f",\n    .{name}({name}[{widths[name] - 1}:0])" for name in straps)
    shown = []
    for name, index in built_counters(research=config.research_counters).items():
        shown.append(f"      counter_index = {index}; #1 $display(\"{name} %0d\", counter_value);")
    declarations = (f"  reg [{widths['counter_index'] - 1}:0] counter_index = 0;\n"
                    f"  wire [{COUNTER_BITS - 1}:0] counter_value;\n")
    connections += ",\n    .counter_index(counter_index), .counter_value(counter_value)"
    return _filled("testbench_line", TAG_BITS=config.mem_tag_bits, WARP_BITS=widths["fault_warp"],
                   DECLARATIONS=declarations, CONNECTIONS=connections, COUNTERS="\n".join(shown))


def _bus_testbench(config: SmConfig, bus: str, ports: Sequence[FlatPort]) -> str:
    """The part of the testbench that is for a bus: memory, host and what the host does."""
    widths = _widths(ports)
    offsets = {its.name: f"10'h{its.offset:03x}" for its in register_table(config)}
    shown = [f"      show_counter(10'h{COUNTERS_OFFSET + 8 * index:03x}, \"{name}\");"
             for name, index in built_counters(research=config.research_counters).items()]
    own = ({"DATA_BITS": widths["m_axi_wdata"], "ID_BITS": widths["m_axi_awid"]} if bus == "axi" else
           {"DATA_BITS": widths["m_wb_dat_w"], "ADDRESS_BITS": widths["m_wb_adr"]})
    return _filled(f"testbench_{bus}", **own) + _filled("testbench_host", COUNTERS="\n".join(shown), **offsets)


def _driver(config: SmConfig, head: str) -> dict[str, str]:
    """The C header and the C source."""
    fixed: list[Register] = [its for its in register_table(config) if its.offset < COUNTERS_OFFSET]
    registers = [f"#define METRONOME_{its.name.upper()} {its.offset:#05x}u" for its in fixed]
    registers += [f"#define METRONOME_COUNTER_{half}(counter) ({COUNTERS_OFFSET + place:#05x}u + 8u * (counter))"
                  for half, place in (("LOW", 0), ("HIGH", 4))]
    causes = [f"    METRONOME_CAUSE_{cause.name} = {int(cause)}," for cause in FaultCause]
    counters = [f"    METRONOME_{name.upper()}," for name in built_counters(research=config.research_counters)]
    return {
        f"{TOP}.h": _filled(
            "driver_h", HEAD=head, REGISTERS="\n".join(registers), CAUSES="\n".join(causes).rstrip(","),
            COUNTERS="\n".join(counters), IDENTITY=f"{IDENTITY:#010x}u", VERSION=MAP_VERSION,
        ),
        f"{TOP}.c": _filled("driver_c", HEAD=head),
    }


def _litex(config: SmConfig, bus: str, ports: Sequence[FlatPort], head: str) -> str:
    """The LiteX module."""
    widths = _widths(ports)
    module, buses, signal = _LITEX[bus]
    sizes = ({"data_bits": widths["m_axi_wdata"], "id_bits": widths["m_axi_awid"]} if bus == "axi" else
             {"data_bits": widths["m_wb_dat_w"], "address_bits": widths["m_wb_adr"]})
    rows = [f'    "{port.name}": ("{"i" if port.is_input else "o"}", {port.width}),' for port in ports
            if port.name.startswith(("m_", "s_"))]
    offsets = [f'    "{its.name}": {its.offset:#05x},' for its in register_table(config)]
    return _filled("litex", HEAD=head, INTERCONNECT=module, BUSES=buses.format(**sizes), SIGNAL=signal,
                   PORTS="\n".join(rows), OFFSETS="\n".join(offsets), SIZE=f"{1 << ADDRESS_BITS:#x}")


def companion_files(
    config: SmConfig, bus: str, ports: Sequence[FlatPort], *, preset: str, head: Sequence[str], about: str,
) -> dict[str, str]:
    """Name -> text of the testbench and of the core file; with a bus, of the driver and of the LiteX module, too.

    Parameters
    ----------
    ports
        Of the module, without those that only its variant for simulation has.
    head
        The lines with which every file begins.
    about
        What the testbench's cycles can be compared with, for a comment at its beginning.
    """
    own = _line_testbench(config, ports) if bus == "line" else _bus_testbench(config, bus, ports)
    comment = _with_mark(about.splitlines(), "//")
    files = {
        f"{TOP}_tb.v": _with_mark(head, "//") + _filled("testbench", ABOUT=comment, SIDE=own.rstrip()),
        f"{TOP}.core": _filled("fusesoc", HEAD=_with_mark(head, "#").rstrip(), PRESET=preset),
    }
    if bus != "line":
        files |= _driver(config, "".join(f"/* {line} */\n" for line in head))
        files[f"{TOP}_litex.py"] = _litex(config, bus, ports, _with_mark(head, "#"))
    return files


def constraint_files(clock_mhz: float, head: Sequence[str]) -> Mapping[str, str]:
    """Name -> text of the constraints of the clock, for nextpnr on ECP5 (LPF), for most tools (SDC) and for Vivado."""
    period = f"{1000 / clock_mhz:.3f}"
    clock = f"create_clock -name clk -period {period} [get_ports clk]\n"
    return {
        f"{TOP}.lpf": f"{_with_mark(head, '#')}FREQUENCY PORT \"clk\" {clock_mhz:g} MHZ;\n",
        f"{TOP}.sdc": _with_mark(head, "#") + clock, f"{TOP}.xdc": _with_mark(head, "#") + clock,
    }
