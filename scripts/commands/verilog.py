"""``metronome verilog``: an SM or a GPU as synthesizable Verilog, one file or a folder with all accompanying files."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig, sm_config
from metronome.sim.machine.gpu_settings import gpu_values
from metronome.sim.machine.policies.files import files_of
from metronome.sim.machine.user_paths import user_path

from ..options.common import JsonOption, choose, json_target
from ..options.gpu import ChipGpuOptions, asked_gpu
from ..options.machine import Machine, machine_of
from ..options.schemes import check_scheme, coordinate, one_policy, require_hardware
from ..output.export_folder import is_folder, require_folder, write_folder
from ..output.outputs import STANDARD_OUTPUT, STDOUT, refuse_shared, require_writable, write_file, write_json
from ..process.backend import Backend, backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress

if TYPE_CHECKING:
    from metronome.hdl.verilog import FlatVerilog

__all__ = ["verilog"]

#: The buses of hdl.verilog.BUSES, which is imported late; a test compares them.
BUS_NAMES = ("line", "axi", "wishbone")
_MAX_CLOCK = 10_000


def verilog(
    ctx: typer.Context, *, chip: ChipGpuOptions,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR|FILE.v", help="The output; - is standard output.")
    ] = STDOUT,
    bus: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"The memory bus of an exported folder: {', '.join(BUS_NAMES)}."),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Keep the probe port, assertions and oracles; in a folder, in a separate file."),
    ] = False,
    clock: Annotated[
        float | None,
        typer.Option(metavar="MHZ", help="Also write the clock's constraints into a folder, as LPF, SDC and XDC."),
    ] = None,
    json_file: JsonOption = None,
) -> int:
    """Write the SM as synthesizable Verilog; with --issue it has one policy, without it straps that select one.

    A folder gets one port per field, a testbench, files for tools, and a description of the ports; with a bus, a C
    driver as well. A single file, or standard output, has packed ports and nothing else.
    """
    machine, scheme, gpu = chip.machine, chip.scheme, chip.gpu
    asked = machine_of(machine, of_gpu=True, sms=gpu.sms)
    found = check_scheme(asked, scheme)
    config = one_policy(asked.config, found) if scheme.issue is not None else coordinate(asked.config, found)
    require_hardware(config)
    made = _Made(asked, config, asked_gpu(asked, config, gpu))
    if json_file == STDOUT and output == STDOUT:
        raise UsageError("--json - and the Verilog cannot both use standard output: add --output DIR or FILE.v")
    target = json_target(json_file)
    inputs = [] if machine.config_file is None else [("--config", user_path(machine.config_file))]
    if is_folder(output):
        name = choose("--bus", BUS_NAMES[0] if bus is None else bus, BUS_NAMES)
        if probe and name != "line":
            raise UsageError("--probe is for --bus line: a bus has no ports for a simulation to watch")
        refuse_shared(_outputs(user_path(output), target), inputs)
        folder = require_folder(output)
        if target is not None and target.is_relative_to(folder):
            raise UsageError(f"--json: {target.name} is in the folder of --output, which is replaced as a whole")
        about = _export(backend_of(ctx), made, _Kind(name, probe, _clock(clock)), folder)
    else:
        if bus is not None:
            raise UsageError("--bus is for a folder: add --output DIR (a single file has packed ports)")
        if clock is not None:
            raise UsageError("--clock is for a folder: add --output DIR (a single file has no constraints)")
        about = _one_file(backend_of(ctx), made, output, target, inputs, json_file, probe=probe)
    if json_file is not None:
        write_json(target, about)
    if STDOUT not in (output, json_file):
        print(_line(output, about))
    return Exit.PASSED


@dataclasses.dataclass(frozen=True)
class _Made:
    """The machine that is written."""

    asked: Machine
    config: SmConfig
    gpu: GpuConfig | None

    @property
    def title(self) -> str:
        """Short description."""
        return self.asked.title if self.gpu is None else f"{self.gpu.sms} SMs of {self.asked.title}"

    def chip(self, *, probe: bool = False) -> SmConfig | GpuConfig:
        """Return the configuration without the parts that only a simulation needs; or with them."""
        config = self.asked.for_chip(self.config, probe=probe)
        return config if self.gpu is None else dataclasses.replace(self.gpu, sm=config)


def _configuration(machine: SmConfig | GpuConfig) -> dict[str, Any]:
    """The fields for --json."""
    fields = dataclasses.asdict(sm_config(machine))
    return fields if isinstance(machine, SmConfig) else fields | gpu_values(machine)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """The contents of an exported folder."""

    bus: str
    probe: bool
    clock_mhz: float | None


def _clock(mhz: float | None) -> float | None:
    if mhz is not None and not 0 < mhz <= _MAX_CLOCK:
        raise UsageError(f"--clock must be a number above 0 and at most {_MAX_CLOCK}, not {mhz:g}")
    return mhz


def _line(output: str, about: dict[str, Any]) -> str:
    """The line about what has been written."""
    if "files" not in about:
        return f"{output}: {about['bytes']} bytes"
    (page,) = (name for name in about["files"] if name.endswith(".md"))
    return f"{output}: {len(about['files'])} files, {about['bytes']} bytes; {page} describes them"


def _outputs(output: Path | None, target: Path | None) -> list[tuple[str, Path]]:
    return [(name, path) for name, path in (("--output", output), ("--json", target)) if path is not None]


def _one_file(
    backend: Backend, made: _Made, output: str, target: Path | None, inputs: list[tuple[str, Path]],
    json_file: str | None, *, probe: bool,
) -> dict[str, Any]:
    """Write the file, or to standard output; return the data for --json."""
    file = None if output == STDOUT else require_writable(output, "--output", ".v")
    refuse_shared(_outputs(file, target), [*inputs, *([STANDARD_OUTPUT] if STDOUT in (output, json_file) else [])])
    config = made.chip(probe=probe)
    of_sm = sm_config(config)
    with show_progress() as progress:
        progress(f"elaborating {made.title}")
        text = backend.verilog(config)
    if file is None:
        sys.stdout.write(text)
    else:
        write_file(file, text.encode())
    return {
        "preset": made.asked.preset, "config": _configuration(config),
        "policy_files": files_of((*of_sm.policies, *of_sm.fetch_policies)),
        "output": None if file is None else str(file), "bytes": len(text.encode()), "lines": text.count("\n"),
    }


def _export(backend: Backend, made: _Made, kind: _Kind, folder: Path) -> dict[str, Any]:
    """Write the folder; return the data for --json."""
    from metronome.sim.build.export.files import export_files

    chip = made.chip()
    of_sm = sm_config(chip)
    with show_progress() as progress:

        def text_of(variant: SmConfig | GpuConfig, bus: str) -> FlatVerilog:
            progress(f"elaborating {made.title}{', for simulation' if variant is not chip else ''}")
            return backend.flat_verilog(variant, bus)

        simulation = made.chip(probe=True) if kind.probe else None
        files = export_files(
            chip, simulation, preset=made.asked.preset, bus=kind.bus, verilog=text_of, clock_mhz=kind.clock_mhz
        )
    write_folder(folder, files)
    return {
        "preset": made.asked.preset, "config": _configuration(chip),
        "policy_files": files_of((*of_sm.policies, *of_sm.fetch_policies)), "output": str(folder),
        "bytes": sum(map(len, files.values())), "lines": sum(content.count(b"\n") for content in files.values()),
        "bus": kind.bus, "files": {name: len(content) for name, content in files.items()},
    }
