"""The files of an export: the Verilog, the lists for the tools, and the documentation."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from metronome.hdl.config import WATCHING, SmConfig
from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.layouts.counters import TOTAL, counter_names
from metronome.hdl.presets import PIPELINES, PRESETS
from metronome.hdl.verilog import GPU_TOP, TOP, FlatVerilog, top_of

from ...machine.gpu_settings import gpu_words
from ...machine.settings import as_text, replaced, values_of
from .companions import companion_files, constraint_files
from .document import LICENCE, document, page

__all__ = ["INDICES", "canonical_command", "changed_files", "export_files", "run_command"]

#: The file that lists the others: of an SM, and of a GPU.
INDICES = (f"{TOP}.json", f"{GPU_TOP}.json")

#: Warnings of `verilator -Wall` that are switched off for Yosys' output, and the reason for each.
WAIVERS = {
    "DECLFILENAME": "all modules are in this one file",
    "VARHIDDEN": "a memory inside a module has the name of the instance outside",
    "UNUSEDSIGNAL": "each field of a record is a wire, whether it is read or not",
    "WIDTHEXPAND": "an operand is extended by the rules of Verilog",
    "WIDTHTRUNC": "the logical not of a vector",
    "CASEINCOMPLETE": "the result of a case statement is assigned before it",
    "PROCASSINIT": "a register starts at its reset value",
}


def _settings(config: SmConfig, names: Iterable[str]) -> list[str]:
    """The options that set these fields of ``config``."""
    values = values_of(config)
    return [word for name in names for word in ("--set", f"{name}={as_text(name, values[name])}")]


def _pipeline(preset: str, config: SmConfig) -> tuple[str, Mapping[str, object]]:
    """The pipeline with which the preset has the most fields of ``config``, and that machine's fields."""
    values = values_of(config)
    machines = {name: values_of(replaced(PRESETS[preset], fields)) for name, fields in PIPELINES.items()}
    best = min(machines, key=lambda name: sum(values[field] != value for field, value in machines[name].items()))
    return best, machines[best]


def _own(config: SmConfig | GpuConfig) -> tuple[SmConfig, list[str]]:
    """The SM as the options of the command line describe it, and those that make the GPU of it."""
    return (config.sm, gpu_words(config)) if isinstance(config, GpuConfig) else (config, [])


def canonical_command(
    preset: str, machine: SmConfig | GpuConfig, simulated_machine: SmConfig | GpuConfig | None, bus: str,
    clock_mhz: float | None = None,
) -> str:
    """The command line that repeats the export, however ``machine`` was requested."""
    config, of_gpu = _own(machine)
    simulation = None if simulated_machine is None else _own(simulated_machine)[0]
    (pipeline, usual), simulated = _pipeline(preset, config), values_of(simulation or config)
    # The module has no observers, and its simulation variant has them, unless the user says otherwise.
    said = [
        name for name, value in values_of(config).items()
        if (value or (simulation is not None and not simulated[name]) if name in WATCHING else value != usual[name])
    ]
    words = ["metronome", "verilog", "--preset", preset, "--pipeline", pipeline, *_settings(config, said)]
    words += [*of_gpu, *["--bus", bus] * (bus != "line")]
    words += ["--probe"] * (simulation is not None)
    words += [] if clock_mhz is None else ["--clock", f"{clock_mhz:g}"]
    return shlex.join([*words, "--output", "DIR"])


def run_command(preset: str, machine: SmConfig | GpuConfig) -> str:
    """The ``metronome run`` of the same machine with the first of its policies, which is that of strap value 0.

    It names the pipeline unless it is the command's own default; that of ``metronome verilog`` is another.
    """
    config, of_gpu = _own(machine)
    pipeline, usual = _pipeline(preset, config)
    said = [name for name, value in values_of(config).items()
            if name not in WATCHING and name not in ("policies", "fetch_policies") and value != usual[name]]
    words = ["metronome", "run", "PROGRAM", "--preset", preset, *["--pipeline", pipeline] * (pipeline != "classic"),
             *_settings(config, said), *of_gpu, "--issue", config.policies[0]]
    words += [word for name in config.fetch_policies[:1] for word in ("--fetch", name)]
    return shlex.join([*words, "--latency", "20"])


def _counters(machine: SmConfig | GpuConfig, bus: str) -> str:
    """The counters by index, if a testbench reads them by index."""
    config, _ = _own(machine)
    if config.all_counters or bus != "line":
        return ""
    return "".join(f"// counter_index {index}: {name}\n" for index, name in enumerate(counter_names())
                   if config.research_counters or name == TOTAL)


def _with_waivers(verilog: str) -> str:
    off = [f"/* verilator lint_off {name} */  // {why}\n" for name, why in WAIVERS.items()]
    return "".join(["/* verilator lint_save */\n", *off, verilog, "/* verilator lint_restore */\n"])


