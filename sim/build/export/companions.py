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
from metronome.hdl.gpu.config import GpuConfig, sm_config
from metronome.hdl.layouts.counters import COUNTER_BITS, built_counters
from metronome.hdl.verilog import top_of

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


#: The parts that only a GPU of several SMs has, by their names in the templates. Of the driver: the declarations in its
#: header, and the definitions in its source.
_CHOOSE = "void metronome_choose_sm(uintptr_t base, unsigned sm)"
_DRIVER_OF_GPU = {
    "driver_h": {
        "FAULT_SM": ", sm",
        "CHOICE": "/* From now on, metronome_counter reads the counters of this SM; at first of SM 0. */\n"
                  f"{_CHOOSE};\n\n",
    },
    "driver_c": {
        "FAULT_SM": "    fault->sm = get(base, METRONOME_FAULT_SM);\n",
        "CHOICE": f"{_CHOOSE} {{ set(base, METRONOME_COUNTER_SM, sm); }}\n\n",
    },
}


def _filled(config: SmConfig | GpuConfig, template: str, **values: object) -> str:
    """The text of a template with each ``@NAME@`` replaced; ``config`` decides the names of the machine."""
    top, machine = top_of(config), "GPU" if isinstance(config, GpuConfig) else "SM"
    values |= {"TOP": top, "GUARD": f"{top.upper()}_H", "MACHINE": machine}
    text = (_TEMPLATES / f"{template}.in").read_text("utf-8")
    return re.sub(r"@(\w+)@", lambda found: str(values[found[1]]), text)


def _sms(config: SmConfig | GpuConfig) -> range:
    """The numbers of the SMs whose counters are read one after the other; empty for one SM."""
    return range(config.sms if isinstance(config, GpuConfig) else 0)


def _with_mark(head: Sequence[str], mark: str) -> str:
    return "".join(f"{mark} {line}\n" for line in head)


def _widths(ports: Sequence[FlatPort]) -> dict[str, int]:
    return {port.name: port.width for port in ports}


def _line_testbench(config: SmConfig | GpuConfig, ports: Sequence[FlatPort]) -> str:
    """The part of the testbench that is for the line port."""
    widths, own = _widths(ports), sm_config(config)
    straps = [name for name in ("policy", "fetch_policy") if name in widths]
    connections = "".join(f",\n    .{name}({name}[{widths[name] - 1}:0])" for name in straps)
    declarations = (f"  reg [{widths['counter_index'] - 1}:0] counter_index = 0;\n"
                    f"  wire [{COUNTER_BITS - 1}:0] counter_value;\n")
    connections += ",\n    .counter_index(counter_index), .counter_value(counter_value)"

    def shown(prefix: str) -> list[str]:
        return [f"      counter_index = {index}; #1 $display(\"{prefix}{name} %0d\", counter_value);"
                for name, index in built_counters(research=own.research_counters).items()]

    sms = _sms(config)
    counters = [] if sms else shown("")
    if sms:
        bits = widths["counter_sm"] - 1
        declarations += f"  reg [{bits}:0] counter_sm = 0;\n  wire [{bits}:0] fault_sm;\n"
        connections += ",\n    .counter_sm(counter_sm), .fault_sm(fault_sm)"
        connections += "".join(f",\n    .{name}()" for name in widths if re.match(r"sm_\d+_", name))
    for number in sms:
        counters += [f"      counter_sm = {number};", *shown(f"sm_{number}_")]
    return _filled(
        config, "testbench_line", TAG_BITS=config.mem_tag_bits, WARP_BITS=widths["fault_warp"],
        DECLARATIONS=declarations, CONNECTIONS=connections, COUNTERS="\n".join(counters), **_names_of_sm(config),
    )


def _names_of_sm(config: SmConfig | GpuConfig) -> dict[str, str]:
    """The number of the SM in the line about a fault."""
    return {"SM_TEXT": "sm=%0d " if _sms(config) else "", "SM_VALUE": "fault_sm, " if _sms(config) else ""}


def _bus_testbench(config: SmConfig | GpuConfig, bus: str, ports: Sequence[FlatPort]) -> str:
    """The part of the testbench that is for a bus: memory, host and what the host does."""
    widths, sms = _widths(ports), _sms(config)
    offsets = {its.name: f"10'h{its.offset:03x}" for its in register_table(config)}

    def shown(prefix: str) -> list[str]:
        return [f"      show_counter(10'h{COUNTERS_OFFSET + 8 * index:03x}, \"{prefix}{name}\");"
                for name, index in built_counters(research=sm_config(config).research_counters).items()]

    counters = [] if sms else shown("")
    for number in sms:
        counters += [f"      write_register(COUNTER_SM, {number});", *shown(f"sm_{number}_")]
    more = {
        "GPU_REGISTERS": f", FAULT_SM = {offsets['fault_sm']}, COUNTER_SM = {offsets['counter_sm']}" if sms else "",
        "READ_SM": "      read_register(FAULT_SM, fault_sm);\n" if sms else "",
    }
    own = ({"DATA_BITS": widths["m_axi_wdata"], "ID_BITS": widths["m_axi_awid"]} if bus == "axi" else
           {"DATA_BITS": widths["m_wb_dat_w"], "ADDRESS_BITS": widths["m_wb_adr"]})
    return _filled(config, f"testbench_{bus}", **own) + _filled(
        config, "testbench_host", COUNTERS="\n".join(counters), **offsets, **more, **_names_of_sm(config))


