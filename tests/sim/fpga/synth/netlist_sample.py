"""A component with each kind of cell in it, and its netlist side by side with its source in one simulation."""

import json
import re
import subprocess

from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from metronome.sim.build.cache import entry
from metronome.sim.build.verilating import call, digest, make, verilator, versions
from metronome.sim.fpga.synth.flow import rtlil_text
from metronome.sim.fpga.synth.netlist import CELLS, STATISTICS, mapped

#: Memories with a write and a read port by name: bits of a row, bits of an address, bits that a write enable is for.
SEPARATE = {
    "m36": (36, 9, 9), "m32": (32, 9, 8), "m9": (9, 11, 9), "m4": (4, 12, 4), "m2": (2, 13, 2), "m1": (1, 14, 1),
}
#: How the read port of a memory with one address goes on in a cycle with a write.
SHARED = ("hold", "old", "new")


class Sample(wiring.Component):
    """Each output is of one kind of cell, or of one mode of a cell; ``address`` is for all memories."""

    def __init__(self):
        super().__init__({
            "address": In(14), "other": In(14), "data": In(36), "enable": In(4), "read": In(1), "clear": In(1),
            **{name: Out(width) for name, (width, _, _) in SEPARATE.items()},
            **{f"shared_{mode}": Out(18) for mode in SHARED}, "cleared": Out(36), "distributed": Out(6),
            "flops": Out(8), "sum": Out(40), "product": Out(64), "signed_product": Out(36),
        })

    def elaborate(self, platform):
        m = Module()
        for name, (width, bits, granularity) in SEPARATE.items():
            self._separate(m, name, width, bits, granularity, getattr(self, name))
        self._cleared(m)
        for mode in SHARED:
            self._shared(m, mode)
        self._table(m)
        self._flops(m)
        factor = Signal(32)
        m.d.sync += factor.eq(self.data)
        m.d.comb += [
            self.sum.eq((self.data + (self.other << 20)) ^ (self.data - self.address)),
            self.product.eq(factor * self.data[:32]),
            self.signed_product.eq(self.data[:18].as_signed() * factor[:18].as_signed()),
        ]
        return m

    def _memory(self, m, name, width, depth):
        # Only a few rows begin with something, and the last of them is one.
        init = [(7 * row + 0x5A5A5A5A5) % 2 ** width for row in range(40)] + [0] * (depth - 41) + [2 ** width - 1]
        m.submodules[f"memory_{name}"] = memory = Memory(shape=width, depth=depth, init=init)
        return memory

    def _separate(self, m, name, width, bits, granularity, out):
        memory = self._memory(m, name, width, 2 ** bits)
        write, read = memory.write_port(granularity=granularity), memory.read_port()
        m.d.comb += [
            write.addr.eq(self.address), write.data.eq(self.data), write.en.eq(self.enable), read.addr.eq(self.other),
            read.en.eq(self.read), out.eq(read.data),
        ]

    def _cleared(self, m):
        """What is read goes into a register that may be cleared: yosys takes that for the memory's own."""
        memory = self._memory(m, "cleared", 36, 512)
        write, read = memory.write_port(granularity=9), memory.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.address), write.data.eq(self.data), write.en.eq(self.enable), read.addr.eq(self.other),
        ]
        with m.If(self.read):
            m.d.sync += self.cleared.eq(read.data)
        with m.If(self.clear):
            m.d.sync += self.cleared.eq(0)

    def _shared(self, m, mode):
        memory = self._memory(m, mode, 18, 1024)
        write = memory.write_port(granularity=9)
        read = memory.read_port(transparent_for=[write] if mode == "new" else [])
        m.d.comb += [
            write.addr.eq(self.address), write.data.eq(self.data), write.en.eq(self.enable & self.read.replicate(2)),
            read.addr.eq(self.address), read.en.eq(self.read & ((self.enable[:2] == 0) if mode == "hold" else 1)),
        ]
        m.d.comb += getattr(self, f"shared_{mode}").eq(read.data)

    def _table(self, m):
        """Distributed memory, read in the same cycle."""
        m.submodules.memory_table = memory = Memory(shape=6, depth=20, init=[3 * row for row in range(20)])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.address[:4]), write.data.eq(self.data), write.en.eq(self.enable[0]),
            read.addr.eq(self.other[:4]), self.distributed.eq(read.data),
        ]

    def _flops(self, m):
        """Each start value with and without a reset, with and without an enable."""
        for place in range(8):
            flop = Signal(init=place & 1, reset_less=bool(place & 2), name=f"flop{place}")
            with m.If(self.enable[2] if place & 4 else 1):
                m.d.sync += flop.eq(self.data[place])
            m.d.comb += self.flops[place].eq(flop)


