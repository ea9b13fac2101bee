"""The folder of a bitstream: the file to load into the board, its sources, and its description."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from metronome.hdl.board import ulx3s
from metronome.hdl.board.protocol import PROTOCOL_VERSION, machine_digest

from ...build.processes import children_ended
from ...machine.settings import values_of
from ...program.image import image_text
from ...program.kernels import Launch
from ..synth.tools import versions
from .bitstream import BITSTREAM, Bitstream
from .design import BoardDesign

__all__ = ["INDEX", "board_files"]

#: The file that lists the others.
INDEX = "board.json"


def board_files(design: BoardDesign, made: Bitstream, launch: Launch | None, *, preset: str) -> dict[str, bytes]:
    """Return name -> content of every file: bitstream, constraints, Verilog, the image of ``launch``, and their list.

    Raises
    ------
    OSError
        If the bitstream is no longer in the cache.
    """
    assert made.file is not None, "there is no bitstream"
    with children_ended(b"yosys"):
        verilog = ulx3s.generate(design.config, design.regions, divisor=design.divisor, patience=design.patience)
    files = {
        BITSTREAM: made.file.read_bytes(),
        "ulx3s.lpf": ulx3s.constraints().encode(),
        f"{ulx3s.TOP}.v": verilog.encode(),
    }
    if launch is not None:
        name = re.sub(r"[^\w.-]+", "_", launch.name.rstrip("/").rpartition("/")[2]) or "program"
        files[f"{name}.hex"] = image_text(launch, design.config).encode()
    files["README.md"] = _page(design, made, list(files)).encode()
    document: dict[str, Any] = {
        "board": "ULX3S", "device": "LFE5U-85F-6BG381C", "module": ulx3s.TOP, "preset": preset,
        "tools": versions(), "tried_on_a_board": False,
        **made.as_json(), "baud": design.baud, "protocol": PROTOCOL_VERSION,
        "machine_digest": machine_digest(design.config),
        "memory": [{"name": part.name, "first": part.first, "bytes": part.size} for part in design.regions.parts],
        "config": {name: str(value) for name, value in values_of(design.config).items()},
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    files[INDEX] = (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()
    return files


def _page(design: BoardDesign, made: Bitstream, names: list[str]) -> str:
    kept = "keeps up with" if made.in_time else "**DOES NOT KEEP UP WITH**"
    return "\n".join([
        "# A streaming multiprocessor for the board ULX3S", "",
        "This bitstream has never been tried on a real board.", "",
        f"- `{BITSTREAM}`: `openFPGALoader -b ulx3s {BITSTREAM}` loads it until the power is off, `-f` into the flash.",
        f"- `ulx3s.lpf`, `{ulx3s.TOP}.v`: its sources, for your own tools.",
        f"- `{INDEX}`: this page in machine-readable form, with the SHA-256 of each file.",
        *(f"- `{name}`: an image, for testbenches." for name in names if name.endswith(".hex")), "",
        f"It reaches {made.fmax_mhz} MHz, which {kept} the board's clock of {design.clock_mhz:g} MHz.", "",
        f"Serial line: {design.baud} baud. `metronome board KERNEL --port PORT` runs a kernel on it.", "",
        "| memory | first address | bytes |", "|---|---|---|",
        *(f"| {part.name} | {part.first:#010x} | {part.size} |" for part in design.regions.parts), "",
    ])