def _driver(config: SmConfig | GpuConfig, head: str) -> dict[str, str]:
    """The C header and the C source."""
    fixed: list[Register] = [its for its in register_table(config) if its.offset < COUNTERS_OFFSET]
    registers = [f"#define METRONOME_{its.name.upper()} {its.offset:#05x}u" for its in fixed]
    registers += [f"#define METRONOME_COUNTER_{half}(counter) ({COUNTERS_OFFSET + place:#05x}u + 8u * (counter))"
                  for half, place in (("LOW", 0), ("HIGH", 4))]
    causes = [f"    METRONOME_CAUSE_{cause.name} = {int(cause)}," for cause in FaultCause]
    built = built_counters(research=sm_config(config).research_counters)
    counters = [f"    METRONOME_{name.upper()}," for name in built]
    top = top_of(config)
    more = {name: parts if _sms(config) else dict.fromkeys(parts, "") for name, parts in _DRIVER_OF_GPU.items()}
    return {
        f"{top}.h": _filled(
            config, "driver_h", HEAD=head, REGISTERS="\n".join(registers), CAUSES="\n".join(causes).rstrip(","),
            COUNTERS="\n".join(counters), IDENTITY=f"{IDENTITY:#010x}u", VERSION=MAP_VERSION, **more["driver_h"],
        ),
        f"{top}.c": _filled(config, "driver_c", HEAD=head, **more["driver_c"]),
    }


def _litex(config: SmConfig | GpuConfig, bus: str, ports: Sequence[FlatPort], head: str) -> str:
    """The LiteX module."""
    widths = _widths(ports)
    module, buses, signal = _LITEX[bus]
    sizes = ({"data_bits": widths["m_axi_wdata"], "id_bits": widths["m_axi_awid"]} if bus == "axi" else
             {"data_bits": widths["m_wb_dat_w"], "address_bits": widths["m_wb_adr"]})
    rows = [f'    "{port.name}": ("{"i" if port.is_input else "o"}", {port.width}),' for port in ports
            if port.name.startswith(("m_", "s_"))]
    offsets = [f'    "{its.name}": {its.offset:#05x},' for its in register_table(config)]
    return _filled(config, "litex", HEAD=head, INTERCONNECT=module, BUSES=buses.format(**sizes), SIGNAL=signal,
                   PORTS="\n".join(rows), OFFSETS="\n".join(offsets), SIZE=f"{1 << ADDRESS_BITS:#x}")


def companion_files(
    config: SmConfig | GpuConfig, bus: str, ports: Sequence[FlatPort], *, preset: str, head: Sequence[str], about: str,
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
    comment, top = _with_mark(about.splitlines(), "//"), top_of(config)
    sms = len(_sms(config))
    core = {"KIND": "gpu" if sms else "sm",
            "WHAT": f"A GPU of {sms} streaming multiprocessors" if sms else "A GPU streaming multiprocessor"}
    files = {
        f"{top}_tb.v": _with_mark(head, "//") + _filled(
            config, "testbench", ABOUT=comment, SIDE=own.rstrip(), HINT=f": is it for {sms} SMs?" if sms else ""),
        f"{top}.core": _filled(config, "fusesoc", HEAD=_with_mark(head, "#").rstrip(), PRESET=preset, **core),
    }
    if bus != "line":
        files |= _driver(config, "".join(f"/* {line} */\n" for line in head))
        files[f"{top}_litex.py"] = _litex(config, bus, ports, _with_mark(head, "#"))
    return files


def constraint_files(top: str, clock_mhz: float, head: Sequence[str]) -> Mapping[str, str]:
    """Name -> text of the constraints of the clock, for nextpnr on ECP5 (LPF), for most tools (SDC) and for Vivado."""
    period = f"{1000 / clock_mhz:.3f}"
    clock = f"create_clock -name clk -period {period} [get_ports clk]\n"
    return {
        f"{top}.lpf": f"{_with_mark(head, '#')}FREQUENCY PORT \"clk\" {clock_mhz:g} MHZ;\n",
        f"{top}.sdc": _with_mark(head, "#") + clock, f"{top}.xdc": _with_mark(head, "#") + clock,
    }
