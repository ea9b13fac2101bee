"""The modules of an SM in a form that Verilator builds and runs faster: lanes as loops, and memories written here.

Amaranth writes a memory's initial contents bit by bit. For the registers of PAPER these are two million zeros, on
which Amaranth, Yosys and Verilator spend seconds. Verilator starts with zeros anyway (``--x-initial 0``).
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockSignal, Instance, Signal, Value
from amaranth.lib.memory import Memory

from .lane_arrays.platform import LaneArrays

__all__ = ["Simulated"]

#: A placeholder for the name in a memory's text: memories of the same kind are one module.
_NAME = "NAME"


class Simulated(LaneArrays):
    """As :class:`.lane_arrays.platform.LaneArrays`, with modules for memories, too."""

    def __init__(self, *, prefix: str) -> None:
        super().__init__(prefix=prefix)
        #: The text of each module -> its name.
        self._memories: dict[str, str] = {}

    @property
    def text(self) -> str:
        """The text of all modules."""
        return super().text + "".join(text.replace(_NAME, name) for text, name in self._memories.items())

    def get_memory(self, memory: Memory) -> Any:
        """Return the module for ``memory``. Amaranth calls this."""
        if not _plain(memory):
            return memory.elaborate(None)
        text = _text(memory)
        name = self._memories.setdefault(text, f"{self._prefix}_memory_{len(self._memories)}")
        return Instance(name, *_ports(memory))


def _plain(memory: Memory) -> bool:
    """Whether :func:`_text` can write it: initially zero, one clock, and no word is read while it is written."""
    usual: Any = Value.cast(Signal(memory.shape))
    given: Any = memory.init
    zeros = usual.init == 0 and all(word is None or (isinstance(word, int) and word == 0) for word in given)
    domains = {port.domain for port in memory.read_ports} | {port.domain for port in memory.write_ports}
    transparent = any(port.transparent_for for port in memory.read_ports)
    return zeros and domains <= {"comb", "sync"} and not transparent and memory.depth > 1 and len(usual) > 0


def _ports(memory: Memory) -> list[tuple[str, str, Value]]:
    ports: list[tuple[str, str, Value]] = [("i", "clk", ClockSignal())]
    for k, write in enumerate(memory.write_ports):
        ports += [("i", f"w{k}_{name}", Value.cast(getattr(write, name))) for name in ("en", "addr", "data")]
    for k, read in enumerate(memory.read_ports):
        ports += [("i", f"r{k}_{name}", Value.cast(getattr(read, name))) for name in ("en", "addr")]
        ports.append(("o", f"r{k}_data", Value.cast(read.data)))
    return ports


def _text(memory: Memory) -> str:
    """A module with the ports of :func:`_ports`."""
    width = len(Value.cast(memory.data[0]))
    word, address = f"[{width - 1}:0]", f"[{(memory.depth - 1).bit_length() - 1}:0]"
    ports, lines = ["input clk"], [f"  reg {word} words [0:{memory.depth - 1}];"]
    for k, write in enumerate(memory.write_ports):
        count = len(write.en)
        ports += [f"input [{count - 1}:0] w{k}_en", f"input {address} w{k}_addr", f"input {word} w{k}_data"]
        lines.append("  always @(posedge clk) begin")
        for j in range(count):
            part = f"[{(j + 1) * width // count - 1}:{j * width // count}]"
            lines.append(f"    if (w{k}_en[{j}]) words[w{k}_addr]{part} <= w{k}_data{part};")
        lines.append("  end")
    for k, read in enumerate(memory.read_ports):
        ports += [f"input r{k}_en", f"input {address} r{k}_addr"]
        if read.domain == "comb":
            ports.append(f"output {word} r{k}_data")
            lines.append(f"  assign r{k}_data = words[r{k}_addr];")
        else:
            ports.append(f"output reg {word} r{k}_data")
            lines.append(f"  always @(posedge clk) if (r{k}_en) r{k}_data <= words[r{k}_addr];")
    return "\n".join([f"module {_NAME}({', '.join(ports)});", *lines, "endmodule\n"])
