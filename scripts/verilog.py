"""``metronome verilog``: the SM as synthesizable Verilog."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

from .backend import backend_of
from .errors import Exit, UsageError
from .machine import DEFAULT_PRESET, ConfigOption, PresetOption, SetOption, ThreadsOption, WarpsOption, machine
from .options import JsonOption, json_target
from .outputs import STANDARD_OUTPUT, STDOUT, refuse_shared, require_writable, write_file, write_json
from .progress import show_progress
from .schemes import FetchOption, IssueOption, ModeOption, PredictionOption, check_scheme, coordinate, one_policy

__all__ = ["verilog"]


def verilog(
    ctx: typer.Context,
    preset: PresetOption = DEFAULT_PRESET,
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    settings: SetOption = None,
    config_file: ConfigOption = None,
    mode: ModeOption = None,
    issue: IssueOption = None,
    fetch: FetchOption = None,
    prediction: PredictionOption = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to; - is standard output.")
    ] = STDOUT,
    probe: Annotated[bool, typer.Option("--probe", help="Keep probe port, assertions and oracles.")] = False,
    json_file: JsonOption = None,
) -> int:
    """Write the SM as synthesizable Verilog; with --issue it has one policy, without it straps that select one."""
    asked = machine(preset, warps, threads, settings, config_file)
    scheme = check_scheme(asked.config, mode=mode, fetch=fetch, issue=issue, prediction=prediction)
    config = one_policy(asked.config, scheme) if issue is not None else coordinate(asked.config, scheme)
    config = asked.for_chip(config, probe=probe)
    if json_file == STDOUT and output == STDOUT:
        raise UsageError("--json - and the Verilog cannot both have standard output: add --output FILE")
    target = json_target(json_file)
    file = None if output == STDOUT else require_writable(output, "--output")
    outputs = [(name, path) for name, path in (("--output", file), ("--json", target)) if path is not None]
    inputs = [] if config_file is None else [("--config", Path(config_file).expanduser())]
    refuse_shared(outputs, [*inputs, *([STANDARD_OUTPUT] if STDOUT in (output, json_file) else [])])
    with show_progress() as progress:
        progress(f"elaborating {asked.title}")
        text = backend_of(ctx).verilog(config)
    if file is None:
        sys.stdout.write(text)
    else:
        write_file(file, text.encode())
    if json_file is not None:
        write_json(target, {
            "preset": asked.preset,
            "config": dataclasses.asdict(config),
            "output": None if file is None else str(file),
            "bytes": len(text.encode()),
            "lines": text.count("\n"),
        })
    return Exit.PASSED
