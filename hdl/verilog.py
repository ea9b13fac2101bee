"""Export of an SM or a GPU as plain synthesizable Verilog."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .bus.axi_sm import AxiSm
from .bus.flat import Flat, FlatPort
from .bus.wishbone_sm import WishboneSm
from .config import SmConfig
from .gpu.config import MOST_SMS, GpuConfig
from .gpu.gpu import Gpu
from .layouts.counters import StallReason
from .lib.collector import collector_paused
from .lib.component import Component
from .lib.shared import SharedModules, to_verilog
from .sm import Sm

__all__ = ["BUSES", "GPU_TOP", "TOP", "FlatVerilog", "convert", "flat_top", "generate", "generate_flat",
           "inside_of", "top_of"]

#: The names of the top-level modules: of an SM, and of a GPU.
TOP, GPU_TOP = "metronome_sm", "metronome_gpu"

#: The memory interfaces of an SM with flat ports: the component inside, which takes the configuration.
BUSES: dict[str, type[Component]] = {"line": Sm, "axi": AxiSm, "wishbone": WishboneSm}

#: In the names of flat ports.
_NAMES = {"counters": "counter", "sms": ""}
_ELEMENTS = {
    f"{path}counters.stalls": [reason.name.lower() if reason else None for reason in StallReason]
    for path in ("", *(f"sms.sm_{i}." for i in range(MOST_SMS)))
}

#: A part of a register that is constant. Nothing that it depends on ever changes.
_CONSTANT = re.compile(r"^  always @\*\n    (.+ = \d+'h[0-9a-f]+;)$", re.MULTILINE)
#: The declaration of a wire without a bit: a field of a record that this configuration does not need. The writer leaves
#: out its assignments and its readers.
_EMPTY = re.compile(r"^  wire \[-1:0\] \S+ ?;\n", re.MULTILINE)
_MODULE = re.compile(r"^module .*?;\n.*?^endmodule\n", re.MULTILINE | re.DOTALL)


def _woken(text: str) -> str:
    """Make the blocks of ``text`` that only assign a constant run once, when a simulation begins.

    An event-driven simulator (Icarus Verilog) never enters a combinational block that reads nothing, so its targets
    stay unknown. Yosys makes its own blocks read an initialized register, except those of one assignment.
    """

    def woken(module: re.Match[str]) -> str:
        found, count = _CONSTANT.subn(r"  always @* begin\n    if (\\$once ) begin end\n    \1\n  end", module[0])
        return found.replace(";\n", ";\n  reg \\$once  = 0;\n", 1) if count else found

    return _MODULE.sub(woken, text)


def convert(
    component: Component, *, name: str, prefix: str, sharing: type[SharedModules] = SharedModules,
) -> str:
    """The Verilog of ``component`` as module ``name``, and of its shared modules, whose names begin with ``prefix``.

    Signals of width 0 are left out: Verilog cannot express them, and reads ``[-1:0]`` as two bits. ``sharing`` writes
    the shared modules.
    """
    shared = sharing(prefix=prefix)
    with collector_paused():
        text = to_verilog(component, name=name, platform=shared)
    return _EMPTY.sub("", text + shared.text)


def top_of(config: SmConfig | GpuConfig) -> str:
    """The name of the top-level module."""
    return GPU_TOP if isinstance(config, GpuConfig) else TOP


def inside_of(config: SmConfig | GpuConfig, bus: str) -> type[Component]:
    """The component with this memory interface (of :data:`BUSES`), which takes the configuration."""
    return Gpu if bus == "line" and isinstance(config, GpuConfig) else BUSES[bus]


def _text(component: Component, name: str, sharing: type[SharedModules] = SharedModules) -> str:
    return convert(component, name=name, prefix=TOP.removesuffix("_sm"), sharing=sharing)


def generate(config: SmConfig | GpuConfig, sharing: type[SharedModules] = SharedModules) -> str:
    """The Verilog of an SM or a GPU, module :func:`top_of`, with packed ports (``mem__req__payload``, ...).

    Clock ``clk`` and synchronous reset ``rst``. Takes half a minute at the PAPER size. ``sharing`` writes the modules
    of the lanes. The SMs of a GPU are instances of one module.
    """
    return _text(inside_of(config, "line")(config), top_of(config), sharing)


def flat_top(config: SmConfig | GpuConfig, bus: str = "line", **sizes: int) -> Flat:
    """The SM or the GPU with one port for each field (``mem_req_line``, ``counter_cycles``, ``sm_1_busy``, ...).

    Parameters
    ----------
    bus
        Of :data:`BUSES`.
    sizes
        Parameters of the bus's component besides the configuration (:class:`hdl.bus.axi_sm.AxiSm`,
        :class:`hdl.bus.wishbone_sm.WishboneSm`).
    """
    return Flat(inside_of(config, bus)(config, **sizes), names=_NAMES, elements=_ELEMENTS)


@dataclass(frozen=True)
class FlatVerilog:
    """The Verilog of a :class:`hdl.bus.flat.Flat`, and its ports except clock and reset."""

    text: str  # all modules
    ports: list[FlatPort]  # in the order of the signature


def generate_flat(config: SmConfig | GpuConfig, bus: str = "line", **sizes: int) -> FlatVerilog:
    """The Verilog of :func:`flat_top`, as :func:`generate` writes it, and its ports."""
    top = flat_top(config, bus, **sizes)
    return FlatVerilog(_woken(_text(top, top_of(config))), top.ports)
