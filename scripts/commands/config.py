"""``metronome config``: every field of a machine, as a table or as a file for ``--config``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from metronome.sim.machine.settings import FIELDS, as_text, to_toml, values_of

from ..options.common import JsonOption, json_target
from ..options.machine import MachineOptions, machine_of
from ..options.schemes import SchemeOptions, check_scheme, coordinate
from ..output.outputs import STANDARD_OUTPUT, STDOUT, refuse_shared, require_writable, write_file, write_json
from ..output.tables import new_table
from ..process.errors import Exit, UsageError
from ..process.terminal import Console

__all__ = ["config"]


def config(
    *, machine: MachineOptions, scheme: SchemeOptions,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write a TOML file; - is standard output.")
    ] = None,
    json_file: JsonOption = None,
) -> int:
    """Show every field of a machine with its value, unit and meaning, or write it as a file for --config."""
    asked = machine_of(machine)
    values = values_of(result := coordinate(asked.config, check_scheme(asked, scheme)))
    if output == STDOUT and json_file == STDOUT:
        raise UsageError("--json - and --output - cannot both use standard output: name a file for one")
    target = json_target(json_file)
    file = None if output in (None, STDOUT) else require_writable(str(output), "--output", ".toml")
    outputs = [(name, path) for name, path in (("--output", file), ("--json", target)) if path is not None]
    # The output may be the --config file itself, which has been read completely by now.
    refuse_shared(outputs, [STANDARD_OUTPUT])
    if file is not None:
        write_file(file, to_toml(result).encode())
    if json_file is not None:
        write_json(target, [
            {"field": name, "value": value, "unit": FIELDS[name].unit, "about": FIELDS[name].about}
            for name, value in values.items()
        ])
    if output == STDOUT:
        print(to_toml(result), end="")
    elif file is None and json_file != STDOUT:
        table = new_table("field", "value", "meaning", title=escape(asked.title))
        for name, value in values.items():
            unit = FIELDS[name].unit
            shown = as_text(name, value) if unit in (None, "address") else f"{as_text(name, value)} {unit}"
            table.add_row(name, shown, escape(FIELDS[name].about))
        Console().print(table)
    return Exit.PASSED
