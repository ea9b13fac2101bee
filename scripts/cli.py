"""The command line ``metronome``: one module a subcommand, and here what they share: errors and exit statuses."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from metronome.sim.build import origin

from .commands.analyze import analyze
from .commands.bench import bench
from .commands.board import board
from .commands.build import build
from .commands.cache import cache
from .commands.characterize import characterize
from .commands.config import config
from .commands.grade import grade
from .commands.kernels import kernels
from .commands.new import new
from .commands.predict import predict
from .commands.prove import prove
from .commands.report import report
from .commands.run import run
from .commands.sweep import sweep
from .commands.synth import synth
from .commands.trace import trace
from .commands.verilog import verilog
from .commands.wcet import wcet
from .help_pages import epilog
from .process.backend import Backend, SimBackend, cache_problem
from .process.errors import Exit, UsageError
from .process.signals import Received, Terminated, terminable
from .process.stdout import BrokenOutput, guard_stdout

__all__ = ["app", "main"]

#: Set to show where an internal error arose.
TRACEBACK_VARIABLE = "METRONOME_TRACEBACK"

app = typer.Typer(
    name="metronome",
    help="A SIMT streaming multiprocessor whose warp schedule can be computed on paper.",
    epilog="Begin with: metronome new mine, metronome run ./mine. Each subcommand has examples: metronome run -h.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., int]] = {
    "kernels": kernels, "new": new, "run": run, "predict": predict, "wcet": wcet, "analyze": analyze,
    "characterize": characterize, "trace": trace, "build": build, "sweep": sweep, "report": report, "config": config,
    "verilog": verilog, "synth": synth, "board": board, "prove": prove, "grade": grade, "bench": bench,
    "cache": cache,
}
for _name, _function in COMMANDS.items():
    app.command(_name, epilog=epilog(_name))(_function)


def _show_version(wanted: bool) -> None:
    if wanted:
        number = origin.version() or "(its packages are not installed: there is no version)"
        modified = ", modified" if origin.is_modified() else ""
        commit = f"commit {origin.commit()}{modified}" if origin.commit() else "commit unknown: no checkout of git"
        print(f"metronome {number} ({commit})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """What comes before a subcommand; typer calls it first."""


def _complain(message: str) -> None:
    """One line on standard error; after it the log of a failed build, where that is what went wrong."""
    line, _, log = message.strip().partition("\n")
    print(f"metronome: {line}", file=sys.stderr)
    if log:
        print(log, file=sys.stderr)


def _with_value(error: typer.TyperException) -> str:
    """What typer complains of, with the value that it leaves out where pydantic has refused it."""
    message = error.format_message()
    refusals = getattr(error.__cause__, "errors", None)
    if refusals is None:
        return message
    value = refusals()[0]["input"]
    return message.replace("Invalid value for", f"Invalid value {value!r} for", 1)


#: A refused value that is a list, and the subcommands in which a user may want to compare.
_LIST = re.compile(r"'([^',]+(?:,[^',]+)+)'")
_COMPARED = ("run", "predict", "wcet", "analyze", "trace", "sweep")


def _several(message: str, name: str | None) -> str:
    """How to compare several values, for a message that refuses a list of them; else nothing."""
    found = _LIST.search(message)
    if found is None or name not in _COMPARED:
        return ""
    if size := re.search("--(warps|threads)'", message):
        return f": metronome sweep compares several with --set {size[1]}={found[1]}"
    compared = "an experiment" if name == "sweep" else "metronome sweep, or an experiment,"
    return f": one at a time; {compared} compares several (docs/experiments.md)"


def _bad_use(error: Exception, name: str | None) -> str:
    """The line for an error of the user's; typer's own point to the help."""
    if not isinstance(error, typer.TyperException):
        return f"{error}{_several(str(error), name)}"
    program = f"metronome {name}" if name in COMMANDS else "metronome"
    message = _with_value(error)
    return f"{message}{_several(message, name)} (see {program} --help)"


def _unexpected(error: Exception) -> Exit:
    """A folder of the build cache that cannot be used is the user's matter, anything else a defect of ours."""
    if isinstance(error, OSError) and (problem := cache_problem(error)) is not None:
        _complain(problem)
        return Exit.USAGE
    _complain(f"internal error: {type(error).__name__}: {error} ({TRACEBACK_VARIABLE}=1 shows where it arose)")
    return Exit.INTERNAL


def main(arguments: Sequence[str] | None = None, *, backend: Backend | None = None) -> int:
    """Run one subcommand.

    Parameters
    ----------
    arguments
        Without the program's name; the process's own by default.
    backend
        What simulates; tests put their own in its place.

    Returns
    -------
    The exit status (:class:`scripts.process.errors.Exit`).
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    origin.begin(arguments)
    received = Received()
    try:
        with terminable() as received:
            return _run(arguments, name, backend)
    except Terminated:
        return _ended_by(signal.SIGTERM)
    except KeyboardInterrupt:
        return _ended_by(signal.SIGINT)
    except Exception as error:
        if received.number is not None:
            return _ended_by(received.number)
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        return _unexpected(error)


#: What parses the arguments; made of all subcommands' signatures, so a process makes it once.
_parser = functools.cache(typer.main.get_command)


def _run(arguments: list[str], name: str | None, backend: Backend | None) -> int:
    """The exit status; whatever is no error of the user's is raised."""
    try:
        with guard_stdout():
            status = _parser(app).main(
                arguments, prog_name="metronome", standalone_mode=False, obj=backend or SimBackend()
            )
    except BrokenOutput:
        return Exit.BROKEN_PIPE
    except (UsageError, typer.TyperException) as error:
        _complain(_bad_use(error, name))
        return Exit.USAGE
    if status == Exit.INTERRUPTED:
        return _ended_by(signal.SIGINT)
    return int(status or 0)


def _ended_by(number: int) -> int:
    if number == signal.SIGINT:
        _complain("interrupted")
        return Exit.INTERRUPTED
    _complain("terminated")
    return Exit.TERMINATED


if __name__ == "__main__":
    sys.exit(main())
