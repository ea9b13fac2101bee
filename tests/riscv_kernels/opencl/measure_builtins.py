"""The worst error of every built-in function of floats, in units of the last place, and its limit in OpenCL C 1.2.

    python -m tests.riscv_kernels.opencl.measure_builtins            a line each; some minutes
    python -m tests.riscv_kernels.opencl.measure_builtins --write    also the table of docs/opencl.md
    python -m tests.riscv_kernels.opencl.measure_builtins erfc pow   only these

The kernels run on the golden model. The values are edges of both signs and a thousand random ones (``--values``), the
exact results those of mpmath or of Python's fractions. The exit status is 1 if a function is out of its limit.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from metronome.sim.build.sources import ROOT
from tests.riscv_kernels.opencl.builtin_runs import Worst, worst
from tests.riscv_kernels.opencl.builtin_table import FUNCTIONS, Function

PAGE = ROOT / "docs" / "opencl.md"
#: Around the table of the page.
BEGIN, END = "<!-- measure_builtins: begin -->", "<!-- measure_builtins: end -->"
HEAD = "| function | limit | worst |"
COLUMNS = 3


def limit_of(function: Function) -> str:
    """As the page has it."""
    return "none" if function.limit is None else f"{function.limit:g}"


def cell(one: Worst) -> str:
    """Three columns: a function, its limit and its worst error."""
    return f"| `{one.function.name}` | {limit_of(one.function)} | {one.error:.2f} ".replace(" 0.00 ", " 0 ")


def table(found: list[Worst]) -> str:
    """The page's table: several functions in a line."""
    shown = sorted((one for one in found if ":" not in one.function.name), key=lambda one: one.function.name)
    rows = -(-len(shown) // COLUMNS)
    lines = [HEAD[:-1] * COLUMNS + "|", "|---|---|---" * COLUMNS + "|"]
    for row in range(rows):
        cells = [cell(shown[place]) if place < len(shown) else "| | | " for place in range(row, rows * COLUMNS, rows)]
        lines.append("".join(cells) + "|")
    return "\n".join(lines)


def write(found: list[Worst]) -> None:
    """Put the table into the page."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, behind = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{behind}", "utf-8")


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="functions; all if there are none")
    parser.add_argument("--values", type=int, default=1000, help="random values of each function")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the table of docs/opencl.md")
    options = parser.parse_args()
    unknown = {*options.names} - {each.name for each in FUNCTIONS}
    if unknown or (options.write and options.names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}" if unknown else "--write is for all functions")
    print(f"seed {options.seed}, {options.values} random values", flush=True)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in dict.fromkeys(each.arguments for each in FUNCTIONS):
            group = [each for each in FUNCTIONS
                     if each.arguments == kind and (not options.names or each.name in options.names)]
            for one in worst(group, Path(folder) / kind, options.seed, options.values) if group else []:
                found.append(one)
                print(f"{'' if one.good else 'OUT OF ITS LIMIT: '}{one.function.name:16} "
                      f"limit {limit_of(one.function):>5}, worst {one.error:.3f}: {one.place}", flush=True)
    if options.write:
        write(found)
    return 0 if all(one.good for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
