"""A simulated board: the same top level, with the pipes of a process as its serial line (tb/board/serial.cpp).

Its PLL passes the clock of the pin on (tb/board/pll.v), so a cycle of the harness is a cycle of the machine.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from metronome.hdl.board import ulx3s
from metronome.hdl.board.protocol import FILL_WORDS, MAX_WORDS

from ...build.cache import entry
from ...build.plain_paths import plain
from ...build.processes import children_ended
from ...build.sources import ROOT
from ...build.verilating import call, digest, make, verilator, versions
from ...build.verilog import Progress
from ..synth.flow import TOP
from .bitstream import netlist_texts
from .design import BoardDesign
from .pipe import PipeTransport

__all__ = ["launched", "simulated", "simulation"]

_HARNESS = ROOT / "tb" / "board" / "serial.cpp"
#: The model of the PLL, for source and netlist alike: yosys has only its ports.
_PLL = _HARNESS.with_name("pll.v")
_EXECUTABLE, _PREFIX = "board", "Vboard"
_FLAGS = (
    "--cc", "--exe", "-O3", "--x-assign", "fast", "--x-initial", "0", "--threads", "1", "--prefix", _PREFIX,
    "-CFLAGS", "-std=c++20", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--output-split", "20000",
)

#: Seconds to wait for an answer: a simulation is slow, one of cells a hundred times slower, and its host may be busy.
_SECONDS, _NETLIST_SECONDS = 120.0, 3600.0


def simulation(top: str, texts: dict[str, str], progress: Progress) -> Path:
    """Return the executable for the Verilog files ``texts``, whose module ``top`` has the ports of a ULX3S.

    Raises
    ------
    BuildError
        If it cannot be built.
    """
    texts = {**texts, _PLL.name: _PLL.read_text()}

    def make_entry(folder: Path) -> None:
        for file, text in texts.items():
            (folder / file).write_text(text)
        script, env = verilator()
        progress("verilate")
        call([str(script), *_FLAGS, "--top-module", top, "-Mdir", "obj", "-o", f"../{_EXECUTABLE}",
              str(plain(_HARNESS.parent) / _HARNESS.name),
              *texts], folder, env)
        progress("compile")
        make(folder, _PREFIX)
        for path in folder.iterdir():
            if path.name == "obj":
                shutil.rmtree(path)
            elif path.name != _EXECUTABLE:
                path.unlink()

    key = digest(top, texts, _HARNESS.read_text(), _FLAGS, versions())
    return entry(f"board-{key}", make_entry, lambda folder: (folder / _EXECUTABLE).exists()) / _EXECUTABLE


def simulated(
    design: BoardDesign, progress: Progress = lambda step: None, *, netlist: bool = False, max_cycles: int = 0,
) -> PipeTransport:
    """Return the board's design as a running simulation; with ``netlist``, of the cells that are placed and routed.

    ``max_cycles``: the simulation ends itself if a program runs longer; 0: never.

    Raises
    ------
    BuildError
        If it cannot be built.
    SynthesisError
        If yosys fails.
    """
    if netlist:
        executable = simulation(TOP, netlist_texts(design, progress), progress)
    else:
        progress("elaborate")
        with children_ended(b"yosys"):
            text = ulx3s.generate(design.config, design.regions, divisor=design.divisor, patience=design.patience)
        executable = simulation(ulx3s.TOP, {"board.v": text}, progress)
    return launched(executable, design, max_cycles, "the simulated netlist" if netlist else "the simulated board",
                    patience=_NETLIST_SECONDS if netlist else _SECONDS)


def launched(
    executable: Path, design: BoardDesign, max_cycles: int, name: str, *, patience: float = _SECONDS,
) -> PipeTransport:
    """Start the simulation as a process that has ``patience`` seconds for each answer."""
    # The longest operation without any word on the line is filling memory: 3 cycles per word.
    silence = max(2 * design.patience, 4 * MAX_WORDS * FILL_WORDS)
    command = [str(executable), str(design.divisor), str(silence), str(max_cycles)]
    return PipeTransport(command, name, patience)