def _how(top: str, names: Sequence[str]) -> list[str]:
    """The list of the files, with how each is used, for the page."""
    lists = " and ".join(f"`{name}`" for name in names if name.endswith(".f"))
    tell = {
        f"{top}.v": "the module, for synthesis. It needs no other file. For Yosys: "
                    f"`read_verilog {top}.v; hierarchy -check -top {top}; proc; check -assert`.",
        f"{top}_sim.v": "the same module for simulation, with more ports: the probe and the assertions. It behaves the "
                        "same in every cycle. Use one of the two files, not both.",
        f"{top}_tb.v": "a testbench: runs a memory image, and prints exit code, console and counters "
                       "([below](#simulation)).",
        f"{top}.h": "C header for a host on the bus: offsets of the registers, numbers of the counters, and the "
                    "functions of the driver.",
        f"{top}.c": "C driver: starts a program, waits with a timeout, reads counters, faults and the console. It "
                    "needs no operating system and no C library.",
        f"{top}_litex.py": "the module for LiteX: class `Metronome`.",
        f"{top}.core": "core file for FuseSoC, with the targets `icarus`, `verilator` and `lint`.",
        f"{top}.lpf": "the clock for nextpnr on ECP5, if the module is the top level.",
        f"{top}.sdc": "the clock for most other tools, likewise.",
        f"{top}.xdc": "the clock for Vivado, likewise.",
    }
    lines = [f"- `{name}`: {text}" for name, text in tell.items() if name in names]
    lines.insert(1, f"- {lists}: file list, for `verilator -F {top}.f`, or, in this folder, "
                    f"`iverilog -g2005 -c {top}.f`.")
    return [*lines, f"- `{top}.json`: this page in machine-readable form, with the SHA-256 of each file."]


def _simulation(config: SmConfig | GpuConfig, bus: str, run: str) -> list[str]:
    """How to run the testbench, and what its result can be compared with, for the page."""
    top = top_of(config)
    each = " `sm_1_cycles` is a counter of SM 1." if isinstance(config, GpuConfig) else ""
    equal = (
        f"With the same latency, exit code, console, cycles and counters equal those of `{run}`. Its total is "
        f"`run_cycles`. Counters of oracles are 0 here.{each}" if bus == "line" else
        f"Exit code, console and committed instructions equal those of `{run}`. The bus takes more cycles. The same "
        "program on an export without `--bus` takes the same cycles as that command."
    )
    return [
        "```", "metronome build PROGRAM --image program.hex      # with the machine options of this export",
        f"iverilog -g2005 -o sim -s {top}_tb {top}_tb.v {top}.v && vvp -n sim +image=program.hex +latency=20",
        f"verilator --binary --timing -Wno-fatal -Wno-lint -Wno-style --top-module {top}_tb -o sim \\",
        f"  -CFLAGS -std=c++20 -MAKEFLAGS CFG_CXXFLAGS_PCH_I=-include {top}_tb.v {top}.v",
        "obj_dir/sim +image=program.hex +latency=20", "```", "", equal,
    ]


def _about(bus: str, run: str) -> str:
    """The same in two lines, for the testbench."""
    if bus == "line":
        return f"Exit code, console, cycles and counters equal those of\n  {run}"
    return f"Exit code, console and committed instructions equal those of\n  {run}"


def export_files(
    config: SmConfig | GpuConfig, simulation: SmConfig | GpuConfig | None, *, preset: str, bus: str,
    verilog: Callable[[SmConfig | GpuConfig, str], FlatVerilog], clock_mhz: float | None = None,
) -> dict[str, bytes]:
    """Name -> content of every file of an export. Equal arguments give equal bytes, on any machine.

    Parameters
    ----------
    config
        The SM or the GPU to synthesize.
    simulation
        The same with the parts that only a simulation needs (probe, assertions, oracles), to export that too.
    verilog
        Makes the text for a configuration and a bus (:func:`hdl.verilog.generate_flat`).
    clock_mhz
        The clock rate for the files of constraints; None: none are written.
    """
    command, run = canonical_command(preset, config, simulation, bus, clock_mhz), run_command(preset, config)
    top = top_of(config)
    variants = {top: config} | ({f"{top}_sim": simulation} if simulation is not None else {})
    lines = [f"SPDX-License-Identifier: {LICENCE}", f"preset {preset}: {command}"]
    head = "".join(f"// {line}\n" for line in lines)
    texts = {}
    ports = {}
    for name, variant in variants.items():
        made = verilog(variant, bus)
        ports[name] = made.ports
        texts[f"{name}.v"] = f"{head}// its ports: {top}.md\n{_counters(variant, bus)}{_with_waivers(made.text)}"
        texts[f"{name}.f"] = f"{head}{name}.v\n"
    texts |= companion_files(config, bus, ports[top], preset=preset, head=lines, about=_about(bus, run))
    if clock_mhz is not None:
        texts |= constraint_files(top, clock_mhz, lines)
    files = {name: text.encode() for name, text in texts.items()}
    what = document(
        config, simulation, preset=preset, command=command, bus=bus, ports=ports[top],
        simulation_ports=ports.get(f"{top}_sim", []),
    )
    files[f"{top}.md"] = page(what, _how(top, list(files)), _simulation(config, bus, run)).encode()
    what["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    files[f"{top}.json"] = (json.dumps(what, indent=2, allow_nan=False) + "\n").encode()
    return files


def changed_files(folder: Path, indices: Sequence[str] = INDICES) -> list[str] | None:
    """Return the files of ``folder``, an earlier export, that differ from those written, and so should not be replaced.

    The first of ``indices`` that is there lists the others. None if it is not an export. An empty folder has nothing to
    lose.
    """
    present = {path.name: path for path in folder.iterdir()}
    if not present:
        return []
    index = next((name for name in indices if name in present), indices[0])
    try:
        files = json.loads(present[index].read_text("utf-8"))["files"]
        if not isinstance(files, Mapping):
            return None
        foreign = [name for name in present if name != index and name not in files]
        return sorted(foreign + [
            name for name, digest in files.items()
            if name in present and hashlib.sha256(present[name].read_bytes()).hexdigest() != digest
        ])
    except (KeyError, ValueError, TypeError, IsADirectoryError):
        return None
