"""``metronome verilog``: the SM as synthesizable Verilog."""

from __future__ import annotations

import dataclasses
import sys
from typing import Annotated

import typer

from metronome.sim.policies import POLICIES

from .backend import backend_of
from .errors import Exit, UsageError
from .options import JsonOption, PresetOption, ThreadsOption, WarpsOption, choose, configure, json_target
from .outputs import STANDARD_OUTPUT, STDOUT, refuse_shared, require_writable, write_file, write_json
from .progress import show_progress

__all__ = ["verilog"]


def verilog(
    ctx: typer.Context,
    preset: PresetOption = "BASE",
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    issue: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="Only this warp policy; by default a strap selects lrr, gtlrr or gtlo."),
    ] = None,
    output: Annotated[str, typer.Option(metavar="FILE", help="Where to; - is standard output.")] = STDOUT,
    probe: Annotated[bool, typer.Option("--probe", help="Keep probe port, assertions and oracles.")] = False,
    json_file: JsonOption = None,
) -> int:
    """Write the SM as synthesizable Verilog."""
    config = configure(preset, warps, threads)
    policies = config.policies if issue is None else (choose("--issue", issue, tuple(POLICIES)),)
    config = dataclasses.replace(config, policies=policies, probe=probe, assertions=probe, oracles=probe)
    if json_file == STDOUT and output == STDOUT:
        raise UsageError("--json - and the Verilog cannot both have standard output: add --output FILE")
    target = json_target(json_file)
    file = None if output == STDOUT else require_writable(output, "--output")
    outputs = [(name, path) for name, path in (("--output", file), ("--json", target)) if path is not None]
    refuse_shared(outputs, [STANDARD_OUTPUT] if STDOUT in (output, json_file) else [])
    with show_progress() as progress:
        progress(f"elaborating {preset}")
        text = backend_of(ctx).verilog(config)
    if file is None:
        sys.stdout.write(text)
    else:
        write_file(file, text.encode())
    if json_file is not None:
        write_json(target, {
            "preset": preset,
            "config": dataclasses.asdict(config),
            "output": None if file is None else str(file),
            "bytes": len(text.encode()),
            "lines": text.count("\n"),
        })
    return Exit.PASSED