_MAIN = """
#include <cstdint>
#include <cstdio>
#include "Vpair.h"

static uint64_t state = 88172645463325252ull;
static uint64_t noise() {
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return state;
}

int main() {
    Vpair top;
    uint32_t pool[4] = {0, 1, 2, 39};
    for (int cycle = 0; cycle < 40000; ++cycle) {
        if (cycle % 61 == 0) pool[noise() % 4] = noise() % 8 ? noise() & 0x3fff : noise() % 41;
        // Not before some cycles have shown how the flip-flops begin.
        top.rst = cycle > 20 && noise() % 97 == 0;
        top.address = pool[noise() % 4]; top.other = pool[noise() % 4];
        top.data = noise() & 0xfffffffffull;
        top.enable = noise() % 3 ? noise() & 15 : 0; top.read = noise() % 4 != 0; top.clear = noise() % 5 == 0;
        top.clk = 0; top.eval();
        if (top.differ) { printf("%d %x\\n", cycle, top.differ); return 1; }
        top.clk = 1; top.eval();
    }
    top.final();
    return 0;
}
"""


def _pair(ports):
    """Verilog of both modules side by side, and of what is different."""
    inputs = ["clk", "rst", *(name for name, member in ports.items() if member.flow is In)]
    outputs = {name: member.shape for name, member in ports.items() if member.flow is Out}
    widths = {"clk": 1, "rst": 1, **{name: member.shape for name, member in ports.items() if member.flow is In}}
    lines = [f"  input [{widths[name] - 1}:0] {name}," for name in inputs]
    lines += [f"  output [{len(outputs) - 1}:0] differ", ");"]
    for module in ("source", "sample"):
        lines += [f"  wire [{width - 1}:0] {module}_{name};" for name, width in outputs.items()]
        pins = [f".{name}({name})" for name in inputs] + [f".{name}({module}_{name})" for name in outputs]
        lines += [f"  {module} its_{module} ({', '.join(pins)});"]
    differ = ", ".join(f"source_{name} != sample_{name}" for name in reversed(outputs))
    return "\n".join(["module pair (", *lines, f"  assign differ = {{{differ}}};", "endmodule", ""]), list(outputs)


def netlist():
    """The folder with the netlist of the sample."""
    return mapped(rtlil_text(Sample(), "sample"), "sample", language="rtlil")


def compare(change=lambda netlist, cells: (netlist, cells)):
    """Outputs that are different in the first cycle with a difference, and that cycle; None if there is none.

    ``change`` is applied to the texts of the netlist and of the models.
    """
    folder = netlist()
    texts = change((folder / "sample.v").read_text(), (folder / CELLS).read_text())
    sample = Sample()
    source = verilog.convert(sample, name="source", emit_src=False, strip_internal_attrs=True)
    pair, outputs = _pair(sample.signature.members)

    def build(folder):
        files = {"pair.v": pair, "source.v": source, "sample.v": texts[0], "cells.v": texts[1], "main.cpp": _MAIN}
        for name, text in files.items():
            (folder / name).write_text(text)
        script, env = verilator()
        call([
            str(script), "--cc", "--exe", "-O3", "-Wno-lint", "-Wno-style", "--top-module", "pair", "--prefix", "Vpair",
            "-Mdir", "obj", "-o", "../pair", "-CFLAGS", "-O0", "../main.cpp", "pair.v", "source.v", "sample.v",
            "cells.v",
        ], folder, env)
        make(folder, "Vpair")

    executable = entry(f"unit-{digest(pair, source, texts, _MAIN, versions())}", build) / "pair"
    done = subprocess.run([executable], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    found = re.fullmatch(r"(\d+) (\w+)\n", done.stdout)
    assert found, f"status {done.returncode}: {done.stdout}{done.stderr}"
    return {name for place, name in enumerate(outputs) if int(found[2], 16) >> place & 1}, int(found[1])


def cells():
    """Type -> how many of it the netlist of the sample has."""
    statistics = json.loads((netlist() / STATISTICS).read_text())
    return statistics["design"]["num_cells_by_type"]


