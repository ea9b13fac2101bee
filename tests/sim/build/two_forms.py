"""Drives two forms of the same Verilog modules with the same random inputs: the exported one and the simulated one."""

import random
import subprocess

from amaranth.back import verilog
from amaranth.lib import wiring

from metronome.hdl.lib.shared import SharedModules
from metronome.sim.build.verilating import call, make, verilator


def ports_of(unit, flow):
    return {path[0]: len(value) for path, member, value in unit.signature.flatten(unit) if member.flow is flow}


def top(units, sharing):
    """Verilog with both forms of each unit, which have the same inputs; and the texts of their modules."""
    ports, instances, texts = ["input clk"], [], []
    for name, make_unit in units.items():
        inputs, outputs = ports_of(make_unit(), wiring.In), ports_of(make_unit(), wiring.Out)
        ports += [f"input [{width - 1}:0] {name}_{port}" for port, width in inputs.items()]
        for kind, platform_class in (("simulated", sharing), ("exported", SharedModules)):
            platform = platform_class(prefix=f"{name}_{kind}")
            text = verilog.convert(make_unit(), name=f"{name}_{kind}", platform=platform)
            texts += [text, platform.text]
            ports += [f"output [{width - 1}:0] {name}_{port}_{kind}" for port, width in outputs.items()]
            names = [".clk(clk)", ".rst(1'b0)"] if "rst" in text.partition(";")[0] else [".clk(clk)"]
            names += [f".{port}({name}_{port})" for port in inputs]
            names += [f".{port}({name}_{port}_{kind})" for port in outputs]
            instances.append(f"{name}_{kind} {name}_{kind} ({', '.join(names)});")
    return "\n".join([f"module top({', '.join(ports)});", *instances, "endmodule", *texts])


def harness(units, seed):
    """A program that compares the outputs of both forms in every cycle."""
    drive, compare = [], []
    for name, make_unit in units.items():
        drive += [f"    top.{name}_{port} = pick({width});"
                  for port, width in ports_of(make_unit(), wiring.In).items()]
        compare += [f"    if (top.{name}_{port}_simulated != top.{name}_{port}_exported)"
                    f' return fail("{name} {port}", cycle);' for port in ports_of(make_unit(), wiring.Out)]
    return f"""#include <cstdint>
#include <cstdio>
#include "Vtop.h"
static uint64_t state = {seed | 1}u;
static bool busy;
static uint32_t next() {{ state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state >> 16; }}
// Words are often small, or those of special numbers; enables are 0 for some time, and then seldom or often 1.
static uint32_t pick(int width) {{
  if (width < 32) return busy && next() % 3 ? next() & ((1u << width) - 1) : 0;
  return next() % 4 ? next() : next() % 3 ? next() % 5 << (next() % 2 * 23) : 0x7f800000u + next() % 3 - 1;
}}
static int fail(const char *port, int cycle) {{ std::printf("%s differs in cycle %d\\n", port, cycle); return 1; }}
int main() {{
  static Vtop top;
  for (int cycle = 0; cycle < 5000; ++cycle) {{
    busy = cycle / 50 % 3 != 2;
{chr(10).join(drive)}
    for (int edge = 0; edge < 2; ++edge) {{ top.clk = edge; top.eval(); }}
{chr(10).join(compare)}
  }}
  return 0;
}}
"""


def require_the_same(folder, units, sharing):
    """AssertionError if an output of one of ``units``, functions that make components, differs with ``sharing``."""
    seed = random.randrange(1 << 32)
    (folder / "top.sv").write_text(top(units, sharing))
    (folder / "main.cpp").write_text(harness(units, seed))
    script, env = verilator()
    call([str(script), "--cc", "--exe", "-O3", "--x-assign", "fast", "--x-initial", "0", "-Wno-fatal", "-Wno-lint",
          "-Wno-style", "--prefix", "Vtop", "--top-module", "top", "-Mdir", "obj", "-o", "../program", "main.cpp",
          "top.sv"], folder, env)
    make(folder, "Vtop")
    done = subprocess.run([folder / "program"], capture_output=True, text=True)
    assert done.returncode == 0, f"seed {seed}: {done.stdout}"
