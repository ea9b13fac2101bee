"""A unit compiled by Verilator, and run on a batch of operands: millions of operations in seconds."""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from amaranth.back import verilog
from amaranth.hdl import Value
from amaranth.lib import wiring
from numpy.typing import NDArray

from metronome.sim.build.cache import entry
from metronome.sim.build.verilating import call, digest, make, verilator, versions

U32 = NDArray[np.uint32]

#: Drives the unit from a file of rows, a 32-bit word an input; writes a file of rows, a word an output.
_MAIN = """
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "Vunit.h"

static uint32_t noise() {{
    static uint32_t state = 1;
    state ^= state << 13; state ^= state >> 17; state ^= state << 5;
    return state;
}}

static void tick(Vunit& unit) {{
    unit.clk = 0; unit.eval();
    unit.clk = 1; unit.eval();
}}

int main(int, char** arguments) {{
    FILE* source = fopen(arguments[1], "rb");
    FILE* target = fopen(arguments[2], "wb");
    const long latency = atol(arguments[3]), interval = atol(arguments[4]), rows = atol(arguments[5]);
    std::vector<uint32_t> in(rows * {inputs}), out(rows * {outputs});
    if (!source || !target || fread(in.data(), 4, in.size(), source) != in.size()) return 1;
    Vunit unit;
    unit.valid = 0; unit.rst = 1; tick(unit); tick(unit); unit.rst = 0;
    for (long cycle = 0; cycle < rows * interval + latency; ++cycle) {{
        const bool issue = cycle % interval == 0 && cycle / interval < rows;
        const uint32_t* row = &in[issue ? cycle / interval * {inputs} : 0];
        unit.valid = issue;
        {drive}
        tick(unit);
        const long issued = cycle + 1 - latency;
        if (issued >= 0 && issued % interval == 0 && issued / interval < rows) {{
            uint32_t* row = &out[issued / interval * {outputs}];
            {sample}
        }}
    }}
    unit.final();
    return fwrite(out.data(), 4, out.size(), target) == out.size() ? 0 : 2;
}}
"""


class UnitBatch:
    """``unit``, a unit of one lane, compiled; ``inputs`` and ``outputs`` name ports of up to 32 bits besides ``valid``.

    Kept in the cache folder of the simulations, by the content of everything that goes in.
    """

    def __init__(self, unit: wiring.Component, *, inputs: tuple[str, ...], outputs: tuple[str, ...]):
        self.inputs, self.outputs = inputs, outputs
        main = _MAIN.format(
            inputs=len(inputs), outputs=len(outputs),
            drive="\n        ".join(f"unit.{name} = (issue ? row[{k}] : noise()) & {_mask(unit, name):#x};"
                                    for k, name in enumerate(inputs)),
            sample="\n            ".join(f"row[{k}] = unit.{name};" for k, name in enumerate(outputs)),
        )
        self.executable = _build(verilog.convert(unit, name="unit", emit_src=False), main)

    def run(self, *, latency: int, interval: int = 1, **columns: U32 | int) -> list[U32]:
        """The outputs ``latency`` cycles after each operation; an operation arrives every ``interval`` cycles.

        ``columns`` are the values of ``inputs``, at least one of them an array; numbers are for all operations.
        """
        rows = np.stack(np.broadcast_arrays(*(columns[name] for name in self.inputs)), axis=1).astype(np.uint32)
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "in"), Path(folder, "out")
            rows.tofile(source)
            subprocess.run(
                [self.executable, source, target, str(latency), str(interval), str(len(rows))], check=True, timeout=600)
            results = np.fromfile(target, np.uint32).reshape(len(rows), len(self.outputs))
        return list(results.T)


def _mask(unit: wiring.Component, name: str) -> int:
    """All ones, as wide as the port: Verilator does not cut what is assigned to it."""
    return (1 << len(Value.cast(getattr(unit, name)))) - 1


@functools.cache
def _build(text: str, main: str) -> Path:
    """The executable of a module ``unit`` with the C++ ``main``."""
    flags = ("--cc", "--exe", "-O3", "--x-assign", "fast", "--x-initial", "0", "-Wno-fatal", "-Wno-lint", "-Wno-style")

    def make_entry(folder: Path) -> None:
        (folder / "unit.v").write_text(text)
        (folder / "main.cpp").write_text(main)
        script, environment = verilator()
        call([str(script), *flags, "--top-module", "unit", "--prefix", "Vunit", "-Mdir", "obj", "-o", "../unit",
              "main.cpp", "unit.v"], folder, environment)
        make(folder, "Vunit")
        shutil.rmtree(folder / "obj")

    key = digest(text, main, flags, versions())
    return entry(f"unit-{key}", make_entry, lambda made: (made / "unit").exists()) / "unit"
