"""Build the simulation of a GPU, once: as :mod:`sim.build.simulator` does for an SM, but never by profile."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.memory_map import DEFAULT_MAP

from .cache import entry
from .executables import EXECUTABLE, TB_SOURCES, describe, is_whole, kept, key_of, usual_name
from .generated import cocotb_library, testbench_sources
from .preflight import missing_for_simulation
from .processes import children_ended
from .simulator import Build, require_simulated
from .sources import ROOT
from .verilating import FLAGS, PREFIX, BuildError, call, make, verilator
from .verilog import Design, Progress

__all__ = ["GpuDesign", "build_gpu", "is_built_gpu", "require_gpu_tools"]

#: The sources of the testbench: those of an SM's that do not depend on the design, and its own.
_SOURCES = (
    *(path for path in TB_SOURCES if path.name in ("mailbox.cpp", "profile.cpp")),
    ROOT / "tb" / "gpu_status.cpp", ROOT / "tb" / "gpu_top.sv",
)


class GpuDesign(Design):
    """The Verilog of a GPU for a simulation, elaborated when it is needed."""

    def __init__(self, gpu: GpuConfig, progress: Progress = lambda step: None) -> None:
        super().__init__(gpu.sm_of(0), progress=progress)
        # As of an SM: only the memory around it has a known end.
        self.gpu = replace(gpu, sm=replace(gpu.sm, memory_map=replace(gpu.sm.memory_map, end=DEFAULT_MAP.end)))

    def _text(self) -> str:
        from metronome.hdl import verilog

        from .simulated import Simulated

        with children_ended(b"yosys"):
            return verilog.generate(self.gpu, Simulated)

    def _machine(self) -> object:
        return self.gpu

    def header(self) -> str:
        """layout.svh for tb/gpu_top.sv."""
        from metronome.hdl.gpu.gpu import sm_outputs
        from metronome.hdl.gpu.l2.cache import l2_counters_layout

        from .layout_header import layout_header

        config = self.gpu.sm_of(0)
        names = {name: "sm_busy" if name == "busy" else name for name in sm_outputs(config)}
        ports = [f".sms__sm_{i}__{name}({array}[{i}])" for i in range(self.gpu.sms) for name, array in names.items()]
        l2_bits = l2_counters_layout().size * self.gpu.l2_parts
        if l2_bits:
            ports.append(".l2(l2_counters)")
        named = layout_header(config, tag_bits=self.gpu.mem_tag_bits, of_partitions=[("issue", "MASK")])
        return named + "\n".join([
            f"localparam int SMS = {self.gpu.sms}, SM_TAG_BITS = {config.mem_tag_bits};",
            f"localparam bit HAS_L2 = {int(l2_bits > 0)};", f"localparam int THREADS = {config.threads};",
            f"localparam int L2_BITS = {max(1, l2_bits)};",
            *["`define METRONOME_L2"] * (l2_bits > 0),
            f"`define METRONOME_SM_PORTS {', '.join(ports)}", "",
        ])


def is_built_gpu(gpu: GpuConfig) -> bool:
    """Whether the cache has the simulation of ``gpu``, as far as can be determined without elaborating it."""
    return kept(GpuDesign(gpu), False, _SOURCES) is not None


def require_gpu_tools(gpu: GpuConfig) -> None:
    """Raise BuildError if :func:`build_gpu` would have to build, and a tool is missing."""
    require_simulated(gpu.sm)
    _require_tools(GpuDesign(gpu))


def _require_tools(design: GpuDesign) -> None:
    if (missing := missing_for_simulation()) and kept(design, False, _SOURCES) is None:
        raise BuildError("; ".join(missing))


def build_gpu(gpu: GpuConfig, *, progress: Progress | None = None) -> Build:
    """Return the executable of ``gpu``, from the cache or built now.

    Raises
    ------
    BuildError
        If a system requirement is missing, or a tool fails, or the configuration has no port with all counters.
    """
    require_simulated(gpu.sm)
    report = progress or (lambda step: None)
    design = GpuDesign(gpu, report)
    _require_tools(design)
    seconds = 0.0

    def make_entry(folder: Path) -> None:
        nonlocal seconds
        text = design.verilog
        started = time.perf_counter()
        (folder / "metronome_gpu.v").write_text(text)
        (folder / "layout.svh").write_text(design.header())
        report("verilate")
        shared = _verilate(folder)
        report("compile")
        make(folder, PREFIX, shared)
        shutil.rmtree(folder / "obj")
        seconds = time.perf_counter() - started
        describe(folder, config=repr(design.gpu), build_seconds=seconds, key=key)

    key = key_of(design, False, _SOURCES)
    made = entry(usual_name(key), make_entry, is_whole)
    return Build(made / EXECUTABLE, design.elaborate_seconds, seconds)


def _verilate(folder: Path) -> list[Path]:
    """Translate Verilog to C++ in ``folder``/obj; return the C++ sources that other designs share."""
    script, env = verilator()
    main, *sources = testbench_sources(_SOURCES)
    call([
        str(script), *FLAGS, "-Mdir", "obj", "-I.", "-o", f"../{EXECUTABLE}",
        "-LDFLAGS", f"{cocotb_library()} -Wl,--export-dynamic", str(main), *map(str, sources), "metronome_gpu.v",
    ], folder, env)
    return [main, *(path for path in sources if path.suffix == ".cpp")]
